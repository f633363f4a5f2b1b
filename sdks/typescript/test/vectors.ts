// The cases that every verifier must answer alike, and deliveries that a real server sent.
import { readFileSync } from "node:fs";
import type { Scheme } from "../src/webhook/index.js";

export interface Case {
  name: string;
  scheme: Scheme;
  secrets: string[];
  now_unix_ms: number;
  headers: Record<string, string>;
  body_base64: string;
  expect: { status: number; code: string };
}

const read = (path: string) => JSON.parse(readFileSync(new URL(path, import.meta.url), "utf8"));

type Written = Omit<Case, "scheme" | "body_base64"> & { body?: string; body_base64?: string };

/** All of libs/webhook-signature/vectors, their bodies as bytes. */
export const VECTORS: Case[] = ["service", "standard"].flatMap((name) => {
  const { version, scheme, cases } = read(`../../../libs/webhook-signature/vectors/${name}.json`);
  if (version !== 1) throw new Error(`vectors of version ${version}`);
  return cases.map(({ body, body_base64, ...rest }: Written) => ({
    ...rest,
    scheme,
    body_base64: body_base64 ?? Buffer.from(body ?? "", "utf8").toString("base64"),
  }));
});

interface Captured {
  secret: string;
  received_at_unix_ms: number;
  deliveries: { headers: Record<string, string>; body_base64: string }[];
}

/** sdks/captured: each was accepted by the receiver that kept it, and has the headers of both schemes. */
export const CAPTURED: Case[] = (() => {
  const { secret, received_at_unix_ms, deliveries }: Captured = read("../../captured/deliveries.json");
  return deliveries.flatMap((delivery, index) =>
    (["service", "standard"] as const).map((scheme) => ({
      ...delivery,
      name: `captured_${index}`,
      scheme,
      secrets: [secret],
      now_unix_ms: received_at_unix_ms,
      expect: { status: 200, code: "accepted" },
    })),
  );
})();

export const CASES = [...VECTORS, ...CAPTURED];

/** The body as bytes. */
export const bodyOf = ({ body_base64 }: Case) => new Uint8Array(Buffer.from(body_base64, "base64"));
