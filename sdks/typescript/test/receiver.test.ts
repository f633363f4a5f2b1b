// The example receiver as a process: it answers as the contract says, and gets what a real server sends.
import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { signWebhook, unwrap } from "../src/index.js";
import { demoClient, event, newAgent } from "./demo.js";
import { firstLine, stop } from "./server.js";
import { until } from "./until.js";

let receiver: ChildProcess;
let url: string;
const printed: string[] = [];

beforeAll(async () => {
  const env = { ...process.env, WATCHBELL_SIGNING_SECRET: inject("demo").signing_secret };
  receiver = spawn(process.execPath, ["examples/receiver.mjs", "0"], {
    env,
    stdio: ["ignore", "pipe", "inherit"],
  });
  if (receiver.stdout) createInterface({ input: receiver.stdout }).on("line", (line) => printed.push(line));
  url = (await firstLine(receiver, 20_000)).replace("waiting for deliveries on ", "");
});
afterAll(() => stop(receiver));

const body = JSON.stringify({ rule_id: "rul_1", rule_name: "é", event: { event_type: "tool_call" } });

/** The headers of a delivery that was signed so long ago. */
async function signed(
  agoMs: number,
  id: string = crypto.randomUUID(),
  secret = inject("demo").signing_secret,
) {
  const timestamp = new Date(Date.now() - agoMs).toISOString();
  return {
    "Content-Type": "application/json",
    "X-Service-Event": "tool_call",
    "X-Service-Delivery-Id": id,
    "X-Service-Timestamp": timestamp,
    "X-Service-Signature": await signWebhook({ secret, timestamp, body }),
  };
}

async function post(headers: Record<string, string>, text = body): Promise<number> {
  const response = await fetch(url, { method: "POST", headers, body: text });
  await response.arrayBuffer();
  return response.status;
}

const processed = (id: string) => printed.filter((line) => line.startsWith(`${id} `));

describe("the receiver", () => {
  it("answers 200 to what is valid, and processes it", async () => {
    const id = crypto.randomUUID();
    expect(await post(await signed(0, id))).toBe(200);
    expect(await until("processing", () => processed(id)[0])).toBe(`${id} tool_call ${body}`);
    expect(await post(await signed(290_000))).toBe(200);
    expect(await post(await signed(-290_000))).toBe(200);
  });

  it("answers 400 to a timestamp that is missing, stale, ahead or unreadable", async () => {
    const { "X-Service-Timestamp": _, ...missing } = await signed(0);
    expect(await post(missing)).toBe(400);
    expect(await post(await signed(301_000))).toBe(400);
    expect(await post(await signed(-310_000))).toBe(400);
    expect(await post({ ...(await signed(0)), "X-Service-Timestamp": "now" })).toBe(400);
  });

  it("answers 401 to a signature that is missing or wrong, and to another body", async () => {
    const { "X-Service-Signature": _, ...missing } = await signed(0);
    expect(await post(missing)).toBe(401);
    expect(await post(await signed(0, undefined, "another secret"))).toBe(401);
    expect(await post({ ...(await signed(0)), "X-Service-Signature": "sha256=00" })).toBe(401);
    expect(await post(await signed(0), body.replace(":", ": "))).toBe(401);
  });

  it("acknowledges a repetition and does not process it again", async () => {
    const id = crypto.randomUUID();
    expect([await post(await signed(0, id)), await post(await signed(0, id))]).toEqual([200, 200]);
    const last = crypto.randomUUID();
    await post(await signed(0, last));
    await until("the next one", () => processed(last)[0]);
    expect(processed(id).length).toBe(1);
  });

  it("refuses what is too large, and what is no POST", async () => {
    expect(await post(await signed(0), "x".repeat(300 * 1024))).toBe(413);
    const response = await fetch(url);
    expect(response.status).toBe(405);
  });

  it("gets what a real server sends, once", async () => {
    const client = demoClient();
    const agent = newAgent();
    const rule = { name: "To the example", match: { agent_id: [agent] }, url };
    const { id } = await unwrap(client.api.POST("/v1/alert-rules", { body: rule }));
    await client.sendEvents(event(agent, { metadata: { text: "schön", number: 1.0 } }));
    const line = await until("the delivery", () => printed.find((line) => line.includes(agent)));
    const [delivery, type, ...webhook] = line.split(" ");
    expect(type).toBe("tool_call");
    expect(JSON.parse(webhook.join(" "))).toMatchObject({ rule_id: id, event: { agent_id: agent } });

    const params = { path: { id: delivery ?? "" } };
    const recorded = await until("the record", async () => {
      const found = await unwrap(client.api.GET("/v1/deliveries/{id}", { params }));
      return found.state === "delivered" ? found : undefined;
    });
    expect(recorded.attempt_log.map(({ status }) => status)).toEqual([200]);
    await unwrap(client.api.DELETE("/v1/alert-rules/{id}", { params: { path: { id } } }));
  });
});
