//! When a delivery is tried again.

use std::time::Duration;

use sha2::{Digest, Sha256};

use super::{Outcome, State};
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
    /// Try again then.
    At(Timestamp),
    /// The address is forbidden; nothing more is sent.
    Held,
    Failed,
}

impl Next {
    pub fn state(self) -> State {
        match self {
            Self::Done => State::Delivered,
            Self::At(_) => State::Scheduled,
            Self::Held => State::Held,
            Self::Failed => State::Failed,
        }
    }
}

/// What follows attempt `number` (counted from 1) of a delivery, given how it ended.
pub fn next(
    delivery: DeliveryId,
    number: u32,
    outcome: Outcome,
    matched_at: Timestamp,
    finished_at: Timestamp,
) -> Next {
    match outcome {
        Outcome::Delivered => Next::Done,
        Outcome::Permanent => Next::Failed,
        Outcome::Blocked => Next::Held,
        Outcome::Transient | Outcome::Rejected | Outcome::Redirect => {
            let index = usize::try_from(number.saturating_sub(1)).unwrap_or(usize::MAX);
            let Some(wait) = WAITS.get(index) else {
                return Next::Failed;
            };
            let due = finished_at.plus(*wait + jitter(delivery, number, *wait));
            if due > matched_at.plus(EXPIRY) {
                Next::Failed
            } else {
                Next::At(due)
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

    proptest! {
        #[test]
        fn a_retry_is_never_early_and_at_most_a_tenth_late(id: u128, number in 1u32..=13) {
            let wait = WAITS[number as usize - 1];
            let Next::At(due) = next(delivery(id), number, Outcome::Transient, START, START) else {
                panic!("attempt {number} is followed by another");
            };
            prop_assert!(due >= START.plus(wait));
            prop_assert!(due <= START.plus(wait + wait / 10));
            prop_assert_eq!(next(delivery(id), number, Outcome::Rejected, START, START), Next::At(due));
        }

        #[test]
        fn the_whole_schedule_fits_in_the_expiry(id: u128) {
            let mut at = START;
            for number in 1..=13 {
                let Next::At(due) = next(delivery(id), number, Outcome::Transient, START, at) else {
                    panic!("attempt {number} is followed by another");
                };
                at = due;
            }
            prop_assert_eq!(next(delivery(id), 14, Outcome::Transient, START, at), Next::Failed);
        }
    }

    #[test]
    fn nothing_starts_after_the_expiry() {
        let late = START.plus(EXPIRY);
        assert_eq!(
            next(delivery(1), 1, Outcome::Transient, START, late),
            Next::Failed
        );
    }

    #[test]
    fn an_answer_that_settles_ends_the_schedule() {
        let after = |outcome| next(delivery(1), 1, outcome, START, START);
        assert_eq!(after(Outcome::Delivered), Next::Done);
        assert_eq!(after(Outcome::Permanent), Next::Failed);
        assert_eq!(after(Outcome::Blocked), Next::Held);
    }
}
