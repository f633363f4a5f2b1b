//! Keeps the link to Redis: connects, beats, and tells Redis what it has to know.
//!
//! While Redis is away it is tried again and again, and before it counts as here it is told what this
//! node admitted meanwhile; if its epoch is another one, because it was started again or lost its data,
//! it is told everything that still counts.

use std::{sync::Arc, time::Duration};

use futures::FutureExt as _;
use tokio::{
    task::yield_now,
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::{
    clock::Clock,
    link::{Link, Live, say_shared},
    node_count::Census,
    redis::{Connection, Failure},
    restore_batch::{RestoreBatch, batches},
    table::{SHARDS, Table},
    unique_name,
};

/// How often a node says that it lives, and looks whether the data does.
const HEARTBEAT_EVERY: Duration = Duration::from_secs(1);
/// How long a beat may take: longer than a check, because nobody waits for it.
const HEARTBEAT_BUDGET: Duration = Duration::from_millis(250);
/// How often a Redis that is away is tried: the time in which nodes may disagree after it is back.
const PROBE_EVERY: Duration = Duration::from_millis(250);
/// An answer that is not here after so long is lost.
const LATE_MAX_MS: u64 = 5_000;

/// What the task that keeps the link knows.
pub(crate) struct Keeper<'a> {
    link: &'a Link,
    table: &'a Table,
    clock: &'a Clock,
    /// Of the data that Redis held when we last heard.
    known_epoch: Option<Arc<str>>,
    census: Census,
    /// The shards of which these data have to be told everything.
    untold: [bool; SHARDS],
}

/// Whether Redis holds what it held when we last heard.
enum Data {
    Same,
    Another,
}

impl<'a> Keeper<'a> {
    pub(crate) fn new(link: &'a Link, table: &'a Table, clock: &'a Clock) -> Self {
        Self {
            link,
            table,
            clock,
            known_epoch: None,
            census: Census::default(),
            untold: [false; SHARDS],
        }
    }

    /// Connects, beats, probes, and tells Redis what it has to know; when the node is stopping, once
    /// more, and ends.
    pub(crate) async fn keep(mut self, stopping: &CancellationToken) {
        say_shared(false);
        // Going away is announced where it is noticed; this is for a Redis that never was here.
        let mut is_announced = false;
        loop {
            if self.link.is_here() {
                is_announced = true;
                // Ends early when Redis goes away.
                let waiting = timeout(HEARTBEAT_EVERY, self.link.went_away.notified());
                let _ = stopping.run_until_cancelled(waiting).await;
                let is_last = stopping.is_cancelled();
                if let Some(live) = self.link.live() {
                    self.keep_up(&live).await;
                }
                if is_last {
                    return;
                }
            } else if stopping.is_cancelled() {
                return;
            } else if let Err(failure) = self.come_back().await {
                if !is_announced {
                    is_announced = true;
                    warn!(error = %failure, "Redis is unreachable: each node enforces limits on its own until it is back");
                }
                stopping.run_until_cancelled(sleep(PROBE_EVERY)).await;
            }
        }
    }

    async fn come_back(&mut self) -> Result<(), Failure> {
        let mut connection = self.link.server.connect().await?;
        self.census.doubt(self.clock.now_us());
        self.heartbeat(&mut connection).await?;
        self.settle_late();
        self.arrive(connection).await
    }

    /// From now on Redis is asked, after it was told what this node admitted meanwhile.
    async fn arrive(&mut self, mut connection: Connection) -> Result<(), Failure> {
        let mut told = self.tell(&mut connection).await?;
        self.link.arrived(connection.clone());
        // What was admitted while the first part was told; if this fails, the next beat does it.
        told += self.tell(&mut connection).await.unwrap_or(0);
        info!(
            nodes = self.link.nodes(),
            admissions_told = told,
            "rate limits are shared through Redis"
        );
        Ok(())
    }

    async fn keep_up(&mut self, live: &Arc<Live>) {
        let mut connection = live.connection.clone();
        let heartbeat = self.heartbeat(&mut connection).await;
        self.settle_late();
        let done = match heartbeat {
            Ok(Data::Same) => self.tell(&mut connection).await.map(|_| ()),
            // It counts as away since the beat.
            Ok(Data::Another) => self.arrive(connection).await,
            Err(failure) => Err(failure),
        };
        match done {
            Ok(()) => Link::succeeded(live),
            Err(failure) => self.link.failed(live, &failure),
        }
    }

