//! What the owner of a rule writes.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Pattern, set::Whole};
use crate::{Timestamp, event::EventView};

/// The longest name of a rule, in characters.
pub const NAME_MAX: usize = 128;
/// The longest description of a rule, in characters.
pub const DESCRIPTION_MAX: usize = 2_000;
/// The longest endpoint URL, in bytes.
pub const URL_MAX: usize = 2_048;
/// The longest address of a runbook, in bytes: what browsers and proxies take without trouble.
pub const RUNBOOK_URL_MAX: usize = 2_048;
/// How many exceptions a rule has; each is tested on every event that the rule matches.
pub const EXCEPT_MAX: usize = 8;
/// How many tags a rule has.
pub const TAGS_MAX: usize = 16;
/// The longest tag, in characters.
pub const TAG_MAX: usize = 64;
/// The smallest threshold: every match alerts without one, so 1 would say nothing.
pub const COUNT_MIN: u32 = 2;
/// The largest threshold: so many times are kept for each group that is counted apart.
pub const COUNT_MAX: u32 = 10_000;
/// The longest window of a threshold and the longest suppression: a day. What was counted is read back
/// from the journal after a restart, so a window must be much shorter than the journal is kept.
pub const PERIOD_S_MAX: u32 = 86_400;
/// How many fields alerts are told apart by; more make groups of one event each.
pub const GROUP_FIELDS_MAX: usize = 2;
/// How deep a field that alerts are told apart by may lie, as in a pattern.
pub const GROUP_DEPTH_MAX: usize = 6;
/// How many examples a rule has; all are tried on every save.
pub const TESTS_MAX: usize = 20;
/// The largest event of an example, in bytes of JSON.
pub const TEST_EVENT_BYTES_MAX: usize = 4 * 1024;
/// The largest definition, in bytes of JSON: a thousand of them are one page of a list.
pub const DEFINITION_BYTES_MAX: usize = 64 * 1024;
/// The most that a rule may cost an event: in `metadata` 16 texts to look for or 256 values, `except`
/// included. On the worst event that takes some 0.3 ms.
pub const COST_MAX: usize = 2_048;
/// A rule that costs more counts as one that every event is tested by, whatever key leads to it: what is rare
/// among events is up to who sends them. In `metadata` that is more than 2 texts to look for or 32 values.
pub const CHEAP_COST_MAX: usize = 256;

/// Everything about a rule that its owner may change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Definition {
    pub name: String,
    pub description: Option<String>,
    pub enabled: bool,
    #[serde(rename = "match")]
    pub pattern: Pattern,
    /// An event that one of these matches is not wanted after all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub except: Vec<Pattern>,
    pub url: String,
    /// How grave an alert of this rule is: one of the severities of an event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub severity: Option<String>,
    /// Where it is written what to do about an alert.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runbook_url: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Alerts are put on record and not sent.
    #[serde(default, skip_serializing_if = "is_false")]
    pub shadow: bool,
    /// Until then alerts are put on record and not sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snoozed_until: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold: Option<Threshold>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suppress: Option<Suppress>,
    /// What the rule must and must not match; tried on every save.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tests: Vec<Example>,
}

/// So many matches within a time make one alert.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Threshold {
    pub count: u32,
    pub window_s: u32,
    /// Events that differ in these fields are counted apart.
    #[serde(default)]
    pub group_by: Vec<GroupField>,
}

/// After an alert, others are kept back for a time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Suppress {
    pub for_s: u32,
    /// Alerts that differ in these fields do not keep each other back.
    #[serde(default)]
    pub group_by: Vec<GroupField>,
}

/// A field of an event by its dotted name: `agent_id`, `metadata.region`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct GroupField(pub String);

impl GroupField {
    /// The keys from the top of the event down to the field.
    pub fn path(&self) -> impl Iterator<Item = &str> {
        self.0.split('.')
    }
}

/// An event, and whether the rule must match it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Example {
    pub event: Value,
    pub matches: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_false(truth: &bool) -> bool {
    !*truth
}

impl Definition {
    /// Every field, by the name its owner writes.
    pub const FIELDS: [&str; 14] = [
        "name",
        "description",
        "enabled",
        "match",
        "except",
        "url",
        "severity",
        "runbook_url",
        "tags",
        "shadow",
        "snoozed_until",
        "threshold",
        "suppress",
        "tests",
    ];

    /// A rule that alerts of every event its pattern wants.
    pub fn plain(name: impl Into<String>, pattern: Pattern, url: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            description: None,
            enabled: true,
            pattern,
            except: Vec::new(),
            url: url.into(),
            severity: None,
            runbook_url: None,
            tags: Vec::new(),
            shadow: false,
            snoozed_until: None,
            threshold: None,
            suppress: None,
            tests: Vec::new(),
        }
    }

    /// Whether what was counted for the other is right for this one too.
    pub fn counts_like(&self, other: &Self) -> bool {
        self.enabled == other.enabled
            && self.pattern == other.pattern
            && self.except == other.except
            && self.threshold == other.threshold
            && self.suppress == other.suppress
    }

    /// Whether matches are counted or kept back: what becomes of one depends on those before.
    pub fn has_pace(&self) -> bool {
        self.threshold.is_some() || self.suppress.is_some()
    }

    /// What an event costs that meets the rule, roughly; see [`COST_MAX`].
    pub fn cost(&self) -> usize {
        let patterns = [&self.pattern].into_iter().chain(&self.except);
        patterns.map(|pattern| pattern.conditions().cost()).sum()
    }

    /// Whether an organization may have only few such rules: every event is tested by it, or it costs much.
    pub fn is_dear(&self) -> bool {
        !self.pattern.is_indexed() || self.cost() > CHEAP_COST_MAX
    }

    /// Whether an alert is due by what the event says: the pattern wants it and no exception does.
    pub fn matches(&self, event: &EventView<'_>) -> bool {
        Whole::of(event).is_wanted(self)
    }
}
