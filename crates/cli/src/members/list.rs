//! `watchbell members list` and `invitations`.

use std::process::ExitCode;

use crate::{page::List, table::cell};

pub(super) async fn run(list: &List) -> anyhow::Result<ExitCode> {
    let call = list.server.as_person()?.get("/v1/members");
    list.show(
        call,
        "members",
        ["email", "role", "since", "API keys", "id"],
        |member| ["email", "role", "created_at", "api_keys", "id"].map(|field| cell(member, field)),
    )
    .await
}

pub(super) async fn invitations(list: &List) -> anyhow::Result<ExitCode> {
    let call = list.server.as_person()?.get("/v1/invitations");
    list.show(
        call,
        "open invitations",
        ["email", "role", "expires at", "invited by", "id"],
        |invitation| {
            ["email", "role", "expires_at", "invited_by", "id"].map(|field| cell(invitation, field))
        },
    )
    .await
}
