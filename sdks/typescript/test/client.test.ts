// The client against a real server: sending, listing, watching, exporting, and what is refused.
import { createHash } from "node:crypto";
import { afterEach, describe, expect, inject, it, vi } from "vitest";
import { createClient, type Event, unwrap, WatchbellError } from "../src/index.js";
import { collect, demoClient, event, newAgent } from "./demo.js";
import { makeDoor } from "./door.js";
import { until } from "./until.js";

describe("settings", () => {
  afterEach(() => vi.unstubAllEnvs());

  it("come from the environment unless given", async () => {
    const { base_url, api_key } = inject("demo");
    vi.stubEnv("WATCHBELL_URL", base_url);
    vi.stubEnv("WATCHBELL_API_KEY", api_key);
    const sent = await createClient().sendEvents(event(newAgent()));
    expect(sent.ingested).toBe(1);
  });

  it("are asked for if they are missing", () => {
    vi.stubEnv("WATCHBELL_URL", "");
    vi.stubEnv("WATCHBELL_API_KEY", "");
    expect(() => createClient()).toThrow("WATCHBELL_URL");
    expect(() => createClient({ url: "http://127.0.0.1" })).toThrow("WATCHBELL_API_KEY");
  });
});

describe("events", () => {
  it("that were sent are listed, over as many pages as it takes, in either order", async () => {
    const client = demoClient();
    const agent = newAgent();
    const events = Array.from({ length: 25 }, (_, index) => event(agent, { resource: `file:${index}` }));
    const { ingested, rejected } = await client.sendEvents(events);
    expect([ingested, rejected]).toEqual([25, []]);

    const newestFirst = await collect(client.listEvents({ agent_id: [agent], pageSize: 10 }));
    const oldestFirst = await collect(client.listEvents({ agent_id: [agent], order: "asc", pageSize: 7 }));
    expect(newestFirst.map(({ id }) => id)).toEqual(oldestFirst.map(({ id }) => id).reverse());
    const resources = new Set(oldestFirst.map(({ resource }) => resource));
    expect(resources).toEqual(new Set(events.map(({ resource }) => resource)));
  });

  it("of several values are alternatives, and other filters narrow them", async () => {
    const client = demoClient();
    const [one, other] = [newAgent(), newAgent()];
    await client.sendEvents([event(one), event(other), event(other, { result: "denied" })]);
    const both = await collect(client.listEvents({ agent_id: [one, other] }));
    expect(both.length).toBe(3);
    const denied = await collect(client.listEvents({ agent_id: [one, other], result: ["denied"] }));
    expect(denied.map(({ agent_id }) => agent_id)).toEqual([other]);
  });

  it("that are not valid come back with their place", async () => {
    const agent = newAgent();
    const sent = await demoClient().sendEvents([event(agent), event(agent, { action: "one-word" })]);
    expect(sent.ingested).toBe(1);
    expect(sent.rejected).toMatchObject([{ index: 1, pointer: "/action" }]);
  });

  it("sent twice by one idempotency key are one event", async () => {
    const client = demoClient();
    const agent = newAgent();
    const idempotencyKey = crypto.randomUUID();
    const first = await client.sendEvents(event(agent), { idempotencyKey });
    const second = await client.sendEvents(event(agent), { idempotencyKey });
    expect(second).toEqual(first);
    expect((await collect(client.listEvents({ agent_id: [agent] }))).length).toBe(1);
  });

  it("are one event even if the connection breaks and they have to be sent again", async () => {
    const { base_url, api_key } = inject("demo");
    const agent = newAgent();
    let calls = 0;
    const client = createClient({
      url: base_url,
      apiKey: api_key,
      // The server answers, and the answer gets lost.
      fetch: async (request) => {
        const response = await fetch(request);
        calls += 1;
        if (calls === 1) throw new TypeError("fetch failed");
        return response;
      },
    });
    expect((await client.sendEvents(event(agent))).ingested).toBe(1);
    expect(calls).toBe(2);
    expect((await collect(demoClient().listEvents({ agent_id: [agent] }))).length).toBe(1);
  });

  it("are exported whole, by the typed way to every path", async () => {
    const client = demoClient();
    const agent = newAgent();
    await client.sendEvents([event(agent), event(agent)]);
    const text = await unwrap(
      client.api.POST("/v1/audit/export", { body: { agent_id: [agent], format: "ndjson" }, parseAs: "text" }),
    );
    const lines = String(text).trimEnd().split("\n");
    const last = JSON.parse(lines.pop() ?? "");
    expect(lines.map((line) => JSON.parse(line).agent_id)).toEqual([agent, agent]);
    const sha256 = createHash("sha256")
      .update(`${lines.join("\n")}\n`)
      .digest("hex");
    expect(last).toEqual({ export: { events: 2, sha256 } });
  });
});

