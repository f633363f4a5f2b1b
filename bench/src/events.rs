//! Audit events of an ordinary size: about 380 bytes each.

use serde_json::json;

/// The body of a request that carries `count` events.
pub(crate) fn batch(count: usize) -> Vec<u8> {
    let event = |number: usize| {
        json!({
            "event_type": "tool_call",
            "agent_id": format!("agent-{:04}", number % 50),
            "action": "files.delete",
            "result": if number.is_multiple_of(4) { "denied" } else { "success" },
            "session_id": "7c0b4b0e-2a8f-4a5e-9a55-3a1f1c1c9f10",
            "resource": format!("s3://bucket-{}/objects/{number:016x}", number % 100),
            "latency_ms": number % 5_000,
            "metadata": {"tool": "delete_object", "ip": "203.0.113.7", "region": "eu-central-1", "reason": "policy requires an approval"},
        })
    };
    json!({"events": (0..count).map(event).collect::<Vec<_>>()})
        .to_string()
        .into_bytes()
}
