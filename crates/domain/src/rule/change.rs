//! What happened to a rule, and the audit event that says so.

use super::{Definition, Rule};
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

/// Whether the event says that this very rule was changed. The trail has it and other rules may alert of
/// it, but whoever has just made a rule for every event need not be told of that. No client can make
/// such an event: its id follows from the rule's.
pub fn is_of(rule: &Rule, event: EventId, view: &EventView<'_>) -> bool {
    if !event.is_derived() || view.text("event_type").as_deref() != Some(EVENT_TYPE) {
        return false;
    }
    #[derive(serde::Deserialize)]
    struct Metadata {
        version: u32,
    }
    let metadata = view
        .metadata
        .and_then(|raw| serde_json::from_str::<Metadata>(raw.get()).ok());
    metadata.is_some_and(|of| event == event_id(rule.id, of.version, event.time()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use uuid::Uuid;

    use super::*;
    use crate::{OrgId, rule::Pattern};

    fn definition() -> Definition {
        let pattern = Pattern::parse(json!({})).expect("valid");
        Definition::plain("r", pattern, "https://example.com")
    }

    fn rule(id: u128) -> Rule {
        Rule {
            id: RuleId::from_uuid(Uuid::from_u128(id)),
            org_id: OrgId::from_uuid(Uuid::from_u128(1)),
            definition: definition(),
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
            threshold: Some(super::super::definition::Threshold {
                count: 2,
                window_s: 1,
                group_by: Vec::new(),
            }),
            suppress: Some(super::super::definition::Suppress {
                for_s: 1,
                group_by: Vec::new(),
            }),
            tests: vec![super::super::definition::Example {
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
    fn only_our_own_event_of_a_rules_change_is_taken_for_one() {
        let at = Timestamp::from_unix_millis(1_763_200_000_000);
        let (own, other) = (rule(1), rule(2));
        let ours = event_id(own.id, 3, at);
        let json = json!({"event_type": EVENT_TYPE, "metadata": {"rule_id": own.id, "version": 3}})
            .to_string();
        let view = EventView::parse(&json).expect("an event");
        assert!(is_of(&own, ours, &view));
        assert!(!is_of(&other, ours, &view));
        let named = EventId::from_client(own.org_id, "rule_change", at);
        assert!(
            !is_of(&own, named, &view),
            "a client's is an event like any"
        );
        assert!(!is_of(&own, EventId::new(at, [0; 10]), &view));
    }
}
