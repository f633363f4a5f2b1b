//! `watchbell policy list`.

use std::process::ExitCode;

use serde_json::Value;

use crate::{output::Form, page::List, table::cell};

pub(super) async fn run(list: &List) -> anyhow::Result<ExitCode> {
    let api = list.server.api()?;
    let call = api.get("/v1/policies/versions");
    let form = list.server.output;
    let current = match form {
        Form::Json => Value::Null,
        Form::Table => api.get("/v1/policies").value().await?,
    };
    list.show(
        call,
        "versions",
        [
            "version",
            "state",
            "policies",
            "created at",
            "created by",
            "note",
        ],
        |version| {
            [
                cell(version, "version"),
                state(&version["version"], &current).to_owned(),
                cell(version, "size"),
                cell(version, "created_at"),
                cell(version, "created_by"),
                cell(version, "note"),
            ]
        },
    )
    .await
}

/// What the version does now.
fn state(version: &Value, current: &Value) -> &'static str {
    if *version == current["active"]["version"] {
        "active"
    } else if *version == current["shadow"]["version"] {
        "shadow"
    } else if *version == current["previous_version"] {
        "previous"
    } else {
        ""
    }
}
