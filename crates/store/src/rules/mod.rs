//! Alert rules as their owners wrote them, and every version of each.
//!
//! A change ([`change`]) is one transaction: the rule, its new version, and what the data plane must be
//! told of it. A version says until it is told whether the trail has the audit event of it
//! ([`versions`]), so no change goes unrecorded. [`read`] shows rules.

pub mod change;
pub mod read;
pub mod versions;

use domain::{OrgId, RuleId, rule::Definition};

use crate::Error;

/// A definition as it is kept.
fn to_text(definition: &Definition) -> String {
    serde_json::to_string(definition).expect("a definition always encodes")
}

fn from_text(text: &str, org: OrgId, rule: RuleId) -> Result<Definition, Error> {
    serde_json::from_str(text).map_err(|error| Error::Inconsistent {
        what: "an alert rule",
        problem: format!("{rule} of {org}: {error}"),
    })
}

/// A version as PostgreSQL keeps it.
fn to_number(version: u32) -> i32 {
    i32::try_from(version).unwrap_or(i32::MAX)
}

fn from_number(version: i32) -> u32 {
    u32::try_from(version).unwrap_or(1)
}
