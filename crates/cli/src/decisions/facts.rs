//! What to know of a request at a glance, as its policies show it: a line for each fact, or all on one.

use serde_json::Value;

use crate::table::{cell, plain};

/// A name and a value for each fact of a decision.
pub(super) fn pairs(decision: &Value) -> Vec<(String, String)> {
    facts(decision)
        .map(|fact| (cell(fact, "name"), cell(fact, "value")))
        .collect()
}

/// `amount=2000 to="Ann Lee"`: in quotes where an agent could otherwise make one value look like two facts.
pub(crate) fn in_short(decision: &Value) -> String {
    let facts = facts(decision).map(|fact| {
        let value = fact["value"].as_str().unwrap_or_default();
        format!("{}={}", cell(fact, "name"), plain(&quoted(value)))
    });
    facts.collect::<Vec<_>>().join(" ")
}

fn facts(decision: &Value) -> impl Iterator<Item = &Value> {
    decision["facts"].as_array().into_iter().flatten()
}

fn quoted(value: &str) -> String {
    let is_clear = |letter: char| !letter.is_whitespace() && !matches!(letter, '=' | '"');
    if !value.is_empty() && value.chars().all(is_clear) {
        return value.to_owned();
    }
    let inside = value.replace('\\', r"\\").replace('"', r#"\""#);
    format!("\"{inside}\"")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_agent_cannot_make_one_fact_look_like_two() {
        let said = |value: &str| {
            let facts = json!([{"name": "amount", "value": "10"}, {"name": "to", "value": value}]);
            in_short(&json!({"facts": facts}))
        };
        assert_eq!(said("Ann"), "amount=10 to=Ann");
        assert_eq!(said("Ann amount=20"), r#"amount=10 to="Ann amount=20""#);
        assert_eq!(said(r#"A\" b"#), r#"amount=10 to="A\\\" b""#);
        assert_eq!(said(""), r#"amount=10 to="""#);
        assert_eq!(said("a\u{202e}\n"), r#"amount=10 to="a\u{202e}\n""#);
        assert_eq!(in_short(&json!({"facts": []})), "");
        // A server that does not know them yet.
        assert_eq!(in_short(&json!({})), "");
    }
}
