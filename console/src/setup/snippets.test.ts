// The code that setup shows, run for real.
import { execFileSync } from "node:child_process";
import { createHmac } from "node:crypto";
import { expect, test } from "vitest";
import { VERIFYING } from "./snippets";

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
