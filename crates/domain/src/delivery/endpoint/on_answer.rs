//! What an answer changes about an endpoint.
//!
//! An answer can be late: its attempt began before somebody paused the endpoint, before its breaker
//! opened or closed, before it asked for quiet. What was chosen, so that none does harm:
//!
//! - While it is paused or disabled nothing is learned. Only a person ends that, and then everything
//!   is forgotten anyway.
//! - A success does not end a quiet that still lasts: nothing is sent during it, so the attempt began
//!   before, and one header should quiet everything.
//! - A success closes the breaker even if its attempt began before it opened: the receiver takes
//!   deliveries, which is all that a probe would find out.
//! - A failure that comes after the success that closed the breaker begins a new run of failures,
//!   which the next success ends. It opens the breaker again only with `trips`, which takes ten
//!   failures or half of twenty that one worker saw since it knew of the closing; if that worker did
//!   not know yet, the first probe, 5 seconds later, puts it right.
//! - Nothing that is counted goes down but by a success, and nothing lasts shorter.

use std::time::Duration;

use super::{Endpoint, Failing, Notice, OpenBreaker, Status, Why};
use crate::{
    Timestamp,
    delivery::{Answer, Outcome, schedule},
};

/// How long it has to fail before its owner is told, and told again.
const FAILING_NOTICES: [(Duration, Notice); 3] = [
    (Duration::from_mins(15), Notice::FailingFor15Minutes),
    (Duration::from_hours(1), Notice::FailingForAnHour),
    (Duration::from_hours(24), Notice::FailingForADay),
];

/// Who has taken nothing for so long will not take the next either: as long as a delivery lives.
const DISABLED_AFTER: Duration = schedule::EXPIRY;

/// Fewer attempts say little, however long ago the first was: a quiet rule may fire once a day.
const DISABLED_AFTER_ATTEMPTS: u32 = 20;

/// The second 410 has to come so much later: a deploy that answers 410 for a moment is not gone.
const GONE_AGAIN_AFTER: Duration = Duration::from_secs(60);

/// One refusal can be a bad event, three in a row are a bad setting.
const REJECTED_IN_A_ROW: u32 = 3;

impl Endpoint {
    /// Takes in how one attempt ended, at `now`. `trips` says that the worker that made it saw enough
    /// failures for the breaker. Returns what the owner should know.
    pub fn learn(&mut self, answer: &Answer, trips: bool, now: Timestamp) -> Vec<Notice> {
        if !answer.outcome.is_about_the_receiver() || self.status != Status::Active {
            return Vec::new();
        }
        if self.quiet_until.is_some_and(|until| until <= now) {
            self.quiet_until = None;
        }
        if answer.outcome == Outcome::Delivered {
            return self.learn_success();
        }
        if let Some(quiet) = answer.quiet() {
            self.quiet_until = self.quiet_until.max(Some(now.plus(quiet)));
        }
        if self.is_gone(answer, now) {
            return self.disable(Why::Gone, now);
        }
        let mut failing = self.failing.unwrap_or_else(|| Failing::new(now));
        let mut notices = failing.learn(answer.outcome, now);
        self.failing = Some(failing);
        if failing.is_hopeless(now) {
            return self.disable(Why::Failing, now);
        }
        if trips && answer.outcome == Outcome::Transient && self.breaker.is_none() {
            self.breaker = Some(OpenBreaker::new(now));
            notices.push(Notice::BreakerOpened);
        }
        notices
    }

    fn learn_success(&mut self) -> Vec<Notice> {
        self.failing = None;
        self.gone_at = None;
        let closed = self.breaker.take();
        closed.map(|_| Notice::BreakerClosed).into_iter().collect()
    }

    /// Whether it has now said often enough that it is gone. Only an answer takes that back; that
    /// nobody answers does not.
    fn is_gone(&mut self, answer: &Answer, now: Timestamp) -> bool {
        if answer.outcome == Outcome::Gone {
            let first = *self.gone_at.get_or_insert(now);
            return now.since(first) >= GONE_AGAIN_AFTER;
        }
        if answer.status.is_some() {
            self.gone_at = None;
        }
        false
    }

    /// The one notice of it says more than any other that is due.
    fn disable(&mut self, why: Why, now: Timestamp) -> Vec<Notice> {
        self.status = Status::Disabled { since: now, why };
        vec![Notice::Disabled]
    }
}

impl Failing {
    fn new(now: Timestamp) -> Self {
        Self {
            since: now,
            attempts: 0,
            notices: 0,
            rejected: 0,
            told_rejecting: false,
            told_redirecting: false,
        }
    }

    fn learn(&mut self, outcome: Outcome, now: Timestamp) -> Vec<Notice> {
        self.attempts = self.attempts.saturating_add(1);
        self.rejected = match outcome {
            Outcome::Rejected => self.rejected.saturating_add(1),
            _ => 0,
        };
        let mut notices: Vec<_> = self.overdue(now).into_iter().collect();
        if self.rejected >= REJECTED_IN_A_ROW && !self.told_rejecting {
            self.told_rejecting = true;
            notices.push(Notice::Rejecting);
        }
        if outcome == Outcome::Redirect && !self.told_redirecting {
            self.told_redirecting = true;
            notices.push(Notice::Redirecting);
        }
        notices
    }

