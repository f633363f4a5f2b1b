//! `watchbell policy activate` and `rollback`: which version answers agents.

use std::{process::ExitCode, time::Duration};

use clap::Args;
use serde_json::json;
use tokio::time::sleep;

use super::state;
use crate::{answer, api::Api, server::Server};

/// By when every node answers by a version that was activated, as the API promises. That one does is seen only in
/// decisions, which are recorded, so nobody is asked; `GET /v1/policies` says what is decided, not what nodes have heard.
const IN_FORCE_WITHIN: Duration = Duration::from_secs(1);

/// What is expected to be there before.
#[derive(Debug, Args)]
struct Expected {
    /// Only if this version is active now; otherwise nothing is changed (exit code 14).
    #[arg(long, value_name = "VERSION")]
    expect_active: Option<u32>,
}

#[derive(Debug, Args)]
pub struct Activate {
    /// The version.
    version: u32,
    #[command(flatten)]
    expected: Expected,
    #[command(flatten)]
    server: Server,
}

#[derive(Debug, Args)]
pub struct Rollback {
    #[command(flatten)]
    expected: Expected,
    #[command(flatten)]
    server: Server,
}

impl Activate {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        let text = activate(
            &self.server.api()?,
            &self.version.to_string(),
            self.expected.expect_active,
        )
        .await?;
        answer::show(&text, self.server.output, state::print)
    }
}

impl Rollback {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        let path = "/v1/policies/rollback";
        let text = put_in_force(&self.server.api()?, path, self.expected.expect_active).await?;
        answer::show(&text, self.server.output, state::print)
    }
}

/// Activates a version, and returns once every node uses it.
pub(super) async fn activate(
    api: &Api,
    version: &str,
    expect_active: Option<u32>,
) -> anyhow::Result<String> {
    let path = format!("/v1/policies/versions/{version}/activate");
    put_in_force(api, &path, expect_active).await
}

async fn put_in_force(api: &Api, path: &str, expect_active: Option<u32>) -> anyhow::Result<String> {
    let body = json!({"expect_active": expect_active});
    let text = api.post(path).json(&body).text().await?;
    sleep(IN_FORCE_WITHIN).await;
    Ok(text)
}
