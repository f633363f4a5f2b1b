//! When a delivery is tried again.

use std::time::Duration;

use sha2::{Digest, Sha256};

use super::{Answer, Outcome, Reason, State};
use crate::{DeliveryId, Timestamp};

const fn minutes(count: u64) -> Duration {
    Duration::from_secs(60 * count)
}

/// The wait after each failed attempt: an alert is worthless late, so five tries in under three
/// minutes; the tail survives a weekend.
pub const WAITS: [Duration; 13] = [
    Duration::from_secs(1),
    Duration::from_secs(5),
    Duration::from_secs(30),
    minutes(2),
    minutes(10),
    minutes(30),
    minutes(60),
    minutes(2 * 60),
    minutes(4 * 60),
    minutes(8 * 60),
    minutes(12 * 60),
    minutes(16 * 60),
    minutes(20 * 60),
];

/// No attempt is scheduled for later than this after the match.
pub const EXPIRY: Duration = minutes(72 * 60);

/// What becomes of a delivery after an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    Done,
    /// Try again then, with so many steps of the schedule used up.
    At {
        due: Timestamp,
        step: u32,
    },
    Held(Reason),
    Failed(Reason),
}

impl Next {
    pub fn state(self) -> State {
        match self {
            Self::Done => State::Delivered,
            Self::At { .. } => State::Scheduled,
            Self::Held(_) => State::Held,
            Self::Failed(_) => State::Failed,
        }
    }

    pub fn reason(self) -> Option<Reason> {
        match self {
            Self::Done | Self::At { .. } => None,
            Self::Held(reason) | Self::Failed(reason) => Some(reason),
        }
    }

    pub fn due(self) -> Option<Timestamp> {
        match self {
            Self::At { due, .. } => Some(due),
            Self::Done | Self::Held(_) | Self::Failed(_) => None,
        }
    }
}

/// Where a delivery is in its schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Round {
    /// Failures that count, so far: the place in [`WAITS`].
    pub step: u32,
    /// When the schedule began: at the match, or when somebody asked for the delivery again.
    pub since: Timestamp,
}

/// What follows attempt `number` (counted from 1) of a delivery, given how it ended.
pub fn next(
    (delivery, number): (DeliveryId, u32),
    round: Round,
    answer: &Answer,
    finished_at: Timestamp,
) -> Next {
    match answer.outcome {
        Outcome::Delivered => Next::Done,
        Outcome::Permanent => Next::Failed(Reason::Permanent),
        Outcome::Blocked => Next::Held(Reason::Blocked),
        Outcome::Transient
        | Outcome::Rejected
        | Outcome::Redirect
        | Outcome::Gone
        | Outcome::OurFault => {
            let index = usize::try_from(round.step).unwrap_or(usize::MAX);
            let Some(wait) = WAITS.get(index) else {
                return Next::Failed(Reason::Exhausted);
            };
            let due = finished_at.plus(*wait + jitter(delivery, number, *wait));
            if due > round.since.plus(EXPIRY) {
                Next::Failed(Reason::Expired)
            } else {
                let step = round.step + 1;
                Next::At { due, step }
            }
        }
    }
}

/// Up to a tenth of the wait, from the delivery and the attempt: predictable, the same after a
/// failover, and never earlier than asked.
fn jitter(delivery: DeliveryId, number: u32, wait: Duration) -> Duration {
    let digest = Sha256::new()
        .chain_update(delivery.uuid().as_bytes())
        .chain_update(number.to_be_bytes())
        .finalize();
    let share = u32::from(u16::from_be_bytes([digest[0], digest[1]]));
    wait * share / (10 * u32::from(u16::MAX))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use uuid::Uuid;

    use super::*;

    const START: Timestamp = Timestamp::from_unix_millis(1_763_200_000_000);

    fn delivery(id: u128) -> DeliveryId {
        DeliveryId::from_uuid(Uuid::from_u128(id))
    }

    fn answer(outcome: Outcome) -> Answer {
        Answer {
            outcome,
            status: None,
            retry_after: None,
            timed_out: false,
        }
    }

    fn after(id: u128, step: u32, outcome: Outcome, at: Timestamp) -> Next {
        let round = Round { step, since: START };
        next((delivery(id), step + 1), round, &answer(outcome), at)
    }

    proptest! {
        #[test]
        fn a_retry_is_never_early_and_at_most_a_tenth_late(id: u128, step in 0u32..13) {
            let wait = WAITS[step as usize];
            let Next::At { due, step: after_it } = after(id, step, Outcome::Transient, START) else {
                panic!("step {step} is followed by another");
            };
            prop_assert_eq!(after_it, step + 1);
            prop_assert!(due >= START.plus(wait));
            prop_assert!(due <= START.plus(wait + wait / 10));
            prop_assert_eq!(after(id, step, Outcome::Rejected, START).due(), Some(due));
        }

        #[test]
        fn the_whole_schedule_fits_in_the_expiry(id: u128) {
            let mut at = START;
            for step in 0..13 {
                at = after(id, step, Outcome::Transient, at).due().expect("another");
            }
            prop_assert_eq!(after(id, 13, Outcome::Transient, at), Next::Failed(Reason::Exhausted));
        }
    }

    #[test]
    fn nothing_starts_after_the_expiry() {
        let late = START.plus(EXPIRY);
        let next = after(1, 0, Outcome::Transient, late);
        assert_eq!(next, Next::Failed(Reason::Expired));
    }

    #[test]
    fn an_answer_that_settles_ends_the_schedule() {
        let after = |outcome| after(1, 0, outcome, START);
        assert_eq!(after(Outcome::Delivered), Next::Done);
        assert_eq!(after(Outcome::Permanent), Next::Failed(Reason::Permanent));
        assert_eq!(after(Outcome::Blocked), Next::Held(Reason::Blocked));
    }
}