    /// The last notice of a long failure that is due and was not given. If several became due since the
    /// last attempt, the longest says it all.
    fn overdue(&mut self, now: Timestamp) -> Option<Notice> {
        let lasted = now.since(self.since);
        let due = FAILING_NOTICES.partition_point(|(after, _)| *after <= lasted);
        let given = usize::from(self.notices);
        if due <= given {
            return None;
        }
        self.notices = u8::try_from(due).expect("there are three");
        Some(FAILING_NOTICES[due - 1].1)
    }

    fn is_hopeless(&self, now: Timestamp) -> bool {
        now.since(self.since) >= DISABLED_AFTER && self.attempts >= DISABLED_AFTER_ATTEMPTS
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::{
        OrgId,
        delivery::{
            Gate, Reason,
            test_answers::{self, status},
        },
    };

    const START: Timestamp = Timestamp::from_unix_millis(1_763_200_000_000);

    fn endpoint() -> Endpoint {
        Endpoint::new(
            OrgId::from_uuid(Uuid::from_u128(1)),
            "https://hooks.example.com",
        )
    }

    fn at(seconds: u64) -> Timestamp {
        START.plus(Duration::from_secs(seconds))
    }

    fn asking(code: u16, seconds: u64) -> Answer {
        Answer {
            retry_after: Some(Duration::from_secs(seconds)),
            ..status(code)
        }
    }

    fn no_answer(outcome: Outcome) -> Answer {
        test_answers::no_answer(outcome, false)
    }

    const TRIPS: bool = true;
    const HOLDS: bool = false;

    #[test]
    fn a_success_says_nothing_about_an_endpoint_that_is_well() {
        let mut endpoint = endpoint();
        assert_eq!(endpoint.learn(&status(200), HOLDS, START), []);
        assert!(endpoint.is_plain());
    }

    #[test]
    fn what_is_not_the_receivers_changes_nothing() {
        let mut endpoint = endpoint();
        for outcome in [Outcome::OurFault, Outcome::Blocked] {
            assert_eq!(endpoint.learn(&no_answer(outcome), TRIPS, START), []);
        }
        assert!(endpoint.is_plain());
    }

    #[test]
    fn a_breaker_opens_once_lets_probes_through_and_closes_with_a_success() {
        let mut endpoint = endpoint();
        assert_eq!(
            endpoint.learn(&status(500), TRIPS, at(0)),
            [Notice::BreakerOpened]
        );
        assert_eq!(endpoint.learn(&status(500), TRIPS, at(1)), []);
        let shut = |seconds| Gate::Shut {
            reason: Reason::Breaker,
            until: Some(at(seconds)),
        };
        assert_eq!(endpoint.gate(at(4)), shut(5));
        assert_eq!(endpoint.gate(at(5)), Gate::Probe);
        endpoint.start_probe(at(6));
        assert_eq!(endpoint.gate(at(6)), shut(16));
        assert_eq!(
            endpoint.learn(&status(200), HOLDS, at(7)),
            [Notice::BreakerClosed]
        );
        assert_eq!(endpoint.gate(at(7)), Gate::Open);
        assert!(endpoint.is_plain());
    }

    #[test]
    fn a_refusal_opens_no_breaker() {
        let mut endpoint = endpoint();
        endpoint.learn(&status(404), TRIPS, START);
        assert_eq!(endpoint.breaker, None);
    }

    #[test]
    fn a_quiet_that_was_asked_for_lasts_whatever_comes_late() {
        let mut endpoint = endpoint();
        endpoint.learn(&asking(429, 600), HOLDS, at(0));
        endpoint.learn(&asking(503, 5), HOLDS, at(1));
        endpoint.learn(&status(200), HOLDS, at(2));
        let shut = |until| Gate::Shut {
            reason: Reason::RetryAfter,
            until: Some(until),
        };
        assert_eq!(endpoint.gate(at(599)), shut(at(600)));
        assert_eq!(endpoint.gate(at(600)), Gate::Open);
        endpoint.learn(&status(200), HOLDS, at(600));
        assert!(endpoint.is_plain());
        endpoint.learn(&asking(500, 1_000_000), HOLDS, at(700));
        assert_eq!(endpoint.gate(at(701)), shut(at(700 + 86_400)));
        endpoint.resume();
        assert_eq!(endpoint.gate(at(701)), Gate::Open);
    }

    #[test]
    fn gone_is_said_twice_a_minute_apart_with_no_other_answer_between() {
        let gone = status(410);
        for (between, last, disabled) in [
            (None, 59, false),
            (None, 60, true),
            (Some(gone), 60, true),
            (Some(no_answer(Outcome::Transient)), 60, true),
            (Some(no_answer(Outcome::OurFault)), 60, true),
            (Some(status(200)), 60, false),
            (Some(status(404)), 60, false),
            (Some(status(503)), 60, false),
        ] {
            let mut endpoint = endpoint();
            endpoint.learn(&gone, HOLDS, at(0));
            if let Some(between) = between {
                endpoint.learn(&between, HOLDS, at(30));
            }
            let notices = endpoint.learn(&gone, HOLDS, at(last));
            assert_eq!(
                notices == [Notice::Disabled],
                disabled,
                "{between:?} {last}"
            );
            let (since, why) = (at(last), Why::Gone);
            let expected = Status::Disabled { since, why };
            assert_eq!(endpoint.status == expected, disabled);
        }
    }

    #[test]
    fn a_long_failure_is_told_at_15_minutes_an_hour_and_a_day_and_ends_after_three() {
        const MINUTES: u64 = 60;
        const HOURS: u64 = 60 * MINUTES;
        let mut endpoint = endpoint();
        for (seconds, notices) in [
            (0, vec![]),
            (15 * MINUTES - 1, vec![]),
            (15 * MINUTES, vec![Notice::FailingFor15Minutes]),
            (16 * MINUTES, vec![]),
            (HOURS, vec![Notice::FailingForAnHour]),
            (24 * HOURS, vec![Notice::FailingForADay]),
            (71 * HOURS, vec![]),
        ] {
            assert_eq!(
                endpoint.learn(&status(500), HOLDS, at(seconds)),
                notices,
                "{seconds}"
            );
        }
        for _ in 7..19 {
            assert_eq!(endpoint.learn(&status(500), HOLDS, at(72 * HOURS)), []);
        }
        let last = endpoint.learn(&status(500), TRIPS, at(72 * HOURS));
        assert_eq!(last, [Notice::Disabled]);
        assert_eq!(
            endpoint.learn(&status(200), HOLDS, at(72 * HOURS)),
            [],
            "it came late"
        );
        assert!(matches!(
            endpoint.gate(at(80 * HOURS)),
            Gate::Shut { until: None, .. }
        ));
    }

    #[test]
    fn of_several_notices_that_are_due_the_longest_is_given() {
        let mut endpoint = endpoint();
        endpoint.learn(&status(500), HOLDS, at(0));
        let notices = endpoint.learn(&status(500), HOLDS, at(100_000));
        assert_eq!(notices, [Notice::FailingForADay]);
        assert_eq!(endpoint.learn(&status(500), HOLDS, at(100_001)), []);
    }

    #[test]
    fn three_refusals_in_a_row_and_the_first_redirect_are_told_once_for_a_run() {
        let mut endpoint = endpoint();
        let mut told = |codes: &[u16]| -> Vec<Notice> {
            let notices = codes
                .iter()
                .map(|code| endpoint.learn(&status(*code), HOLDS, START));
            notices.flatten().collect()
        };
        assert_eq!(told(&[401, 401, 500, 401, 401]), []);
        assert_eq!(told(&[401]), [Notice::Rejecting]);
        assert_eq!(told(&[401, 500, 404, 404, 404]), []);
        assert_eq!(told(&[302, 302]), [Notice::Redirecting]);
        assert_eq!(
            told(&[200, 404, 404, 404, 307]),
            [Notice::Rejecting, Notice::Redirecting]
        );
    }

    #[test]
    fn nothing_is_learned_while_somebody_wants_quiet_and_all_is_forgotten_afterwards() {
        let mut endpoint = endpoint();
        endpoint.learn(&status(500), TRIPS, at(0));
        assert_eq!(endpoint.pause(at(1)), Some(Notice::Paused));
        assert_eq!(endpoint.pause(at(2)), None);
        let paused = endpoint.clone();
        for late in [status(200), status(500), asking(429, 60), status(410)] {
            assert_eq!(endpoint.learn(&late, TRIPS, at(100)), []);
        }
        assert_eq!(endpoint, paused);
        assert_eq!(endpoint.resume(), Some(Notice::Resumed));
        assert_eq!(endpoint.resume(), None);
        assert!(endpoint.is_plain());
    }

    #[test]
    fn counting_alone_is_shared_at_each_doubling() {
        let mut endpoint = endpoint();
        let mut shared = endpoint.clone();
        let mut written = Vec::new();
        for number in 1..=1_000 {
            endpoint.learn(&status(500), HOLDS, START);
            if endpoint.differs_in_substance(&shared) {
                shared = endpoint.clone();
                written.push(number);
            }
        }
        assert_eq!(written, [4, 8, 16, 32, 64, 128, 256, 512]);
        for change in [asking(503, 5), status(410), status(302), status(200)] {
            endpoint.learn(&change, HOLDS, START);
            assert!(endpoint.differs_in_substance(&shared), "{change:?}");
            shared = endpoint.clone();
        }
        assert!(!endpoint.differs_in_substance(&shared));
    }
}
