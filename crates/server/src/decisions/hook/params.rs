//! What the address of a hook says beside who answers it.

use std::{str::FromStr, time::Duration};

use axum::{
    extract::FromRequestParts,
    http::{Uri, request::Parts},
};
use url::form_urlencoded;
use utoipa::IntoParams;

use super::wait::WAIT_S_MAX;
use crate::edge::{
    Problem,
    read::{once, pairs, unknown_parameter},
};

/// Who acts if nobody says.
const AGENT: &str = "claude-code";
/// As many as `agent_id` of an event may have.
const AGENT_CHARS_MAX: usize = 128;
const KNOWN: [&str; 4] = ["agent_id", "on_allow", "on_error", "wait"];

/// How a hook is answered.
#[derive(Debug, Default, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct HookParams {
    /// Who acts: `Agent::"<agent_id>"` in policies (`claude-code`).
    agent_id: Option<String>,
    /// What `allow` is answered with: `pass` (default) says nothing, so that Claude Code's own permissions decide;
    /// `allow` skips its prompt.
    on_allow: Option<String>,
    /// What a refusal of ours is answered with: `pass` (default) is a status of 4xx or 5xx, after which Claude Code
    /// goes on as if there were no hook; `deny` and `ask` are answers with 200 that say so.
    on_error: Option<String>,
    /// How many seconds an escalated call waits for somebody to approve it, 0 to 20 (0: the person at the terminal is
    /// asked). What is not approved by then is denied.
    wait: Option<String>,
}

/// The same, read.
#[derive(Debug)]
pub struct Wanted {
    pub agent_id: String,
    pub on_allow: OnAllow,
    pub wait: Duration,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnAllow {
    #[default]
    Pass,
    Allow,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnError {
    #[default]
    Pass,
    Ask,
    Deny,
}

impl<S: Send + Sync> FromRequestParts<S> for Wanted {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let mut params = HookParams::default();
        for (name, value) in pairs(parts, state).await? {
            match name.as_str() {
                "agent_id" => once(&name, &mut params.agent_id, value)?,
                "on_allow" => once(&name, &mut params.on_allow, value)?,
                "on_error" => once(&name, &mut params.on_error, value)?,
                "wait" => once(&name, &mut params.wait, value)?,
                _ => return Err(unknown_parameter(&name, &KNOWN)),
            }
        }
        let agent_id = params.agent_id.unwrap_or_else(|| AGENT.to_owned());
        if !(1..=AGENT_CHARS_MAX).contains(&agent_id.chars().count()) {
            let detail = format!("`agent_id` must be 1 to {AGENT_CHARS_MAX} characters.");
            return Err(Problem::parameter("agent_id", detail));
        }
        // Read elsewhere, where what is not known would go unnoticed.
        read::<OnError>(
            "on_error",
            params.on_error.as_deref(),
            "`pass`, `ask` or `deny`",
        )?;
        let seconds: u64 = read("wait", params.wait.as_deref(), "a number of seconds")?;
        if seconds > WAIT_S_MAX {
            let detail = format!("`wait` must be at most {WAIT_S_MAX} seconds.");
            return Err(Problem::parameter("wait", detail));
        }
        Ok(Self {
            agent_id,
            wait: Duration::from_secs(seconds),
            on_allow: read("on_allow", params.on_allow.as_deref(), "`pass` or `allow`")?,
        })
    }
}

fn read<T: FromStr + Default>(
    name: &str,
    text: Option<&str>,
    expected: &str,
) -> Result<T, Problem> {
    let Some(text) = text else {
        return Ok(T::default());
    };
    let detail = || format!("`{name}` must be {expected}.");
    text.parse().map_err(|_| Problem::parameter(name, detail()))
}

impl OnError {
    /// What an address says, whatever else is wrong with it. Said twice, the stricter counts.
    pub fn of(uri: &Uri) -> Self {
        let pairs = form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes());
        let said: Vec<_> = pairs
            .filter(|(name, _)| name == "on_error")
            .filter_map(|(_, value)| value.parse().ok())
            .collect();
        [Self::Deny, Self::Ask]
            .into_iter()
            .find(|one| said.contains(one))
            .unwrap_or_default()
    }
}

impl FromStr for OnAllow {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "pass" => Ok(Self::Pass),
            "allow" => Ok(Self::Allow),
            _ => Err(()),
        }
    }
}

impl FromStr for OnError {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "pass" => Ok(Self::Pass),
            "ask" => Ok(Self::Ask),
            "deny" => Ok(Self::Deny),
            _ => Err(()),
        }
    }
}
