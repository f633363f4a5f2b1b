//! The bytes of a delivery: exactly the four fields of the contract (spec 2.1).

use crate::{RuleId, Timestamp};

/// The body for one attempt. The event is copied as stored, never re-serialized; the timestamp is
/// the moment of signing, so the bytes differ from attempt to attempt.
pub fn body(rule_id: RuleId, rule_name: &str, event: &str, signed_at: Timestamp) -> String {
    let name = serde_json::Value::from(rule_name);
    format!(
        r#"{{"rule_id":"{rule_id}","rule_name":{name},"event":{event},"timestamp":"{signed_at}"}}"#
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;
    use uuid::Uuid;

    use super::*;

    proptest! {
        #[test]
        fn the_body_has_the_four_fields_and_the_event_verbatim(name: String, millis in 0i64..4_000_000_000_000) {
            let event = r#"{"event_type":"tool_call", "n":1.00}"#;
            let (rule, at) = (RuleId::from_uuid(Uuid::from_u128(5)), Timestamp::from_unix_millis(millis));
            let text = body(rule, &name, event, at);
            prop_assert!(text.contains(event));
            let json: Value = serde_json::from_str(&text).expect("JSON");
            prop_assert_eq!(json.as_object().expect("object").len(), 4);
            prop_assert_eq!(&json["rule_id"], &Value::from(rule.to_string()));
            prop_assert_eq!(&json["rule_name"], &Value::from(name));
            prop_assert_eq!(&json["timestamp"], &Value::from(at.to_string()));
        }
    }
}
