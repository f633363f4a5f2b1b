// The commands that verify a webhook, run for real.
import { execFileSync } from "node:child_process";
import { createHmac } from "node:crypto";
import { expect, test } from "vitest";
import { aboutCurl, inCurl, inPython, inShell } from "./verify";

const SECRET = "whsec_tVQBOqz7AyjcsU8kXYVqIUTf57wDMr0xuSa2EC/7T1Q=";
const timestamp = "2026-11-15T22:00:53.959Z";
const bodies = [
  '{"rule_name":"Refund denied","event":{"note":"it\'s 100 % \\"fine\\"\\n$HOME `x` \\\\ é 🔔"}}',
  "{}",
];

test("the commands make the signature of exactly these bytes, whatever is in them", () => {
  const env = { ...process.env, SECRET, PYTHONUTF8: "1" };
  for (const body of bodies) {
    const expected = `sha256=${createHmac("sha256", SECRET).update(`${timestamp}.${body}`).digest("hex")}`;
    expect(
      execFileSync("sh", ["-c", inShell(timestamp, body)], { env })
        .toString()
        .trim(),
    ).toBe(expected);
    expect(
      execFileSync("python3", ["-c", inPython(timestamp, body)], { env })
        .toString()
        .trim(),
    ).toBe(expected);
  }
});

test("the command for curl has the same headers and bytes, whatever is in them", () => {
  const headers = [
    { name: "content-type", value: "application/json" },
    { name: "x-note", value: "it's" },
  ];
  const url = "https://example.com/hook?a[]=1&b='2'&c={3,4}";
  for (const body of bodies) {
    const command = inCurl({ method: "POST", url, headers }, body);
    const said = execFileSync("sh", ["-c", `curl() { printf '%s\\0' "$@"; }\n${command}`]).toString();
    expect(said.split("\0").slice(0, -1)).toEqual([
      // Without it, curl takes brackets and braces for a pattern.
      "--globoff",
      "-X",
      "POST",
      url,
      "-H",
      "content-type: application/json",
      "-H",
      "x-note: it's",
      "--data-raw",
      body,
    ]);
  }
});

test("what the command for curl lacks is said, above all signatures", () => {
  const said = (proven: boolean, ...rebuilt: boolean[]) =>
    aboutCurl({ proven, signatures: rebuilt.map((rebuilt) => ({ rebuilt })) });
  expect(said(true, true, true)).toMatch(/same body.*with its signatures/);
  expect(said(true, false, false)).toMatch(/same body.*but no signature/);
  expect(said(true, true, false)).toMatch(/same body.*but not every signature/);
  expect(said(true)).toMatch(/same body.*unsigned/);
  expect(said(false, false)).toMatch(/may not be what was sent, and no signature/);
});
