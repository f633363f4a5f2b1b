//! `watchbell secrets promote` and `drop`.

use std::{process::ExitCode, time::Duration};

use clap::Args;
use domain::SecretId;
use serde_json::json;

use crate::{answer, moment, output::say, server::Server, table::cell};

#[derive(Debug, Args)]
pub struct Promote {
    /// The staged secret.
    #[arg(value_name = "SECRET_ID")]
    id: SecretId,
    /// How long the secret before it signs alongside: 0s, 1h, 7d.
    #[arg(long, value_name = "DURATION", value_parser = moment::duration, default_value = "1d")]
    overlap: Duration,
    #[command(flatten)]
    server: Server,
}

impl Promote {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        let path = format!("/v1/signing-secrets/{}/promote", self.id);
        let body = json!({"overlap_s": self.overlap.as_secs()});
        let call = self.server.as_person()?.post(&path).json(&body);
        let text = call.text().await?;
        answer::show(&text, self.server.output, |secret| {
            say(format_args!("{} is {}", self.id, cell(secret, "state")))
        })
    }
}

#[derive(Debug, Args)]
pub struct Drop {
    /// The secret.
    #[arg(value_name = "SECRET_ID")]
    id: SecretId,
    #[command(flatten)]
    server: Server,
}

impl Drop {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        let path = format!("/v1/signing-secrets/{}", self.id);
        self.server.as_person()?.delete(&path).send().await?;
        answer::done(self.server.output, format_args!("dropped {}", self.id))
    }
}
