#!/usr/bin/env node
// Runs the binary that this platform's package has, as if it had been called itself.
"use strict";

const { spawn } = require("node:child_process");

const platform = `${process.platform}-${process.arch}`;

let binary;
try {
  binary = require.resolve(`@watchbell/${platform}/bin/watchbell`);
} catch {
  console.error(`watchbell: there is no package for ${platform}, or npm left it out (--omit=optional).`);
  console.error("  Build it from source: https://github.com/watchbell/watchbell#from-source");
  process.exit(1);
}

const child = spawn(binary, process.argv.slice(2), { stdio: "inherit" });
// A terminal sends Ctrl-C to both; whoever stops this process means the binary, which has things to finish.
process.on("SIGINT", () => {});
for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("error", (error) => {
  console.error(`watchbell: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  if (signal === null) process.exit(code);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