describe("a tail", () => {
  it("shows what is accepted after it is ready, and ends with its loop", async () => {
    const client = demoClient();
    const agent = newAgent();
    const onReady = () => client.sendEvents([event(agent), event(agent, { result: "denied" })]);
    for await (const { agent_id, result } of client.tailEvents({
      result: ["denied"],
      agent_id: [agent],
      onReady,
    })) {
      expect([agent_id, result]).toEqual([agent, "denied"]);
      break;
    }
    expect.assertions(1);
  });

  it("ends with its signal", async () => {
    const stop = new AbortController();
    const tail = demoClient().tailEvents({
      agent_id: [newAgent()],
      signal: stop.signal,
      onReady: () => stop.abort(),
    });
    expect(await collect(tail)).toEqual([]);
  });

  it("connects anew when the connection breaks, and says that there is a gap", async () => {
    const { base_url, api_key } = inject("demo");
    const door = await makeDoor();
    door.open(base_url);
    const agent = newAgent();
    const stop = new AbortController();
    const seen: Event[] = [];
    const gaps: (number | undefined)[] = [];
    let ready = 0;
    const tailing = (async () => {
      const client = createClient({ url: door.url, apiKey: api_key });
      const watched = client.tailEvents({
        agent_id: [agent],
        signal: stop.signal,
        onReady: () => {
          ready += 1;
        },
        onGap: (skipped) => gaps.push(skipped),
      });
      for await (const one of watched) seen.push(one);
    })();

    await until("the first connection", () => (ready === 1 ? true : undefined));
    await demoClient().sendEvents(event(agent, { resource: "file:before" }));
    await until("the event before", () => seen[0]);
    door.shut();
    door.open(base_url);
    await until("the second connection", () => (ready === 2 ? true : undefined));
    await demoClient().sendEvents(event(agent, { resource: "file:after" }));
    await until("the event after", () => seen[1]);
    stop.abort();
    await tailing;
    door.remove();
    expect(seen.map(({ resource }) => resource)).toEqual(["file:before", "file:after"]);
    expect(gaps).toEqual([undefined]);
  });

  it("of a key that is not valid is refused, not tried again", async () => {
    const client = createClient({ url: inject("demo").base_url, apiKey: "wb_live_wrong" });
    await expect(collect(client.tailEvents())).rejects.toMatchObject({
      code: "UNAUTHENTICATED",
      status: 401,
    });
  });
});

describe("an error", () => {
  it("has the server's code, request id and faults", async () => {
    const rule = { name: "", match: {}, url: "not a url" };
    const refused = unwrap(demoClient().api.POST("/v1/alert-rules", { body: rule }));
    const error = await refused.catch((error) => error);
    expect(error).toBeInstanceOf(WatchbellError);
    expect(error).toMatchObject({
      code: "VALIDATION_FAILED",
      status: 422,
      retryAfter: undefined,
      isTransient: false,
    });
    expect(error.requestId).toMatch(/.{8}/);
    expect(error.errors.map(({ pointer }: { pointer: string }) => pointer)).toContain("/url");
  });

  it("is told from no answer at all", async () => {
    const door = await makeDoor();
    const client = createClient({ url: door.url, apiKey: "wb_live_any", timeoutMs: 1_000 });
    await expect(unwrap(client.api.GET("/v1/alert-rules"))).rejects.toMatchObject({
      code: "NO_ANSWER",
      status: undefined,
      isTransient: true,
    });
    door.remove();
  });
});
