//! `watchbell endpoints list`.

use std::process::ExitCode;

use crate::{page::List, table::cell};

pub(super) async fn run(list: &List) -> anyhow::Result<ExitCode> {
    let call = list.server.api()?.get("/v1/endpoints");
    list.show(
        call,
        "endpoints with problems",
        ["id", "status", "failing since", "last error", "url"],
        |endpoint| {
            [
                cell(endpoint, "id"),
                cell(endpoint, "status"),
                cell(&endpoint["failing"], "since"),
                cell(endpoint, "last_error"),
                cell(endpoint, "url"),
            ]
        },
    )
    .await
}
