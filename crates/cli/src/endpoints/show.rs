//! `watchbell endpoints show`.

use std::process::ExitCode;

use clap::Args;
use domain::EndpointId;
use serde_json::Value;

use crate::{
    answer,
    output::say,
    server::Server,
    table::{Table, cell, print_pairs},
};

#[derive(Debug, Args)]
pub struct Show {
    /// The endpoint; `deliveries show` says which one a delivery goes to.
    #[arg(value_name = "ENDPOINT_ID")]
    id: EndpointId,
    #[command(flatten)]
    server: Server,
}

impl Show {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        let call = self
            .server
            .api()?
            .get(&format!("/v1/endpoints/{}", self.id));
        let text = call.text().await?;
        answer::show(&text, self.server.output, print)
    }
}

fn print(endpoint: &Value) -> anyhow::Result<()> {
    let of = |field: &str| cell(endpoint, field);
    let status = match of("disabled_why") {
        why if why.is_empty() => of("status"),
        why => format!("{} ({why})", of("status")),
    };
    let (failing, breaker) = (&endpoint["failing"], &endpoint["breaker"]);
    let ownership = &endpoint["ownership"];
    print_pairs(&[
        ("endpoint", of("id")),
        ("url", of("url")),
        ("status", status),
        ("since", of("status_since")),
        ("failing since", cell(failing, "since")),
        ("failed attempts", cell(failing, "attempts")),
        ("last error", of("last_error")),
        ("next probe", cell(breaker, "probe_at")),
        ("quiet until", of("quiet_until")),
        ("ownership", cell(ownership, "state")),
        ("last challenge", cell(ownership, "asked_at")),
        ("challenge error", cell(ownership, "error")),
    ])?;
    let mut table = Table::new(["at", "notice", "error"]);
    for notice in endpoint["notices"].as_array().into_iter().flatten() {
        table.row(["at", "notice", "error"].map(|field| cell(notice, field)));
    }
    if !table.is_empty() {
        say("")?;
        table.print()?;
    }
    Ok(())
}
