// Server-sent events: a stream of bytes as messages.

export interface Message {
  event: string;
  data: string;
}

/** Far longer than any message of ours. What sends more without an end is no event stream. */
const BUFFERED_CHARACTERS_MAX = 4 * 1024 * 1024;

/** The messages of a stream, until it ends. `onBytes` is called whenever something arrives, if only a comment. */
export async function* messages(
  stream: ReadableStream<Uint8Array<ArrayBuffer>>,
  onBytes: () => void,
): AsyncGenerator<Message, void, undefined> {
  const reader = stream.getReader();
  const decoder = new TextDecoder();
  let buffered = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      onBytes();
      buffered += decoder.decode(value, { stream: true });
      const blocks = buffered.split("\n\n");
      buffered = blocks.pop() ?? "";
      if (buffered.length > BUFFERED_CHARACTERS_MAX) throw new TypeError("this is not an event stream");
      yield* blocks.map(message).filter((found) => found !== undefined);
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

/** A block of lines; none if it holds only comments or settings. */
function message(block: string): Message | undefined {
  const fields = block.split("\n").map((line) => /^(\w+): ?(.*)$/.exec(line) ?? []);
  const values = (wanted: string) => fields.filter(([, name]) => name === wanted).map(([, , value]) => value);
  const data = values("data");
  return data.length === 0
    ? undefined
    : { event: values("event").at(-1) ?? "message", data: data.join("\n") };
}
