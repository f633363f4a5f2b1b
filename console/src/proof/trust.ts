// What an auditor trusts, as they typed it, and what is wrong with it.
import { Malformed, SignedCheckpoint, VerifierKey } from "@watchbell/sdk/proof";

export interface Trust {
  /** Keys, one to a line. */
  keys: string;
  witnesses: string;
  /** The text of a checkpoint. */
  since: string;
}

export const NO_TRUST: Trust = { keys: "", witnesses: "", since: "" };

export type Faults = Partial<Record<keyof Trust, string>>;

/** Which type of signature a log's key makes, and a witness's. */
const TYPES = { keys: 1, witnesses: 4 } as const;
const OTHERS = {
  keys: "This is a witness's key. It belongs in the field below.",
  witnesses: "This is a log's key. It belongs in the field above.",
};

/** As the verifier takes it; what is empty is left out. */
export function optionsOf({ keys, witnesses, since }: Trust) {
  return {
    keys: linesOf(keys),
    witnesses: linesOf(witnesses),
    since: since.trim() === "" ? undefined : noteOf(since),
  };
}

/** What cannot be read, by field. */
export function faultsOf(trust: Trust): Faults {
  const options = optionsOf(trust);
  return {
    keys: faultOf(() => check("keys", options.keys)),
    witnesses: faultOf(() => check("witnesses", options.witnesses)),
    since: faultOf(() => options.since && SignedCheckpoint.parse(options.since)),
  };
}

export function hasFaults(faults: Faults): boolean {
  return Object.values(faults).some((fault) => fault !== undefined);
}

function check(field: "keys" | "witnesses", keys: string[]): void {
  for (const key of keys.map(VerifierKey.parse)) {
    if (key.type !== TYPES[field]) throw new Malformed("key_unsupported", OTHERS[field]);
  }
}

function faultOf(read: () => unknown): string | undefined {
  try {
    read();
    return undefined;
  } catch (error) {
    if (!(error instanceof Malformed)) throw error;
    const { message } = error;
    return `${message.charAt(0).toUpperCase()}${message.slice(1)}${message.endsWith(".") ? "" : "."}`;
  }
}

function linesOf(text: string): string[] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
}

/** What is pasted may have lost its last newline, and on some systems has two characters for each. */
function noteOf(text: string): string {
  return `${text.replaceAll("\r\n", "\n").trim()}\n`;
}
