//! One call: the Watchbell server is asked, a person is waited for, and the trail is told.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use domain::{
    DecisionId,
    error_code::ErrorCode,
    mcp::{Outcome, ToolCall},
};
use reqwest::StatusCode;
use serde_json::{Map, Value, value::to_raw_value};
use tokio::time::timeout;

use super::{
    call::{Ending, GuardedCall, Session},
    catalog::Catalog,
    decision::{Decision, Verdict},
    options::Options,
    pending::Pending,
    pins::Pins,
    recorder::Recorder,
};
use crate::{
    api::{Api, Unreachable, read},
    machine::CLOCK,
    output::note,
    problem::Problem,
    table::plain,
};

/// How long one decision may take. The server needs milliseconds, and a model that waits longer learns more from a no.
pub(super) const DECISION_MAX: Duration = Duration::from_secs(10);
/// How long one question for a resolution waits, in seconds (the API's bound).
const RESOLUTION_S_MAX: u64 = 30;
/// Beyond that, for the way there and back.
const RESOLUTION_SLACK: Duration = Duration::from_secs(5);
/// How large a question may be, as JSON (the API's bound).
const QUESTION_BYTES_MAX: usize = 64 * 1024;

/// Guards the tools of one MCP server.
pub(super) struct Guard {
    pub(super) api: Api,
    pub(super) agent_id: String,
    pub(super) server: String,
    wait: Duration,
    fails_open: bool,
    pub(super) hides_denied: bool,
    pending: Pending,
    catalog: Mutex<Catalog>,
    pub(super) recorder: Recorder,
}

/// What becomes of a call.
#[derive(Debug)]
pub(super) enum Ruling {
    Passes {
        decision: Option<DecisionId>,
        /// To call the tool with instead.
        arguments: Option<Map<String, Value>>,
    },
    /// It is on its way to the trail already. The model reads why.
    Denied { why: String },
}

/// Why there is no decision.
pub(super) enum Undecided {
    /// The Watchbell server does not answer, or says that it cannot.
    Away(String),
    /// It refuses the question for now: a limit is used up, and an agent that does that must not get past the guard by it.
    Limited(String),
    /// It refuses the question, whoever asks it and whenever.
    Refused(String),
}

impl Guard {
    pub(super) fn new(options: &Options, recorder: Recorder) -> anyhow::Result<Self> {
        let pins = options.pin.as_deref();
        let pins = pins.map(|file| Pins::open(file, &options.server));
        let pins = pins.transpose()?;
        Ok(Self {
            api: options.address.api()?,
            agent_id: options.agent.clone(),
            server: options.server.clone(),
            wait: options.wait(),
            fails_open: options.fail_open,
            hides_denied: options.hide_denied,
            pending: Pending::default(),
            catalog: Mutex::new(Catalog::new(pins)),
            recorder,
        })
    }

    /// A call that begins now.
    pub(super) fn begin(&self, session: &Session, call: ToolCall) -> GuardedCall {
        GuardedCall::new((&self.agent_id, &self.server), session, call)
    }

    /// Whether the tool may be called.
    pub(super) async fn rule(&self, call: &GuardedCall) -> Ruling {
        let refusal = self.catalog().refusal(call.tool());
        if let Some(why) = refusal {
            self.record(call, None, Ending::TOOL_CHANGED, None);
            return Ruling::Denied {
                why: format!("Watchbell denied this call. {why}"),
            };
        }
        let undecided = match self.decide(call).await {
            Ok(mut decision) => match (decision.verdict, decision.take_modified()) {
                (Verdict::Allow, _) => {
                    return Ruling::Passes {
                        decision: Some(decision.id),
                        arguments: None,
                    };
                }
                (Verdict::Modify, Some(arguments)) => {
                    return Ruling::Passes {
                        decision: Some(decision.id),
                        arguments: Some(arguments),
                    };
                }
                // What tools are called with is an object, so a change into something else cannot be made.
                (Verdict::Deny | Verdict::Modify, _) => {
                    self.record(call, Some(decision.id), Ending::DENIED, None);
                    let why = decision.why();
                    return Ruling::Denied {
                        why: format!("Watchbell denied this call. {why}"),
                    };
                }
                (Verdict::Escalate, _) => {
                    self.record(call, Some(decision.id), Ending::NOT_APPROVED, None);
                    let why = decision.why();
                    return Ruling::Denied {
                        why: format!(
                            "A person has to approve this call, and nobody has yet. {why} Once somebody has approved it, make \
                             the same call again."
                        ),
                    };
                }
            },
            Err(undecided) => undecided,
        };
        let why = match undecided {
            Undecided::Away(why) if self.fails_open => {
                note(format_args!(
                    "watchbell: {} passes without a decision: {why}",
                    plain(call.tool())
                ));
                return Ruling::Passes {
                    decision: None,
                    arguments: None,
                };
            }
            Undecided::Away(why) | Undecided::Limited(why) | Undecided::Refused(why) => why,
        };
        note(format_args!(
            "watchbell: {} is denied: {why}",
            plain(call.tool())
        ));
        self.record(call, None, Ending::UNDECIDED, None);
        Ruling::Denied {
            why: format!("Watchbell could not decide about this call, so it was not made: {why}"),
        }
    }

