// The check of proofs, on those that do not hold.
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { judge } from "./judge";

const { cases } = JSON.parse(readFileSync("../libs/transparency-log/vectors/tlog_proofs.json", "utf8"));

test("what the log did not commit to is contradicted, and says why", () => {
  const [{ proof, origin, log_keys }] = cases;
  const log = { origin, keys: log_keys.map((verifier: string) => ({ verifier })) };
  const stored =
    '{"id":"evt_01m7r7egt2gw1v1nrfdkqk8fc5","received_at":"2026-11-18T21:01:50.274Z","occurred_at":"2026-11-18T21:01:50.274Z"}';
  expect(judge("event", stored, proof, log)).toMatchObject({
    is: "contradicted",
    why: expect.stringMatching(/another root/),
    proof,
  });
  expect(judge("event", "{}", proof, log)).toMatchObject({ is: "contradicted" });
  expect(judge("event", stored, "no proof", log)).toMatchObject({ is: "contradicted" });
});
