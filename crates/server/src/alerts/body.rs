//! Alert rules as clients write and read them. What is written is read by the domain, which says
//! everything that is wrong with it at once; here it is only described.

use domain::{
    RuleId, Timestamp,
    rule::{
        Definition,
        definition::{Example, Suppress, Threshold},
    },
};
use serde::Serialize;
use serde_json::Value;
use store::{
    rule_counts::RuleStats,
    rules::{read::StoredRule, versions::Version},
};
use utoipa::ToSchema;

use crate::edge::enums::{RuleChange, RuleField, Severity};

/// A rule to create. A field that is null gets its default.
#[derive(Serialize, ToSchema)]
pub struct NewRule {
    /// 1 to 128 characters; included in every webhook as `rule_name`.
    name: String,
    /// At most 2,000 characters.
    description: Option<String>,
    #[schema(default = true)]
    enabled: Option<bool>,
    /// Fields are ANDed, and the values listed for a field are ORed; `{}` matches every event.
    #[schema(value_type = Object, example = json!({"event_type": ["tool_call"], "result": ["denied"]}))]
    r#match: Value,
    /// Patterns like `match`, at most 8: an event that any of them matches is excluded.
    #[schema(value_type = Option<Vec<Object>>)]
    except: Option<Vec<Value>>,
    /// Where the webhooks go.
    #[schema(example = "https://example.com/hooks/watchbell")]
    url: String,
    /// `info`, `low`, `medium`, `high` or `critical`.
    #[schema(value_type = Option<Severity>)]
    severity: Option<String>,
    /// A page that says what to do about an alert: http(s), at most 2,048 bytes.
    runbook_url: Option<String>,
    /// At most 16, each 1 to 64 characters.
    tags: Option<Vec<String>>,
    /// Alerts are recorded but not sent.
    #[schema(default = false)]
    shadow: Option<bool>,
    /// Until then, alerts are recorded but not sent.
    #[schema(format = DateTime)]
    snoozed_until: Option<String>,
    threshold: Option<ThresholdSchema>,
    suppress: Option<SuppressSchema>,
    /// Events that the rule must or must not match, at most 20; checked on every save.
    tests: Option<Vec<ExampleSchema>>,
}

/// This many matches within a time window raise one alert.
#[derive(Serialize, ToSchema)]
#[schema(as = Threshold)]
pub struct ThresholdSchema {
    /// 2 to 10,000.
    count: u32,
    /// 1 to 86,400.
    window_s: u32,
    /// Events that differ in these fields are counted separately; at most 2.
    #[schema(example = json!(["agent_id", "metadata.region"]))]
    group_by: Option<Vec<String>>,
}

/// After an alert, further alerts are suppressed for a time.
#[derive(Serialize, ToSchema)]
#[schema(as = Suppress)]
pub struct SuppressSchema {
    /// 1 to 86,400.
    for_s: u32,
    /// Alerts that differ in these fields do not suppress each other; at most 2.
    #[schema(example = json!(["agent_id"]))]
    group_by: Option<Vec<String>>,
}

/// An event, and whether the rule must match it.
#[derive(Serialize, ToSchema)]
#[schema(as = RuleTest)]
pub struct ExampleSchema {
    /// Fields of an event, at most 4 KiB; leave out those that do not matter.
    #[schema(value_type = Object)]
    event: Value,
    matches: bool,
}

/// The rule as its owner wrote it, with every default filled in. It can be sent back unchanged.
#[derive(Serialize, ToSchema)]
#[schema(as = RuleDefinition)]
pub struct DefinitionBody {
    name: String,
    description: Option<String>,
    enabled: bool,
    #[schema(value_type = Object)]
    r#match: Value,
    #[schema(value_type = Vec<Object>)]
    except: Vec<Value>,
    url: String,
    #[schema(value_type = Option<Severity>)]
    severity: Option<String>,
    runbook_url: Option<String>,
    tags: Vec<String>,
    shadow: bool,
    #[schema(value_type = Option<String>, format = DateTime)]
    snoozed_until: Option<Timestamp>,
    #[schema(value_type = Option<ThresholdSchema>)]
    threshold: Option<Threshold>,
    #[schema(value_type = Option<SuppressSchema>)]
    suppress: Option<Suppress>,
    #[schema(value_type = Vec<ExampleSchema>)]
    tests: Vec<Example>,
}

