//! `watchbell mcp`: a guard between an MCP client and an MCP server.
//!
//! Whatever the client and the server say to each other passes unchanged, except calls of tools. For each of those the guard asks the
//! Watchbell server, as an agent would that has our SDK: it passes the call on, changes it, waits for a person, or answers in the
//! server's place with an error that the model reads. When a call has ended, the trail is told. What a message means is in
//! [`domain::mcp`], which does no I/O.
//!
//! Where the Watchbell server cannot be reached, calls are denied, unless somebody chose otherwise (`--fail-open`). What the guard
//! cannot read, or does not know, does not pass.
//!
//! | file | what |
//! |---|---|
//! | `options` | what both commands take |
//! | `guard` | one call: asked about, waited for, recorded |
//! | `decision` | what the Watchbell server answers |
//! | `call` | a call, in the words of a question and of an event |
//! | `calls`, `in_flight` | requests from their begin to their end, and those that are not answered yet |
//! | `pending` | calls that people may still approve |
//! | `listing` | lists of tools: changes recorded, and hidden what the client must not see |
//! | `catalog`, `pins` | the tools of the server, as they were seen and pinned |
//! | `recorder` | sends events to the trail, beside the calls |
//! | `wrap` | a server that is a program and speaks over its standard input and output |
//! | `pump`, `lines` | its two directions, and their lines |
//! | `serve` | a server that is reached over Streamable HTTP |
//! | `relay`, `headers` | requests of clients, and what they say beside the message |
//! | `watch` | the server's answers as they pass |

mod call;
mod calls;
mod catalog;
mod decision;
mod guard;
mod headers;
mod in_flight;
mod lines;
mod listing;
mod options;
mod pending;
mod pins;
mod pump;
mod recorder;
mod relay;
mod serve;
mod watch;
mod wrap;

use std::process::ExitCode;

use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub enum Mcp {
    /// Run an MCP server and guard it: the client starts this command instead of the server.
    Wrap(wrap::Wrap),
    /// Guard an MCP server that is reached over Streamable HTTP: clients connect to this command instead.
    Serve(serve::Serve),
}

impl Mcp {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        match self {
            Self::Wrap(command) => command.run().await,
            Self::Serve(command) => command.run().await,
        }
    }
}
