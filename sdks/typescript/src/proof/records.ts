// What the stored bytes of an event or an attempt say of themselves, which must be what the leaf says.
import { isWellFormed } from "./encoding.js";
import { decodeId, EVENT, encodeId } from "./ids.js";
import { recordOf, TIMES, timeOf } from "./leaf.js";
import { Malformed } from "./malformed.js";
import { Members, textOf } from "./members.js";
import { unixMs } from "./time.js";

/** The `event_type` of an erasure. */
const ERASURE = "erasure";

/** Throws {@link Malformed} unless the bytes are about what the leaf names. Returns what they say was erased. */
export function check(leaf: Uint8Array, stored: string): Uint8Array[] {
  const members = new Members(stored);
  const record = recordOf(leaf);
  const isEvent = record[0] === EVENT;
  const names = isEvent ? TIMES.event : TIMES.attempt;
  const id = members.text("id");
  const times = names.map((name) => members.text(name));
  const eventType = isEvent ? members.one("event_type") : undefined;
  const metadata = isEvent ? members.one("metadata") : undefined;
  if (id !== encodeId(record)) throw new Malformed("record_mismatch", "id");
  for (const which of [0, 1] as const) {
    if (unixMs(times[which] ?? "") !== timeOf(leaf, which)) {
      throw new Malformed("record_mismatch", names[which]);
    }
  }
  return textOf(eventType) === ERASURE && metadata !== undefined ? erasedIn(metadata) : [];
}

/** What is no list of ids says nothing. */
function erasedIn(metadata: string): Uint8Array[] {
  let ids: unknown;
  try {
    ids = JSON.parse(new Members(metadata).one("ids") ?? "null");
  } catch {
    return [];
  }
  const isText = (one: unknown) => typeof one === "string" && isWellFormed(one);
  if (!Array.isArray(ids) || !ids.every(isText)) return [];
  return ids.map(decodeId).filter((record) => record !== undefined);
}
