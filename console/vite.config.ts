// Builds the console into `dist`, each file also packed, as the server embeds it.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve as pathOf } from "node:path";
import { brotliCompressSync, gzipSync } from "node:zlib";
import react from "@vitejs/plugin-react";
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";

/** What a browser would wait for; pictures are packed already, and `index.html` gets a nonce per answer. */
const PACKED = /\.(js|css|svg)$/;

function packed(): Plugin {
  return {
    name: "packed",
    apply: "build",
    closeBundle() {
      for (const name of readdirSync("dist", { recursive: true }) as string[]) {
        if (!PACKED.test(name)) continue;
        const path = join("dist", name);
        const bytes = readFileSync(path);
        writeFileSync(`${path}.br`, brotliCompressSync(bytes));
        writeFileSync(`${path}.gz`, gzipSync(bytes, { level: 9 }));
      }
    },
  };
}

/**
 * What several screens share goes into few files: a browser asks for each, and small ones pack badly. The overview loads
 * the first two, who signs in also the third, every other screen all. `e2e/load.alone.test.ts` counts.
 */
const SHARED = [
  { name: "first", tags: ["$initial" as const], priority: 3 },
  {
    name: "base",
    test: /\/src\/.*\.module\.css$|\/src\/(address|parts\/(Chart|Mark|TimeRange|clock|kept|numbers))\.|@mantine\/(hooks|store)\/|@mantine\/core\/esm\/(core|utils)\/|components\/(Anchor|FloatingIndicator|List|SegmentedControl|SimpleGrid|Transition)\/|\/Icon(Check|Minus)\./,
    priority: 2,
  },
  {
    name: "doors",
    test: /\/src\/(accounts\/(address|fields|login)|parts\/Form|shell\/(Notices|Outside)|styles\/rest)\.|@mantine\/core\/styles\/|@mantine\/(form|notifications)\/|react-(transition-group|remove-scroll)|components\/(CloseButton|Input|InputBase|Notification|PasswordInput|Portal|RemoveScroll|TextInput)\//,
    priority: 1,
  },
  { name: "screens", minShareCount: 2 },
];

/**
 * The verifier of exports is the SDK's own source, so that there is one. It finds its packages here: the SDK's may not be
 * installed. `tsconfig.json` says the same.
 */
const PROOF = pathOf("../sdks/typescript/src/proof");
const resolve = {
  alias: { "@watchbell/sdk/proof": join(PROOF, "index.ts") },
  dedupe: ["@noble/ed25519", "@noble/hashes"],
};

/** `npm run dev` serves the pages and asks a running `watchbell dev` for the rest. */
const server = process.env.WATCHBELL_URL ?? "http://127.0.0.1:8080";

/** Tests that measure, or that stop what others need: one after the other, when the others are done. */
const ALONE = ["e2e/**/*.alone.test.ts"];
const inABrowser = { globalSetup: "e2e/server.ts", testTimeout: 60_000, hookTimeout: 60_000 };

export default defineConfig({
  plugins: [react(), packed()],
  resolve,
  server: {
    proxy: { "/v1": server, "/openapi.json": server, "/healthz": server },
    fs: { allow: [".", PROOF] },
  },
  worker: { format: "es" },
  build: {
    target: "es2022",
    // These know `light-dark()`; what would stand in for it does not see which scheme the person chose.
    cssTarget: ["chrome123", "firefox120", "safari17.5"],
    chunkSizeWarningLimit: 600,
    modulePreload: { polyfill: false },
    rolldownOptions: { output: { codeSplitting: { groups: SHARED } } },
  },
  test: {
    projects: [
      { resolve, test: { name: "unit", include: ["src/**/*.test.ts"], environment: "node" } },
      {
        test: {
          ...inABrowser,
          name: "e2e",
          include: ["e2e/**/*.test.ts"],
          exclude: ALONE,
          maxWorkers: 2,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          ...inABrowser,
          name: "e2e-alone",
          include: ALONE,
          fileParallelism: false,
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
});
