// Waiting for what happens by itself.

/** Waits until there is something, for at most so long. */
export async function until<T>(
  what: string,
  ask: () => Promise<T | undefined> | T | undefined,
  withinMs = 20_000,
) {
  const end = Date.now() + withinMs;
  for (;;) {
    const found = await ask();
    if (found !== undefined) return found;
    if (Date.now() > end) throw new Error(`${what} did not happen within ${withinMs} ms`);
    await new Promise((done) => setTimeout(done, 50));
  }
}
