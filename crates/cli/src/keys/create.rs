//! `watchbell keys create`.

use std::process::ExitCode;

use clap::{Args, builder::PossibleValuesParser};
use domain::{Timestamp, account::Scope};
use serde_json::json;

use super::print;
use crate::{moment, server::Server};

#[derive(Debug, Args)]
pub struct Create {
    /// A name that says what the key is for.
    name: String,
    /// What it may do; repeatable.
    #[arg(long = "scope", required = true, value_name = "SCOPE", value_parser = scopes())]
    scopes: Vec<String>,
    /// Only in the name of this agent; billing-* covers every name that starts with `billing-`; repeatable.
    #[arg(long = "agent", value_name = "AGENT_ID")]
    agents: Vec<String>,
    /// When it expires: 2027-01-01T00:00:00Z, a day (2027-01-01), or in how long: 24h, 90d. By default never.
    #[arg(long, value_name = "TIME", value_parser = moment::to_come)]
    expires_at: Option<Timestamp>,
    #[command(flatten)]
    server: Server,
}

impl Create {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        let body = json!({
            "name": self.name,
            "scopes": self.scopes,
            "agents": self.agents,
            "expires_at": self.expires_at.map(|at| at.to_string()),
        });
        let call = self.server.as_person()?.post("/v1/api-keys").json(&body);
        let text = call.text().await?;
        print(&text, self.server.output)
    }
}

fn scopes() -> PossibleValuesParser {
    PossibleValuesParser::new(Scope::ALL.map(Scope::as_str))
}
