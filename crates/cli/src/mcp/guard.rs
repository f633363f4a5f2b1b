//! One call: the Watchbell server is asked, a person is waited for, and the trail is told.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use domain::{
    DecisionId,
    event::sanitize,
    mcp::{Outcome, ToolCall, Tools},
};
use futures::future::join_all;
use reqwest::StatusCode;
use serde_json::{Map, Value, json};
use tokio::time::timeout;

use super::{
    call::{self, Ending, GuardedCall, Session},
    catalog::{Catalog, Change},
    decision::{Decision, Verdict},
    options::Options,
    pending::Pending,
    pins::{self, Pins},
    recorder::Recorder,
};
use crate::{
    api::{Api, Unreachable, read},
    machine::CLOCK,
    output::note,
    problem::Problem,
};

/// How long one decision may take. The server needs milliseconds, and a model that waits longer learns more from a no.
const DECISION_MAX: Duration = Duration::from_secs(10);
/// How long one question for a resolution waits, in seconds (the API's bound).
const RESOLUTION_S_MAX: u64 = 30;
/// How many decisions are asked for at the same time for a list of tools.
const LISTING_ASKED_MAX: usize = 8;
/// The longest name of a tool in an event: a call of one with a longer name is refused.
const TOOL_CHARS_MAX: usize = 128;
/// Beyond that, for the way there and back.
const RESOLUTION_SLACK: Duration = Duration::from_secs(5);

/// Guards the tools of one MCP server.
pub(super) struct Guard {
    api: Api,
    agent_id: String,
    server: String,
    wait: Duration,
    fails_open: bool,
    hides_denied: bool,
    pending: Mutex<Pending>,
    catalog: Mutex<Catalog>,
    recorder: Recorder,
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
enum Undecided {
    /// The Watchbell server does not answer, or says that it cannot.
    Away(String),
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
            pending: Mutex::default(),
            catalog: Mutex::new(Catalog::new(pins)),
            recorder,
        })
    }

    /// A call that begins now. None if no action can name the tool: it is not to be made.
    pub(super) fn begin(&self, session: &Session, call: ToolCall) -> Option<GuardedCall> {
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
                    call.tool()
                ));
                return Ruling::Passes {
                    decision: None,
                    arguments: None,
                };
            }
            Undecided::Away(why) | Undecided::Refused(why) => why,
        };
        note(format_args!("watchbell: {} is denied: {why}", call.tool()));
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

    /// The server lists tools: the places of those that the client must not see.
    pub(super) async fn listed(
        &self,
        session: &Session,
        result: &Value,
        is_first: bool,
    ) -> Vec<usize> {
        let Some(tools) = Tools::of(result) else {
            return Vec::new();
        };
        let looked = self.catalog().look(&tools, is_first);
        for change in looked.changes {
            self.recorder.record(self.change_event(session, change));
        }
        if let Some((file, tools)) = looked.to_pin {
            match pins::write(&file, &self.server, tools) {
                Ok(()) => note(format_args!(
                    "watchbell: the tools are pinned in {}",
                    file.display()
                )),
                Err(error) => note(format_args!("watchbell: {error:#}")),
            }
        }
        let mut hidden = looked.differing;
        if self.hides_denied {
            let names = tools.definitions().enumerate();
            let names = names.filter(|(place, _)| !hidden.contains(place));
            let names: Vec<_> = names.map(|(place, (name, _))| (place, name)).collect();
            hidden.extend(self.denied_regardless(session, &names).await);
        }
        hidden
    }

    /// Those of these tools that policies deny whatever they are called with. If nobody says so, a tool is shown: a call of it is
    /// decided about in any case.
    async fn denied_regardless(&self, session: &Session, tools: &[(usize, &str)]) -> Vec<usize> {
        let mut denied = Vec::new();
        for some in tools.chunks(LISTING_ASKED_MAX) {
            let mut asking = Vec::new();
            for (_, tool) in some {
                asking.push(self.is_denied_regardless(session, tool));
            }
            let answers = some.iter().zip(join_all(asking).await);
            denied
                .extend(answers.filter_map(|((place, _), is_denied)| is_denied.then_some(*place)));
        }
        denied
    }

    async fn is_denied_regardless(&self, session: &Session, tool: &str) -> bool {
        let names = (&*self.agent_id, &*self.server);
        let Some(question) = call::listing_question(names, session, tool) else {
            return false;
        };
        let asking = self.api.post("/v1/runtime/decisions").json(&question);
        let Ok(text) = answered(DECISION_MAX, asking.text()).await else {
            return false;
        };
        read(&text).is_ok_and(|decision: Decision| decision.is_no_regardless())
    }

    fn change_event(&self, session: &Session, change: Change) -> Value {
        let Change {
            action,
            tool,
            before,
            after,
        } = change;
        let is_another = before.is_some() && after.is_some();
        let name = sanitize::text(&tool, TOOL_CHARS_MAX).unwrap_or_default();
        json!({
            "event_type": "tool_change",
            "occurred_at": CLOCK.now(),
            "agent_id": self.agent_id,
            "action": action,
            "resource": format!("tool:{name}"),
            "result": "success",
            "severity": if is_another { "high" } else { "medium" },
            "session_id": session.id,
            "metadata": {"mcp_server": self.server, "tool_name": name, "before": before, "after": after},
        })
    }

    /// What is decided, once a person has said what they think of it, if one must.
    async fn decide(&self, call: &GuardedCall) -> Result<Decision, Undecided> {
        let until = Instant::now() + self.wait;
        let known = self.pending().take(&call.request_digest);
        let pending = match known {
            Some(id) => id,
            None => {
                let decision = self.ask(call, None).await?;
                if decision.verdict != Verdict::Escalate {
                    return Ok(decision);
                }
                decision.id
            }
        };
        let resolved = self.resolved(pending, until).await?;
        match resolved.verdict {
            Verdict::Escalate => {
                self.pending().remember(&call.request_digest, pending);
                Ok(resolved)
            }
            Verdict::Allow | Verdict::Modify => self.ask(call, Some(pending)).await,
            // What was denied before this call is no answer to it.
            Verdict::Deny if known.is_some() => {
                let again = self.ask(call, None).await?;
                if again.verdict == Verdict::Escalate {
                    self.pending().remember(&call.request_digest, again.id);
                }
                Ok(again)
            }
            Verdict::Deny => Ok(resolved),
        }
    }

    async fn ask(
        &self,
        call: &GuardedCall,
        approval: Option<DecisionId>,
    ) -> Result<Decision, Undecided> {
        let question = call.question(approval);
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

    fn catalog(&self) -> MutexGuard<'_, Catalog> {
        self.catalog.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn pending(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An answer within a time.
async fn answered(
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
        Some(problem) if is_away(problem) => Err(Undecided::Away(problem.in_short())),
        // A limit that is used up is one of these: an agent that uses it up must not get past the guard by that.
        Some(problem) => Err(Undecided::Refused(problem.in_short())),
        None => Err(Undecided::Refused(format!("{error:#}"))),
    }
}

fn is_away(problem: &Problem) -> bool {
    problem.is_away() || problem.status == StatusCode::INTERNAL_SERVER_ERROR
}
