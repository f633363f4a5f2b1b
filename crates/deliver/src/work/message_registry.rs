//! What is in a worker's hands: messages, those of their deliveries that are not dealt with, and which messages were
//! there a short while ago.
//!
//! The queue hands out a message again if it heard nothing of it for a while, or if it could not be settled: it is
//! recognized here, and nothing of it is done twice. A delivery may also come with another message, because it is
//! tried again or somebody asked for it again: while we deal with it, that one waits.

use std::{
    collections::{HashMap, HashSet},
    hash::Hash,
    mem,
    sync::{Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use domain::{DeliveryId, Timestamp};
use journal::record::Job;
use tokio::time::Instant;

/// How long at least a message is remembered: several times as long as the queue waits before it hands it out again.
const REMEMBERED_FOR: Duration = Duration::from_secs(60);
/// And how many of them in each of two generations, which are 10 MiB then. If more come they are forgotten sooner.
const REMEMBERED_MAX: usize = 200_000;

/// Names a message by its place in the stream and what it asks for first: a stream that had to be made anew counts from
/// one again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct MessageKey {
    sequence: u64,
    first: DeliveryId,
    attempt: u32,
    since: Timestamp,
}

impl MessageKey {
    pub(super) fn of(sequence: u64, first: &Job) -> Self {
        Self {
            sequence,
            first: first.matched.delivery,
            attempt: first.attempt,
            since: first.since,
        }
    }
}

/// Why a message is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    /// We have it.
    InHand,
    /// We had it, and everything of it is dealt with.
    DealtWith,
    /// We have a delivery of it that came with another message.
    InAnother,
}

/// Which messages a worker has; `P` is what it has of one.
pub(super) struct MessageRegistry<P>(Mutex<Inner<P>>);

struct Inner<P> {
    messages: HashMap<MessageKey, Weak<P>>,
    /// With the sequence of the message they came with.
    deliveries: HashMap<DeliveryId, u64>,
    dealt_with: Recent<MessageKey>,
}

impl<P> MessageRegistry<P> {
    pub(super) fn new() -> Self {
        Self(Mutex::new(Inner {
            messages: HashMap::new(),
            deliveries: HashMap::new(),
            dealt_with: Recent::with_room_for(REMEMBERED_MAX),
        }))
    }

    fn lock(&self) -> MutexGuard<'_, Inner<P>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether we have it, or had it a short while ago.
    pub(super) fn know(&self, key: MessageKey) -> bool {
        let inner = self.lock();
        inner.messages.contains_key(&key) || inner.dealt_with.has(&key)
    }

    /// Takes a message with its deliveries, unless we know it.
    pub(super) fn take(
        &self,
        key: MessageKey,
        deliveries: &[DeliveryId],
        message: Weak<P>,
    ) -> Result<(), Known> {
        let mut inner = self.lock();
        if inner.messages.contains_key(&key) {
            return Err(Known::InHand);
        }
        if inner.dealt_with.has(&key) {
            return Err(Known::DealtWith);
        }
        if deliveries
            .iter()
            .any(|one| inner.deliveries.contains_key(one))
        {
            return Err(Known::InAnother);
        }
        inner.messages.insert(key, message);
        let with_sequence = deliveries.iter().map(|one| (*one, key.sequence));
        inner.deliveries.extend(with_sequence);
        Ok(())
    }

    /// A delivery is dealt with, whatever is left of its message: its next attempt may come.
    pub(super) fn let_go(&self, key: MessageKey, delivery: DeliveryId) {
        self.lock().let_go(key, delivery);
    }

    /// Everything of a message is dealt with: should it come again, it need only be settled.
    pub(super) fn remember(&self, key: MessageKey) {
        self.lock().dealt_with.add(key);
    }

    /// A message is out of our hands with all of its deliveries: settled, or handed back.
    pub(super) fn put_down(&self, key: MessageKey, deliveries: &[DeliveryId]) {
        let mut inner = self.lock();
        inner.messages.remove(&key);
        for delivery in deliveries {
            inner.let_go(key, *delivery);
        }
    }

