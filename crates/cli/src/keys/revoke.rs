//! `watchbell keys revoke`.

use std::process::ExitCode;

use clap::Args;
use domain::KeyId;

use crate::{answer, server::Server};

#[derive(Debug, Args)]
pub struct Revoke {
    /// The key.
    #[arg(value_name = "KEY_ID")]
    id: KeyId,
    #[command(flatten)]
    server: Server,
}

impl Revoke {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        let path = format!("/v1/api-keys/{}", self.id);
        self.server.as_person()?.delete(&path).send().await?;
        answer::done(self.server.output, format_args!("revoked {}", self.id))
    }
}