/// An alert rule.
#[derive(Serialize, ToSchema)]
#[schema(as = Rule)]
pub struct RuleBody {
    #[schema(value_type = String, example = "rul_01jcq3k5m8e9ratvw2x4y6z8ab")]
    id: RuleId,
    #[serde(flatten)]
    definition: DefinitionBody,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
    /// The API key or the person.
    #[schema(example = "key_01jcq3k5m8e9ratvw2x4y6z8ab")]
    created_by: String,
    updated_by: String,
    /// Starts at 1 and grows with every change; also in `ETag`.
    pub(super) version: u32,
    stats: StatsBody,
}

/// What a rule did in the last 24 hours, counted by the hour.
#[derive(Serialize, ToSchema)]
#[schema(as = RuleStats)]
pub struct StatsBody {
    /// Events that it matched.
    matched_24h: u64,
    /// Alerts that resulted and were to be sent.
    alerts_24h: u64,
    /// Alerts held back by `suppress`.
    suppressed_24h: u64,
    /// Alerts that were recorded but not sent because of `shadow` or `snoozed_until`.
    withheld_24h: u64,
    /// How often there were more groups or matches than can be remembered, so that the oldest was forgotten.
    overflows_24h: u64,
    #[schema(value_type = Option<String>, format = DateTime)]
    last_matched_at: Option<Timestamp>,
}

/// One page of rules.
#[derive(Serialize, ToSchema)]
pub struct RulePage {
    pub(super) data: Vec<RuleBody>,
    pub(super) next_cursor: Option<String>,
}

/// One version of a rule.
#[derive(Serialize, ToSchema)]
#[schema(as = RuleVersion)]
pub struct VersionBody {
    version: u32,
    /// `created`, `updated`, `enabled`, `disabled` or `deleted`.
    #[schema(value_type = RuleChange)]
    what: &'static str,
    /// The fields in which it differs from the previous version.
    #[schema(value_type = Vec<RuleField>)]
    changed: Vec<String>,
    /// The API key or the person.
    made_by: String,
    #[schema(value_type = String, format = DateTime)]
    made_at: Timestamp,
    /// The rule from this version on; for the version that deleted a rule, the rule as it was until then. To go back to
    /// it, `PUT` it to the rule.
    definition: DefinitionBody,
}

/// One page of a rule's versions.
#[derive(Serialize, ToSchema)]
#[schema(as = RuleVersionPage)]
pub struct VersionPage {
    pub(super) data: Vec<VersionBody>,
    pub(super) next_cursor: Option<String>,
}

impl RuleBody {
    pub(super) fn new(stored: StoredRule, stats: Option<RuleStats>) -> Self {
        let rule = stored.rule;
        Self {
            id: rule.id,
            definition: rule.definition.into(),
            created_at: rule.created_at,
            updated_at: rule.updated_at,
            created_by: stored.created_by,
            updated_by: stored.updated_by,
            version: rule.version,
            stats: stats.unwrap_or_default().into(),
        }
    }
}

impl From<Definition> for DefinitionBody {
    fn from(definition: Definition) -> Self {
        Self {
            name: definition.name,
            description: definition.description,
            enabled: definition.enabled,
            r#match: definition.pattern.into(),
            except: definition.except.into_iter().map(Value::from).collect(),
            url: definition.url,
            severity: definition.severity,
            runbook_url: definition.runbook_url,
            tags: definition.tags,
            shadow: definition.shadow,
            snoozed_until: definition.snoozed_until,
            threshold: definition.threshold,
            suppress: definition.suppress,
            tests: definition.tests,
        }
    }
}

impl From<RuleStats> for StatsBody {
    fn from(stats: RuleStats) -> Self {
        Self {
            matched_24h: stats.matched_24h,
            alerts_24h: stats.alerts_24h,
            suppressed_24h: stats.suppressed_24h,
            withheld_24h: stats.withheld_24h,
            overflows_24h: stats.overflows_24h,
            last_matched_at: stats.last_matched_at,
        }
    }
}

impl From<Version> for VersionBody {
    fn from(version: Version) -> Self {
        Self {
            version: version.version,
            what: version.what.as_str(),
            changed: version.changed,
            made_by: version.by,
            made_at: version.at,
            definition: version.definition.into(),
        }
    }
}
