//! What the address of a hook says beside who answers it.

use std::time::Duration;

use axum::{
    extract::FromRequestParts,
    http::{Uri, request::Parts},
};
use clap::ValueEnum;
use domain::event::NAME_CHARS_MAX;
use url::form_urlencoded;
use utoipa::IntoParams;

use super::{dialects::Dialect, wait::WAIT_S_MAX};
use crate::edge::{
    Problem,
    enums::{HookOnAllow, HookOnError},
    extract::{once, pairs, unknown_parameter},
};

const KNOWN: [&str; 4] = ["agent_id", "on_allow", "on_error", "wait"];
const KNOWN_OF_DIALECT: [&str; 3] = ["agent_id", "on_allow", "wait"];

/// How a hook is answered.
#[derive(Debug, Default, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct HookParams {
    /// Who acts: `Agent::"<agent_id>"` in policies (default `claude-code`).
    agent_id: Option<String>,
    /// How to answer when the decision is `allow`: `pass` (default) says nothing, so that Claude Code's own permissions
    /// decide; `allow` skips its prompt.
    #[param(value_type = Option<HookOnAllow>, inline)]
    on_allow: Option<String>,
    /// How to answer when Watchbell refuses the request: `deny` (default) and `ask` answer 200 and say so; `pass`
    /// answers with a 4xx or 5xx status, after which Claude Code continues as if there were no hook, unless its settings
    /// say `"onFailure": "block"`.
    #[param(value_type = Option<HookOnError>, inline)]
    on_error: Option<String>,
    /// How many seconds an escalated call waits for someone to approve it, 0 to 20; less if the server's request
    /// timeout is shorter. If it is not approved by then, it is denied. 0 (default): the person at the terminal is
    /// asked if `permission_mode` is `default`; in other modes possibly nobody would be asked, so the call is denied.
    #[param(value_type = Option<u32>, maximum = 20)]
    wait: Option<String>,
}

/// The same where a refusal is no answer.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "it describes what is read as `HookParams`")]
pub struct DialectParams {
    /// Who acts: `Agent::"<agent_id>"` in policies (default: the name of the agent in the path).
    agent_id: Option<String>,
    /// How to answer when the decision is `allow`: `pass` (default) says nothing, so that the agent's own permissions
    /// decide; `allow` skips its prompt, if the agent lets a hook do that.
    #[param(value_type = Option<HookOnAllow>, inline)]
    on_allow: Option<String>,
    /// How many seconds an escalated call waits for someone to approve it, 0 (default) to 20; less if the server's request
    /// timeout is shorter. If it is not approved by then, it is denied.
    #[param(value_type = Option<u32>, maximum = 20)]
    wait: Option<String>,
}

/// What an address says, read.
#[derive(Debug)]
pub struct HookOptions {
    agent_id: Option<String>,
    pub on_allow: OnAllow,
    pub wait: Duration,
}

/// What an allowed call is answered with; as the address spells it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum OnAllow {
    #[default]
    Pass,
    Allow,
}

/// What becomes of a call that could not be decided about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum OnError {
    #[default]
    Deny,
    Ask,
    Pass,
}

impl<S: Send + Sync> FromRequestParts<S> for HookOptions {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        Self::read(parts, state, &KNOWN).await
    }
}

/// What the address of a hook says where a refusal is no answer.
#[derive(Debug)]
pub struct DialectOptions(pub HookOptions);

impl<S: Send + Sync> FromRequestParts<S> for DialectOptions {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let options = HookOptions::read(parts, state, &KNOWN_OF_DIALECT);
        options.await.map(Self)
    }
}

impl HookOptions {
    /// Who acts: the agent itself if nobody says.
    pub fn agent(&self, dialect: Dialect) -> &str {
        self.agent_id.as_deref().unwrap_or(dialect.name())
    }

    async fn read<S: Send + Sync>(
        parts: &mut Parts,
        state: &S,
        known: &[&str],
    ) -> Result<Self, Problem> {
        let mut params = HookParams::default();
        for (name, value) in pairs(parts, state).await? {
            match name.as_str() {
                "agent_id" => once(&name, &mut params.agent_id, value)?,
                "on_allow" => once(&name, &mut params.on_allow, value)?,
                "on_error" if known.contains(&"on_error") => {
                    once(&name, &mut params.on_error, value)?;
                }
                "wait" => once(&name, &mut params.wait, value)?,
                _ => return Err(unknown_parameter(&name, known)),
            }
        }
        let is_name = |id: &String| (1..=NAME_CHARS_MAX).contains(&id.chars().count());
        if !params.agent_id.as_ref().is_none_or(is_name) {
            let detail = format!("`agent_id` must be 1 to {NAME_CHARS_MAX} characters.");
            return Err(Problem::parameter("agent_id", detail));
        }
        // Read elsewhere, where what is not known would go unnoticed.
        choice::<OnError>("on_error", params.on_error.as_deref())?;
        let wait = params.wait.as_deref().unwrap_or("0");
        let seconds = wait.parse().ok().filter(|seconds| *seconds <= WAIT_S_MAX);
        let seconds = seconds.ok_or_else(|| {
            let detail = format!("`wait` must be a number of seconds, at most {WAIT_S_MAX}.");
            Problem::parameter("wait", detail)
        })?;
        Ok(Self {
            agent_id: params.agent_id,
            wait: Duration::from_secs(seconds),
            on_allow: choice("on_allow", params.on_allow.as_deref())?,
        })
    }
}

/// One of the values that there are.
fn choice<T: ValueEnum + Default>(name: &str, text: Option<&str>) -> Result<T, Problem> {
    let Some(text) = text else {
        return Ok(T::default());
    };
    T::from_str(text, false).map_err(|_| {
        let known: Vec<String> = T::value_variants().iter().map(spelled).collect();
        let detail = format!("`{name}` must be one of {}.", known.join(", "));
        Problem::parameter(name, detail)
    })
}

/// A choice as it is written.
fn spelled(value: &impl ValueEnum) -> String {
    let possible = value.to_possible_value();
    possible.map_or_else(String::new, |value| value.get_name().to_owned())
}

impl OnError {
    /// What an address says, whatever else is wrong with it: deny, unless it says something else that is known. Said
    /// twice, the stricter counts.
    pub fn of(uri: &Uri) -> Self {
        let pairs = form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes());
        let said: Vec<_> = pairs
            .filter(|(name, _)| name == "on_error")
            .map(|(_, value)| <Self as ValueEnum>::from_str(&value, false).unwrap_or_default())
            .collect();
        [Self::Deny, Self::Ask, Self::Pass]
            .into_iter()
            .find(|one| said.contains(one))
            .unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_said_or_not_known_is_a_no() {
        for (query, expected) in [
            ("", OnError::Deny),
            ("?agent_id=a", OnError::Deny),
            ("?on_error=Pass", OnError::Deny),
            ("?on_error=", OnError::Deny),
            ("?on_error=pass", OnError::Pass),
            ("?on_error=ask", OnError::Ask),
            ("?on_error=pass&on_error=ask", OnError::Ask),
            ("?on_error=pass&on_error=no", OnError::Deny),
        ] {
            let uri: Uri = format!("/v1/hooks{query}").parse().expect("an address");
            assert_eq!(OnError::of(&uri), expected, "{query}");
        }
    }
}
