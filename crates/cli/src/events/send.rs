//! `watchbell events send`: events from a file, the standard input or options, in batches that may be sent again.

use std::{path::PathBuf, process::ExitCode};

use anyhow::{Context as _, ensure};
use clap::Args;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::batch::{Batch, Batches};
use crate::{
    api::{self, Api},
    exit, input,
    machine::random,
    output::{Form, counted, note, say},
    progress,
    server::Server,
    table::{Table, plain},
};

/// How many rejected events are shown; the others are counted.
const SHOWN_MAX: usize = 50;

#[derive(Debug, Args)]
pub struct Send {
    /// Events: a JSON object, {"events": [...]}, or one event a line. `-`, the default, is the standard input.
    #[arg(value_name = "FILE", conflicts_with = "event_type")]
    file: Option<PathBuf>,
    #[command(flatten)]
    event: OneEvent,
    #[command(flatten)]
    server: Server,
}

/// One event, from options.
#[derive(Debug, Args)]
#[command(next_help_heading = "One event")]
struct OneEvent {
    /// The kind of event, such as tool_call.
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
    /// What came of it, such as success, denied or error.
    #[arg(long, requires = "event_type")]
    result: Option<String>,
    /// What it acted on, such as file:report.pdf.
    #[arg(long, requires = "event_type")]
    resource: Option<String>,
    /// info, low, medium, high or critical.
    #[arg(long, requires = "event_type")]
    severity: Option<String>,
    /// The session that it belongs to.
    #[arg(
        long = "session",
        alias = "session-id",
        value_name = "ID",
        requires = "event_type"
    )]
    session_id: Option<String>,
    /// The trace that it belongs to.
    #[arg(
        long = "trace",
        alias = "trace-id",
        value_name = "ID",
        requires = "event_type"
    )]
    trace_id: Option<String>,
    /// The decision that it follows.
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
#[derive(Deserialize)]
struct Ingested {
    ingested: u64,
    events: Vec<Accepted>,
    rejected: Vec<Rejected>,
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
        match self.event.written() {
            Some(event) => {
                outcome
                    .send_all(&api, Batches::new(event.as_bytes()))
                    .await?
            }
            None => {
                let source = input::open(self.file.as_deref())?;
                outcome.send_all(&api, Batches::new(source)).await?;
            }
        }
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
        }
    }

    /// Each batch has a name of its own, so that it may be sent again when its answer was lost.
    async fn send_all<R: std::io::BufRead>(
        &mut self,
        api: &Api,
        mut batches: Batches<R>,
    ) -> anyhow::Result<()> {
        let run = hex::encode(random::<16>());
        let progress = progress::counting("events sent");
        for number in 1_u64.. {
            let Some(batch) = batches.next().with_context(|| self.so_far())? else {
                break;
            };
            let name = format!("cli-{run}-{number}");
            let answer = send(api, &batch, &name)
                .await
                .with_context(|| self.so_far())?;
            self.take(&batch, &answer)?;
            progress.set_position(self.sent);
        }
        progress.finish_and_clear();
        ensure!(self.sent > 0, "there were no events to send");
        Ok(())
    }

    /// What a failure leaves behind.
    fn so_far(&self) -> String {
        format!("after {} accepted", counted(self.accepted, "event"))
    }

    fn take(&mut self, batch: &Batch, answer: &str) -> anyhow::Result<()> {
        if self.form == Form::Json {
            say(answer)?;
        }
        let ingested: Ingested = api::read(answer)?;
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
        Ok(())
    }

    fn tell(self) -> anyhow::Result<ExitCode> {
        if self.form == Form::Table {
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
        }
        Ok(if self.rejected > 0 {
            exit::FAILED
        } else {
            exit::DONE
        })
    }
}

async fn send(api: &Api, batch: &Batch, name: &str) -> anyhow::Result<String> {
    let call = api
        .post("/v1/audit/events")
        .body("application/json", batch.body());
    call.named(name).text().await
}
