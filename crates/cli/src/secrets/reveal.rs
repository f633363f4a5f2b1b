//! `watchbell secrets initial` and `stage`: where a secret itself is shown.

use std::process::ExitCode;

use clap::Args;
use serde_json::Value;

use crate::{
    answer,
    api::read,
    exit,
    output::{Form, note, say, say_once},
    server::Server,
    table::cell,
};

#[derive(Debug, Args)]
pub struct Reveal {
    #[command(flatten)]
    server: Server,
}

impl Reveal {
    pub(super) async fn initial(self) -> anyhow::Result<ExitCode> {
        let call = self.server.as_person()?.get("/v1/signing-secrets/initial");
        let text = call.text().await?;
        answer::show(&text, self.server.output, |initial| {
            say(cell(initial, "secret"))
        })
    }

    pub(super) async fn stage(self) -> anyhow::Result<ExitCode> {
        let call = self.server.as_person()?.post("/v1/signing-secrets");
        let text = call.text().await?;
        let made: Value = read(&text)?;
        let id = cell(&made, "id");
        let lost = format!("The secret is not shown again. Drop it: watchbell secrets drop {id}");
        if self.server.output == Form::Json {
            say_once(text, lost)?;
            return Ok(exit::DONE);
        }
        // The secret alone on standard output, where a script takes it.
        say_once(cell(&made, "secret"), lost)?;
        note(format_args!(
            "staged {id}; the secret is not shown again\nGive it to your receivers, then: watchbell secrets promote {id}"
        ));
        Ok(exit::DONE)
    }
}
