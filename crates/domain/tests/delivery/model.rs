//! The contract as sentences about a whole history, searched from end to end at each question.

use domain::{
    Timestamp,
    delivery::{Answer, Gate, Outcome, Reason, State, endpoint::Why},
};

const SECOND: i64 = 1_000;
const HOUR: i64 = 3_600 * SECOND;
pub const EXPIRY: i64 = 72 * HOUR;

const WAITS_S: [i64; 13] = [
    1, 5, 30, 120, 600, 1_800, 3_600, 7_200, 14_400, 28_800, 43_200, 57_600, 72_000,
];

/// One answer, when it came, and whether its worker had seen enough.
#[derive(Clone, Debug)]
pub struct Heard {
    pub at: i64,
    pub answer: Answer,
    pub trips: bool,
}

/// Everything that happened to an endpoint since it was new, or resumed.
#[derive(Clone, Debug, Default)]
pub struct EndpointHistory {
    heard: Vec<Heard>,
    probes: Vec<i64>,
    paused: bool,
}

impl EndpointHistory {
    pub fn hear(&mut self, heard: Heard) {
        let about_the_receiver =
            !matches!(heard.answer.outcome, Outcome::OurFault | Outcome::Blocked);
        if about_the_receiver && !self.paused && self.disabled().is_none() {
            self.heard.push(heard);
        }
    }

    pub fn pause(&mut self) {
        self.paused = self.paused || self.disabled().is_none();
    }

    pub fn resume(&mut self) {
        *self = Self::default();
    }

    pub fn probe(&mut self, at: i64) {
        self.probes.push(at);
    }

    /// What came after the last success.
    pub fn failures(&self) -> &[Heard] {
        let delivered = |heard: &Heard| heard.answer.outcome == Outcome::Delivered;
        let after = self
            .heard
            .iter()
            .rposition(delivered)
            .map_or(0, |place| place + 1);
        &self.heard[after..]
    }

    pub fn disabled(&self) -> Option<Why> {
        let failures = self.failures();
        let (first, last) = (failures.first()?, failures.last()?);
        if last.answer.outcome == Outcome::Gone {
            let since_another_answer = failures.iter().rev().take_while(|heard| {
                heard.answer.outcome == Outcome::Gone || heard.answer.status.is_none()
            });
            let mut gone =
                since_another_answer.filter(|heard| heard.answer.outcome == Outcome::Gone);
            if gone.any(|earlier| last.at - earlier.at >= 60 * SECOND) {
                return Some(Why::Gone);
            }
        }
        (last.at - first.at >= 72 * HOUR && failures.len() >= 20).then_some(Why::Failing)
    }

    pub fn breaker_opened_at(&self) -> Option<i64> {
        let mut failures = self.failures().iter();
        failures
            .find(|heard| heard.trips && heard.answer.outcome == Outcome::Transient)
            .map(|heard| heard.at)
    }

    pub fn gate(&self, now: i64) -> Gate {
        let shut = |reason, until: Option<i64>| Gate::Shut {
            reason,
            until: until.map(Timestamp::from_unix_millis),
        };
        if self.paused {
            return shut(Reason::Paused, None);
        }
        if self.disabled().is_some() {
            return shut(Reason::Disabled, None);
        }
        let asked = self
            .heard
            .iter()
            .map(|heard| heard.at + quiet(&heard.answer));
        if let Some(until) = asked.max().filter(|until| *until > now) {
            return shut(Reason::RetryAfter, Some(until));
        }
        let Some(opened_at) = self.breaker_opened_at() else {
            return Gate::Open;
        };
        let mut probe_at = opened_at + 5 * SECOND;
        let mut waits = [10, 20, 40].into_iter();
        for probe in self.probes.iter().filter(|probe| **probe >= opened_at) {
            assert!(*probe >= probe_at, "a probe before its time");
            probe_at = probe + waits.next().unwrap_or(60) * SECOND;
        }
        if probe_at <= now {
            Gate::Probe
        } else {
            shut(Reason::Breaker, Some(probe_at))
        }
    }
}

