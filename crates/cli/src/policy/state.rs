//! Which versions of the policies do what, as people read it.

use serde_json::Value;

use crate::{
    output::Unsaid,
    table::{cell, print_pairs},
};

pub(super) fn print(policies: &Value) -> Result<(), Unsaid> {
    let place = |name: &str| {
        let place = &policies[name];
        match (cell(place, "version"), cell(place, "since")) {
            (version, since) if since.is_empty() => version,
            (version, since) => format!("{version}, since {since}"),
        }
    };
    print_pairs(&[
        ("active", place("active")),
        ("shadow", place("shadow")),
        ("rollback to", cell(policies, "previous_version")),
        ("newest", cell(policies, "newest_version")),
    ])
}
