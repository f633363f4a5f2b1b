// Where the bytes of an export come from, unpacked if need be.

/** A file of a browser or of Node (`openAsBlob`), a stream, or anything that gives one piece after the other. */
export type Source =
  | Blob
  | ReadableStream<Uint8Array>
  | AsyncIterable<Uint8Array>
  | Iterable<Uint8Array>
  | Uint8Array
  | string;

const GZIP = [0x1f, 0x8b];
const ZSTANDARD = [0x28, 0xb5, 0x2f, 0xfd];

/** The pieces of a source, none of them empty. `onRead` is told how many bytes of the source were read so far. */
export async function* pieces(source: Source, onRead: (bytes: number) => void): AsyncGenerator<Uint8Array> {
  const reader = streamOf(source, onRead).getReader();
  const start = await readAtLeast(reader, ZSTANDARD.length);
  if (startsWith(start, ZSTANDARD)) {
    throw new Error("it is compressed with Zstandard; unpack it first: zstd -d FILE");
  }
  const rest = streamFrom(restOf(start, reader));
  const plain = startsWith(start, GZIP) ? rest.pipeThrough(new DecompressionStream("gzip")) : rest;
  yield* piecesOf(plain);
}

function streamOf(source: Source, onRead: (bytes: number) => void): ReadableStream<Uint8Array> {
  return streamFrom(counted(eachOf(source), onRead));
}

function eachOf(source: Source): AsyncIterable<Uint8Array> | Iterable<Uint8Array> {
  if (typeof source === "string") return [new TextEncoder().encode(source)];
  if (source instanceof Uint8Array) return [source];
  if (source instanceof Blob) return piecesOf(source.stream());
  // Not every browser's streams can be walked through.
  return source instanceof ReadableStream ? piecesOf(source) : source;
}

async function* counted(
  each: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  onRead: (bytes: number) => void,
): AsyncGenerator<Uint8Array> {
  let read = 0;
  for await (const piece of each) {
    if (piece.length === 0) continue;
    read += piece.length;
    onRead(read);
    yield piece;
  }
}

/** The first pieces, joined, with at least so many bytes unless there are fewer. */
async function readAtLeast(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  bytes: number,
): Promise<Uint8Array> {
  let start = new Uint8Array();
  while (start.length < bytes) {
    const { value, done } = await reader.read();
    if (done) break;
    const longer = new Uint8Array(start.length + value.length);
    longer.set(start);
    longer.set(value, start.length);
    start = longer;
  }
  return start;
}

async function* restOf(
  start: Uint8Array,
  reader: ReadableStreamDefaultReader<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  if (start.length > 0) yield start;
  yield* readAll(reader);
}

function piecesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  return readAll(stream.getReader());
}

async function* readAll(reader: ReadableStreamDefaultReader<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value;
  } finally {
    // Whoever stops early lets go of the file, too; what failed by itself has nothing to let go of.
    reader.cancel().catch(() => {});
  }
}

function streamFrom(each: AsyncGenerator<Uint8Array>): ReadableStream<Uint8Array<ArrayBuffer>> {
  return new ReadableStream({
    async pull(controller) {
      const next = await each.next();
      if (next.done) controller.close();
      else controller.enqueue(next.value as Uint8Array<ArrayBuffer>);
    },
    async cancel() {
      await each.return(undefined);
    },
  });
}

function startsWith(bytes: Uint8Array, expected: number[]): boolean {
  return expected.every((byte, at) => bytes[at] === byte);
}
