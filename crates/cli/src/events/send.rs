//! `watchbell events send`: events from a file, the standard input or options, in batches that may be sent again.

use std::{
    io::{BufRead, Cursor},
    path::PathBuf,
    process::ExitCode,
};

use anyhow::ensure;
use clap::Args;
use domain::error_code::ErrorCode;
use reqwest::header::{CONTENT_TYPE, HeaderValue};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::batch::{Batch, Batches};
use crate::{
    api::{self, Api},
    exit, input,
    machine::random,
    output::{Form, Unsaid, counted, note, say},
    problem::{Fault, Problem},
    progress,
    server::Server,
    table::{Table, plain},
};

/// How many rejected events are shown; the others are counted.
const SHOWN_MAX: usize = 50;

#[derive(Debug, Args)]
pub struct Send {
    /// Events: a JSON object, {"events": [...]}, or one event per line. `-`, the default, is standard input.
    #[arg(value_name = "FILE", conflicts_with = "event_type")]
    file: Option<PathBuf>,
    #[command(flatten)]
    server: Server,
    #[command(flatten)]
    event: OneEvent,
}

/// One event, from options.
#[derive(Debug, Args)]
#[command(next_help_heading = "One event")]
struct OneEvent {
    /// The event type, such as tool_call.
    #[arg(long = "type", alias = "event-type", value_name = "TYPE", requires_all = ["agent_id", "action", "result"])]
    event_type: Option<String>,
    /// The agent that acted.
    #[arg(
        long = "agent",
        alias = "agent-id",
        value_name = "ID",
        requires = "event_type"
    )]
    agent_id: Option<String>,
    /// What it did, such as files.delete.
    #[arg(long, requires = "event_type")]
    action: Option<String>,
    /// The result, such as success, denied or error.
    #[arg(long, requires = "event_type")]
    result: Option<String>,
    /// What it acted on, such as file:report.pdf.
    #[arg(long, requires = "event_type")]
    resource: Option<String>,
    /// info, low, medium, high or critical.
    #[arg(long, requires = "event_type")]
    severity: Option<String>,
    /// The session it belongs to.
    #[arg(
        long = "session",
        alias = "session-id",
        value_name = "ID",
        requires = "event_type"
    )]
    session_id: Option<String>,
    /// The trace it belongs to.
    #[arg(
        long = "trace",
        alias = "trace-id",
        value_name = "ID",
        requires = "event_type"
    )]
    trace_id: Option<String>,
    /// The decision it follows.
    #[arg(
        long = "decision",
        alias = "decision-id",
        value_name = "ID",
        requires = "event_type"
    )]
    decision_id: Option<String>,
    /// Anything else, as a JSON object.
    #[arg(long, value_name = "JSON|@FILE", value_parser = input::json_argument, requires = "event_type")]
    metadata: Option<Value>,
}

impl OneEvent {
    /// The event, if one was given.
    fn written(&self) -> Option<String> {
        self.event_type.as_ref()?;
        let texts = [
            ("event_type", &self.event_type),
            ("agent_id", &self.agent_id),
            ("action", &self.action),
            ("result", &self.result),
            ("resource", &self.resource),
            ("severity", &self.severity),
            ("session_id", &self.session_id),
            ("trace_id", &self.trace_id),
            ("decision_id", &self.decision_id),
        ];
        let texts = texts
            .into_iter()
            .filter_map(|(name, text)| Some((name.to_owned(), Value::from(text.clone()?))));
        let metadata = self
            .metadata
            .clone()
            .map(|value| ("metadata".to_owned(), value));
        let event: Map<String, Value> = texts.chain(metadata).collect();
        Some(Value::from(event).to_string())
    }
}

/// The API's answer to a batch.
#[derive(Default, Deserialize)]
struct Ingested {
    ingested: u64,
    events: Vec<Accepted>,
    rejected: Vec<Rejected>,
}

impl Ingested {
    /// None was accepted: each fault points at its event (`/events/3/action`).
    fn none(problem: &Problem) -> Option<Self> {
        let rejected = |fault: &Fault| {
            let (index, pointer) = place(&fault.pointer)?;
            Some(Rejected {
                index,
                code: fault.code.clone(),
                pointer: pointer.to_owned(),
                detail: fault.detail.clone(),
            })
        };
        let rejected: Option<Vec<Rejected>> = problem.faults().iter().map(rejected).collect();
        Some(Self {
            rejected: rejected.filter(|rejected| !rejected.is_empty())?,
            ..Self::default()
        })
    }
}

/// Which event of a batch a pointer leads to, and where in it.
fn place(pointer: &str) -> Option<(u64, &str)> {
    let below = pointer.strip_prefix("/events/")?;
    let end = below.find('/').unwrap_or(below.len());
    let (index, pointer) = below.split_at(end);
    Some((index.parse().ok()?, pointer))
}

#[derive(Deserialize)]
struct Accepted {
    id: String,
}

#[derive(Deserialize)]
struct Rejected {
    index: u64,
    code: String,
    pointer: String,
    detail: String,
}

