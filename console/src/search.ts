// The address bar holds a screen's whole state, as plain parameters that people can read and share.

export type Search = Record<string, string | string[]>;

export function parseSearch(text: string): Search {
  const search: Search = {};
  for (const [name, value] of new URLSearchParams(text)) {
    const before = search[name];
    search[name] = before === undefined ? value : [before, value].flat();
  }
  return search;
}

export function stringifySearch(search: Record<string, unknown>): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(search)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined && one !== null && one !== "") params.append(name, String(one));
    }
  }
  const text = params.toString();
  return text === "" ? "" : `?${text}`;
}

/** The values of a parameter, none, one or many. */
export function all(value: unknown): string[] {
  if (value === undefined || value === null || value === "") return [];
  return Array.isArray(value) ? value.map(String) : [String(value)];
}

/** The value of a parameter that is there at most once. */
export function one(value: unknown): string | undefined {
  return all(value)[0];
}
