//! Two workers send to one endpoint by the real rules; the model is asked at each step.

use std::{cell::RefCell, collections::BTreeSet};

use domain::{
    DeliveryId, OrgId, Timestamp,
    delivery::{
        Answer, Endpoint, FailureTally, Gate, Notice, Reason, SendWindow, State,
        endpoint::Status,
        schedule::{self, Next, Round},
    },
};
use proptest::{
    prelude::*,
    test_runner::{Config, TestCaseError, TestRunner},
};
use uuid::Uuid;

use super::{
    model::{DeliveryHistory, EXPIRY, EndpointHistory, Heard, Tally},
    story::{DELIVERIES, Step, WORKERS, story},
};

const START: Timestamp = Timestamp::from_unix_millis(1_763_200_000_000);

/// Enough that nearly every state is reached, in a few seconds; the rarest need another round now and then.
const STORIES: u32 = 400;
const ROUNDS_MAX: u32 = 10;

/// Everything that must have happened in some story, or the test shows nothing.
const REACHED: [&str; 26] = [
    "Delivered",
    "Scheduled",
    "Failed Exhausted",
    "Failed Expired",
    "Failed Permanent",
    "Held Blocked",
    "Held Breaker",
    "Held Disabled",
    "Held Paused",
    "Held RetryAfter",
    "BreakerClosed",
    "BreakerOpened",
    "Disabled",
    "Disabled Failing",
    "Disabled Gone",
    "FailingFor15Minutes",
    "FailingForADay",
    "FailingForAnHour",
    "Paused",
    "Redirecting",
    "Rejecting",
    "Resumed",
    "probe",
    "late answer",
    "probe lost to another",
    "sent by an old view",
];

type Checked = Result<(), TestCaseError>;

#[test]
fn every_story_ends_in_documented_states_and_agrees_with_the_model() {
    let reached = RefCell::new(BTreeSet::new());
    let missed = || {
        let reached = reached.borrow();
        let missed = REACHED.into_iter().filter(|what| !reached.contains(*what));
        missed.collect::<Vec<_>>()
    };
    let mut rounds = 0;
    while rounds == 0 || (!missed().is_empty() && rounds < ROUNDS_MAX) {
        rounds += 1;
        tell_stories(&reached);
    }
    assert_eq!(missed(), Vec::<&str>::new(), "no story came to these");
}

