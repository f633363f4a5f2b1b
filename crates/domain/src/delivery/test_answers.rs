//! Answers for tests of what follows from them.

use super::{Answer, Outcome};

pub(super) fn status(status: u16) -> Answer {
    Answer {
        outcome: Outcome::of_status(status),
        status: Some(status),
        retry_after: None,
        timed_out: false,
    }
}

pub(super) fn no_answer(outcome: Outcome, timed_out: bool) -> Answer {
    Answer {
        outcome,
        status: None,
        retry_after: None,
        timed_out,
    }
}
