// Verifying deliveries: every vector and every captured delivery, by Web Crypto and by node:crypto.
import { afterEach, describe, expect, it, vi } from "vitest";
import { Refused, signWebhook, verifyWebhook } from "../src/webhook/index.js";
import { verifyWebhookNode } from "../src/webhook/node.js";
import { bodyOf, CAPTURED, CASES, type Case, VECTORS } from "./vectors.js";

const accepted = CASES.filter(({ expect }) => expect.status === 200);
const options = ({ secrets, scheme, now_unix_ms }: Case) => ({ secrets, scheme, now: now_unix_ms });
const received = (one: Case) => ({ headers: one.headers, body: bodyOf(one) });

/** What a verifier answers, in the words of the vectors. */
async function answer(verify: () => unknown): Promise<{ status: number; code: string }> {
  try {
    await verify();
    return { status: 200, code: "accepted" };
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    return { status: error.status, code: error.code };
  }
}

it("has cases of both schemes, and captured ones", () => {
  expect(VECTORS.length).toBeGreaterThan(90);
  expect(CAPTURED.length).toBeGreaterThan(2);
});

describe.each(CASES)("$scheme $name", (one) => {
  it("is answered as expected by Web Crypto", async () => {
    expect(await answer(() => verifyWebhook(received(one), options(one)))).toEqual(one.expect);
  });
  it("is answered as expected by node:crypto", async () => {
    expect(await answer(() => verifyWebhookNode(received(one), options(one)))).toEqual(one.expect);
  });
});

it.each(accepted)("signing gives a signature of $scheme $name", async (one) => {
  const isStandard = one.scheme === "standard";
  const timestamp = one.headers[isStandard ? "webhook-timestamp" : "x-service-timestamp"] ?? "";
  const id = one.headers["webhook-id"];
  const asked = { timestamp, body: bodyOf(one), scheme: one.scheme, ...(id && { id }) };
  const made = await Promise.all(
    one.secrets.filter(Boolean).map((secret) => signWebhook({ ...asked, secret })),
  );
  const sent = Object.entries(one.headers)
    .filter(([name]) => name.startsWith(isStandard ? "webhook-signature" : "x-service-signature"))
    .flatMap(([, value]) => value.split(" "));
  expect(made.some((signature) => sent.includes(signature))).toBe(true);
});

describe("a delivery", () => {
  const [one] = CAPTURED as [Case];
  afterEach(() => vi.unstubAllEnvs());

  it("is told with its headers and its body", () => {
    const delivery = verifyWebhookNode(received(one), options(one));
    expect(delivery.id).toBe(one.headers["x-service-delivery-id"]);
    expect(delivery.eventType).toBe(one.headers["x-service-event"]);
    expect(delivery.attempt).toBe(1);
    expect(delivery.trigger).toBe(one.headers["x-service-trigger"]);
    expect(delivery.text).toBe(Buffer.from(bodyOf(one)).toString("utf8"));
    expect(delivery.json().event.event_type).toBe(delivery.eventType);
  });

  it("has the type that was signed, whatever its header says, and none if its body is not one of ours", async () => {
    const forged = { ...one.headers, "x-service-event": "another" };
    const delivery = verifyWebhookNode({ headers: forged, body: bodyOf(one) }, options(one));
    expect(delivery.eventType).toBe(one.headers["x-service-event"]);

    const [secret = ""] = one.secrets;
    const timestamp = new Date(one.now_unix_ms).toISOString();
    const headers = async (body: string) => ({
      ...forged,
      "x-service-timestamp": timestamp,
      "x-service-signature": await signWebhook({ secret, timestamp, body }),
    });
    for (const body of ["hello", "null", '{"event":{"event_type":1}}']) {
      const signed = verifyWebhookNode({ headers: await headers(body), body }, options(one));
      expect([signed.text, signed.eventType]).toEqual([body, undefined]);
    }
  });

  it("has the id that was signed, if one was", () => {
    const standard = CAPTURED.find(({ scheme }) => scheme === "standard") as Case;
    const headers = { ...standard.headers, "x-service-delivery-id": "dlv_another" };
    const delivery = verifyWebhookNode({ headers, body: bodyOf(standard) }, options(standard));
    expect(delivery.id).toBe(standard.headers["webhook-id"]);
  });

  it("is refused if a header of its signature came twice", async () => {
    for (const name of ["x-service-timestamp", "x-service-signature"]) {
      const value = one.headers[name] ?? "";
      const headers = { ...one.headers, [name]: [value, value] };
      await expect(verifyWebhook({ headers, body: bodyOf(one) }, options(one))).rejects.toThrow(Refused);
    }
  });

  it("may come as a Request, with Headers, or with headers in any case", async () => {
    const { headers } = one;
    const body = bodyOf(one);
    const request = new Request("http://127.0.0.1/", { method: "POST", headers, body });
    expect((await verifyWebhook(request, options(one))).id).toBe(headers["x-service-delivery-id"]);
    expect(verifyWebhookNode({ headers: new Headers(headers), body }, options(one)).attempt).toBe(1);
    const upper = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value]),
    );
    expect(
      verifyWebhookNode({ headers: upper, body: Buffer.from(body).toString() }, options(one)).attempt,
    ).toBe(1);
  });

  it("is verified with the secret of the environment unless another is given", async () => {
    const now = one.now_unix_ms;
    vi.stubEnv("WATCHBELL_SIGNING_SECRET", "");
    await expect(verifyWebhook(received(one), { now })).rejects.toThrow("no signing secret");
    vi.stubEnv("WATCHBELL_SIGNING_SECRET", one.secrets[0]);
    expect((await verifyWebhook(received(one), { now })).attempt).toBe(1);
    expect(() => verifyWebhookNode(received(one), { now, secrets: "another" })).toThrow(Refused);
  });

  it("is refused while its signature is missing, whichever header carries it is enough", async () => {
    const { "x-service-signature": signature = "", ...headers } = one.headers;
    const body = bodyOf(one);
    const verify = (name: string) =>
      verifyWebhook({ headers: { ...headers, [name]: signature }, body }, options(one));
    expect((await verify("x-service-signature-previous")).attempt).toBe(1);
    expect((await verify("x-service-signature-next")).attempt).toBe(1);
    await expect(verify("x-signature")).rejects.toMatchObject({ code: "signature_missing", status: 401 });
  });

  it("cannot be verified once it was parsed", async () => {
    const parsed = JSON.parse(Buffer.from(bodyOf(one)).toString());
    await expect(verifyWebhook({ headers: one.headers, body: parsed }, options(one))).rejects.toThrow(
      "raw body",
    );
  });
});
