//! A process with a matcher: what it has heard of the rules, its clock, and its way to the journal.

use std::{
    cell::{Cell, RefCell},
    future::poll_fn,
    rc::Rc,
    sync::Arc,
    task::Poll,
    time::Duration,
};

use bytes::Bytes;
use domain::{DeliveryId, OrgId, Timestamp, partition::Partition, rule::RuleSet};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use journal::{
    Connection, Error,
    dedup::AlertMark,
    follow::Entry,
    log_state::LogState,
    match_log::{Judgment, own_end},
    queue::{bundles, name},
    record::Job,
    requeue::{OnRecord, Rounds},
    salt::MessageSalt,
    streams::Log,
};

use super::{
    calls::{Kind, Shared, call},
    checks::{self, JudgedBy, Look},
    journal::Journal,
};
use crate::world::{Reader, World};

/// For how long a call is made again, as the journal does.
pub(super) const PATIENCE: Duration = Duration::from_secs(15);
/// How many marks are made, or messages queued, at the same time.
const AT_ONCE: usize = 64;

/// Cheap to clone.
#[derive(Clone)]
pub(super) struct Node {
    pub(super) shared: Shared,
    /// Its number; one that is started anew has another.
    pub(super) who: usize,
    /// How far its clock is ahead of the journal's.
    pub(super) ahead: Duration,
    /// The version of the rules that it has heard of.
    pub(super) rules: Rc<Cell<usize>>,
    nonces: Rc<Cell<u64>>,
    /// The messages that it was given to judge and has not asked for the rules for.
    given: Rc<RefCell<Vec<u64>>>,
    judged_by: Rc<RefCell<JudgedBy>>,
}

impl Node {
    pub(super) fn new(shared: &Shared, who: usize) -> Self {
        let mut journal = shared.borrow_mut();
        let ahead = Duration::from_millis(journal.dice.below(3_000u64));
        let rules = journal.rules_version();
        let rules = journal.dice.place(rules + 1);
        Self {
            shared: Rc::clone(shared),
            who,
            ahead,
            rules: Rc::new(Cell::new(rules)),
            nonces: Rc::default(),
            given: Rc::default(),
            judged_by: Rc::default(),
        }
    }

    /// Asks the journal once.
    async fn once<T: 'static>(
        &self,
        name: &'static str,
        kind: Kind,
        effect: impl FnOnce(&mut Journal) -> T + 'static,
    ) -> Result<T, Error> {
        call(&self.shared, self.who, (name, kind), effect).await
    }

    /// Asks the journal until it answers or patience has run out.
    async fn ask<T: 'static>(
        &self,
        name: &'static str,
        kind: Kind,
        effect: impl FnOnce(&mut Journal) -> T + Clone + 'static,
    ) -> Result<T, Error> {
        let deadline = self.shared.borrow().now.plus(PATIENCE);
        loop {
            let answer = self.once(name, kind, effect.clone()).await;
            if answer.is_ok() || self.shared.borrow().now >= deadline {
                return answer;
            }
        }
    }

    /// Asks what only this process decides.
    pub(super) async fn own<T: 'static>(
        &self,
        name: &'static str,
        effect: impl FnOnce(&mut Journal) -> T + 'static,
    ) -> T {
        let answer = self.once(name, Kind::Own, effect).await;
        answer.expect("a process answers itself")
    }

    /// Returns when the turn is over though we are at work.
    pub(super) async fn interrupted(&self) {
        poll_fn(|_| {
            if self.shared.borrow_mut().interrupted.remove(&self.who) {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        })
        .await;
    }

    /// The messages that are judged next.
    pub(super) fn is_given(&self, messages: impl Iterator<Item = u64>) {
        *self.given.borrow_mut() = messages.collect();
    }

    async fn queue(
        &self,
        connection: Option<Connection>,
        bundles: Vec<Vec<&Job>>,
    ) -> Result<(), Error> {
        let publish = async |bundle: Vec<&Job>| {
            let (look, name) = (self.look(), name(&bundle));
            let jobs: Rc<Vec<Job>> = Rc::new(bundle.into_iter().cloned().collect());
            let queue = move |journal: &mut Journal| journal.queue(look, &name, &jobs);
            let deadline = self.shared.borrow().now.plus(PATIENCE);
            loop {
                if self.connection() != connection {
                    let doing = String::from("queue");
                    return Err(Error::Disconnected { doing });
                }
                let answer = self.once("queue", Kind::Write, queue.clone()).await;
                if answer.is_ok() || self.shared.borrow().now >= deadline {
                    return answer;
                }
            }
        };
        stream::iter(bundles.into_iter().map(Ok))
            .try_for_each_concurrent(AT_ONCE, publish)
            .await
    }
}

