// A client of the Model Context Protocol, the real one of either SDK, that does what it is told: its first line of standard input
// says where the server is, each further one what to ask it, and each line that it prints is an answer.
import { createInterface } from "node:readline";

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const { era, command, args, env, url } = JSON.parse((await lines.next()).value);

const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);
const client = era === "stateless" ? await stateless() : await sessions();
say({ id: 0, result: { server: client.getServerVersion?.() ?? null } });

const answers = [];
for await (const line of lines) {
  const { id, method, params } = JSON.parse(line);
  const answer = method === "tools/list" ? client.listTools(params) : client.callTool(params);
  const told = answer.then(
    (result) => say({ id, result }),
    (error) => say({ id, error: { code: error.code ?? null, message: String(error.message ?? error) } }),
  );
  answers.push(told);
}
await Promise.all(answers);
await client.close();

// Up to 2025-11-25.
async function sessions() {
  const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
  const { StdioClientTransport } = await import("@modelcontextprotocol/sdk/client/stdio.js");
  const { StreamableHTTPClientTransport } = await import("@modelcontextprotocol/sdk/client/streamableHttp.js");
  const made = new Client({ name: "testkit", version: "1" });
  await made.connect(
    url ? new StreamableHTTPClientTransport(new URL(url)) : new StdioClientTransport({ command, args, env }),
  );
  return made;
}

// Since 2026-07-28.
async function stateless() {
  const { Client, StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
  const { StdioClientTransport } = await import("@modelcontextprotocol/client/stdio");
  const made = new Client(
    { name: "testkit", version: "1" },
    { versionNegotiation: { mode: { pin: "2026-07-28" } } },
  );
  await made.connect(
    url ? new StreamableHTTPClientTransport(new URL(url)) : new StdioClientTransport({ command, args, env }),
  );
  return made;
}
