//! `watchbell keys list`.

use std::process::ExitCode;

use domain::Timestamp;
use serde_json::Value;

use crate::{machine::CLOCK, page::List, table::cell};

pub(super) async fn run(list: &List) -> anyhow::Result<ExitCode> {
    let call = list.server.as_person()?.get("/v1/api-keys");
    let now = CLOCK.now();
    list.show(
        call,
        "API keys",
        ["id", "name", "state", "last used", "scopes", "agents"],
        |key| {
            [
                cell(key, "id"),
                cell(key, "name"),
                state(key, now).to_owned(),
                cell(key, "last_used_at"),
                cell(key, "scopes"),
                cell(key, "agents"),
            ]
        },
    )
    .await
}

/// Whether it still works.
fn state(key: &Value, now: Timestamp) -> &'static str {
    let has_come = |field: &str| {
        let at = key[field].as_str().and_then(Timestamp::parse);
        at.is_some_and(|at| at <= now)
    };
    if has_come("revoked_at") {
        "revoked"
    } else if has_come("expires_at") {
        "expired"
    } else {
        "active"
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_key_works_until_its_end_has_come() {
        let now = Timestamp::parse("2026-11-15T12:00:00Z").expect("a time");
        let (before, after) = ("2026-11-15T11:00:00.000Z", "2026-11-15T13:00:00.000Z");
        let of = |revoked: Option<&str>, expires: Option<&str>| {
            state(&json!({"revoked_at": revoked, "expires_at": expires}), now)
        };
        assert_eq!(of(None, None), "active");
        assert_eq!(of(None, Some(after)), "active");
        assert_eq!(of(None, Some(before)), "expired");
        // Rotated, and the overlap still runs.
        assert_eq!(of(Some(after), None), "active");
        assert_eq!(of(Some(before), Some(before)), "revoked");
    }
}
