//! `watchbell hook run`: one call, asked about or told of.

use std::{process::ExitCode, thread, time::Duration};

use anyhow::{Context as _, ensure};
use clap::Args;
use serde_json::{Map, Value};
use tokio::{sync::oneshot, time::timeout};

use super::{
    WAIT_S_MAX,
    agent::{Agent, OnAllow},
};
use crate::{
    api::read,
    exit, input,
    output::{note, say},
    server::Address,
};

/// How long all of it may take: longer than the server, which gives up after 30 s, and shorter than an agent waits.
const PATIENCE: Duration = Duration::from_secs(40);

#[derive(Debug, Args)]
pub struct Run {
    /// The agent whose hook this is.
    #[arg(value_enum)]
    agent: Agent,
    /// Tell of a call that was made, instead of asking about one. That it cannot be told blocks nothing: this exits 1.
    #[arg(long)]
    after: bool,
    /// Who acts: `Agent::"ID"` in policies. Defaults to the name of the agent.
    #[arg(long, value_name = "ID")]
    agent_id: Option<String>,
    /// Whether an allowed call skips the agent's own prompt, if the agent lets a hook do that.
    #[arg(long, value_enum, default_value_t)]
    on_allow: OnAllow,
    /// How many seconds an escalated call waits for someone to approve it.
    #[arg(long, default_value_t = WAIT_S_MAX, value_parser = clap::value_parser!(u64).range(..=WAIT_S_MAX), value_name = "SECONDS")]
    wait: u64,
    #[command(flatten)]
    address: Address,
}

impl Run {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        let answered = timeout(PATIENCE, self.answer()).await;
        let answered = answered.unwrap_or_else(|_| Err(anyhow::anyhow!("it took too long")));
        let said = answered.and_then(|answer| match answer.as_str() {
            "" => Ok(()),
            answer => Ok(say(answer)?),
        });
        let Err(error) = said else {
            return Ok(exit::DONE);
        };
        let why = format!("{error:#}");
        let why = why.lines().next().unwrap_or_default();
        if self.after {
            note(format_args!("watchbell: this call is not recorded: {why}"));
            return Ok(exit::FAILED);
        }
        // The model reads it.
        note(format_args!(
            "watchbell: this call is blocked, because there is no decision about it: {why}"
        ));
        Ok(exit::blocked())
    }

    /// What the agent is to read; empty if nothing.
    async fn answer(&self) -> anyhow::Result<String> {
        let api = self.address.api()?;
        let path = format!("/v1/hooks/{}/{}", self.agent.name(), self.moment());
        let mut query: Vec<(&str, String)> = Vec::new();
        query.extend(self.agent_id.clone().map(|id| ("agent_id", id)));
        if !self.after {
            query.push(("on_allow", self.on_allow.name().to_owned()));
            query.push(("wait", self.wait.to_string()));
        }
        let call: Map<String, Value> = serde_json::from_slice(&standard_input().await?)
            .context("what the agent handed over is not a JSON object")?;
        let call = api.post(&path).query(&query).json(&call);
        let answer = call.text().await?;
        if !answer.is_empty() {
            let _: Map<String, Value> = read(&answer)?;
        }
        Ok(answer)
    }

    fn moment(&self) -> &'static str {
        if self.after { "after" } else { "before" }
    }
}

/// What the agent hands over. An agent that never ends it must not hold this up, as a thread of the runtime would.
async fn standard_input() -> anyhow::Result<Vec<u8>> {
    let (send, receive) = oneshot::channel();
    thread::spawn(move || send.send(input::bytes(None)));
    let bytes = receive.await.context("nothing was handed over")??;
    ensure!(!bytes.is_empty(), "nothing was handed over");
    Ok(bytes)
}
