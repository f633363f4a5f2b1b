// Asking before acting: verdicts of a real server, fail modes without one, and functions behind a decision.
import { type AddressInfo, createServer } from "node:net";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { type AskOptions, createClient, NotAllowed, Recorder, unwrap } from "../src/index.js";
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
  const made = await unwrap(client.api.POST("/v1/policies/versions", { body: { policies: POLICIES } }));
  const path = { version: made.version };
  await unwrap(client.api.POST("/v1/policies/versions/{version}/activate", { params: { path }, body: {} }));
});

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

  it("does not run if it is denied", async () => {
    let ran = false;
    const run = () => {
      ran = true;
    };
    const remove = client.guard(run, {
      agent_id: newAgent(),
      action: "files.delete",
      onError: "allow",
      ...PATIENT,
    });
    const error = await remove({}).catch((error) => error);
    expect(error).toBeInstanceOf(NotAllowed);
    expect(error).toMatchObject({ message: "deny: Files stay.", answer: { decision: "deny" } });
    expect(ran).toBe(false);
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
    await expect(refund(0)).rejects.toMatchObject({ answer: { decision: "escalate" } });

    const paid = refund(30_000);
    const waiting = () =>
      unwrap(client.api.GET("/v1/runtime/approvals")).then(({ data }) =>
        data.filter((one) => one.agent_id === agent_id),
      );
    const [, second] = await until("two approvals", async () => {
      const found = await waiting();
      return found.length === 2 ? found : undefined;
    });
    await unwrap(
      client.api.POST("/v1/runtime/decisions/{id}/resolve", {
        params: { path: { id: second?.decision_id ?? "" } },
        body: { approve: true },
      }),
    );
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
