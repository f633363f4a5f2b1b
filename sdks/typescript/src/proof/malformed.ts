// What cannot be read or is not believed.

/** Says why, for people; `code` is the same in every language's verifier. */
export class Malformed extends Error {
  constructor(
    readonly code: string,
    why: string,
  ) {
    super(why);
    this.name = "Malformed";
  }
}