    /// The messages that we have.
    pub(super) fn messages(&self) -> Vec<Weak<P>> {
        self.lock().messages.values().cloned().collect()
    }
}

impl<P> Inner<P> {
    /// Not if it came with another message since.
    fn let_go(&mut self, key: MessageKey, delivery: DeliveryId) {
        if self.deliveries.get(&delivery) == Some(&key.sequence) {
            self.deliveries.remove(&delivery);
        }
    }
}

/// Two generations: those of this minute, and those of the minute before.
struct Recent<T> {
    max: usize,
    new: HashSet<T>,
    old: HashSet<T>,
    began: Option<Instant>,
}

impl<T: Eq + Hash> Recent<T> {
    /// For so many of this minute, and as many of the minute before.
    fn with_room_for(max: usize) -> Self {
        Self {
            max,
            new: HashSet::new(),
            old: HashSet::new(),
            began: None,
        }
    }

    fn has(&self, one: &T) -> bool {
        self.new.contains(one) || self.old.contains(one)
    }

    fn add(&mut self, one: T) {
        let began = *self.began.get_or_insert_with(Instant::now);
        if began.elapsed() > REMEMBERED_FOR || self.new.len() >= self.max {
            self.old = mem::take(&mut self.new);
            self.began = Some(Instant::now());
        }
        self.new.insert(one);
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn delivery(number: u128) -> DeliveryId {
        DeliveryId::from_uuid(Uuid::from_u128(number))
    }

    fn key(sequence: u64, first: u128) -> MessageKey {
        MessageKey {
            sequence,
            first: delivery(first),
            attempt: 1,
            since: Timestamp::default(),
        }
    }

    fn take(
        registry: &MessageRegistry<()>,
        key: MessageKey,
        of: &[DeliveryId],
    ) -> Result<(), Known> {
        registry.take(key, of, Weak::new())
    }

    #[test]
    fn a_message_that_comes_again_is_known_and_after_it_was_handed_back_is_not() {
        let (registry, bundle) = (MessageRegistry::new(), [delivery(1), delivery(2)]);
        let first = key(7, 1);
        assert_eq!(take(&registry, first, &bundle), Ok(()));
        assert_eq!(take(&registry, first, &bundle), Err(Known::InHand));
        registry.let_go(first, delivery(1));
        registry.let_go(first, delivery(2));
        assert_eq!(take(&registry, first, &bundle), Err(Known::InHand));
        registry.put_down(first, &bundle);
        assert_eq!(take(&registry, first, &bundle), Ok(()), "handed back");
        registry.remember(first);
        registry.put_down(first, &bundle);
        assert_eq!(take(&registry, first, &bundle), Err(Known::DealtWith));
        let other = key(7, 2);
        assert_eq!(
            take(&registry, other, &[delivery(2)]),
            Ok(()),
            "a new stream"
        );
    }

    #[test]
    fn a_delivery_may_come_again_when_it_is_dealt_with_and_not_before() {
        let (registry, bundle) = (MessageRegistry::new(), [delivery(1), delivery(2)]);
        let (first, retry) = (key(7, 1), key(8, 1));
        assert_eq!(take(&registry, first, &bundle), Ok(()));
        let again = || take(&registry, retry, &[delivery(1)]);
        assert_eq!(again(), Err(Known::InAnother));
        registry.let_go(first, delivery(1));
        assert_eq!(again(), Ok(()), "though the other is not");
        registry.put_down(first, &bundle);
        assert_eq!(
            take(&registry, key(9, 1), &[delivery(1)]),
            Err(Known::InAnother),
            "it is of the retry now"
        );
    }

    #[test]
    fn however_many_there_are_the_last_ones_are_known_and_no_more_than_there_is_room_for() {
        let mut recent = Recent::with_room_for(100);
        for number in 0..350 {
            recent.add(number);
        }
        assert!((250..350).all(|number| recent.has(&number)));
        assert!(recent.new.len() + recent.old.len() <= 200);
    }
}
