// Commands about exactly the bytes that were sent: one that sends them again, and some that compute their signature.

interface Sent {
  method: string;
  url: string;
  headers: { name: string; value: string }[];
}

interface Proof {
  proven: boolean;
  signatures: { rebuilt: boolean }[];
}

export function inCurl({ method, url, headers }: Sent, body: string): string {
  const given = headers.map(({ name, value }) => `-H ${quoted(`${name}: ${value}`)}`);
  // Brackets and braces in a URL would be a pattern for many URLs.
  return [`curl --globoff -X ${method} ${quoted(url)}`, ...given, `--data-raw ${quoted(body)}`].join(
    " \\\n  ",
  );
}

/** What that command sends of what the attempt sent, and what a receiver makes of it. */
export function aboutCurl({ proven, signatures }: Proof): string {
  if (!proven) {
    return "This sends the body as it was rebuilt, which may not be what was sent, and no signature.";
  }
  const [all, missing] = [signatures.length, signatures.filter(({ rebuilt }) => !rebuilt).length];
  const sends = "This sends the same body from your machine";
  if (all === 0) return `${sends}, unsigned as it was.`;
  if (missing === all) {
    return `${sends}, but no signature, for the reason above. A receiver that checks signatures rejects it.`;
  }
  const signed = missing === 0 ? "with its signatures" : "but not every signature, for the reason above";
  return `${sends}, ${signed}. A receiver that checks the age of a signature rejects it.`;
}

export function inShell(timestamp: string, body: string): string {
  return [
    "# SECRET is your signing secret (whsec_…). This prints the expected X-Service-Signature.",
    `printf '%s.%s' ${quoted(timestamp)} ${quoted(body)} |`,
    `  openssl dgst -sha256 -hmac "$SECRET" | sed 's/^.* /sha256=/'`,
  ].join("\n");
}

export function inPython(timestamp: string, body: string): string {
  return [
    "import hashlib, hmac, os",
    "",
    `timestamp = ${JSON.stringify(timestamp)}`,
    `body = ${JSON.stringify(body)}`,
    'message = f"{timestamp}.{body}".encode()',
    'digest = hmac.new(os.environ["SECRET"].encode(), message, hashlib.sha256).hexdigest()',
    'print(f"sha256={digest}")',
  ].join("\n");
}

/** For a shell: nothing inside single quotes has a meaning but the quote itself. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