impl World for Node {
    type Reader = Reading;

    fn now(&self) -> Timestamp {
        self.shared.borrow().now.plus(self.ahead)
    }

    fn nonce(&self) -> String {
        self.nonces.set(self.nonces.get() + 1);
        format!("{}-{}", self.who, self.nonces.get())
    }

    fn rules_of(&self, _: OrgId) -> Option<Arc<RuleSet>> {
        let version = self.rules.get();
        for message in self.given.borrow_mut().drain(..) {
            self.judged_by.borrow_mut().insert(message, version);
        }
        Some(Arc::clone(&self.shared.borrow().rules[version].set))
    }

    async fn catch_up(&self) -> Result<(), Error> {
        let rules = Rc::clone(&self.rules);
        let look = move |journal: &mut Journal| rules.set(journal.rules_version());
        self.ask("catch up", Kind::Read, look).await
    }

    async fn log_state(&self, log: Log) -> Result<LogState, Error> {
        let (who, last_at) = (self.who, self.now());
        let look = move |journal: &mut Journal| {
            let last_sequence = match log {
                Log::Events(_) => journal.events.len(),
                Log::Outcomes(_) => {
                    checks::looks_at_outcomes(journal, who);
                    journal.outcomes.len()
                }
            } as u64;
            LogState {
                first_sequence: 1,
                last_sequence,
                messages: last_sequence,
                bytes: 0,
                last_at,
                created: "1".to_owned(),
            }
        };
        self.ask("log state", Kind::Read, look).await
    }

    fn follow(&self, log: Log, position: u64) -> Reading {
        let of = match log {
            Log::Events(_) => Of::Events,
            Log::Outcomes(_) => Of::Outcomes,
        };
        self.read(of, position)
    }

    fn judgments(&self, _: Partition, after: u64) -> Reading {
        self.read(Of::Chain, after)
    }

    async fn last_judgment(&self, _: Partition) -> Result<Option<Judgment>, Error> {
        let look = |journal: &mut Journal| {
            let sequence = *journal.chain.last()?;
            Judgment::read(sequence, &journal.outcome(sequence).payload).expect("readable")
        };
        self.ask("last judgment", Kind::Read, look).await
    }

    async fn append_judgment(
        &self,
        _: Partition,
        last: u64,
        nonce: &str,
        _: Option<i64>,
        message: Vec<u8>,
    ) -> Result<Option<u64>, Error> {
        let (by, message) = (Rc::new(self.by()), Rc::new(message));
        let deadline = self.shared.borrow().now.plus(PATIENCE);
        loop {
            let (by, owned, message) = (Rc::clone(&by), nonce.to_owned(), Rc::clone(&message));
            let append = move |journal: &mut Journal| journal.append(&by, last, &owned, &message);
            let answer = match self.once("append", Kind::Write, append).await {
                Ok(Some(sequence)) => Ok(Some(sequence)),
                Ok(None) => self.own_end(nonce).await,
                Err(error) => Err(error),
            };
            if answer.is_ok() || self.shared.borrow().now >= deadline {
                if let Ok(Some(_)) = answer {
                    checks::looks_at_outcomes(&mut self.shared.borrow_mut(), self.who);
                }
                return answer;
            }
        }
    }

    /// Nobody puts this journal back: each message is stored at its sequence.
    async fn stored_ns(&self, _: Log, sequence: u64) -> Result<Option<i64>, Error> {
        Ok(i64::try_from(sequence).ok().filter(|it| *it > 0))
    }

    async fn last_stored_by(&self, _: Log, stored_ns: i64) -> Result<u64, Error> {
        Ok(u64::try_from(stored_ns).unwrap_or(0))
    }

    async fn event_message(
        &self,
        _: Partition,
        sequence: u64,
    ) -> Result<Option<impl AsRef<[u8]>>, Error> {
        let look = move |journal: &mut Journal| journal.event_message(sequence).payload.clone();
        self.ask("event message", Kind::Read, look).await.map(Some)
    }

