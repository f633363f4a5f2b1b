// A server of the Model Context Protocol, of the SDK that speaks 2026-07-28 and what was before it. It speaks over its standard
// input and output, or with `http` on a free port of this machine, which it prints.
import { createServer } from "node:http";
import { McpServer, createMcpHandler } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import * as z from "zod";

const text = (value) => ({ content: [{ type: "text", text: String(value) }] });

function tools() {
  const server = new McpServer({ name: "testkit", version: "1" });
  const numbers = z.object({ a: z.number(), b: z.number() });
  const description = process.env.DESCRIPTION ?? "Adds two numbers.";
  server.registerTool("add", { description, inputSchema: numbers }, async ({ a, b }) => text(a + b));
  server.registerTool("fail", { description: "Fails.", inputSchema: z.object({}) }, async () => ({ ...text("no"), isError: true }));
  return server;
}

if (process.argv.at(-1) === "http") {
  const handler = createMcpHandler(tools);
  const server = createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = chunks.length > 0 ? Buffer.concat(chunks) : undefined;
    const url = `http://127.0.0.1${request.url}`;
    const answer = await handler.fetch(new Request(url, { method: request.method, headers: request.headers, body }));
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    for await (const chunk of answer.body ?? []) response.write(chunk);
    response.end();
  });
  server.listen(0, "127.0.0.1", () => process.stdout.write(`http://127.0.0.1:${server.address().port}/mcp\n`));
} else {
  serveStdio(tools);
}
