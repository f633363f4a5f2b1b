//! One answer for a call: the strictest. A person is asked while the tool waits, where the hook's address says for how
//! long.

use std::time::Duration;

use domain::{DecisionId, approval::Status};
use policy::Verdict;
use tokio::time::Instant;

use super::on_error::longest_answer;
use crate::{
    decisions::{
        answer::{DecisionAnswer, Unanswered, answer_call},
        request::{Ask, Asker},
    },
    planes::DataPlane,
};

/// The longest wait, in seconds: with what comes before and after it, it is over before the request is given up
/// (`http.request_timeout_s`, 30). How many wait is bounded by how many decisions of an organization may be pending.
pub const WAIT_S_MAX: u64 = 20;

/// What is left for the rest of the answer: the decisions that approvals are spent for are recorded, too.
const FOR_THE_REST: Duration = Duration::from_secs(8);

/// The strictest of the answers about a call. Where people are asked, each of their words is waited for, for so long in
/// all. What policies would have changed otherwise cannot be both.
pub async fn strictest(
    plane: &DataPlane,
    asker: Asker,
    asks: Vec<Ask>,
    mut answers: Vec<DecisionAnswer>,
    patience: Duration,
) -> Result<DecisionAnswer, Unanswered> {
    let is_over = answers.iter().any(DecisionAnswer::is_no) || are_at_odds(&answers);
    if !patience.is_zero() && !is_over {
        answers = by_people(plane, asker, asks, answers, patience).await?;
    }
    let are_at_odds = are_at_odds(&answers);
    let strictest = answers.into_iter().reduce(stricter);
    let strictest = strictest.expect("a call works on one thing at least");
    if are_at_odds && !strictest.is_no() {
        let reason = "This is permitted only with two conflicting changes to its payload.";
        return Ok(denied(strictest, reason));
    }
    Ok(strictest)
}

/// Whether two answers ask for different changes of what is sent.
fn are_at_odds(answers: &[DecisionAnswer]) -> bool {
    let mut changed = answers.iter().filter_map(DecisionAnswer::changed_payload);
    let first = changed.next();
    changed.any(|other| Some(other) != first)
}

/// The answers once people have said what they think of those that need them. No approval is used before all are there: one
/// that was refused would waste the others.
async fn by_people(
    plane: &DataPlane,
    asker: Asker,
    asks: Vec<Ask>,
    answers: Vec<DecisionAnswer>,
    patience: Duration,
) -> Result<Vec<DecisionAnswer>, Unanswered> {
    let until = Instant::now() + patience.min(longest_wait(plane.request_timeout));
    let mut settled = Vec::new();
    let mut approved = Vec::new();
    for (mut ask, answer) in asks.into_iter().zip(answers) {
        if answer.verdict != Verdict::Escalate {
            settled.push(answer);
            continue;
        }
        let left = until.saturating_duration_since(Instant::now());
        if let Some(why) = why_not(plane, asker, answer.decision_id, left).await? {
            return Ok(vec![denied(answer, &why)]);
        }
        ask.approval = Some(answer.decision_id);
        approved.push(ask);
    }
    if !approved.is_empty() {
        settled.extend(answer_call(plane, asker, &approved).await?);
    }
    Ok(settled)
}

/// The stricter of two answers about one call, of two alike the later, at which it may have ended; with what is to be sent instead.
/// Whoever approves the one at the terminal must not undo the change that the other asks for.
fn stricter(mut one: DecisionAnswer, mut other: DecisionAnswer) -> DecisionAnswer {
    let changed = one.take_changed_payload();
    let changed = changed.or_else(|| other.take_changed_payload());
    let mut stricter = if other.verdict >= one.verdict {
        other
    } else {
        one
    };
    match stricter.verdict {
        Verdict::Modify => stricter.decided.modified_payload = changed,
        Verdict::Escalate => stricter.decided.if_approved = changed,
        Verdict::Allow | Verdict::Deny => {}
    }
    stricter
}

/// Why nobody approved a decision, once somebody has resolved it or nobody has for so long; `None` if somebody did. Who asks for
/// a person to be waited for wants that person's word: without it the tool does not run.
async fn why_not(
    plane: &DataPlane,
    asker: Asker,
    id: DecisionId,
    patience: Duration,
) -> Result<Option<String>, Unanswered> {
    let Some(found) = plane.approvals.find(asker.org, id).await? else {
        return Ok(Some("Nobody could be asked to approve this.".to_owned()));
    };
    let waiting = plane.approvals.wait(found, patience, &plane.stopping);
    let approval = waiting.await;
    let why = match approval.status(plane.clock.now()) {
        Status::Approved => return Ok(None),
        Status::Pending => "Nobody has approved this yet.".to_owned(),
        Status::TimedOut => "Nobody approved this in time.".to_owned(),
        Status::Denied => match approval.resolution().and_then(|said| said.note.as_deref()) {
            Some(note) => format!("Someone denied this: {note}"),
            None => "Someone denied this.".to_owned(),
        },
    };
    Ok(Some(why))
}

fn longest_wait(request_timeout: Duration) -> Duration {
    longest_answer(request_timeout).saturating_sub(FOR_THE_REST)
}

/// What is told; on record it is the decision that it was, and what became of its approval.
fn denied(mut escalated: DecisionAnswer, reason: &str) -> DecisionAnswer {
    escalated.verdict = Verdict::Deny;
    reason.clone_into(&mut escalated.decided.reason);
    escalated
}
