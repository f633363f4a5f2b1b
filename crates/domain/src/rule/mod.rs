//! An alert rule: which events it wants ([`pattern`]) and where they go.
//!
//! A rule is parsed once, when it is created, and travels parsed. [`set::RuleSet`] holds the rules
//! of one organisation so that the cost of an event does not grow with the number of rules.

pub mod pattern;
pub mod set;

pub use pattern::Pattern;
pub use set::RuleSet;

use serde::{Deserialize, Serialize};

use crate::{OrgId, RuleId, Timestamp};

/// The longest name of a rule, in characters.
pub const NAME_MAX: usize = 128;
/// The longest description of a rule, in characters.
pub const DESCRIPTION_MAX: usize = 2_000;
/// The longest endpoint URL, in bytes.
pub const URL_MAX: usize = 2_048;

/// One alert rule of one organisation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rule {
    pub id: RuleId,
    pub org_id: OrgId,
    pub name: String,
    pub description: Option<String>,
    pub enabled: bool,
    #[serde(rename = "match")]
    pub pattern: Pattern,
    pub url: String,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// Counts the changes of this rule, from 1.
    pub version: u32,
}
