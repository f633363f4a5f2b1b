// Asking before acting: verdicts of a real server, fail modes without one, and functions behind a decision.
import { type AddressInfo, createServer } from "node:net";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { type AskOptions, createClient, Denied, Recorder, type Schemas, unwrap } from "../src/index.js";
import { collect, demoClient, newAgent } from "./demo.js";
import { makeDoor } from "./door.js";
import { until } from "./until.js";

const client = demoClient();

/** Of a server that answers, on a machine that is busy with other tests. */
const PATIENT = { timeoutMs: 20_000 };

const POLICIES = `
  @id("may-act") permit (principal, action, resource);
  @id("no-deletes") @reason("Files stay.") forbid (principal, action == Action::"files.delete", resource);
  @id("capped") @obligation("[{\\"op\\": \\"replace\\", \\"path\\": \\"/amount\\", \\"value\\": 100}]")
    permit (principal, action == Action::"payments.cap", resource);
  @id("large") @verdict("escalate") @reason("A person looks.")
    forbid (principal, action == Action::"payments.refund", resource) when { context.amount > 1000 };
`;

beforeAll(async () => {
  // Here one key is the agent and the person who approves.
  await unwrap(client.api.PATCH("/v1/policies", { body: { self_approval_allowed: true } }));
  const made = await unwrap(client.api.POST("/v1/policies/versions", { body: { policies: POLICIES } }));
  const path = { version: made.version };
  await unwrap(client.api.POST("/v1/policies/versions/{version}/activate", { params: { path }, body: {} }));
});

/** The decisions about an agent that wait for a person, as soon as there are so many. */
function pending(agent_id: string, count: number): Promise<string[]> {
  return until(`${count} approvals`, async () => {
    const { data } = await unwrap(client.api.GET("/v1/runtime/approvals"));
    const found = data.filter((one) => one.agent_id === agent_id);
    return found.length === count ? found.map(({ decision_id }) => decision_id) : undefined;
  });
}

function resolve(id: string, body: Schemas["Resolve"]) {
  return unwrap(client.api.POST("/v1/runtime/decisions/{id}/resolve", { params: { path: { id } }, body }));
}

describe("a decision", () => {
  it("is allow or deny, with the reason and the policies", async () => {
    const agent_id = newAgent();
    const read = await client.decide({ agent_id, action: "files.read", onError: "throw", ...PATIENT });
    expect(read).toMatchObject({ decision: "allow", fallback: false });
    const removal = await client.decide({ agent_id, action: "files.delete", onError: "throw", ...PATIENT });
    expect(removal).toMatchObject({
      decision: "deny",
      reason: "Files stay.",
      policies: [{ id: "no-deletes" }],
    });
  });

  it("that is asked for wrongly is an error whatever the fail mode", async () => {
    const asked = client.decide({ agent_id: newAgent(), action: "one-word", onError: "allow", ...PATIENT });
    await expect(asked).rejects.toMatchObject({ status: 422 });
    const stranger = createClient({ url: inject("demo").base_url, apiKey: "wb_live_wrong" });
    const question = { agent_id: newAgent(), action: "files.read", onError: "allow", ...PATIENT } as const;
    await expect(stranger.decide(question)).rejects.toMatchObject({ status: 401 });
  });
});

describe("a person", () => {
  const refund = (agent_id: string) =>
    ({
      agent_id,
      action: "payments.refund",
      context: { amount: 2_000 },
      onError: "allow",
      approvalWaitMs: 30_000,
      ...PATIENT,
    }) as const;

  it.each([
    ["Not this one.", "Denied by a person: Not this one."],
    [undefined, "Denied by a person."],
  ])("who says no denies it, with their note: %s", async (note, reason) => {
    const agent_id = newAgent();
    const asked = client.decide(refund(agent_id));
    const [id = ""] = await pending(agent_id, 1);
    await resolve(id, { approve: false, ...(note && { note }) });
    expect(await asked).toMatchObject({ decision: "deny", reason, decision_id: id, fallback: false });
  });

  it("is waited for although the connection breaks", async () => {
    const { base_url, api_key } = inject("demo");
    const door = await makeDoor();
    door.open(base_url);
    const agent_id = newAgent();
    let waits = 0;
    const away = createClient({
      url: door.url,
      apiKey: api_key,
      fetch: (request) => {
        if (request.method === "GET") waits += 1;
        return fetch(request);
      },
    });
    const asked = away.decide(refund(agent_id));
    await until("a wait", () => waits > 0 || undefined);
    door.shut();
    await until("another", () => waits > 1 || undefined);
    door.open(base_url);
    const [id = ""] = await pending(agent_id, 1);
    await resolve(id, { approve: true });
    const answer = await asked;
    door.remove();
    expect(answer).toMatchObject({ decision: "allow", fallback: false });
  });
});

