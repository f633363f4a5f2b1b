//! Answers a question: evaluated from memory, recorded in the journal, then told.

use std::time::{Duration, Instant};

use domain::{
    DecisionId, OrgId, Timestamp,
    error_code::ErrorCode,
    event::{Source, accept::Arrival},
    fault::Fault,
    guard::FailMode,
    id::Tail,
};
use journal::{frames::Frames, system_events};
use policy::{Decided, Verdict, recorded::Mode};
use runtime::{error_chain::chain, random};
use serde_json::Value;
use tokio::{task::block_in_place, time::timeout_at};

use super::{
    audit_event::Recorded,
    escalate::{self, NotApproved},
    request::{Ask, Asker},
};
use crate::{
    edge::Problem,
    planes::DataPlane,
    snapshots::{Guarded, Version},
    telemetry::metrics as names,
};

/// How long an organization that would rather be answered than recorded waits for the journal. The record is not
/// given up with it.
const OPEN_PATIENCE: Duration = Duration::from_millis(250);

/// How many steps a question may take on a thread that serves others: some hundred microseconds.
const DEAR_STEPS: usize = 128 * 1024;

/// How long the questions of a request that take more wait for their turn, all together, before they are denied.
const DEAR_PATIENCE: Duration = Duration::from_secs(1);

/// What the record of a decision has beside its question, about.
const RECORD_BYTES: usize = 1024;

/// A question that had no turn.
const TOO_BUSY: &str = "Too many questions with slow policies are waiting on this node, so this one was denied without \
                        evaluating its policies. Shorten the patterns of `like`, or ask again.";

/// An escalation that could not be recorded, put to people or met by its approval.
pub(super) const NOBODY_TO_ASK: &str =
    "This needs a person's approval, and nobody can be asked right now.";

/// A question in shadow mode, where that is not allowed: whoever asks must not let itself off.
const NO_SHADOW_MODE: &str = "Your organization does not accept questions in shadow mode, in which everything is \
                              allowed. Ask without `mode`, or have an admin set `shadow_mode_allowed` (PATCH \
                              /v1/policies).";

/// An answer in shadow mode.
const NOT_OBEYED: &str = "This was asked in shadow mode, which allows everything; see `shadow`.";

/// What is answered.
#[derive(Debug)]
pub struct DecisionAnswer {
    pub decision_id: DecisionId,
    pub verdict: Verdict,
    /// What the active version says; in shadow mode that is told in `shadow`.
    pub decided: Decided,
    pub policy_version: u32,
    pub policy_digest: String,
    pub shadow: Option<Shadow>,
    /// The approval that it was allowed by, which is used up.
    pub approval: Option<DecisionId>,
    /// Why it was denied though a person might have approved it.
    pub refused: Option<NotApproved>,
    /// Of an escalation: what nobody resolves by then is denied.
    pub expires_at: Option<Timestamp>,
    /// How long it waited for a turn.
    pub waited: Duration,
    /// The policies were not asked, because too many others were.
    pub is_busy: bool,
    /// It may not be on record.
    pub is_fallback: bool,
    pub took: Duration,
}

/// What another version says, or would say were it obeyed.
#[derive(Debug)]
pub struct Shadow {
    pub decided: Decided,
    pub policy_version: u32,
    pub policy_digest: String,
}

/// Why there is no answer.
#[derive(Debug)]
pub enum Unanswered {
    /// The question cannot be recorded for what is in it. The pointer is that of the audit event.
    Unrecordable(Fault),
    Problem(Problem),
}

impl Unanswered {
    /// The problem as the client is told, its fault in the words of the request.
    pub fn in_words(self, of_request: impl Fn(Fault) -> Fault) -> Problem {
        match self {
            Self::Unrecordable(fault) => Problem::invalid(vec![of_request(fault)]),
            Self::Problem(problem) => problem,
        }
    }
}

impl<P: Into<Problem>> From<P> for Unanswered {
    fn from(problem: P) -> Self {
        Self::Problem(problem.into())
    }
}

/// Answers one question.
pub async fn answer(
    plane: &DataPlane,
    asker: Asker,
    ask: &Ask,
) -> Result<DecisionAnswer, Unanswered> {
    let answers = answer_all(plane, asker, std::slice::from_ref(ask), |_| true).await?;
    Ok(answers
        .into_iter()
        .next()
        .expect("one question has one answer"))
}

/// Answers questions in order, as long as `goes_on` says so of each verdict; all are recorded together.
pub async fn answer_all(
    plane: &DataPlane,
    asker: Asker,
    asks: &[Ask],
    goes_on: impl Fn(Verdict) -> bool,
) -> Result<Vec<DecisionAnswer>, Unanswered> {
    answer_each(plane, asker, asks, goes_on, false).await
}

/// Answers questions that are all about one call, up to the first that is denied: then nobody is asked about the others,
/// because the call is over.
pub async fn answer_call(
    plane: &DataPlane,
    asker: Asker,
    asks: &[Ask],
) -> Result<Vec<DecisionAnswer>, Unanswered> {
    let goes_on = |verdict: Verdict| verdict != Verdict::Deny;
    answer_each(plane, asker, asks, goes_on, true).await
}