/// What one worker heard, and whether each was a transient failure.
#[derive(Clone, Debug, Default)]
pub struct Tally(Vec<(i64, bool)>);

impl Tally {
    pub fn hear(&mut self, at: i64, answer: &Answer) {
        if !matches!(answer.outcome, Outcome::OurFault | Outcome::Blocked) {
            self.0.push((at, answer.outcome == Outcome::Transient));
        }
    }

    /// Ten failures in a row, or half of at least twenty in a minute, counted in steps of 5 seconds.
    pub fn trips(&self, last: &Answer) -> bool {
        let Some((now, _)) = self.0.last() else {
            return false;
        };
        let in_a_row = self
            .0
            .iter()
            .rev()
            .take_while(|(_, failed)| *failed)
            .count();
        let since = (now / (5 * SECOND) - 11) * 5 * SECOND;
        let recent: Vec<_> = self.0.iter().filter(|(at, _)| *at >= since).collect();
        let failed = recent.iter().filter(|(_, failed)| *failed).count();
        let too_often = recent.len() >= 20 && 2 * failed >= recent.len();
        last.outcome == Outcome::Transient && (in_a_row >= 10 || too_often)
    }
}

/// Everything that was answered about a delivery since it was matched, or asked for again.
#[derive(Clone, Debug)]
pub struct DeliveryHistory {
    pub since: i64,
    pub answers: Vec<(i64, Answer)>,
}

impl DeliveryHistory {
    pub fn charged(&self) -> usize {
        let answers = self.answers.iter();
        answers.filter(|(_, answer)| is_charged(answer)).count()
    }

    /// Whether this is where the delivery stands after its last answer.
    pub fn allows(&self, state: State, reason: Option<Reason>, due: Option<i64>) -> bool {
        let (at, answer) = self.answers.last().expect("there was one");
        let settled = match answer.outcome {
            Outcome::Delivered => Some((State::Delivered, None)),
            Outcome::Permanent => Some((State::Failed, Some(Reason::Permanent))),
            Outcome::Blocked => Some((State::Held, Some(Reason::Blocked))),
            _ if is_charged(answer) && self.charged() == 14 => {
                Some((State::Failed, Some(Reason::Exhausted)))
            }
            _ => None,
        };
        if let Some(settled) = settled {
            return settled == (state, reason) && due.is_none();
        }
        let wait = if is_charged(answer) {
            WAITS_S[self.charged() - 1] * SECOND
        } else {
            let of_step = WAITS_S
                .get(self.charged())
                .map_or(SECOND, |wait| wait * SECOND);
            of_step.max((at - self.since) / 10)
        };
        let (earliest, latest) = (at + wait, at + wait + wait / 10 + 1);
        let (asked, expiry) = (at + quiet(answer), self.since + EXPIRY);
        match (state, reason, due) {
            (State::Scheduled, None, Some(due)) => {
                let window = earliest.max(asked).min(expiry)..=latest.max(asked).min(expiry);
                earliest <= expiry && due > *at && window.contains(&due)
            }
            (State::Failed, Some(Reason::Expired), None) => latest >= expiry,
            _ => false,
        }
    }
}

fn is_charged(answer: &Answer) -> bool {
    answer.status != Some(429) && answer.outcome != Outcome::OurFault
}

/// For how long the receiver asked to be left alone, in milliseconds.
fn quiet(answer: &Answer) -> i64 {
    let may_ask = answer
        .status
        .is_some_and(|status| status == 429 || status / 100 == 5);
    let seconds = answer
        .retry_after
        .map_or(0, |asked| asked.as_secs().min(86_400));
    if may_ask {
        i64::try_from(seconds).expect("a day at most") * SECOND
    } else {
        0
    }
}
