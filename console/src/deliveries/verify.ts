// Commands about exactly the bytes that were sent: one that sends them again, and some that compute their signature.

interface Sent {
  method: string;
  url: string;
  headers: { name: string; value: string }[];
}

export function inCurl({ method, url, headers }: Sent, body: string): string {
  const given = headers.map(({ name, value }) => `-H ${quoted(`${name}: ${value}`)}`);
  return [`curl -X ${method} ${quoted(url)}`, ...given, `--data-raw ${quoted(body)}`].join(" \\\n  ");
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
