// Commands that compute the signature of exactly the bytes that were sent.

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