    async fn heartbeat(&mut self, connection: &mut Connection) -> Result<Data, Failure> {
        // A new name each time: one that was used before would make lost data look like kept data.
        let name = unique_name();
        let beating = self
            .link
            .server
            .heartbeat(connection, HEARTBEAT_BUDGET, &name);
        let heard = beating.await?;
        let now_us = self.clock.now_us();
        let epoch = Some(Arc::clone(&connection.epoch));
        let is_same = self.known_epoch == epoch;
        if !is_same {
            self.census.doubt(now_us);
        }
        self.link.set_nodes(self.census.hear(heard, now_us));
        if is_same {
            return Ok(Data::Same);
        }
        if self.known_epoch.is_some() {
            warn!("Redis restarted or lost its data: sending it what this node admitted");
        }
        // From here on it is known which data the notes in memory are about, also if telling fails.
        self.known_epoch = epoch;
        self.untold = [true; SHARDS];
        self.link.begin_epoch();
        Ok(Data::Another)
    }

    /// Redis is owed what it did not count of the calls that were late. Its answers come in the order
    /// of the calls, so after a beat those to all calls before it are here, unless the connection is
    /// another one; who waits too long for that is taken for lost.
    fn settle_late(&self) {
        let now_ms = self.clock.now_us() / 1_000;
        let calls = std::mem::take(&mut *self.link.lock_late());
        for mut call in calls {
            if !self.link.is_current(&call.live) {
                // Whatever it counted is lost; all that was admitted is told anew.
                continue;
            }
            let unsynced = match (&mut call.answer).now_or_never() {
                Some(Ok(verdict)) => call.admitted.saturating_sub(verdict.granted),
                Some(Err(_)) => call.admitted,
                None if now_ms.saturating_sub(call.admitted_at_ms) > LATE_MAX_MS => call.admitted,
                None => {
                    self.link.settle_later(call);
                    continue;
                }
            };
            if unsynced > 0 {
                self.table.at(&call.place, |window| {
                    window.add_unsynced(unsynced, call.admitted_at_ms);
                });
                self.table.note_unsent(call.place.shard);
            }
        }
    }

    /// Tells Redis of every admission that it has not heard of. Returns how many.
    async fn tell(&mut self, connection: &mut Connection) -> Result<usize, Failure> {
        let mut told = 0;
        for shard in 0..SHARDS {
            if std::mem::take(&mut self.untold[shard]) {
                self.table.owe_everything(shard);
            }
            if !self.table.take_note(shard) {
                continue;
            }
            // A shard may hold some ten thousand windows: requests come first.
            yield_now().await;
            let parcels = self.table.take_unsent(shard, self.clock.now_us());
            let mut batches = batches(&parcels).into_iter();
            while let Some(batch) = batches.next() {
                match self.tell_batch(connection, shard, batch).await {
                    Ok(admissions) => told += admissions,
                    Err(failure) => {
                        self.table.put_back(shard, batches.flatten());
                        return Err(failure);
                    }
                }
            }
        }
        Ok(told)
    }

    /// Puts back what did not arrive. What Redis will not have under a key that is not ours is dropped:
    /// it would say no for ever, and such a caller is limited by each node.
    async fn tell_batch(
        &self,
        connection: &mut Connection,
        shard: usize,
        batch: Vec<RestoreBatch>,
    ) -> Result<usize, Failure> {
        let now_ms = self.clock.now_us() / 1_000;
        let telling = self.link.server.restore(connection, &batch, now_ms);
        let answers = match telling.await {
            Ok(answers) => answers,
            Err(failure) => {
                // Some of it may have arrived, and will count twice: rather that than not at all.
                self.table.put_back(shard, batch);
                return Err(failure);
            }
        };
        let (mut told, mut refused, mut failed) = (0, None, None);
        for (parcel, answer) in batch.into_iter().zip(answers) {
            match answer {
                Ok(()) => told += parcel.admitted_at.len(),
                Err(failure) if failure.is_about_one_key() => refused = Some(failure),
                Err(failure) => {
                    self.table.put_back(shard, [parcel]);
                    failed = Some(failure);
                }
            }
        }
        if let Some(failure) = refused {
            warn!(error = %failure, "Redis has something other than a list of admissions under one of our keys: each node limits that caller on its own");
        }
        failed.map_or(Ok(told), Err)
    }
}

#[cfg(test)]
mod tests {
    use std::{
        future::{pending, ready},
        sync::atomic::{AtomicU64, Ordering},
    };

    use domain::limit::{Operation, Quota, Verdict};
    use futures::future::poll_immediate;
    use testkit::shared;

    use super::*;
    use crate::{
        link::LateReply,
        redis::{Deciding, Scripts, Server},
        table::{Found, Place},
        window::Window,
    };

    fn link() -> Link {
        let scripts = Scripts::default();
        let server = Server::new(&shared().redis_url, "keeper", unique_name(), scripts);
        Link::new(server.expect("an address"))
    }

