//! `watchbell approvals list`.

use std::process::ExitCode;

use crate::{decisions::facts, page::List, table::cell};

pub(super) async fn run(list: &List) -> anyhow::Result<ExitCode> {
    let call = list.server.as_person_or_key()?.get("/v1/runtime/approvals");
    list.show(
        call,
        "pending approvals",
        [
            "waits until",
            "agent",
            "action",
            "resource",
            "facts",
            "reason",
            "id",
        ],
        |approval| {
            [
                cell(approval, "expires_at"),
                cell(approval, "agent_id"),
                cell(approval, "action"),
                cell(approval, "resource"),
                facts::in_short(approval),
                cell(approval, "reason"),
                cell(approval, "decision_id"),
            ]
        },
    )
    .await
}
