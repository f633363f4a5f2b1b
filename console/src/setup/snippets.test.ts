// The code that setup shows, run for real, and which events it waits for.
import { execFileSync } from "node:child_process";
import { createHmac } from "node:crypto";
import { expect, test } from "vitest";
import { VERIFYING } from "./snippets";
import { isOfAnAgent, type TrailEvent } from "./trail";

const SECRET = "whsec_c2VjcmV0";
const BODY = '{"rule_name":"ü"}';

function tried(at: Date, secret: string): boolean[] {
  const sent = at.toISOString();
  const signature = `sha256=${createHmac("sha256", SECRET).update(`${sent}.${BODY}`).digest("hex")}`;
  const headers = JSON.stringify({ "X-Service-Timestamp": sent, "X-Service-Signature": signature });
  const [python, typescript] = [VERIFYING.Python ?? "", VERIFYING.TypeScript ?? ""];
  const script = `${typescript.replace(/: (string|Headers|Uint8Array|boolean)/g, "")}
    console.log(verify(${JSON.stringify(secret)}, new Headers(${headers}), Buffer.from(${JSON.stringify(BODY)})))`;
  return [
    execFileSync("node", ["--input-type=module", "-e", script]),
    execFileSync("python3", ["-c", `${python}\nprint(verify("${secret}", ${headers}, '${BODY}'.encode()))`]),
  ].map((output) => output.toString().trim().toLowerCase() === "true");
}

test("the code to verify with takes what is signed and fresh, and nothing else", () => {
  expect(tried(new Date(), SECRET)).toEqual([true, true]);
  expect(tried(new Date(), "another")).toEqual([false, false]);
  expect(tried(new Date(Date.now() - 301_000), SECRET)).toEqual([false, false]);
});

test("what people and Watchbell itself write to the trail is no first event", () => {
  const by = (agent_id: string) => isOfAnAgent({ agent_id } as TrailEvent);
  expect(["first-agent", "usr_x", "keyboard"].map(by)).toEqual([true, true, true]);
  expect(["watchbell", "usr_01m7gkk9xqfrvvw22pkr8kbhfe", "key_01m7gkk9xqfrvvw22pkr8kbhfe"].map(by)).toEqual([
    false,
    false,
    false,
  ]);
});