    /// The call was made, and this came of it.
    pub(super) fn ended(
        &self,
        call: &GuardedCall,
        decision: Option<DecisionId>,
        outcome: &Outcome,
        took: Duration,
    ) {
        let ending = Ending::of(outcome);
        let event = call.event(CLOCK.now(), decision, ending, Some(outcome), Some(took));
        self.recorder.record(event);
    }

    /// It ended without an outcome.
    pub(super) fn record(
        &self,
        call: &GuardedCall,
        decision: Option<DecisionId>,
        ending: Ending,
        took: Option<Duration>,
    ) {
        self.recorder
            .record(call.event(CLOCK.now(), decision, ending, None, took));
    }

    /// What is decided, once a person has said what they think of it, if one must.
    async fn decide(&self, call: &GuardedCall) -> Result<Decision, Undecided> {
        let until = Instant::now() + self.wait;
        let mut earlier = self.pending.take(&call.request_digest);
        loop {
            let is_earlier = earlier.is_some();
            let id = match earlier.take() {
                Some(id) => id,
                None => {
                    let decision = self.ask(call, None).await?;
                    if decision.verdict != Verdict::Escalate {
                        return Ok(decision);
                    }
                    decision.id
                }
            };
            let waiting = self.pending.wait(&call.request_digest, id);
            let resolved = self.resolved(id, until).await;
            let decided = match resolved {
                Ok(resolved) => match resolved.verdict {
                    // Whoever stops to wait remembers it.
                    Verdict::Escalate => return Ok(resolved),
                    Verdict::Allow | Verdict::Modify => self.ask(call, Some(waiting.id)).await,
                    Verdict::Deny => Ok(resolved),
                },
                undecided => undecided,
            };
            match decided {
                // A person must approve this call. That nobody can say whether one has does not let it pass.
                Err(Undecided::Away(why) | Undecided::Limited(why)) => {
                    return Err(Undecided::Refused(why));
                }
                // What was denied before this call is no answer to it.
                Ok(decision) if is_earlier && decision.verdict == Verdict::Deny => waiting.settle(),
                decided => {
                    waiting.settle();
                    return decided;
                }
            }
        }
    }

    async fn ask(
        &self,
        call: &GuardedCall,
        approval: Option<DecisionId>,
    ) -> Result<Decision, Undecided> {
        let question = to_raw_value(&call.question(approval)).expect("it is JSON");
        // The server would refuse it in the middle, which could look as if it was away.
        if question.get().len() > QUESTION_BYTES_MAX {
            let why = "the question, with the arguments, has more than 64 KiB";
            return Err(Undecided::Refused(why.to_owned()));
        }
        let asking = self.api.post("/v1/runtime/decisions").json(&question);
        let text = answered(DECISION_MAX, asking.text()).await?;
        read(&text).map_err(|error| Undecided::Refused(format!("{error:#}")))
    }

    /// A pending decision once it is resolved, or as it is then.
    async fn resolved(&self, id: DecisionId, until: Instant) -> Result<Decision, Undecided> {
        loop {
            let left = until.saturating_duration_since(Instant::now()).as_secs();
            let wait = left.min(RESOLUTION_S_MAX);
            let looking = self.api.get(&format!("/v1/runtime/decisions/{id}"));
            let looking = looking.query(&[("wait", wait.to_string())]);
            let patience = Duration::from_secs(wait) + RESOLUTION_SLACK;
            let text = answered(patience, looking.text()).await?;
            let decision: Decision =
                read(&text).map_err(|error| Undecided::Refused(format!("{error:#}")))?;
            if decision.verdict != Verdict::Escalate || left == 0 {
                return Ok(decision);
            }
        }
    }

    pub(super) fn catalog(&self) -> MutexGuard<'_, Catalog> {
        self.catalog.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An answer within a time.
pub(super) async fn answered(
    within: Duration,
    answer: impl Future<Output = anyhow::Result<String>>,
) -> Result<String, Undecided> {
    let error = match timeout(within, answer).await {
        Ok(Ok(text)) => return Ok(text),
        Ok(Err(error)) => error,
        Err(_) => {
            let late = format!("no answer within {} s", within.as_secs());
            return Err(Undecided::Away(late));
        }
    };
    if let Some(unreachable) = error.downcast_ref::<Unreachable>() {
        return Err(Undecided::Away(unreachable.in_short()));
    }
    match error.downcast_ref::<Problem>() {
        Some(problem) if is_limited(problem) => Err(Undecided::Limited(problem.in_short())),
        Some(problem) if problem.is_away() => Err(Undecided::Away(problem.in_short())),
        Some(problem) => Err(Undecided::Refused(problem.in_short())),
        None => Err(Undecided::Refused(format!("{error:#}"))),
    }
}

/// A server that has too much to do is not away, either.
fn is_limited(problem: &Problem) -> bool {
    problem.status == StatusCode::TOO_MANY_REQUESTS || problem.is(ErrorCode::Overloaded)
}
