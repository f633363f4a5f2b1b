//! `watchbell keys rotate`.

use std::{process::ExitCode, time::Duration};

use clap::Args;
use domain::KeyId;
use serde_json::json;

use super::print;
use crate::{moment, server::Server};

#[derive(Debug, Args)]
pub struct Rotate {
    /// The key that is replaced.
    #[arg(value_name = "KEY_ID")]
    id: KeyId,
    /// How long the old key keeps working: 0s, 1h, 7d.
    #[arg(long, value_name = "DURATION", value_parser = moment::duration, default_value = "1d")]
    overlap: Duration,
    #[command(flatten)]
    server: Server,
}

impl Rotate {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        let path = format!("/v1/api-keys/{}/rotate", self.id);
        let body = json!({"overlap_s": self.overlap.as_secs()});
        let call = self.server.as_person()?.post(&path).json(&body);
        let text = call.text().await?;
        print(&text, self.server.output)
    }
}
