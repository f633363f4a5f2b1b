//! The language of `match`: it never panics, one that is read says the same when it is written
//! and read again, and the index of rules and the explanation agree with testing the rule itself.

use std::sync::Arc;

use domain::{
    OrgId, RuleId, Timestamp,
    event::EventView,
    rule::{Definition, Pattern, Rule, RuleSet, explain::explain},
};
use serde_json::Value;
use uuid::Uuid;

const EVENT: &str = r#"{"event_type":"tool_call","agent_id":"a","action":"files.delete","result":"denied","latency_ms":5.0,"metadata":{"region":"eu","tags":["a",1,null,true],"ip":"10.1.2.3","Größe":"ÄB","deep":{"n":1}}}"#;

pub(crate) fn check(input: &[u8]) {
    let Ok(source) = serde_json::from_slice::<Value>(input) else {
        return;
    };
    let Ok(pattern) = Pattern::parse(source) else {
        return;
    };
    let again = Pattern::parse(pattern.source().clone());
    assert_eq!(again.as_ref(), Ok(&pattern));
    let (id, org) = (
        RuleId::from_uuid(Uuid::from_u128(1)),
        OrgId::from_uuid(Uuid::from_u128(2)),
    );
    let definition = Definition::plain("r", pattern, "https://example.com");
    let rule = Rule::new(id, org, definition, Timestamp::default());
    let view = EventView::parse(EVENT).expect("an event");
    let set = RuleSet::new([Arc::new(rule.clone())]);
    let matches = rule.definition.matches(&view);
    assert_eq!(!set.matching(&view).is_empty(), matches);
    assert_eq!(explain(&rule.definition, &view).matches, matches);
    assert!(set.with([(rule.id, None)]).is_empty());
}