    async fn mark_alerts(&self, alerts: &[(DeliveryId, AlertMark)]) -> Result<Vec<bool>, Error> {
        let is_ours = async |(delivery, mark): &(DeliveryId, AlertMark)| {
            let (delivery, made) = (*delivery, mark.clone());
            let make = move |journal: &mut Journal| journal.mark(delivery, &made);
            let there = self.ask("mark", Kind::Write, make).await?;
            Ok(!mark.is_kept_back_by(&there))
        };
        let marked = stream::iter(alerts.iter().map(is_ours)).buffered(AT_ONCE);
        marked.try_collect().await
    }

    async fn deliver_all(&self, jobs: &[Job]) -> Result<(), Error> {
        self.queue(self.connection(), bundles(jobs)).await
    }

    async fn deliver_again(
        &self,
        jobs: Vec<Job>,
        on_record: &OnRecord,
        now: Timestamp,
    ) -> Result<(), Error> {
        self.queue_again(jobs, on_record, now).await
    }

    fn connection(&self) -> Option<Connection> {
        Some(Connection(self.shared.borrow().restarts))
    }
}

impl Rounds for Node {
    async fn queue(
        &self,
        connection: Option<Connection>,
        bundles: Vec<Vec<&Job>>,
    ) -> Result<(), Error> {
        self.queue(connection, bundles).await
    }

    async fn next_round(&self, delivery: DeliveryId, now: Timestamp) -> Result<Timestamp, Error> {
        let look = move |journal: &mut Journal| journal.next_round(delivery, now);
        self.ask("next round", Kind::Read, look).await
    }

    async fn supersede(&self, delivery: DeliveryId, round: Timestamp) -> Result<(), Error> {
        let void = move |journal: &mut Journal| journal.supersede(delivery, round);
        self.ask("supersede", Kind::Write, void).await
    }
}

impl Node {
    /// By which rules we judged what is not on record.
    fn by(&self) -> JudgedBy {
        let judged = self.shared.borrow().checks.judged();
        let mut judged_by = self.judged_by.borrow_mut();
        judged_by.retain(|message, _| *message > judged);
        judged_by.clone()
    }

    /// What we could see when we last looked what is on record.
    fn look(&self) -> Look {
        self.shared.borrow().checks.look_of(self.who)
    }

    /// Looks whether the chain ends with what we appended.
    async fn own_end(&self, nonce: &str) -> Result<Option<u64>, Error> {
        let nonce = nonce.to_owned();
        let look = move |journal: &mut Journal| {
            let end = journal.chain.last();
            let end = end.map(|end| (*end, journal.outcome(*end).nonce.as_deref()));
            own_end(end, &nonce)
        };
        self.once("last judgment", Kind::Read, look).await
    }

    fn read(&self, of: Of, position: u64) -> Reading {
        Reading {
            node: self.clone(),
            of,
            position,
        }
    }
}

/// What is read.
#[derive(Clone, Copy)]
enum Of {
    Events,
    Outcomes,
    Chain,
}

/// Reads a log, a few messages at a time.
pub(super) struct Reading {
    node: Node,
    of: Of,
    position: u64,
}

impl Reader for Reading {
    async fn next(&mut self, most: usize) -> Result<Vec<Entry>, Error> {
        let (of, after) = (self.of, self.position);
        let read = move |journal: &mut Journal| {
            let few = 1 + journal.dice.place(most.min(8));
            let is_next = |sequence: &u64| *sequence > after;
            let payload = |sequence: u64| journal.outcome(sequence).payload.clone();
            let found: Vec<(u64, Bytes)> = match of {
                Of::Events => (after + 1..=journal.events.len() as u64)
                    .take(few)
                    .map(|sequence| (sequence, journal.event_message(sequence).payload.clone()))
                    .collect(),
                Of::Outcomes => (after + 1..=journal.outcomes.len() as u64)
                    .take(few)
                    .map(|sequence| (sequence, payload(sequence)))
                    .collect(),
                Of::Chain => {
                    let chain = journal.chain.iter().copied().filter(is_next);
                    let found = chain.take(few);
                    found
                        .map(|sequence| (sequence, payload(sequence)))
                        .collect()
                }
            };
            let entry = |(sequence, payload)| Entry {
                sequence,
                stored_ns: i64::try_from(sequence).unwrap_or(i64::MAX),
                subject: String::new(),
                salt: MessageSalt::random(),
                payload,
            };
            found.into_iter().map(entry).collect()
        };
        let entries: Vec<Entry> = self.node.once("read", Kind::Read, read).await?;
        self.position = entries.last().map_or(after, |entry| entry.sequence);
        Ok(entries)
    }

    fn position(&self) -> u64 {
        self.position
    }
}