fn tell_stories(reached: &RefCell<BTreeSet<String>>) {
    let config = Config {
        cases: STORIES,
        failure_persistence: None,
        ..Config::default()
    };
    let result = TestRunner::new(config).run(&story(), |steps| {
        let mut machine = Machine::new();
        for step in steps {
            machine.take(step)?;
            machine.check_endpoint()?;
        }
        reached.borrow_mut().append(&mut machine.reached);
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
}

struct Machine {
    now: Timestamp,
    /// The one value that all workers compare and set.
    shared: Endpoint,
    workers: Vec<Worker>,
    deliveries: Vec<Delivery>,
    flights: Vec<Flight>,
    history: EndpointHistory,
    reached: BTreeSet<String>,
}

struct Worker {
    /// The endpoint as this worker last saw it.
    view: Endpoint,
    window: SendWindow,
    failures: FailureTally,
    /// What it heard since the breaker last closed.
    tally: Tally,
}

struct Delivery {
    id: DeliveryId,
    attempts: u32,
    round: Round,
    state: State,
    reason: Option<Reason>,
    /// `None`: it has left the queue.
    due: Option<Timestamp>,
    in_flight: bool,
    history: DeliveryHistory,
}

struct Flight {
    worker: usize,
    delivery: usize,
}

impl Machine {
    fn new() -> Self {
        let org = OrgId::from_uuid(Uuid::from_u128(1));
        let shared = Endpoint::new(org, "https://hooks.example.com");
        let worker = |_| Worker {
            view: shared.clone(),
            window: SendWindow::new(8),
            failures: FailureTally::default(),
            tally: Tally::default(),
        };
        Self {
            now: START,
            workers: (0..WORKERS).map(worker).collect(),
            deliveries: (0..DELIVERIES)
                .map(|number| Delivery::new(number as u128))
                .collect(),
            flights: Vec::new(),
            history: EndpointHistory::default(),
            reached: BTreeSet::new(),
            shared,
        }
    }

    fn take(&mut self, step: Step) -> Checked {
        match step {
            Step::Wait(wait) => self.now = self.now.plus(wait),
            Step::Begin(worker) => {
                for delivery in 0..DELIVERIES {
                    self.begin(worker, delivery)?;
                }
            }
            Step::End(flight, answer) => {
                if flight < self.flights.len() {
                    self.end(flight, &answer)?;
                }
            }
            Step::Drive(answer) => {
                while !self.flights.is_empty() {
                    self.end(0, &answer)?;
                }
                let due = self
                    .deliveries
                    .iter()
                    .filter_map(|delivery| delivery.due)
                    .min();
                self.now = self.now.max(due.unwrap_or(self.now));
            }
            Step::See(worker) => self.see(worker),
            Step::Pause => {
                let notice = self.shared.pause(self.now);
                self.history.pause();
                self.tell(notice);
            }
            Step::Resume => {
                let notice = self.shared.resume();
                self.history.resume();
                self.tell(notice);
            }
            Step::Resend(delivery) => self.deliveries[delivery].resend(self.now),
        }
        Ok(())
    }

    /// What a worker does with a delivery that may be due.
    fn begin(&mut self, worker: usize, number: usize) -> Checked {
        let delivery = &mut self.deliveries[number];
        let is_due = delivery.due.is_some_and(|due| due <= self.now);
        if delivery.in_flight || !is_due {
            return Ok(());
        }
        if schedule::is_expired(delivery.round, self.now) {
            self.stand(number, State::Failed, Some(Reason::Expired), None);
            return Ok(());
        }
        match self.workers[worker].view.gate(self.now) {
            Gate::Open => {
                let open = self.history.gate(self.now.unix_millis()) == Gate::Open;
                let fresh = self.workers[worker].view == self.shared;
                prop_assert!(open || !fresh, "sent through a shut gate");
                if !open {
                    self.reached.insert("sent by an old view".into());
                }
                self.start(worker, number)
            }
            Gate::Probe => self.probe(worker, number),
            Gate::Shut { reason, until } => {
                self.stand(number, State::Held, Some(reason), until);
                Ok(())
            }
        }
    }

    /// A probe is taken from the shared value, never from what a worker remembers.
    fn probe(&mut self, worker: usize, number: usize) -> Checked {
        let offered = self.shared.gate(self.now) == Gate::Probe;
        let agreed = self.history.gate(self.now.unix_millis()) == Gate::Probe;
        prop_assert_eq!(offered, agreed);
        if !offered {
            self.reached.insert("probe lost to another".into());
            self.see(worker);
            return Ok(());
        }
        self.shared.start_probe(self.now);
        self.history.probe(self.now.unix_millis());
        self.workers[worker].view = self.shared.clone();
        self.reached.insert("probe".into());
        self.start(worker, number)
    }

    fn start(&mut self, worker: usize, number: usize) -> Checked {
        let delivery = &mut self.deliveries[number];
        let settled = matches!(delivery.state, State::Delivered | State::Failed);
        prop_assert!(!settled, "sent after it was settled");
        prop_assert!(delivery.history.charged() < 14, "a fifteenth attempt");
        prop_assert!(
            self.now.unix_millis() <= delivery.history.since + EXPIRY,
            "sent after its expiry"
        );
        delivery.in_flight = true;
        delivery.attempts += 1;
        self.flights.push(Flight {
            worker,
            delivery: number,
        });
        Ok(())
    }

    fn end(&mut self, flight: usize, answer: &Answer) -> Checked {
        let Flight {
            worker,
            delivery: number,
        } = self.flights.swap_remove(flight);
        if self.shared.status != Status::Active {
            self.reached.insert("late answer".into());
        }
        let trips = self.workers[worker].learn(answer, self.now)?;
        let before = self.shared.clone();
        let notices = self.shared.learn(answer, trips, self.now);
        if !self.shared.differs_in_substance(&before) {
            prop_assert_eq!(&notices, &[], "told, and not shared");
            prop_assert_eq!(self.shared.gate(self.now), before.gate(self.now));
        }
        self.check_notices(&before, &notices)?;
        self.history.hear(Heard {
            at: self.now.unix_millis(),
            answer: *answer,
            trips,
        });
        self.see(worker);
        self.tell(notices);
        self.settle(number, answer)
    }

    /// What becomes of the delivery.
    fn settle(&mut self, number: usize, answer: &Answer) -> Checked {
        let delivery = &mut self.deliveries[number];
        delivery.in_flight = false;
        delivery
            .history
            .answers
            .push((self.now.unix_millis(), *answer));
        let attempt = (delivery.id, delivery.attempts);
        let next = schedule::next(attempt, delivery.round, answer, self.now);
        if let Next::At { step, .. } = next {
            delivery.round.step = step;
            prop_assert_eq!(usize::try_from(step).ok(), Some(delivery.history.charged()));
        }
        let due = next.due().map(Timestamp::unix_millis);
        prop_assert!(
            delivery.history.allows(next.state(), next.reason(), due),
            "{:?} after {:?}",
            next,
            delivery.history
        );
        self.stand(number, next.state(), next.reason(), next.due());
        Ok(())
    }

    /// Each notice is due, and none is missing that tells of a change of the gate.
    fn check_notices(&self, before: &Endpoint, notices: &[Notice]) -> Checked {
        let after = &self.shared;
        let count = |wanted| notices.iter().filter(|notice| **notice == wanted).count();
        let (was_open, is_open) = (before.breaker.is_some(), after.breaker.is_some());
        prop_assert_eq!(
            count(Notice::BreakerOpened),
            usize::from(!was_open && is_open)
        );
        prop_assert_eq!(
            count(Notice::BreakerClosed),
            usize::from(was_open && !is_open)
        );
        prop_assert_eq!(
            count(Notice::Disabled),
            usize::from(before.status != after.status)
        );
        let failing_for_ms = after
            .failing
            .map_or(0, |run| (self.now.since(run.since)).as_millis());
        for (notice, minutes) in [
            (Notice::FailingFor15Minutes, 15),
            (Notice::FailingForAnHour, 60),
            (Notice::FailingForADay, 24 * 60),
        ] {
            prop_assert!(count(notice) == 0 || failing_for_ms >= minutes * 60_000);
        }
        Ok(())
    }

    /// The endpoint is what its history makes it.
    fn check_endpoint(&mut self) -> Checked {
        prop_assert_eq!(
            self.shared.gate(self.now),
            self.history.gate(self.now.unix_millis())
        );
        let why = match self.shared.status {
            Status::Disabled { why, .. } => Some(why),
            Status::Active | Status::Paused { .. } => None,
        };
        prop_assert_eq!(why, self.history.disabled());
        if let Some(why) = why {
            self.reached.insert(format!("Disabled {why:?}"));
        }
        let opened_at = self
            .shared
            .breaker
            .map(|breaker| breaker.since.unix_millis());
        if why.is_none() {
            prop_assert_eq!(opened_at, self.history.breaker_opened_at());
            let run = self
                .shared
                .failing
                .map(|run| (run.since.unix_millis(), run.attempts));
            let failures = self.history.failures();
            let attempts = u32::try_from(failures.len()).expect("few");
            prop_assert_eq!(run, failures.first().map(|first| (first.at, attempts)));
        }
        Ok(())
    }

    fn see(&mut self, worker: usize) {
        let worker = &mut self.workers[worker];
        if worker.view.breaker.is_some() && self.shared.breaker.is_none() {
            worker.window.ramp();
            worker.failures = FailureTally::default();
            worker.tally = Tally::default();
        }
        worker.view = self.shared.clone();
    }

    fn stand(
        &mut self,
        number: usize,
        state: State,
        reason: Option<Reason>,
        due: Option<Timestamp>,
    ) {
        let reason_text = reason
            .map(|reason| format!(" {reason:?}"))
            .unwrap_or_default();
        self.reached.insert(format!("{state:?}{reason_text}"));
        let delivery = &mut self.deliveries[number];
        (delivery.state, delivery.reason, delivery.due) = (state, reason, due);
    }

    fn tell(&mut self, notices: impl IntoIterator<Item = Notice>) {
        let told = notices.into_iter().map(|notice| format!("{notice:?}"));
        self.reached.extend(told);
    }
}

impl Worker {
    fn learn(&mut self, answer: &Answer, now: Timestamp) -> Result<bool, TestCaseError> {
        self.window.answered(answer);
        let trips = self.failures.answered(answer, now);
        self.tally.hear(now.unix_millis(), answer);
        prop_assert_eq!(trips, self.tally.trips(answer));
        prop_assert!((1..=8).contains(&self.window.limit()));
        Ok(trips)
    }
}

impl Delivery {
    fn new(number: u128) -> Self {
        Self {
            id: DeliveryId::from_uuid(Uuid::from_u128(number)),
            attempts: 0,
            round: Round {
                step: 0,
                since: START,
            },
            state: State::Pending,
            reason: None,
            due: Some(START),
            in_flight: false,
            history: DeliveryHistory {
                since: START.unix_millis(),
                answers: Vec::new(),
            },
        }
    }

    /// Only what has left the queue can be sent again; its attempts are counted on.
    fn resend(&mut self, now: Timestamp) {
        if self.in_flight || self.due.is_some() {
            return;
        }
        let (id, attempts) = (self.id, self.attempts);
        *self = Self {
            id,
            attempts,
            round: Round {
                step: 0,
                since: now,
            },
            due: Some(now),
            history: DeliveryHistory {
                since: now.unix_millis(),
                answers: Vec::new(),
            },
            ..Self::new(0)
        };
    }
}
