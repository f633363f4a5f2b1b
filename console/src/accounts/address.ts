// What the signed-out pages read from the address bar, none of which can be trusted.

/** Where to go after signing in: a path of this console, whatever the address asks for. */
export function ownPath(next: string | undefined, origin: string): string {
  if (next === undefined || !next.startsWith("/")) return "/";
  const url = URL.canParse(next, origin) ? new URL(next, origin) : undefined;
  // `//other.example` and `/\other.example` are other sites to a browser.
  // `/.//other.example` becomes one only when its dots are gone.
  if (url === undefined || url.origin !== origin || url.pathname.startsWith("//")) return "/";
  return `${url.pathname}${url.search}${url.hash}`;
}

/** The secret that a link from a mail carries behind `#token=`. */
export function tokenIn(hash: string): string | undefined {
  return new URLSearchParams(hash.replace(/^#/, "")).get("token") ?? undefined;
}
