//! `watchbell events tail`: the live stream, followed over broken connections.
//!
//! The server does not remember who read how far. After a break the stream is opened first, and what happened in between
//! is then taken from the list; what was shown already is left out. The list goes by when events occurred, which is what their
//! senders say, so it is asked from a while before the last event was received; what is older than that is not found, and
//! that there may be a gap is said.

use std::{collections::VecDeque, process::ExitCode, time::Duration};

use anyhow::Context as _;
use clap::Args;
use domain::{Timestamp, error_code::ErrorCode};
use serde::Deserialize;
use serde_json::Value;
use tokio::time::sleep;

use super::{
    Filter, Page, line,
    sse::{Message, Reader},
};
use crate::{
    api::{self, Api, Unreachable},
    machine::CLOCK,
    output::{Form, Unsaid, note, one_line, say},
    problem::Problem,
    server::Server,
};

/// As the server asks for (`retry: 2000`).
const FIRST_PAUSE: Duration = Duration::from_secs(2);
const PAUSE_MAX: Duration = Duration::from_secs(30);
/// How many ids are remembered, so that none is shown twice after a break.
const REMEMBERED: usize = 10_000;
const PAGE: &str = "1000";
/// How long before the last event was received others may have occurred that were not received yet: clocks differ, and
/// recorders send in batches.
const LATE_MAX: Duration = Duration::from_secs(60);

#[derive(Debug, Args)]
pub struct Tail {
    #[command(flatten)]
    server: Server,
    #[command(flatten)]
    filter: Filter,
}

#[derive(Deserialize)]
struct Skipped {
    skipped: u64,
}

impl Tail {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        let api = self.server.api()?;
        let mut shown = Shown::new(self.server.output);
        let mut pause = FIRST_PAUSE;
        let mut is_first = true;
        loop {
            let broken = match self.follow(&api, &mut shown, is_first).await {
                Ok(()) => "the stream ended".to_owned(),
                Err(error) if is_over(&error) || is_first && !shown.is_ready => return Err(error),
                Err(error) => format!("{error:#}"),
            };
            is_first = false;
            if shown.is_ready {
                pause = FIRST_PAUSE;
            }
            shown.is_ready = false;
            note(format_args!(
                "watchbell: {broken}; reconnecting in {} s",
                pause.as_secs()
            ));
            sleep(pause).await;
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }

    /// Shows what comes until the stream ends.
    async fn follow(&self, api: &Api, shown: &mut Shown, is_first: bool) -> anyhow::Result<()> {
        let call = api
            .get("/v1/audit/events/stream")
            .query(&self.filter.parameters());
        let mut response = call.without_end().send().await?;
        let mut reader = Reader::default();
        loop {
            let piece = response.chunk().await;
            let Some(piece) = piece.map_err(|error| Unreachable::new(api.base(), &error))? else {
                return Ok(());
            };
            for message in reader.read(&piece)? {
                if message.kind == "ready" {
                    shown.is_ready = true;
                    if is_first {
                        note("watchbell: watching; press Ctrl-C to stop");
                    } else {
                        self.catch_up(api, shown).await?;
                    }
                } else {
                    shown.take(&message)?;
                }
            }
        }
    }

    /// Shows what happened since the last event.
    async fn catch_up(&self, api: &Api, shown: &mut Shown) -> anyhow::Result<()> {
        let from = shown.received.unwrap_or(shown.began).minus(LATE_MAX);
        note(format_args!(
            "watchbell: reconnected; there may be a gap: events that arrived in the meantime but occurred before {from} are not shown"
        ));
        let filter = self.filter.clone().starting(from);
        let mut cursor = None;
        loop {
            let mut parameters = filter.parameters();
            parameters.push(("order", "asc".to_owned()));
            parameters.push(("limit", PAGE.to_owned()));
            parameters.extend(cursor.map(|cursor: String| ("cursor", cursor)));
            let text = api
                .get("/v1/audit/events")
                .query(&parameters)
                .repeating()
                .text()
                .await?;
            let page: Page = api::read(&text)?;
            for event in page.data {
                shown.event(event.get())?;
            }
            cursor = page.next_cursor;
            if cursor.is_none() {
                return Ok(());
            }
        }
    }
}

/// Nothing that goes away: the key, the filter, or where the output goes.
fn is_over(error: &anyhow::Error) -> bool {
    let is_refused =
        |problem: &Problem| problem.status.is_client_error() && !problem.is(ErrorCode::RateLimited);
    error.is::<Unsaid>() || error.downcast_ref::<Problem>().is_some_and(is_refused)
}

/// What was shown so far.
struct Shown {
    form: Form,
    ids: VecDeque<String>,
    began: Timestamp,
    /// When the last one of a stream was received, by the server's clock. Those of a list come in another order, and
    /// reading it may break off.
    received: Option<Timestamp>,
    is_ready: bool,
}

impl Shown {
    fn new(form: Form) -> Self {
        Self {
            form,
            ids: VecDeque::new(),
            began: CLOCK.now(),
            received: None,
            is_ready: false,
        }
    }

    fn take(&mut self, message: &Message) -> anyhow::Result<()> {
        match message.kind.as_str() {
            "event" => {
                let received = self.event(&message.data)?;
                self.received = self.received.max(received);
                Ok(())
            }
            "skipped" => {
                let skipped: Skipped = api::read(&message.data)?;
                note(format_args!(
                    "watchbell: {} events skipped here, because they arrived faster than they were read",
                    skipped.skipped
                ));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Shows it, unless it was shown already, and says when it was received.
    fn event(&mut self, json: &str) -> anyhow::Result<Option<Timestamp>> {
        let event: Value = api::read(json)?;
        let id = event["id"].as_str().context("the event has no id")?;
        let received = event["received_at"].as_str().and_then(Timestamp::parse);
        if self.ids.iter().any(|known| known == id) {
            return Ok(received);
        }
        self.ids.push_back(id.to_owned());
        if self.ids.len() > REMEMBERED {
            self.ids.pop_front();
        }
        match self.form {
            Form::Json => say(one_line(json))?,
            Form::Table => say(line(&event))?,
        }
        Ok(received)
    }
}
