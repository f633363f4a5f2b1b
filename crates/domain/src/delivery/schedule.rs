//! When a delivery is tried again.

use std::time::Duration;

use sha2::{Digest, Sha256};

use super::{Answer, Outcome, Reason, State};
use crate::{DeliveryId, Timestamp};

/// The wait after each failed attempt: an alert is worthless late, so five tries in under three
/// minutes; the tail survives a weekend.
pub const WAITS: [Duration; 13] = [
    Duration::from_secs(1),
    Duration::from_secs(5),
    Duration::from_secs(30),
    Duration::from_mins(2),
    Duration::from_mins(10),
    Duration::from_mins(30),
    Duration::from_hours(1),
    Duration::from_hours(2),
    Duration::from_hours(4),
    Duration::from_hours(8),
    Duration::from_hours(12),
    Duration::from_hours(16),
    Duration::from_hours(20),
];

/// No attempt starts later than this after the match.
pub const EXPIRY: Duration = Duration::from_hours(72);

/// An attempt that is not charged is repeated after this share of the delivery's age at the least, so
/// that 72 hours of them are some 130 attempts on record, and not one for each second.
const AGE_SHARE: u32 = 10;

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

impl Round {
    fn expires_at(self) -> Timestamp {
        self.since.plus(EXPIRY)
    }
}

/// Whether a delivery is too old for another attempt to start.
pub fn is_expired(round: Round, now: Timestamp) -> bool {
    now > round.expires_at()
}

/// What follows attempt `number` (counted from 1) of a delivery, given how it ended.
///
/// The receiver can put off the next attempt (`Retry-After`) but can neither bring it forward nor move
/// the expiry. Nothing is due before its round began, whatever our clock says: that tells an attempt of this round from
/// those of the one before. Where our own wait ends after the expiry, the delivery has failed now, because nothing
/// can come of waiting. Where only the receiver's does, it is due at the expiry: by then somebody may
/// have resumed the endpoint; if not, it expires there.
pub fn next(
    (delivery, number): (DeliveryId, u32),
    round: Round,
    answer: &Answer,
    finished_at: Timestamp,
) -> Next {
    match answer.outcome {
        Outcome::Delivered => return Next::Done,
        Outcome::Permanent => return Next::Failed(Reason::Permanent),
        Outcome::Blocked => return Next::Held(Reason::Blocked),
        Outcome::Transient
        | Outcome::Rejected
        | Outcome::Redirect
        | Outcome::Gone
        | Outcome::OurFault => {}
    }
    let (wait, step) = if answer.is_charged() {
        match wait_of(round.step) {
            Some(wait) => (wait, round.step + 1),
            None => return Next::Failed(Reason::Exhausted),
        }
    } else {
        (uncharged_wait(round, finished_at), round.step)
    };
    let ours = finished_at.plus(wait + jitter(delivery, number, wait));
    let ours = ours.max(round.since);
    if ours > round.expires_at() {
        return Next::Failed(Reason::Expired);
    }
    let theirs = finished_at.plus(answer.quiet().unwrap_or_default());
    let due = ours.max(theirs).min(round.expires_at());
    Next::At { due, step }
}

fn wait_of(step: u32) -> Option<Duration> {
    WAITS.get(usize::try_from(step).ok()?).copied()
}