async fn answer_each(
    plane: &DataPlane,
    asker: Asker,
    asks: &[Ask],
    goes_on: impl Fn(Verdict) -> bool,
    is_one_call: bool,
) -> Result<Vec<DecisionAnswer>, Unanswered> {
    let started = Instant::now();
    let org = asker.org;
    // First: no approval is spent on what cannot be recorded, nor room for one promised.
    if let Some(fault) = asks.iter().find_map(|ask| ask.named.fault()) {
        return Err(Unanswered::Unrecordable(fault));
    }
    let guarded = plane.guards.of(org).await?;
    let is_shadow = |ask: &Ask| ask.mode == Mode::Shadow;
    if !guarded.settings.shadow_mode_allowed && asks.iter().any(is_shadow) {
        return Err(Problem::new(ErrorCode::Forbidden, NO_SHADOW_MODE).into());
    }
    let mut patience = Patience::new(guarded.settings.fail_mode);
    let arrival = Arrival {
        org,
        source: Source::Server,
        received_at: plane.clock.now(),
        retention: plane.retention,
    };
    let bytes = asks.iter().map(record_bytes).sum();
    plane.budget.spend(org, bytes as u64, arrival.received_at)?;
    let turns = EvaluationSlots {
        plane,
        org,
        until: tokio::time::Instant::now() + DEAR_PATIENCE,
    };
    let mut answers: Vec<DecisionAnswer> = Vec::new();
    let mut tails = Vec::new();
    let mut asked = started;
    for ask in asks {
        if !answers.is_empty() {
            // Many take long, and others of this thread have their turn in between.
            tokio::task::yield_now().await;
            asked = Instant::now();
        }
        let random = random::id_bytes();
        let decision_id = DecisionId::new(arrival.received_at, random);
        let mut answer = evaluated(&turns, &guarded, ask, decision_id, false).await;
        patience = patience.after(&answer);
        if answer.verdict == Verdict::Escalate {
            let settling = escalate::settled(&turns, asker, &guarded, &mut patience, ask, answer);
            answer = settling.await?;
        }
        answer.took = asked.elapsed();
        let goes_on = goes_on(answer.verdict);
        answers.push(answer);
        // The event's id is the decision's, so that one is found by the other.
        tails.push(Tail::Random(random));
        if !goes_on {
            break;
        }
    }
    if is_one_call && answers.iter().any(DecisionAnswer::is_no) {
        let unasked = answers.into_iter();
        let unasked = unasked.map(|answer| escalate::unless_in_vain(plane, asker, answer));
        answers = unasked.collect();
    }
    let mut frames = Frames::expecting(bytes);
    for ((ask, answer), tail) in asks.iter().zip(&answers).zip(tails) {
        let event = Recorded::new(ask, answer, answer.took);
        system_events::write_unread(&mut frames, tail, &arrival, &event, record_bytes(ask));
    }
    let recorded = patience.wait_for(plane.append_in_its_share(org, frames));
    let is_recorded = recorded.await?.is_some();
    for (ask, answer) in asks.iter().zip(&mut answers) {
        answer.is_fallback |= !is_recorded;
        if answer.verdict == Verdict::Escalate {
            answer.expires_at = if is_recorded {
                let (settings, asked_at) = (guarded.settings, arrival.received_at);
                let opened = escalate::open(plane, asker, settings, ask, answer, asked_at);
                patience.wait_for(opened).await?
            } else {
                None
            };
            if answer.expires_at.is_none() {
                answer.verdict = Verdict::Deny;
                NOBODY_TO_ASK.clone_into(&mut answer.decided.reason);
                answer.is_fallback = true;
            }
        }
        answer.took = started.elapsed();
        metrics::counter!(names::DECISIONS, "decision" => answer.verdict.as_str()).increment(1);
    }
    Ok(answers)
}

/// About how long the record of an answer is.
fn record_bytes(ask: &Ask) -> usize {
    ask.question_bytes() + RECORD_BYTES
}

/// What the policies say. `is_approved`: a person has approved this very request. What takes long waits for the
/// organization's turn, beside the threads that serve everybody.
pub(super) async fn evaluated(
    turns: &EvaluationSlots<'_>,
    guarded: &Guarded,
    ask: &Ask,
    decision_id: DecisionId,
    is_approved: bool,
) -> DecisionAnswer {
    if !is_dear(guarded, ask) {
        return evaluate(guarded, ask, decision_id, is_approved);
    }
    let began = Instant::now();
    let turn = timeout_at(turns.until, turns.plane.evaluations.take(turns.org)).await;
    let waited = began.elapsed();
    let answer = match turn {
        Ok(_turn) => block_in_place(|| evaluate(guarded, ask, decision_id, is_approved)),
        Err(_) => {
            let busy = Decided::deny(TOO_BUSY);
            let (decided, shadow) = match ask.mode {
                Mode::Enforce => (busy, None),
                Mode::Shadow => {
                    let shadow = Shadow::new(&guarded.active, busy);
                    (Decided::allow(NOT_OBEYED), Some(shadow))
                }
            };
            DecisionAnswer {
                is_busy: true,
                ..DecisionAnswer::new(guarded, decision_id, decided, shadow)
            }
        }
    };
    DecisionAnswer { waited, ..answer }
}

