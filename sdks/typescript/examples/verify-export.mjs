// Verifies an export of the trail, without a server:
//
//   node verify-export.mjs FILE [--key KEY]... [--witness KEY]... [--since FILE]
//
// Exits with 0 if it is proven, with 1 if not, and with 2 if it cannot be checked.
import { createReadStream, readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { verifyExport } from "@watchbell/sdk/proof";

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    key: { type: "string", multiple: true },
    witness: { type: "string", multiple: true },
    since: { type: "string" },
  },
});

const report = await verifyExport(createReadStream(positionals[0]), {
  keys: values.key,
  witnesses: values.witness,
  since: values.since && readFileSync(values.since, "utf8"),
});

console.log(`${report.verdict}: ${report.counts.leaves} entries of ${report.origin ?? "no log"}`);
for (const { line, message } of report.findings)
  console.log(line === null ? message : `line ${line}: ${message}`);
for (const { message } of report.remarks) console.log(`note: ${message}`);
process.exitCode = { proven: 0, not_proven: 1, cannot_be_checked: 2 }[report.verdict];
