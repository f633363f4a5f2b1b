// Odd answers, by something between here and the server: none of them opens a guard, loses events or ends the process.
import { afterEach, describe, expect, it, vi } from "vitest";
import { type AskOptions, Denied, Recorder, WatchbellError } from "../src/index.js";
import { event } from "./demo.js";
import { makePeer, type OddAnswer, type Peer } from "./peer.js";

let peers: Peer[] = [];
afterEach(() => {
  for (const peer of peers) peer.remove();
  peers = [];
});

async function peerThat(answers: Parameters<typeof makePeer>[0]): Promise<Peer> {
  const peer = await makePeer(answers);
  peers.push(peer);
  return peer;
}

const PATIENT = { timeoutMs: 20_000 };
const QUESTION = { agent_id: "a", action: "files.read", ...PATIENT };

/** A guarded function, and the payloads that it ran with. */
function guarded({ client }: Peer, options: Partial<AskOptions>) {
  const ran: object[] = [];
  const run = (payload: object) => void ran.push(payload);
  return { ran, call: client.guard(run, { ...QUESTION, onError: "deny", ...options }) };
}

const decided = { decision_id: "dec_1", reason: "So it is.", fallback: false };

describe("no decision at all", () => {
  it.each<[string, OddAnswer]>([
    ["an empty answer", {}],
    ["a page", { body: "<html>Please log in</html>" }],
    ["null", { body: "null" }],
    ["an empty object", { body: {} }],
    ["a word that is none", { body: { ...decided, decision: "yes" } }],
    ["an allow without an id", { body: { decision: "allow", reason: "" } }],
    ["another's 503", { status: 503, body: { code: 7, detail: null, errors: ["no healthy upstream"] } }],
    ["another's errors", { status: 502, body: { errors: null } }],
  ])("is %s, so the fail mode counts", async (_, odd) => {
    const peer = await peerThat(() => odd);
    const answer = await peer.client.decide({ ...QUESTION, onError: "deny" });
    const code = odd.status ? "UNKNOWN" : "NO_ANSWER";
    expect(answer).toMatchObject({ decision: "deny", fallback: true, error: { code, errors: [] } });
    const { call, ran } = guarded(peer, { onError: "deny" });
    await expect(call({})).rejects.toBeInstanceOf(Denied);
    expect(ran).toEqual([]);
  });

  it("is what another server says to which a request was redirected, and it is not asked", async () => {
    const other = await peerThat(() => ({ body: { ...decided, decision: "allow" } }));
    const peer = await peerThat(({ url }) => ({
      status: 307,
      headers: { Location: `${other.url}${url}` },
    }));
    const answer = await peer.client.decide({ ...QUESTION, onError: "deny" });
    expect(answer).toMatchObject({ decision: "deny", error: { code: "NO_ANSWER" } });
    expect(other.asked).toBe(0);
  });

  it("is asked for with what is no JSON, which is thrown whatever the fail mode", async () => {
    const peer = await peerThat(() => ({ body: { ...decided, decision: "allow" } }));
    const asked = peer.client.decide({ ...QUESTION, payload: { amount: 1n }, onError: "allow" });
    await expect(asked).rejects.toThrow(TypeError);
  });
});

it("a changed payload that is none is not replaced by the one that was to be changed", async () => {
  const peer = await peerThat(() => ({ body: { ...decided, decision: "modify", modified_payload: null } }));
  const { call, ran } = guarded(peer, { onError: "allow" });
  await expect(call({ amount: 5_000 })).rejects.toMatchObject({ decision: { decision: "modify" } });
  expect(ran).toEqual([]);
});

describe("while a person is waited for", () => {
  it.each<[string, OddAnswer]>([
    ["a proxy in trouble", { status: 502 }],
    ["an odd answer", { body: {} }],
  ])("%s is no approval, whatever the fail mode", async (_, odd) => {
    const escalated = { body: { ...decided, decision: "escalate" } };
    const peer = await peerThat(({ method }) => (method === "POST" ? escalated : odd));
    const { call, ran } = guarded(peer, { onError: "allow", approvalWaitMs: 1_000 });
    await expect(call({})).rejects.toMatchObject({ decision: { decision: "escalate" } });
    expect(ran).toEqual([]);
    // Once for the decision, and again for the approval, though not as fast as it can.
    expect(peer.asked).toBeGreaterThan(2);
    expect(peer.asked).toBeLessThan(10);
  });
});

