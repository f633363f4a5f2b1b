//! Sends events to the trail, beside the calls that they are about: no call waits for them.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use serde::{Deserialize, de::IgnoredAny};
use serde_json::{Value, json};
use tokio::{
    sync::mpsc::{self, Receiver, Sender},
    task::JoinSet,
    time::{sleep, timeout},
};

use crate::{
    api::{Api, Unreachable, read},
    machine::random,
    output::{counted, note},
    problem::Problem,
};

/// How many events wait while the server cannot be reached: hours of an agent that calls a tool every ten seconds. Later ones are
/// lost, and counted.
const WAITING_MAX: usize = 4_096;
/// How many travel in one request.
const BATCH_MAX: usize = 100;
/// How long a request may take.
const SENT_MAX: Duration = Duration::from_secs(10);
/// Between two tries while the server cannot be reached.
const PAUSE: Duration = Duration::from_secs(2);
/// How long the last events may take when the guard ends. Clients wait two seconds before they end it by force.
const LAST_MAX: Duration = Duration::from_millis(1500);

/// Where calls leave their events.
#[derive(Debug)]
pub(super) struct Recorder {
    waiting: Sender<Value>,
    lost: Arc<AtomicU64>,
}

/// Sends them, until the recorder is gone.
pub(super) struct Recording {
    sending: JoinSet<()>,
    lost: Arc<AtomicU64>,
}

impl Recorder {
    pub(super) fn start(api: Api) -> (Self, Recording) {
        let (waiting, events) = mpsc::channel(WAITING_MAX);
        let lost = Arc::default();
        let mut sending = JoinSet::new();
        sending.spawn(send_all(api, events, Arc::clone(&lost)));
        let recorder = Self {
            waiting,
            lost: Arc::clone(&lost),
        };
        (recorder, Recording { sending, lost })
    }

    pub(super) fn record(&self, event: Value) {
        if self.waiting.try_send(event).is_err() {
            self.lost.fetch_add(1, Relaxed);
        }
    }
}

impl Recording {
    /// Waits until everything is recorded, for as long as somebody may wait. The recorder must be gone.
    pub(super) async fn finish(mut self) {
        if timeout(LAST_MAX, self.sending.join_next()).await.is_err() {
            note("watchbell: the guard ended before all calls were recorded");
        }
        let lost = self.lost.load(Relaxed);
        if lost > 0 {
            note(format_args!(
                "watchbell: {} could not be recorded",
                counted(lost, "event")
            ));
        }
    }
}

async fn send_all(api: Api, mut events: Receiver<Value>, lost: Arc<AtomicU64>) {
    let run = hex::encode(random::<16>());
    let mut batch = Vec::new();
    for number in 1_u64.. {
        if events.recv_many(&mut batch, BATCH_MAX).await == 0 {
            return;
        }
        let count = batch.len() as u64;
        let body = json!({"events": std::mem::take(&mut batch)});
        // A name of its own, so that it is recorded once even if an answer is lost.
        let name = format!("mcp-{run}-{number}");
        let rejected = send(&api, &body, &name).await.unwrap_or(count);
        if rejected > 0 {
            lost.fetch_add(rejected, Relaxed);
        }
    }
}

/// What is read of the answer to a batch.
#[derive(Deserialize)]
struct Answer {
    rejected: Vec<IgnoredAny>,
}

/// How many of the events were rejected; none if all were. While the server cannot be reached, it is tried again.
async fn send(api: &Api, body: &Value, name: &str) -> Option<u64> {
    let mut has_said = false;
    loop {
        let sending = api.post("/v1/audit/events").json(body).named(name);
        let error = match timeout(SENT_MAX, sending.text()).await {
            Ok(Ok(text)) => {
                let answer: Answer = read(&text).ok()?;
                return Some(answer.rejected.len() as u64);
            }
            Ok(Err(error)) => Some(error),
            Err(_) => None,
        };
        let problem = error.as_ref().and_then(|error| error.downcast_ref());
        let is_refused = problem.is_some_and(|problem: &Problem| !passes_with_time(problem));
        if !has_said || is_refused {
            has_said = true;
            let why = match (&error, problem) {
                (_, Some(problem)) => problem.in_short(),
                (Some(error), None) => match error.downcast_ref::<Unreachable>() {
                    Some(unreachable) => unreachable.in_short(),
                    None => format!("{error:#}"),
                },
                (None, None) => "no answer".to_owned(),
            };
            note(format_args!("watchbell: calls are not recorded: {why}"));
        }
        if is_refused {
            return None;
        }
        sleep(PAUSE).await;
    }
}

fn passes_with_time(problem: &Problem) -> bool {
    problem.status.is_server_error() || matches!(problem.status.as_u16(), 408 | 429)
}