describe.each(["refuses connections", "never answers"])("a server that %s", (how) => {
  const silent = createServer(() => {});
  let url = "";
  beforeAll(async () => {
    await new Promise<void>((done) => silent.listen(0, "127.0.0.1", done));
    url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
    if (how === "refuses connections") silent.close();
  });
  afterAll(() => {
    silent.close();
  });

  const timeoutMs = 500;
  const ask = async (onError: AskOptions["onError"]) => {
    const began = performance.now();
    const away = createClient({ url, apiKey: "wb_live_any" });
    const answer = await away
      .decide({ agent_id: "a", action: "files.read", onError, timeoutMs })
      .catch((error) => error);
    return { answer, tookMs: performance.now() - began };
  };

  it.each(["deny", "allow"] as const)("is answered for with %s, in time", async (onError) => {
    const { answer, tookMs } = await ask(onError);
    const code = how === "never answers" ? "TIMEOUT" : "NO_ANSWER";
    expect(answer).toMatchObject({ decision: onError, fallback: true, error: { code } });
    expect(tookMs).toBeLessThan(timeoutMs + 1_000);
  });

  it("is thrown as an error if that was asked for, in time", async () => {
    const { answer, tookMs } = await ask("throw");
    expect(answer).toMatchObject({ name: "WatchbellError", isTransient: true });
    expect(tookMs).toBeLessThan(timeoutMs + 1_000);
  });
});

