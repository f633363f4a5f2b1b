// A receiver of Watchbell deliveries: verifies, acknowledges at once, and processes afterwards.
//
//   WATCHBELL_SIGNING_SECRET=… node receiver.mjs [PORT]
import { createServer } from "node:http";
import { Refused, verifyWebhookNode } from "@watchbell/sdk/node";

/** Larger than any delivery. */
const BODY_BYTES_MAX = 256 * 1024;

/**
 * Deliveries that are acknowledged and not yet processed. When this many wait, the next is answered with 503 and
 * Watchbell sends it again later. They are lost if the process ends: a receiver that cannot afford that writes them to a
 * database before it acknowledges.
 */
const QUEUE_DELIVERIES_MAX = 1_024;

/** How many ids are remembered, the oldest forgotten first. */
const REMEMBERED_IDS_MAX = 10_000;

const secret = process.env.WATCHBELL_SIGNING_SECRET;
if (!secret) throw new Error("set WATCHBELL_SIGNING_SECRET to the signing secret");

const queue = [];
const remembered = new Set();

/** The receiver's own work goes here. It may be slow. */
async function handle(delivery) {
  console.log(`${delivery.id} ${delivery.eventType} ${delivery.text}`);
}

/** Answers a request with a status and a text. */
async function receive(request) {
  if (request.method !== "POST") return [405, "send a POST"];
  const body = await read(request);
  if (!body) return [413, "too large"];

  // The body as it arrived: it is verified before anything parses it.
  const delivery = verifyWebhookNode({ headers: request.headers, body }, { secrets: secret });
  if (remembered.has(delivery.id)) return [200, "had it already"];
  if (queue.length >= QUEUE_DELIVERIES_MAX) return [503, "busy, please send again later"];
  if (delivery.id) remember(delivery.id);
  if (queue.push(delivery) === 1) setImmediate(work);
  return [200, ""];
}

/** The whole body, or nothing if it is too large. It is read to its end either way, so that the answer is seen. */
async function read(request) {
  const chunks = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += chunk.length;
    if (bytes <= BODY_BYTES_MAX) chunks.push(chunk);
  }
  return bytes <= BODY_BYTES_MAX ? Buffer.concat(chunks) : undefined;
}

/** A delivery can arrive twice. */
function remember(id) {
  remembered.add(id);
  if (remembered.size > REMEMBERED_IDS_MAX) remembered.delete(remembered.values().next().value);
}

/** Processes what was acknowledged, one after the other. */
async function work() {
  for (; queue.length > 0; queue.shift()) {
    await handle(queue[0]).catch((error) => console.error(`${queue[0].id}:`, error));
  }
}

const server = createServer(async (request, response) => {
  const [status, text] = await receive(request).catch((error) => {
    if (error instanceof Refused) return [error.status, error.message];
    console.error(error);
    return [500, ""];
  });
  response.writeHead(status).end(text);
});

server.listen(Number(process.argv[2] ?? 8080), "127.0.0.1", () => {
  console.log(`waiting for deliveries on http://127.0.0.1:${server.address().port}/`);
});
process.once("SIGTERM", () => server.close());
process.once("SIGINT", () => server.close());