/// What questions that take long wait for.
pub(super) struct EvaluationSlots<'p> {
    pub plane: &'p DataPlane,
    pub org: OrgId,
    until: tokio::time::Instant,
}

/// Whether to evaluate it may take longer than others should wait.
fn is_dear(guarded: &Guarded, ask: &Ask) -> bool {
    let versions = [Some(&guarded.active), guarded.shadow.as_ref()];
    let policies = versions.into_iter().flatten();
    let policies = policies.map(|version| &version.policies);
    let is_dear = |cost: usize| cost * ask.seen_bytes > DEAR_STEPS;
    // What the dearest question costs is known; few versions are so dear that this one must be looked at.
    ask.is_large
        || is_dear(policies.clone().map(|policies| policies.cost()).sum())
            && is_dear(policies.map(|policies| policies.cost_of(ask.asked())).sum())
}

fn evaluate(
    guarded: &Guarded,
    ask: &Ask,
    decision_id: DecisionId,
    is_approved: bool,
) -> DecisionAnswer {
    let said_by = |version: &Version| {
        let payload = ask.payload();
        // The time that is on record, by which it can be decided again.
        let now = decision_id.time();
        let policies = &version.policies;
        policies.decide_at(now, ask.asked(), payload, is_approved)
    };
    let said = said_by(&guarded.active);
    let (decided, shadow) = match ask.mode {
        Mode::Enforce => {
            let shadow = guarded.shadow.as_ref();
            (
                said,
                shadow.map(|version| Shadow::new(version, said_by(version))),
            )
        }
        Mode::Shadow => {
            let shadow = Shadow::new(&guarded.active, said);
            (Decided::allow(NOT_OBEYED), Some(shadow))
        }
    };
    DecisionAnswer::new(guarded, decision_id, decided, shadow)
}

impl DecisionAnswer {
    fn new(
        guarded: &Guarded,
        decision_id: DecisionId,
        decided: Decided,
        shadow: Option<Shadow>,
    ) -> Self {
        Self {
            decision_id,
            verdict: decided.verdict,
            decided,
            policy_version: guarded.active.number,
            policy_digest: guarded.active.policies.digest().to_owned(),
            shadow,
            approval: None,
            refused: None,
            expires_at: None,
            is_fallback: false,
            waited: Duration::ZERO,
            is_busy: false,
            took: Duration::ZERO,
        }
    }

    pub fn is_no(&self) -> bool {
        self.verdict == Verdict::Deny
    }

    /// What is to be sent instead, now or if a person approves it.
    pub fn changed_payload(&self) -> Option<&Value> {
        let Decided {
            modified_payload,
            if_approved,
            ..
        } = &self.decided;
        modified_payload.as_ref().or(if_approved.as_ref())
    }

    /// The same, taken out of it.
    pub fn take_changed_payload(&mut self) -> Option<Value> {
        let decided = &mut self.decided;
        let now = decided.modified_payload.take();
        now.or_else(|| decided.if_approved.take())
    }
}

impl Shadow {
    fn new(version: &Version, decided: Decided) -> Self {
        Self {
            decided,
            policy_version: version.number,
            policy_digest: version.policies.digest().to_owned(),
        }
    }
}

/// How long the journal is waited for, in all that one request has to do there.
#[derive(Clone, Copy)]
pub(super) struct Patience {
    fail_mode: FailMode,
    until: tokio::time::Instant,
}

impl Patience {
    fn new(fail_mode: FailMode) -> Self {
        Self {
            fail_mode,
            until: tokio::time::Instant::now() + OPEN_PATIENCE,
        }
    }

    /// The same without what was spent on waiting for a turn, which is not the journal's doing.
    pub fn after(self, answer: &DecisionAnswer) -> Self {
        Self {
            until: self.until + answer.waited,
            ..self
        }
    }

    /// What the journal made of it. If it makes nothing of it, the fail mode says whether that is an error.
    pub async fn wait_for<T>(
        self,
        work: impl Future<Output = Result<T, journal::Error>>,
    ) -> Result<Option<T>, journal::Error> {
        let error = match self.fail_mode {
            FailMode::Closed => return work.await.map(Some),
            FailMode::Open => match timeout_at(self.until, work).await {
                Ok(Ok(done)) => return Ok(Some(done)),
                Ok(Err(error)) => chain(&error),
                Err(_) => "the journal is slow to answer".to_owned(),
            },
        };
        tracing::warn!(error, "answered before the journal confirmed the decision");
        Ok(None)
    }
}