describe("a guarded function", () => {
  it("runs if it is allowed, and what came of it is recorded with the decision", async () => {
    const agent_id = newAgent();
    const recorder = new Recorder(client);
    const options = { agent_id, action: "files.read", onError: "deny", recorder, ...PATIENT } as const;
    const read = client.guard(({ path }: { path: string }) => `read ${path}`, options);
    expect(await read({ path: "/a" })).toBe("read /a");
    const fail = client.guard(() => Promise.reject(new Error("no such file")), options);
    await expect(fail({})).rejects.toThrow("no such file");
    expect(await recorder.close()).toBe(true);

    const calls = await collect(
      client.listEvents({ agent_id: [agent_id], event_type: ["tool_call"], order: "asc" }),
    );
    expect(calls.map(({ result }) => result).sort()).toEqual(["error", "success"]);
    const decisions = await collect(client.listEvents({ agent_id: [agent_id], event_type: ["decision"] }));
    const decided = new Set(decisions.map(({ decision_id }) => decision_id));
    expect(decided.size).toBe(2);
    for (const { decision_id } of calls) expect(decided).toContain(decision_id);
  });

  it("is recorded in the same session as its decision, and so are the trace and the span", async () => {
    const agent_id = newAgent();
    const recorder = new Recorder(client);
    const read = client.guard(({ chat }: { chat: string }) => chat, {
      agent_id,
      action: "files.read",
      session_id: ({ chat }) => chat,
      trace_id: "trace-1",
      span_id: () => "span-2",
      onError: "deny",
      recorder,
      ...PATIENT,
    });
    const chat = `chat of ${agent_id}`;
    await read({ chat: `another ${chat}` });
    await read({ chat });
    expect(await recorder.close()).toBe(true);
    const events = await collect(client.listEvents({ session_id: [chat] }));
    expect(events.map(({ event_type }) => event_type).sort()).toEqual(["decision", "tool_call"]);
    expect(new Set(events.map(({ decision_id }) => decision_id)).size).toBe(1);
    for (const one of events) expect(one).toMatchObject({ trace_id: "trace-1", span_id: "span-2" });
  });

  it("runs whatever its session is called, or if it is not called anything", async () => {
    const recorded: [string | null | undefined, string | undefined][] = [
      [undefined, undefined],
      [null, undefined],
      ["", undefined],
      ["a\0b", "a\uFFFDb"],
      ["\uD800", "\uFFFD"],
      ["x".repeat(128), "x".repeat(128)],
      // The Python SDK's tests have the same hashes.
      ["x".repeat(129), `${"x".repeat(111)}-78d48e38324d7507`],
      ["🧵".repeat(129), `${"🧵".repeat(111)}-a9f2dc4acc61ca00`],
    ];
    const agent_id = newAgent();
    const about = { agent_id, action: "files.read", onError: "throw", ...PATIENT } as const;
    const recorder = new Recorder(client);
    for (const [id] of recorded) {
      await client.guard(() => "read", {
        ...about,
        session_id: () => id,
        trace_id: id,
        span_id: id,
        recorder,
      })({});
      await client.decide({ ...about, session_id: id, trace_id: id, span_id: id });
    }
    expect(await recorder.close()).toBe(true);
    const ids = recorded.map(([, id]) => id).sort();
    const listed = async (event_type: string) =>
      collect(client.listEvents({ agent_id: [agent_id], event_type: [event_type] }));
    const calls = await listed("tool_call");
    const decisions = await listed("decision");
    for (const name of ["session_id", "trace_id", "span_id"] as const) {
      expect(calls.map((one) => one[name]).sort()).toEqual(ids);
      expect(decisions.map((one) => one[name]).sort()).toEqual(ids.flatMap((id) => [id, id]));
    }
  });

  it("does not run if it is denied, and that is recorded with the decision", async () => {
    const agent_id = newAgent();
    const recorder = new Recorder(client);
    let ran = false;
    const run = () => {
      ran = true;
    };
    const remove = client.guard(run, {
      agent_id,
      action: "files.delete",
      onError: "allow",
      recorder,
      ...PATIENT,
    });
    const error = await remove({}).catch((error) => error);
    expect(error).toBeInstanceOf(Denied);
    expect(error).toMatchObject({ message: "deny: Files stay.", decision: { decision: "deny" } });
    expect(ran).toBe(false);
    expect(await recorder.close()).toBe(true);
    const [call] = await collect(client.listEvents({ agent_id: [agent_id], event_type: ["tool_call"] }));
    expect(call).toMatchObject({ result: "denied", decision_id: error.decision.decision_id });
  });

  it("gets the payload that a policy asks for", async () => {
    const pay = client.guard(({ amount }: { amount: number; to: string }) => amount, {
      agent_id: newAgent(),
      action: "payments.cap",
      onError: "deny",
      ...PATIENT,
    });
    expect(await pay({ amount: 5_000, to: "Ann" })).toBe(100);
  });

  it("waits for a person where a policy asks for one, and does not run if nobody comes", async () => {
    const agent_id = newAgent();
    const refund = (approvalWaitMs: number) =>
      client.guard(({ amount }: { amount: number }) => `paid ${amount}`, {
        agent_id,
        action: "payments.refund",
        resource: "invoice:4711",
        context: ({ amount }) => ({ amount }),
        onError: "deny",
        approvalWaitMs,
        ...PATIENT,
      })({ amount: 2_000 });
    await expect(refund(0)).rejects.toMatchObject({ decision: { decision: "escalate" } });

    const paid = refund(30_000);
    const [, second = ""] = await pending(agent_id, 2);
    await resolve(second, { approve: true });
    expect(await paid).toBe("paid 2000");
  });

  it("runs unasked if nobody answers and that was chosen, and says so in what it records", async () => {
    const door = await makeDoor();
    const agent_id = newAgent();
    const recorder = new Recorder(client);
    const away = createClient({ url: door.url, apiKey: "wb_live_any" });
    const read = away.guard(() => "read", { agent_id, action: "files.read", onError: "allow", recorder });
    expect(await read({})).toBe("read");
    await recorder.close();
    door.remove();
    const [call] = await collect(client.listEvents({ agent_id: [agent_id] }));
    expect(call).toMatchObject({ result: "success", metadata: { fallback: true } });
  });
});
