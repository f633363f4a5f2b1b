// What answers in Watchbell's place and is not it: a proxy in trouble, a login page, something broken.
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { type Client, createClient } from "../src/index.js";

export interface OddAnswer {
  status?: number;
  headers?: Record<string, string>;
  /** An object is sent as JSON. */
  body?: unknown;
}

export interface Peer {
  url: string;
  client: Client;
  /** How often it was asked. */
  asked: number;
  remove: () => void;
}

/** Answers each request as it is told to, or never if with nothing. */
export async function makePeer(answer: (request: IncomingMessage) => OddAnswer | undefined): Promise<Peer> {
  const listener = createServer((request, response) => {
    peer.asked += 1;
    const told = answer(request);
    if (!told) return;
    const { status = 200, headers = {}, body = "" } = told;
    response.writeHead(status, { "Content-Type": "application/json", ...headers });
    response.end(typeof body === "string" ? body : JSON.stringify(body));
  });
  await new Promise<void>((done) => listener.listen(0, "127.0.0.1", done));
  const url = `http://127.0.0.1:${(listener.address() as AddressInfo).port}`;
  const peer: Peer = {
    url,
    client: createClient({ url, apiKey: "wb_live_any" }),
    asked: 0,
    remove: () => {
      listener.close();
      listener.closeAllConnections();
    },
  };
  return peer;
}
