//! One answer for a call: the strictest. A person is asked while the tool waits, where the hook's address says for how
//! long.

use std::time::Duration;

use domain::approval::Status;
use policy::Verdict;
use tokio::time::Instant;

use super::on_error::longest_answer;
use crate::{
    decisions::{
        answer::{Answer, Unanswered, answer},
        ask::{Ask, Asker},
    },
    planes::DataPlane,
};

/// The longest wait, in seconds: with what comes before and after it, it is over before the request is given up
/// (`http.request_timeout_s`, 30). How many wait is bounded by how many decisions of an organisation may be pending.
pub const WAIT_S_MAX: u64 = 20;

/// What is left for the rest of the answer: the decision that the approval is spent for is recorded, too.
const FOR_THE_REST: Duration = Duration::from_secs(8);

/// The strictest of the answers about a call. Where people are asked, each of their words is waited for, for so long in
/// all.
pub async fn strictest(
    plane: &DataPlane,
    asker: Asker,
    asks: Vec<Ask>,
    answers: Vec<Answer>,
    patience: Duration,
) -> Result<Answer, Unanswered> {
    let until = Instant::now() + patience;
    let is_no = |answer: &Answer| answer.verdict == Verdict::Deny;
    let mut is_denied = answers.iter().any(is_no);
    let mut found: Option<Answer> = None;
    for (ask, mut answer) in asks.into_iter().zip(answers) {
        if answer.verdict == Verdict::Escalate && !patience.is_zero() && !is_denied {
            let left = until.saturating_duration_since(Instant::now());
            answer = for_a_person(plane, asker, ask, answer, left).await?;
        }
        is_denied |= is_no(&answer);
        found = Some(match found {
            Some(before) => stricter(before, answer),
            None => answer,
        });
    }
    Ok(found.expect("a call works on one thing at least"))
}

/// The stricter of two answers about one call. What two policies would have changed otherwise cannot be both.
fn stricter(one: Answer, other: Answer) -> Answer {
    let is_changed_otherwise = [&one, &other].map(|answer| answer.verdict) == [Verdict::Modify; 2]
        && one.decided.modified_payload != other.decided.modified_payload;
    if is_changed_otherwise {
        return denied(
            one,
            "This is permitted with two different changes of its payload.",
        );
    }
    if other.verdict > one.verdict {
        other
    } else {
        one
    }
}

/// What is answered once somebody has resolved the decision, or nobody has for so long. Who asks for a person to be
/// waited for wants that person's word: without it the tool does not run.
async fn for_a_person(
    plane: &DataPlane,
    asker: Asker,
    mut ask: Ask,
    escalated: Answer,
    patience: Duration,
) -> Result<Answer, Unanswered> {
    let id = escalated.decision_id;
    let Some(found) = plane.approvals.find(asker.org, id).await? else {
        return Ok(denied(escalated, "Nobody could be asked to approve this."));
    };
    let patience = patience.min(longest_wait(plane.request_timeout));
    let waiting = plane.approvals.wait(found, patience, &plane.stopping);
    let approval = waiting.await;
    match approval.status(plane.clock.now()) {
        Status::Approved => {
            ask.approval = Some(id);
            answer(plane, asker, &ask).await
        }
        Status::Pending => Ok(denied(escalated, "Nobody has approved this yet.")),
        Status::TimedOut => Ok(denied(escalated, "Nobody approved this in time.")),
        Status::Denied => {
            let note = approval.resolution().and_then(|said| said.note.as_deref());
            let reason = match note {
                Some(note) => format!("Somebody refused this: {note}"),
                None => "Somebody refused this.".to_owned(),
            };
            Ok(denied(escalated, &reason))
        }
    }
}

fn longest_wait(request_timeout: Duration) -> Duration {
    longest_answer(request_timeout).saturating_sub(FOR_THE_REST)
}

/// What is told; on record it is the decision that it was, and what became of its approval.
fn denied(mut escalated: Answer, reason: &str) -> Answer {
    escalated.verdict = Verdict::Deny;
    reason.clone_into(&mut escalated.decided.reason);
    escalated
}
