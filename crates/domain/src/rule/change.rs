//! What happened to a rule, and the audit event that says so.

use serde::Deserialize;
use serde_json::{Value, value::RawValue};

use super::{Definition, Pattern, Rule};
use crate::{
    EventId, RuleId, Timestamp,
    event::EventView,
    id::{Tail, derived},
};

/// The `event_type` of the event that says that a rule was changed.
pub const EVENT_TYPE: &str = "rule_change";

/// What one version of a rule did to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    Created,
    Updated,
    Enabled,
    Disabled,
    Deleted,
}

impl What {
    pub const ALL: [Self; 5] = [
        Self::Created,
        Self::Updated,
        Self::Enabled,
        Self::Disabled,
        Self::Deleted,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Updated => "updated",
            Self::Enabled => "enabled",
            Self::Disabled => "disabled",
            Self::Deleted => "deleted",
        }
    }

    /// The `action` of the audit event.
    pub fn action(self) -> &'static str {
        match self {
            Self::Created => "alert_rules.create",
            Self::Updated => "alert_rules.update",
            Self::Enabled => "alert_rules.enable",
            Self::Disabled => "alert_rules.disable",
            Self::Deleted => "alert_rules.delete",
        }
    }

    /// What makes the one definition of the other: to switch a rule on or off is the graver news.
    pub fn between(before: &Definition, after: &Definition) -> Self {
        match (before.enabled, after.enabled) {
            (false, true) => Self::Enabled,
            (true, false) => Self::Disabled,
            _ => Self::Updated,
        }
    }
}

/// The fields in which the two differ.
pub fn changed_fields(before: &Definition, after: &Definition) -> Vec<&'static str> {
    let json = |definition: &Definition| {
        serde_json::to_value(definition).expect("a definition always encodes")
    };
    let (before, after) = (json(before), json(after));
    let differs = |field: &&str| before.get(field) != after.get(field);
    Definition::FIELDS.into_iter().filter(differs).collect()
}

/// The id of the event that says that the rule became this version at that time: recorded again it is
/// the same event.
pub fn event_id(rule: RuleId, version: u32, at: Timestamp) -> EventId {
    EventId::with_tail(at, event_tail(rule, version))
}

/// What makes the id of that event beside its time.
pub fn event_tail(rule: RuleId, version: u32) -> Tail {
    Tail::Derived(derived(rule.uuid().as_bytes(), &version.to_le_bytes()))
}

/// Whether a rule that matches the event may alert of it. An event that says that a rule was changed is
/// for rules that name `event_type`: whoever watches for everything that agents do, or for all that
/// succeeds, does not ask about the rules themselves.
pub fn may_alert(rule: &Rule, event: EventId, view: &EventView<'_>) -> bool {
    !is_ours(event, view) || names_event_type(&rule.definition.pattern)
}

/// Whether we recorded the event. A client can write the same fields, but not the id that follows from
/// them, so it cannot keep its own events from anybody's rules.
fn is_ours(event: EventId, view: &EventView<'_>) -> bool {
    if !event.is_derived() || view.text("event_type").as_deref() != Some(EVENT_TYPE) {
        return false;
    }
    let metadata = view.metadata.map(RawValue::get).unwrap_or_default();
    let about: Option<About> = serde_json::from_str(metadata).ok();
    about.is_some_and(|about| event == event_id(about.rule_id, about.version, event.time()))
}

/// What the metadata of such an event must have.
#[derive(Deserialize)]
struct About {
    rule_id: RuleId,
    version: u32,
}

fn names_event_type(pattern: &Pattern) -> bool {
    let source = pattern.source();
    let branches = source.get("$or").and_then(Value::as_array);
    let mut all = branches.into_iter().flatten().chain([source]);
    all.any(|fields| fields.get("event_type").is_some())
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use uuid::Uuid;

    use super::*;
    use crate::{
        OrgId,
        rule::definition::{Example, Suppress, Threshold},
    };

    fn definition() -> Definition {
        let pattern = Pattern::parse(json!({})).expect("valid");
        Definition::plain("r", pattern, "https://example.com")
    }

    fn rule(pattern: Value) -> Rule {
        Rule {
            id: RuleId::from_uuid(Uuid::from_u128(1)),
            org_id: OrgId::from_uuid(Uuid::from_u128(1)),
            definition: Definition {
                pattern: Pattern::parse(pattern).expect("valid"),
                ..definition()
            },
            created_at: Timestamp::default(),
            updated_at: Timestamp::default(),
            version: 1,
            counts_since: 1,
        }
    }

    #[test]
    fn every_field_of_a_definition_is_compared() {
        let full = Definition {
            except: vec![definition().pattern],
            severity: Some("high".to_owned()),
            runbook_url: Some("https://example.com".to_owned()),
            tags: vec!["t".to_owned()],
            shadow: true,
            snoozed_until: Some(Timestamp::default()),
            threshold: Some(Threshold {
                count: 2,
                window_s: 1,
                group_by: Vec::new(),
            }),
            suppress: Some(Suppress {
                for_s: 1,
                group_by: Vec::new(),
            }),
            tests: vec![Example {
                event: json!({}),
                matches: true,
            }],
            ..definition()
        };
        let json = serde_json::to_value(&full).expect("JSON");
        let mut written: Vec<&str> = json
            .as_object()
            .expect("an object")
            .keys()
            .map(String::as_str)
            .collect();
        let mut known = Definition::FIELDS.to_vec();
        written.sort_unstable();
        known.sort_unstable();
        assert_eq!(written, known);
        assert_eq!(changed_fields(&full, &full), Vec::<&str>::new());
        let off = Definition {
            enabled: false,
            ..full.clone()
        };
        assert_eq!(changed_fields(&full, &off), ["enabled"]);
        assert_eq!(What::between(&full, &off), What::Disabled);
        assert_eq!(What::between(&off, &full), What::Enabled);
        assert_eq!(What::between(&full, &definition()), What::Updated);
    }

    #[test]
    fn only_a_rule_that_names_the_type_alerts_of_our_event_and_every_rule_of_a_clients() {
        let at = Timestamp::from_unix_millis(1_763_200_000_000);
        let (asking, other) = (rule(json!({"event_type": [EVENT_TYPE]})), rule(json!({})));
        let json =
            json!({"event_type": EVENT_TYPE, "metadata": {"rule_id": other.id, "version": 3}});
        let json = json.to_string();
        let view = EventView::parse(&json).expect("an event");
        let ours = event_id(other.id, 3, at);
        assert!(may_alert(&asking, ours, &view));
        assert!(!may_alert(&other, ours, &view));
        let theirs = [
            EventId::from_client(other.org_id, EVENT_TYPE, at),
            EventId::new(at, [0; 10]),
            event_id(other.id, 4, at),
        ];
        for theirs in theirs {
            assert!(may_alert(&other, theirs, &view), "{theirs}");
        }
    }
}
