// One server for all tests that do not need one of their own.
import type { TestProject } from "vitest/node";
import { type Demo, start } from "./server.js";

declare module "vitest" {
  interface ProvidedContext {
    demo: Demo;
  }
}

/** Tests ask faster than agents do. */
const LIMITS = {
  WATCHBELL__LIMITS__LIST: "100000/60s",
  WATCHBELL__LIMITS__READS: "100000/60s",
  WATCHBELL__LIMITS__INGEST: "100000/60s",
  WATCHBELL__LIMITS__RULE_WRITES: "1000/60s",
  WATCHBELL__LIMITS__POLICY_WRITES: "1000/60s",
};

export default async function setup(project: TestProject) {
  const server = await start(LIMITS);
  project.provide("demo", server.demo);
  return server.stop;
}