/// The wait before an attempt that the last one did not use up: that of the current step, but longer
/// as the delivery ages. Behind the last step there is only the age.
fn uncharged_wait(round: Round, finished_at: Timestamp) -> Duration {
    let age = finished_at.since(round.since);
    wait_of(round.step).unwrap_or(WAITS[0]).max(age / AGE_SHARE)
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

    fn throttled(status: u16, seconds: u64) -> Answer {
        Answer {
            status: Some(status),
            retry_after: Some(Duration::from_secs(seconds)),
            ..answer(Outcome::of_status(status))
        }
    }

    fn after(id: u128, step: u32, outcome: Outcome, at: Timestamp) -> Next {
        answered(id, step, &answer(outcome), at)
    }

    fn answered(id: u128, step: u32, answer: &Answer, at: Timestamp) -> Next {
        let round = Round { step, since: START };
        next((delivery(id), step + 1), round, answer, at)
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

        #[test]
        fn a_receiver_can_put_off_the_next_attempt_and_not_bring_it_forward(
            id: u128, step in 0u32..13, seconds in 0u64..200_000, aged_s in 0u64..259_200,
        ) {
            let at = START.plus(Duration::from_secs(aged_s));
            let plain = after(id, step, Outcome::Transient, at);
            let asked = answered(id, step, &throttled(503, seconds), at);
            prop_assert_eq!(plain.state(), asked.state());
            if let (Some(plain), Some(asked)) = (plain.due(), asked.due()) {
                let theirs = at.plus(Duration::from_secs(seconds.min(86_400)));
                prop_assert_eq!(asked, plain.max(theirs).min(START.plus(EXPIRY)));
            }
        }

        /// Each wait is at least a tenth of the age, so a hundred and a few dozen reach the expiry.
        #[test]
        fn what_is_not_charged_ends_at_the_expiry_after_a_bounded_number_of_attempts(
            id: u128, step in 0u32..14, ours: bool,
        ) {
            let answer = if ours { answer(Outcome::OurFault) } else { throttled(429, 0) };
            let mut at = START;
            for number in 1..140 {
                let round = Round { step, since: START };
                match next((delivery(id), number), round, &answer, at) {
                    Next::At { due, step: after_it } => {
                        prop_assert_eq!(after_it, step);
                        prop_assert!(due > at);
                        prop_assert!(!is_expired(round, due));
                        at = due;
                    }
                    ended => {
                        prop_assert_eq!(ended, Next::Failed(Reason::Expired));
                        return Ok(());
                    }
                }
            }
            prop_assert!(false, "it did not end");
        }
    }

    #[test]
    fn only_the_overloaded_and_the_broken_may_ask_for_a_wait() {
        let hour = 3_600;
        for (status, put_off) in [
            (429, true),
            (500, true),
            (503, true),
            (599, true),
            (408, false),
            (425, false),
            (404, false),
            (301, false),
        ] {
            let due = answered(1, 0, &throttled(status, hour), START).due();
            let asked = START.plus(Duration::from_secs(hour));
            assert_eq!(due == Some(asked), put_off, "{status}");
        }
    }

    #[test]
    fn a_wait_beyond_the_expiry_is_cut_if_the_receiver_asked_and_is_the_end_if_it_is_ours() {
        let expiry = START.plus(EXPIRY);
        let at = expiry.minus(Duration::from_hours(1));
        let asked = answered(1, 0, &throttled(503, 7_200), at);
        let (due, step) = (expiry, 1);
        assert_eq!(asked, Next::At { due, step });
        let ours = answered(1, 7, &throttled(503, 60), at);
        assert_eq!(ours, Next::Failed(Reason::Expired));
    }

    #[test]
    fn by_a_clock_that_is_far_behind_nothing_is_due_before_its_round_began() {
        let behind = START.minus(Duration::from_mins(10));
        let due = after(1, 0, Outcome::Transient, behind).due();
        assert_eq!(due, Some(START));
    }

    #[test]
    fn nothing_starts_after_the_expiry() {
        let late = START.plus(EXPIRY);
        let next = after(1, 0, Outcome::Transient, late);
        assert_eq!(next, Next::Failed(Reason::Expired));
        let round = Round {
            step: 0,
            since: START,
        };
        assert!(!is_expired(round, late));
        assert!(is_expired(round, late.plus(Duration::from_millis(1))));
    }

    #[test]
    fn an_answer_that_settles_ends_the_schedule() {
        let after = |outcome| after(1, 0, outcome, START);
        assert_eq!(after(Outcome::Delivered), Next::Done);
        assert_eq!(after(Outcome::Permanent), Next::Failed(Reason::Permanent));
        assert_eq!(after(Outcome::Blocked), Next::Held(Reason::Blocked));
    }
}
