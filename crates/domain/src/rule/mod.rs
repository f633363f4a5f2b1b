//! An alert rule: which events it wants, how many of them make an alert, and where the alerts go.
//!
//! A rule is parsed once, when it is saved, and travels parsed. [`pattern`] is the language of
//! `match`, [`set::RuleSet`] holds the rules of one organization so that the cost of an event does not
//! grow with the number of rules, and [`throttle`] decides what becomes of a match: an alert, one more
//! toward a threshold, or one that is kept back because there was an alert just now.

pub mod backtest;
pub mod change;
pub mod definition;
pub mod explain;
mod fields;
pub mod narrow;
mod parse;
pub mod pattern;
pub mod sample;
pub mod set;
pub mod suggest;
pub mod throttle;

pub use definition::Definition;
pub use pattern::Pattern;
pub use set::RuleSet;

use serde::{Deserialize, Serialize};

use crate::{OrgId, RuleId, Timestamp};

/// One alert rule of one organization.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rule {
    pub id: RuleId,
    pub org_id: OrgId,
    #[serde(flatten)]
    pub definition: Definition,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// Counts the changes of this rule, from 1.
    pub version: u32,
    /// The version since which it has counted as it does now ([`Definition::counts_like`]): what was
    /// counted for an earlier one is forgotten.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub counts_since: u32,
}

impl Rule {
    /// The first version of a rule that is made.
    pub fn new(id: RuleId, org_id: OrgId, definition: Definition, at: Timestamp) -> Self {
        Self {
            id,
            org_id,
            definition,
            created_at: at,
            updated_at: at,
            version: 1,
            counts_since: 1,
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}
