// Recording in the background: what is taken arrives once, over limits and restarts; what is not taken is counted.
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createClient, type NewEvent, Recorder } from "../src/index.js";
import { collect, demoClient, event, newAgent } from "./demo.js";
import { type Door, makeDoor } from "./door.js";
import { type Server, start } from "./server.js";
import { until } from "./until.js";

describe("a recorder", () => {
  it("sends what was recorded in few requests, and everything adds up", async () => {
    const client = demoClient();
    const agent = newAgent();
    const recorder = new Recorder(client, { batchEventsMax: 100 });
    for (let index = 0; index < 250; index++) expect(recorder.record(event(agent))).toBe(true);
    expect(await recorder.flush()).toBe(true);
    expect(recorder.counts).toEqual({ recorded: 250, queued: 0, sent: 250, rejected: 0, dropped: 0 });
    expect((await collect(client.listEvents({ agent_id: [agent] }))).length).toBe(250);
  });

  it("sends by itself, without being flushed", async () => {
    const client = demoClient();
    const agent = newAgent();
    new Recorder(client).record(event(agent));
    await until("the event", async () => (await collect(client.listEvents({ agent_id: [agent] })))[0]);
  });

  it("keeps an event as it was when it was recorded", async () => {
    const client = demoClient();
    const agent = newAgent();
    const recorder = new Recorder(client);
    const changed = event(agent, { resource: "file:before" });
    recorder.record(changed);
    changed.resource = "file:after";
    await recorder.close();
    const [listed] = await collect(client.listEvents({ agent_id: [agent] }));
    expect(listed?.resource).toBe("file:before");
  });

  it("tells which events were not accepted, and sends the others", async () => {
    const faults: [NewEvent, string][] = [];
    const agent = newAgent();
    const recorder = new Recorder(demoClient(), {
      onRejected: (rejected, { pointer }) => faults.push([rejected, pointer]),
    });
    recorder.record(event(agent));
    recorder.record(event(agent, { action: "one-word" }));
    expect(await recorder.flush()).toBe(true);
    expect(recorder.counts).toEqual({ recorded: 2, queued: 0, sent: 1, rejected: 1, dropped: 0 });
    expect(faults).toMatchObject([[{ action: "one-word" }, "/action"]]);
  });

  it("tells of the only event of a batch as well", async () => {
    const faults: [NewEvent, object][] = [];
    const recorder = new Recorder(demoClient(), {
      onRejected: (...rejected) => faults.push(rejected),
    });
    recorder.record(event(newAgent(), { action: "one-word" }));
    expect(await recorder.flush()).toBe(true);
    expect(recorder.counts).toEqual({ recorded: 1, queued: 0, sent: 0, rejected: 1, dropped: 0 });
    expect(faults).toMatchObject([[{ action: "one-word" }, { index: 0, pointer: "/action" }]]);
  });

  it("drops and counts what does not fit, keeps what does, and takes nothing once it is closed", async () => {
    const door = await makeDoor();
    const recorder = new Recorder(createClient({ url: door.url, apiKey: "wb_live_any" }), {
      queueEventsMax: 3,
    });
    const taken = [1, 2, 3, 4, 5].map(() => recorder.record(event("a")));
    expect(taken).toEqual([true, true, true, false, false]);
    expect(recorder.counts).toEqual({ recorded: 5, queued: 3, sent: 0, rejected: 0, dropped: 2 });
    expect(await recorder.flush({ timeoutMs: 200 })).toBe(false);
    expect(await recorder.close({ timeoutMs: 200 })).toBe(false);
    expect(recorder.record(event("a"))).toBe(false);
    expect(recorder.counts).toEqual({ recorded: 6, queued: 0, sent: 0, rejected: 0, dropped: 6 });
    door.remove();
  });

  it("is bounded in bytes as well", () => {
    const recorder = new Recorder(demoClient(), { queueBytesMax: 1_000 });
    const large = event("a", { metadata: { text: "x".repeat(2_000) } });
    expect(recorder.record(large)).toBe(false);
    expect(recorder.counts.dropped).toBe(1);
  });

  it("drops what a server refuses as a whole, and tells why", async () => {
    const { demo } = shared;
    const codes: string[] = [];
    const stranger = createClient({ url: demo.base_url, apiKey: "wb_live_wrong" });
    const recorder = new Recorder(stranger, { onError: ({ code }) => codes.push(code) });
    recorder.record(event("a"));
    expect(await recorder.flush()).toBe(true);
    expect(recorder.counts.dropped).toBe(1);
    expect(codes).toEqual(["UNAUTHENTICATED"]);
  });
});

