//! Alert rules and events made by chance, the same in every run: the mix that the design was measured
//! with. Every rule is about one of 10,000 agents.

use std::sync::Arc;

use domain::{
    OrgId, RuleId, Timestamp,
    rule::{Definition, Pattern, Rule},
};
use serde_json::{Value, json};
use testkit::Dice;
use uuid::Uuid;

const TYPES: [&str; 8] = [
    "tool_call",
    "llm_request",
    "decision",
    "file_access",
    "network",
    "auth",
    "config_change",
    "message",
];
const RESULTS: [&str; 5] = ["success", "denied", "error", "timeout", "pending"];
const AREAS: [&str; 24] = [
    "files", "email", "payments", "db", "shell", "calendar", "browser", "crm", "git", "deploy",
    "secrets", "users", "billing", "search", "slack", "jira", "s3", "k8s", "vault", "http",
    "queue", "cache", "model", "memory",
];
const VERBS: [&str; 20] = [
    "read", "write", "delete", "list", "send", "create", "update", "exec", "export", "import",
    "approve", "refund", "transfer", "grant", "revoke", "login", "query", "drop", "merge",
    "publish",
];

pub(crate) fn rule(dice: &mut Dice, id: u128) -> Arc<Rule> {
    let mut source = json!({"agent_id": [agent(dice)]});
    let (event_type, result) = (dice.of(&TYPES), dice.of(&RESULTS));
    let (area, verb) = (dice.of(&AREAS), dice.of(&VERBS));
    let mut want = |field: &str, wanted: Value| source[field] = json!([wanted]);
    match dice.below(100u32) {
        0..25 => {
            want("event_type", json!(event_type));
            want("result", json!(result));
        }
        25..45 => want("result", json!(result)),
        45..65 => {
            want("action", json!({"prefix": format!("{area}.")}));
            want("result", json!(result));
        }
        65..70 => {
            want("action", json!({"suffix": format!(".{verb}")}));
            want("event_type", json!(event_type));
        }
        70..75 => {
            want("action", json!({"contains": verb[1..]}));
            want("event_type", json!(event_type));
        }
        75..85 => {
            want("action", json!(format!("{area}.{verb}")));
            want("result", json!({"anything-but": ["success", "pending"]}));
        }
        _ => {
            let low = dice.below(4_000u32);
            want("event_type", json!(event_type));
            let high = low + 50 + dice.below(500u32);
            want("latency_ms", json!({"numeric": [">=", low, "<", high]}));
        }
    }
    let pattern = Pattern::parse(source).expect("written by us");
    Arc::new(Rule {
        id: RuleId::from_uuid(Uuid::from_u128(id)),
        org_id: OrgId::from_uuid(Uuid::from_u128(1)),
        definition: Definition::plain("bench", pattern, "https://example.com/hook"),
        created_at: Timestamp::default(),
        updated_at: Timestamp::default(),
        version: 1,
        counts_since: 1,
    })
}

pub(crate) fn event(dice: &mut Dice) -> String {
    let (area, verb) = (dice.of(&AREAS), dice.of(&VERBS));
    json!({
        "id": format!("evt_{:026x}", dice.below(u64::MAX)),
        "received_at": "2026-11-14T22:10:11.123Z",
        "event_type": dice.of(&TYPES),
        "agent_id": agent(dice),
        "action": format!("{area}.{verb}"),
        "result": dice.of(&RESULTS),
        "latency_ms": dice.below(4_500u32),
        "session_id": format!("ses_{:012x}", dice.below(u64::MAX) >> 16),
        "resource": format!("{area}://tenant/prod/objects/{}", dice.below(100_000u32)),
        "metadata": {
            "ip": format!("203.0.113.{}", dice.below(255u32)),
            "tool": format!("{verb}_tool"),
            "args_sha256": format!("{:016x}{:016x}", dice.below(u64::MAX), dice.below(u64::MAX)),
        },
    })
    .to_string()
}

fn agent(dice: &mut Dice) -> String {
    format!("agent_{:05}", dice.below(10_000u32))
}
