// The code that setup shows, ready to paste for this server and key.

/** The event that "Send a test event" and the snippets send. */
export const EXAMPLE = {
  event_type: "tool_call",
  agent_id: "first-agent",
  action: "files.delete",
  result: "denied",
  severity: "high",
  metadata: { path: "/etc/passwd" },
};

/** The same event from three languages, none of which needs anything installed. */
export function sending(server: string, key: string): Record<string, string> {
  const url = `${server}/v1/audit/events`;
  const pretty = JSON.stringify(EXAMPLE, null, 2);
  return {
    curl: `curl -sS ${url} \\
  -H 'Authorization: Bearer ${key}' \\
  -H 'Content-Type: application/json' \\
  -d '${pretty}'`,
    Python: `import json, urllib.request

event = ${pretty}
request = urllib.request.Request(
    "${url}",
    data=json.dumps(event).encode(),
    headers={"Authorization": "Bearer ${key}", "Content-Type": "application/json"},
)
print(urllib.request.urlopen(request).read().decode())`,
    TypeScript: `const event = ${pretty};
const response = await fetch("${url}", {
  method: "POST",
  headers: { Authorization: "Bearer ${key}", "Content-Type": "application/json" },
  body: JSON.stringify(event),
});
console.log(response.status, await response.json());`,
  };
}

/** How a receiver tells that a webhook is from here and of now; the rules are in libs/webhook-signature. */
export const VERIFYING: Record<string, string> = {
  Python: `import hashlib, hmac
from datetime import datetime, timezone

def verify(secret: str, headers, body: bytes) -> bool:
    sent = headers["X-Service-Timestamp"]
    age = datetime.now(timezone.utc) - datetime.fromisoformat(sent.replace("Z", "+00:00"))
    mac = hmac.new(secret.encode(), sent.encode() + b"." + body, hashlib.sha256)
    expected = "sha256=" + mac.hexdigest()
    is_fresh = abs(age.total_seconds()) <= 300
    return is_fresh and hmac.compare_digest(expected, headers["X-Service-Signature"])`,
  TypeScript: `import { createHmac, timingSafeEqual } from "node:crypto";

export function verify(secret: string, headers: Headers, body: Uint8Array): boolean {
  const sent = headers.get("X-Service-Timestamp") ?? "";
  const mac = createHmac("sha256", secret).update(\`\${sent}.\`).update(body).digest("hex");
  const expected = Buffer.from(\`sha256=\${mac}\`);
  const received = Buffer.from(headers.get("X-Service-Signature") ?? "");
  const isFresh = Math.abs(Date.now() - Date.parse(sent)) <= 300_000;
  return isFresh && received.length === expected.length && timingSafeEqual(received, expected);
}`,
  Rust: `use std::time::SystemTime;
use webhook_signature::Verifier;

let verifier = Verifier::new([secret]);
verifier.verify(timestamp_header, signature_header, &raw_body, SystemTime::now())?;`,
};
