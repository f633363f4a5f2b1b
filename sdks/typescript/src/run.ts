// The session, trace and span that a decision belongs to.

export interface RunIds {
  session_id?: string | null | undefined;
  trace_id?: string | null | undefined;
  span_id?: string | null | undefined;
}

const LENGTH_MAX = 128;
const HASH_LENGTH = 16;

/** The ids as the server takes them, because none is worth a call that fails. */
export function recordable({ session_id, trace_id, span_id }: RunIds) {
  return {
    session_id: recordableId(session_id),
    trace_id: recordableId(trace_id),
    span_id: recordableId(span_id),
  };
}

/**
 * 1 to 128 characters without NUL. An empty id is none. A longer one ends in a hash of the whole, so that two that begin
 * alike stay two. The Python SDK does the same, so that agents in both languages can share a session.
 */
function recordableId(id: string | null | undefined): string | undefined {
  const text = String(id ?? "").replace(/[\0\p{Surrogate}]/gu, "\uFFFD");
  const letters = Array.from(text);
  if (letters.length <= LENGTH_MAX) return text || undefined;
  return `${letters.slice(0, LENGTH_MAX - HASH_LENGTH - 1).join("")}-${hash(text)}`;
}

/** FNV-1a, because browsers compute no SHA without a promise, and none at all on a page without TLS. */
function hash(text: string): string {
  let value = 0xcbf29ce484222325n;
  for (const byte of new TextEncoder().encode(text)) {
    value = BigInt.asUintN(64, (value ^ BigInt(byte)) * 0x100000001b3n);
  }
  return value.toString(16).padStart(HASH_LENGTH, "0");
}