impl Send {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        let api = self.server.api()?;
        let mut outcome = Outcome::new(self.server.output);
        let source = match self.event.written() {
            Some(event) => Box::new(Cursor::new(event)),
            None => input::open(self.file.as_deref())?,
        };
        let name = input::name(self.file.as_deref());
        outcome.send_all(&api, Batches::new(source, name)).await?;
        outcome.tell()
    }
}

/// What became of the events so far.
struct Outcome {
    form: Form,
    sent: u64,
    accepted: u64,
    last_id: Option<String>,
    rejected: u64,
    shown: Table,
    /// What became of the printing, which does not keep events from being sent.
    said: Result<(), Unsaid>,
}

impl Outcome {
    fn new(form: Form) -> Self {
        Self {
            form,
            sent: 0,
            accepted: 0,
            last_id: None,
            rejected: 0,
            shown: Table::new(["event", "code", "at", "what is wrong"]),
            said: Ok(()),
        }
    }

    /// Each batch has a name of its own, so that it may be sent again when its answer was lost.
    async fn send_all<R: BufRead>(
        &mut self,
        api: &Api,
        mut batches: Batches<R>,
    ) -> anyhow::Result<()> {
        let run = hex::encode(random::<16>());
        let progress = progress::counting("events sent");
        for number in 1_u64.. {
            let next = batches.next().map_err(|error| self.so_far(error))?;
            let Some(batch) = next else {
                break;
            };
            let name = format!("cli-{run}-{number}");
            let sent = send(api, &batch, &name).await;
            let (text, ingested) = sent.map_err(|error| self.so_far(error))?;
            if self.form == Form::Json && self.said.is_ok() {
                self.said = say(&text);
            }
            self.take(&batch, ingested);
            progress.set_position(self.sent);
        }
        progress.finish_and_clear();
        ensure!(self.sent > 0, exit::invalid("there are no events to send"));
        Ok(())
    }

    /// The failure, and what it leaves behind. Sending everything again would double what was accepted.
    fn so_far(&self, error: anyhow::Error) -> anyhow::Error {
        if self.accepted == 0 {
            return error;
        }
        error.context(format!(
            "{} accepted before this; resume with event {}",
            counted(self.accepted, "event"),
            self.sent + 1
        ))
    }

    fn take(&mut self, batch: &Batch, ingested: Ingested) {
        for rejected in ingested.rejected {
            self.rejected += 1;
            if self.rejected <= SHOWN_MAX as u64 {
                // Counted as people count, over all batches.
                let number = self.sent + rejected.index + 1;
                self.shown.row([
                    number.to_string(),
                    plain(&rejected.code),
                    plain(&rejected.pointer),
                    plain(&rejected.detail),
                ]);
            }
        }
        self.sent += batch.len() as u64;
        self.accepted += ingested.ingested;
        self.last_id = ingested
            .events
            .into_iter()
            .next_back()
            .map(|event| event.id);
    }

    fn tell(self) -> anyhow::Result<ExitCode> {
        let code = if self.rejected == 0 {
            exit::DONE
        } else {
            exit::rejected()
        };
        let said = match self.form {
            Form::Json => self.said,
            Form::Table => self.print(),
        };
        exit::with(code, said)
    }

    fn print(&self) -> Result<(), Unsaid> {
        match (self.accepted, self.rejected, &self.last_id) {
            (1, 0, Some(id)) => say(format_args!("1 event accepted: {}", plain(id)))?,
            (accepted, 0, _) => say(format_args!("{} accepted.", counted(accepted, "event")))?,
            (accepted, rejected, _) => say(format_args!(
                "{} accepted, {rejected} rejected:",
                counted(accepted, "event")
            ))?,
        }
        if !self.shown.is_empty() {
            self.shown.print()?;
        }
        if self.rejected > SHOWN_MAX as u64 {
            note(format_args!(
                "and {} more",
                self.rejected - SHOWN_MAX as u64
            ));
        }
        Ok(())
    }
}

/// Sends a batch: the answer's text and what it says. That every event of it is bad is an answer too.
async fn send(api: &Api, batch: &Batch, name: &str) -> anyhow::Result<(String, Ingested)> {
    let call = api
        .post("/v1/audit/events")
        .header(CONTENT_TYPE, HeaderValue::from_static("application/json"))
        .body(batch.body());
    let error = match call.named(name).repeating().text().await {
        Ok(text) => return api::read(&text).map(|ingested| (text, ingested)),
        Err(error) => error,
    };
    let problem = error.downcast_ref::<Problem>();
    let problem = problem.filter(|problem| problem.is(ErrorCode::ValidationFailed));
    let refused =
        problem.and_then(|problem| Some((problem.text.clone(), Ingested::none(problem)?)));
    refused.ok_or(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pointer_leads_to_an_event_and_a_place_in_it() {
        assert_eq!(place("/events/3/action"), Some((3, "/action")));
        assert_eq!(place("/events/0"), Some((0, "")));
        assert_eq!(place("/action"), None);
        assert_eq!(place("/events/x/action"), None);
    }
}