describe("whoever aborts a decision", () => {
  const reason = new Error("the user canceled");
  it.each<[string, () => AbortSignal, unknown]>([
    ["with a reason", () => AbortSignal.abort(reason), reason],
    ["without one", () => AbortSignal.abort(), { name: "AbortError" }],
    ["after a time", () => AbortSignal.timeout(50), { name: "TimeoutError" }],
    [
      "with what looks like no answer",
      () => AbortSignal.abort(new WatchbellError("mine", { code: "NO_ANSWER" })),
      { message: "mine" },
    ],
  ])("%s gets that back, and no decision", async (_, signal, expected) => {
    const peer = await peerThat(() => undefined);
    const asked = peer.client.decide({ ...QUESTION, onError: "allow", signal: signal() });
    await expect(asked).rejects.toMatchObject(expected as object);
  });

  it("while a person is waited for gets that back as well", async () => {
    const stop = new AbortController();
    const peer = await peerThat(({ method }) => {
      if (method === "POST") return { body: { ...decided, decision: "escalate" } };
      stop.abort(reason);
      return undefined;
    });
    const options = { onError: "allow", approvalWaitMs: 30_000, signal: stop.signal } as const;
    await expect(peer.client.decide({ ...QUESTION, ...options })).rejects.toBe(reason);
  });
});

describe("a recorder", () => {
  const accepted = { status: 202, body: { ingested: 1, events: [{ id: "evt_1" }], rejected: [] } };

  it.each<[string, OddAnswer]>([
    ["an empty object", { status: 202, body: {} }],
    ["nothing", { status: 202 }],
    ["null for what was rejected", { status: 202, body: { ingested: 1, rejected: [null] } }],
    ["a redirect", { status: 302, headers: { Location: "/login" } }],
  ])("that is answered with %s sends again", async (_, odd) => {
    const codes: string[] = [];
    const peer = await peerThat(() => (peer.asked === 1 ? odd : accepted));
    const recorder = new Recorder(peer.client, { onError: ({ code }) => codes.push(code) });
    recorder.record(event("a"));
    expect(await recorder.flush()).toBe(true);
    expect(recorder.counts).toEqual({ recorded: 1, queued: 0, sent: 1, rejected: 0, dropped: 0 });
    expect(codes).toEqual(["NO_ANSWER"]);
  });

  it.each([
    ["seconds", "3000000"],
    ["more seconds than there are", "9".repeat(400)],
    ["a date", "Fri, 31 Dec 9999 23:59:59 GMT"],
  ])("that is told to come back in an age, in %s, does not come back at once", async (_, retryAfter) => {
    const peer = await peerThat(() => ({ status: 503, headers: { "Retry-After": retryAfter } }));
    const recorder = new Recorder(peer.client, { lingerMs: 0 });
    recorder.record(event("a"));
    expect(await recorder.flush({ timeoutMs: 500 })).toBe(false);
    expect(peer.asked).toBe(1);
    await recorder.close({ timeoutMs: 0 });
  });

  it.each([
    ["throw", () => expect.fail("oh")],
    ["reject", () => Promise.reject(new Error("oh"))],
  ])("goes on if its callbacks %s, and says so", async (_, oh) => {
    const unhandled = vi.fn();
    process.on("unhandledRejection", unhandled);
    const said = vi.spyOn(console, "error").mockReturnValue();
    const fault = { code: "FIELD_REQUIRED", pointer: "/action", detail: "" };
    const rejected = { status: 202, body: { ingested: 0, events: [], rejected: [{ ...fault, index: 0 }] } };
    const answers = [{ status: 400 }, rejected];
    const peer = await peerThat(() => answers.shift() ?? accepted);
    const recorder = new Recorder(peer.client, { batchEventsMax: 1, onError: oh, onRejected: oh });
    for (let index = 0; index < 3; index++) recorder.record(event("a"));
    expect(await recorder.flush()).toBe(true);
    expect(recorder.counts).toEqual({ recorded: 3, queued: 0, sent: 1, rejected: 1, dropped: 1 });
    expect(said).toHaveBeenCalledTimes(2);
    expect(unhandled).not.toHaveBeenCalled();
    said.mockRestore();
    process.off("unhandledRejection", unhandled);
  });

  it("drops and counts what is no JSON, and does not throw", async () => {
    const peer = await peerThat(() => accepted);
    const recorder = new Recorder(peer.client);
    const cycle: Record<string, unknown> = {};
    cycle.itself = cycle;
    expect(recorder.record(event("a", { metadata: cycle }))).toBe(false);
    expect(recorder.record(event("a", { metadata: { amount: 1n } }))).toBe(false);
    expect(recorder.record(event("a"))).toBe(true);
    expect(await recorder.close()).toBe(true);
    expect(recorder.counts).toEqual({ recorded: 3, queued: 0, sent: 1, rejected: 0, dropped: 2 });
  });
});
