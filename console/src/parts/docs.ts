// Where the documentation is, for what a screen cannot explain in a sentence.

const ROOT = "https://github.com/watchbell/watchbell/blob/main/docs";

/** The address of a page, such as `how-to/audit.md`. */
export function docs(page: string): string {
  return `${ROOT}/${page}`;
}
