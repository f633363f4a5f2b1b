//! What is said of policies over HTTP.

use std::collections::HashMap;

use domain::{
    Timestamp,
    guard::Settings,
    policy_state::{Placed, PolicyState, STARTER},
};
use serde::Serialize;
use serde_json::value::RawValue;
use store::policies::versions::{Summary, Version};
use utoipa::ToSchema;

use super::{schema::TestBody, starter};
use crate::edge::enums::FailModeWord;

/// The current state of an organization's policies.
#[derive(Serialize, ToSchema)]
#[schema(as = Policies)]
pub struct PoliciesBody {
    /// The version that answers agents.
    active: PlacedBody,
    /// The version that `POST /v1/policies/rollback` activates.
    previous_version: Option<u32>,
    /// The version that is evaluated too, but not enforced.
    shadow: Option<PlacedBody>,
    settings: SettingsBody,
    newest_version: u32,
}

/// A version and how it is used.
#[derive(Serialize, ToSchema)]
#[schema(as = PolicyPlace)]
pub struct PlacedBody {
    version: u32,
    #[schema(example = "sha256:9f2c...")]
    digest: String,
    /// Null: since the beginning.
    #[schema(value_type = Option<String>, format = DateTime)]
    since: Option<Timestamp>,
    /// The API key or the person that activated it or put it in shadow.
    by: Option<String>,
}

/// An organization's settings for its guard, besides the policies.
#[derive(Serialize, ToSchema)]
#[schema(as = PolicySettings)]
pub struct SettingsBody {
    /// What to answer when a decision cannot be recorded: `closed`, nothing (503); `open`, what the policies say,
    /// marked as a fallback.
    #[schema(value_type = FailModeWord, example = "closed")]
    fail_mode: &'static str,
    /// How many seconds people have to approve something; after that it is denied.
    approval_timeout_s: u32,
    /// For how many seconds an approval can be used after it was given.
    approval_valid_s: u32,
    /// Whether agents may ask with `"mode": "shadow"`, in which everything is allowed; if not, that is refused (403).
    shadow_mode_allowed: bool,
    /// Whether the key that asked for something may approve it; if not, that is refused (403).
    self_approval_allowed: bool,
}

/// A version as it was written.
#[derive(Serialize, ToSchema)]
#[schema(as = PolicyVersion)]
pub struct VersionBody {
    #[serde(flatten)]
    summary: SummaryBody,
    /// All policies, in Cedar.
    policies: String,
    /// Their schema, in Cedar's schema syntax; null if they have none.
    schema: Option<String>,
    #[schema(value_type = Vec<TestBody>)]
    tests: Box<RawValue>,
}

/// A version in a list.
#[derive(Serialize, ToSchema)]
#[schema(as = PolicyVersionSummary)]
pub struct SummaryBody {
    /// Numbered from 1, the starter that every organization begins with.
    version: u32,
    /// Derived from the texts of the policies and schema: versions with the same digest give the same answers.
    #[schema(example = "sha256:9f2c...")]
    digest: String,
    note: Option<String>,
    /// How many policies there are.
    size: u32,
    /// The API key or the person; null for the starter, which nobody wrote.
    created_by: Option<String>,
    #[schema(value_type = Option<String>, format = DateTime)]
    created_at: Option<Timestamp>,
}

/// One page of versions.
#[derive(Serialize, ToSchema)]
#[schema(as = PolicyVersionPage)]
pub struct VersionPage {
    pub data: Vec<SummaryBody>,
    /// Send it as `cursor` to get the next page; null at the end.
    pub next_cursor: Option<String>,
}

impl PoliciesBody {
    /// `digests`: of the versions in their places.
    pub fn new(standing: PolicyState, digests: &HashMap<u32, String>) -> Self {
        let placed = |placed: Placed| PlacedBody {
            version: placed.version,
            digest: match placed.version {
                STARTER => starter::text().digest.clone(),
                own => digests.get(&own).cloned().unwrap_or_default(),
            },
            since: placed.since,
            by: placed.by,
        };
        Self {
            active: placed(standing.active),
            previous_version: standing.previous,
            shadow: standing.shadow.map(placed),
            settings: standing.settings.into(),
            newest_version: standing.newest_version,
        }
    }
}

impl From<Settings> for SettingsBody {
    fn from(settings: Settings) -> Self {
        Self {
            fail_mode: settings.fail_mode.as_str(),
            approval_timeout_s: settings.approval_timeout_s,
            approval_valid_s: settings.approval_valid_s,
            shadow_mode_allowed: settings.shadow_mode_allowed,
            self_approval_allowed: settings.self_approval_allowed,
        }
    }
}

impl SummaryBody {
    pub fn starter() -> Self {
        VersionBody::starter().summary
    }
}

impl From<Summary> for SummaryBody {
    fn from(summary: Summary) -> Self {
        Self {
            version: summary.version,
            digest: summary.digest,
            note: summary.note,
            size: summary.size,
            created_by: Some(summary.created_by),
            created_at: Some(summary.created_at),
        }
    }
}

impl VersionBody {
    pub fn starter() -> Self {
        let nobodys = Version {
            version: STARTER,
            written: starter::written(),
            created_by: String::new(),
            created_at: Timestamp::default(),
        };
        let mut body = Self::from(nobodys);
        body.summary.created_by = None;
        body.summary.created_at = None;
        body
    }
}

impl From<Version> for VersionBody {
    fn from(version: Version) -> Self {
        let written = version.written;
        let no_tests = || RawValue::from_string("[]".to_owned()).expect("a list is JSON");
        Self {
            summary: SummaryBody {
                version: version.version,
                digest: written.digest,
                note: written.note,
                size: written.size,
                created_by: Some(version.created_by),
                created_at: Some(version.created_at),
            },
            policies: written.policies,
            schema: written.schema,
            tests: RawValue::from_string(written.tests).unwrap_or_else(|_| no_tests()),
        }
    }
}
