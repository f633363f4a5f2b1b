//! `watchbell secrets list`.

use std::process::ExitCode;

use clap::Args;
use serde_json::Value;

use crate::{
    answer,
    output::Unsaid,
    server::Server,
    table::{Table, cell},
};

#[derive(Debug, Args)]
pub struct List {
    #[command(flatten)]
    server: Server,
}

impl List {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        let call = self.server.as_person()?.get("/v1/signing-secrets");
        let text = call.text().await?;
        answer::show(&text, self.server.output, print)
    }
}

fn print(list: &Value) -> Result<(), Unsaid> {
    let mut table = Table::new(["id", "state", "created at", "promoted at", "signs until"]);
    for secret in list["data"].as_array().into_iter().flatten() {
        let fields = ["id", "state", "created_at", "promoted_at", "ends_at"];
        table.row(fields.map(|field| cell(secret, field)));
    }
    let initial = &list["initial"];
    if !initial.is_null() {
        let (state, ends_at) = (cell(initial, "state"), cell(initial, "ends_at"));
        table.row([
            "initial".to_owned(),
            state,
            String::new(),
            String::new(),
            ends_at,
        ]);
    }
    table.print()
}
