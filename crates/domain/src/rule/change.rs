//! What happened to a rule, and the audit event that says so.

use super::Definition;
use crate::{
    RuleId,
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

/// What makes the id of the event that says that the rule became this version, beside its time: recorded
/// again it is the same event.
pub fn event_tail(rule: RuleId, version: u32) -> Tail {
    Tail::Derived(derived(rule.uuid().as_bytes(), &version.to_le_bytes()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{
        Timestamp,
        rule::{
            Pattern,
            definition::{Example, Suppress, Threshold},
        },
    };

    fn definition() -> Definition {
        let pattern = Pattern::parse(json!({})).expect("valid");
        Definition::plain("r", pattern, "https://example.com")
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
}