/** A server of its own: it takes few requests, and is stopped and started. */
const shared = {} as Server;
const folder = mkdtempSync(join(tmpdir(), "watchbell-sdk-"));
// PostgreSQL may run as another user, who must get through.
chmodSync(folder, 0o755);
const LIMITS = { WATCHBELL__LIMITS__INGEST: "5/2s", WATCHBELL__LIMITS__LIST: "100000/60s" };
let door: Door;

beforeAll(async () => {
  Object.assign(shared, await start(LIMITS, folder));
  door = await makeDoor();
  door.open(shared.demo.base_url);
});
afterAll(async () => {
  door?.remove();
  await shared.stop?.();
  rmSync(folder, { recursive: true, force: true });
});

describe("a server that limits", () => {
  /** A client that notes when it asked and what the server answered. */
  function noting() {
    const answers: { at: number; status: number; retryAfter: number }[] = [];
    const client = createClient({
      url: shared.demo.base_url,
      apiKey: shared.demo.api_key,
      fetch: async (request) => {
        const at = performance.now();
        const response = await fetch(request);
        const { status, headers } = response;
        if (request.method === "POST") {
          answers.push({ at, status, retryAfter: Number(headers.get("retry-after")) });
        }
        return response;
      },
    });
    return { client, answers };
  }

  it("is asked again after as many seconds as it says, and not before", async () => {
    const { client, answers } = noting();
    const agent = newAgent();
    for (let index = 0; index < 7; index++) await client.sendEvents(event(agent));
    const refused = answers.findIndex(({ status }) => status === 429);
    expect(refused).toBeGreaterThan(0);
    const [refusal, next] = answers.slice(refused);
    expect(refusal?.retryAfter).toBeGreaterThan(0);
    expect((next?.at ?? 0) - (refusal?.at ?? 0)).toBeGreaterThanOrEqual((refusal?.retryAfter ?? 0) * 1_000);
    expect((await collect(client.listEvents({ agent_id: [agent] }))).length).toBe(7);
  });

  it("makes a recorder wait, not lose", async () => {
    const { client, answers } = noting();
    const agent = newAgent();
    const recorder = new Recorder(client, { batchEventsMax: 1 });
    for (let index = 0; index < 8; index++) recorder.record(event(agent));
    expect(await recorder.flush()).toBe(true);
    expect(recorder.counts).toMatchObject({ sent: 8, dropped: 0 });
    expect(answers.map(({ status }) => status)).toContain(429);
    expect((await collect(client.listEvents({ agent_id: [agent] }))).length).toBe(8);
  });

  it("tells how long to wait if it is asked by the typed way", async () => {
    const { client } = noting();
    const agent = newAgent();
    const body = event(agent);
    const answers = await Promise.all(
      Array.from({ length: 12 }, () => client.api.POST("/v1/audit/events", { body })),
    );
    const refused = answers.filter(({ response }) => response.status === 429);
    expect(refused.length).toBeGreaterThan(0);
    expect(refused[0]?.error).toMatchObject({ code: "RATE_LIMITED" });
  });
});

describe("a server that is started anew", () => {
  it("lists every event exactly once, whatever was on its way when it stopped", async () => {
    const agent = newAgent();
    const client = createClient({ url: door.url, apiKey: shared.demo.api_key, timeoutMs: 5_000 });
    const recorder = new Recorder(client, { batchEventsMax: 10, lingerMs: 20 });
    let recorded = 0;
    const steady = setInterval(() => {
      recorder.record(event(agent, { resource: `file:${recorded}` }));
      recorded += 1;
    }, 10);

    try {
      await until("some events", () => (recorder.counts.sent > 20 ? true : undefined));
      // First the connection breaks, with a request on its way; then the server stops.
      door.shut();
      await shared.stop();
      await until("a queue", () => (recorder.counts.queued > 100 ? true : undefined));
      Object.assign(shared, await start(LIMITS, folder));
      door.open(shared.demo.base_url);
      const before = recorder.counts.sent;
      await until("events to flow again", () => (recorder.counts.sent > before ? true : undefined), 60_000);
    } finally {
      clearInterval(steady);
    }
    expect(await recorder.close({ timeoutMs: 120_000 })).toBe(true);
    expect(recorder.counts).toEqual({ recorded, queued: 0, sent: recorded, rejected: 0, dropped: 0 });

    const listed = await collect(client.listEvents({ agent_id: [agent] }));
    expect(listed.length).toBe(recorded);
    const resources = new Set(listed.map(({ resource }) => resource));
    expect(resources.size).toBe(recorded);
  }, 240_000);
});
