//! What every guard of an MCP server takes.

use std::{path::PathBuf, time::Duration};

use clap::Args;

use crate::server::Address;

/// The longest name of a server: with a tool's name it makes an action, which has at most 128 characters.
const SERVER_CHARS_MAX: usize = 48;
/// The longest wait for a person, in seconds. Clients give up on a call after a minute unless they are set up otherwise.
const WAIT_S_MAX: u64 = 3600;

#[derive(Debug, Args)]
pub(super) struct Options {
    /// The agent that calls the tools: `Agent::"ID"` in policies.
    #[arg(long, alias = "agent-id", value_name = "ID")]
    pub(super) agent: String,
    /// What the MCP server is called in policies and in the trail: a call of its tool read_file is the action
    /// mcp.NAME.read_file. Letters, digits, `_` and `-`.
    #[arg(long, value_name = "NAME", value_parser = server_name)]
    pub(super) server: String,
    /// How long a call waits if a person has to approve it. If nobody has by then, it is denied; once somebody has, the same
    /// call passes.
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(..=WAIT_S_MAX))]
    wait: u64,
    /// Let calls pass while the Watchbell server cannot be reached, and record them when it can be again. Without this option
    /// they are denied.
    #[arg(long)]
    pub(super) fail_open: bool,
    /// Refuse tools that are not as they are in this file. If there is none, it is written when the server first lists its tools;
    /// until then calls are denied.
    #[arg(long, value_name = "FILE")]
    pub(super) pin: Option<PathBuf>,
    /// Take tools out of the server's list that policies deny whatever they are called with. Each list asks for a decision about
    /// each tool, with `context.listing`.
    #[arg(long)]
    pub(super) hide_denied: bool,
    #[command(flatten)]
    pub(super) address: Address,
}

impl Options {
    pub(super) fn wait(&self) -> Duration {
        Duration::from_secs(self.wait)
    }
}

/// A segment of an action as it is, so that two servers never share one.
fn server_name(text: &str) -> Result<String, String> {
    let is_plain = |byte: u8| matches!(byte, b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'-');
    if (1..=SERVER_CHARS_MAX).contains(&text.len()) && text.bytes().all(is_plain) {
        Ok(text.to_lowercase())
    } else {
        Err(format!(
            "1 to {SERVER_CHARS_MAX} letters, digits, `_` and `-`"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_has_a_name_that_an_action_can_hold() {
        assert_eq!(server_name("Files-2"), Ok("files-2".to_owned()));
        for wrong in ["", "a b", "a.b", "é", &"x".repeat(49)] {
            assert!(server_name(wrong).is_err(), "{wrong}");
        }
    }
}