    async fn live(link: &Link) -> Arc<Live> {
        link.arrived(link.server.connect().await.expect("Redis runs"));
        link.live().expect("it has arrived")
    }

    fn granted(granted: u32) -> Deciding {
        let verdict = Verdict {
            granted,
            remaining: 0,
            frees_in: Duration::ZERO,
        };
        ready(Ok(verdict)).boxed()
    }

    #[tokio::test]
    async fn of_a_late_call_redis_is_owed_what_it_did_not_count() {
        let (link, table) = (link(), Table::new(1_000, 7));
        let now_us = Arc::new(AtomicU64::new(2_000));
        let clock = Clock::Set(Arc::clone(&now_us));
        let quota: Quota = "100/1h".parse().expect("a quota");
        let operation = Operation::Login;
        let window = |found: Found<'_>, _: &mut Window| Place::from(found);
        let place = table.enter(operation, "a", quota, window);
        let current = live(&link).await;
        let late = |answer: Deciding, live: &Arc<Live>| {
            link.settle_later(LateReply {
                answer,
                place: place.clone(),
                admitted: 3,
                admitted_at_ms: 2,
                live: Arc::clone(live),
            });
        };
        let keeper = Keeper::new(&link, &table, &clock);
        let unsynced = || {
            keeper.settle_late();
            let now_us = now_us.load(Ordering::SeqCst);
            let unsent = table.at(&place, |window| window.take_unsent(now_us));
            let unsent = unsent.expect("it is there").unwrap_or_default();
            assert!(unsent.iter().all(|at_ms| *at_ms == 2));
            assert_eq!(table.take_note(place.shard), !unsent.is_empty());
            (unsent.len(), link.lock_late().len())
        };
        for (by_redis, expected) in [(0, 3), (1, 2), (3, 0), (5, 0)] {
            late(granted(by_redis), &current);
            assert_eq!(
                unsynced(),
                (expected, 0),
                "{by_redis} of 3 counted by Redis"
            );
        }
        late(ready(Err(Failure::Late)).boxed(), &current);
        assert_eq!(unsynced(), (3, 0), "a call that failed counted nothing");

        late(pending().boxed(), &current);
        now_us.store(5_002_000, Ordering::SeqCst);
        assert_eq!(unsynced(), (0, 1), "the answer may still come");
        now_us.store(5_003_000, Ordering::SeqCst);
        assert_eq!(unsynced(), (3, 0), "it is lost");

        late(granted(0), &current);
        late(pending().boxed(), &current);
        link.begin_epoch();
        assert_eq!(unsynced(), (0, 0), "everything is told anew");
        late(granted(0), &live(&link).await);
        assert_eq!(unsynced(), (3, 0), "and then it goes on");
    }

    #[tokio::test]
    async fn looking_through_all_windows_leaves_others_their_turn() {
        let link = link();
        let (table, clock) = (Table::new(1_000, 7), Clock::start());
        let quota: Quota = "5/1h".parse().expect("a quota");
        for number in 0..10_000 {
            let subject = format!("caller {number}");
            table.enter(Operation::Login, &subject, quota, |_, _| ());
        }
        let mut connection = link.server.connect().await.expect("Redis runs");
        let mut keeper = Keeper::new(&link, &table, &clock);
        keeper.untold = [true; SHARDS];
        let mut telling = Box::pin(keeper.tell(&mut connection));
        let mut turns = 0;
        let told = loop {
            match poll_immediate(&mut telling).await {
                Some(told) => break told,
                None => turns += 1,
            }
        };
        assert_eq!(
            (told.expect("there is nothing to tell"), turns),
            (0, SHARDS)
        );
        drop(telling);
        // And where nobody noted anything, it does not even look.
        let telling = keeper.tell(&mut connection).now_or_never();
        assert_eq!(telling.expect("at once").expect("nothing to tell"), 0);
    }

    #[tokio::test]
    async fn a_failure_of_an_old_connection_says_nothing_about_the_new_one() {
        let link = link();
        let old = live(&link).await;
        link.failed(&old, &Failure::Late);
        link.failed(&old, &Failure::Late);
        assert!(link.is_here());
        Link::succeeded(&old);
        link.failed(&old, &Failure::Late);
        link.failed(&old, &Failure::Late);
        assert!(link.is_here(), "three in a row, not three");
        link.failed(&old, &Failure::Late);
        assert!(!link.is_here());
        let new = live(&link).await;
        for _ in 0..5 {
            link.failed(&old, &Failure::Late);
        }
        assert!(link.live().is_some_and(|live| Arc::ptr_eq(&live, &new)));
    }
}
