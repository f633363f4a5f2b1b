//! The live tail's hub: follows the journal for whoever is watching, and hands out what each asked for.
//!
//! There is one task per partition. It sleeps until the first client of the partition comes, then
//! follows the event log from its end, for all of them, and stops after the last has left. A client is
//! attached before the end of the log is asked for, so everything that is accepted after it was told
//! "ready" passes by it. Each client has a queue of its own, with a bound: one that reads too slowly
//! misses events and is told how many, and holds up nobody.

use std::{
    cell::OnceCell,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use bytes::Bytes;
use domain::{
    OrgId,
    error_code::ErrorCode,
    event::{EventView, Filter},
};
use journal::{
    Journal,
    follow::{Entry, Follower},
    record::{self, EventRecord},
    streams::Log,
};
use runtime::retry::Retries;
use tokio::{
    pin,
    sync::{Notify, watch},
    task::yield_now,
};
use tokio_util::sync::CancellationToken;

use super::tail_queue::{Queue, TailItem};
use crate::{
    edge::{Problem, sse},
    lifecycle::Tasks,
    telemetry::metrics as names,
};

/// How many may watch at a time. Each costs the node its queue and a look at each of its
/// organization's events.
const CLIENTS_PER_ORG_MAX: usize = 20;
const CLIENTS_MAX: usize = 500;
/// How many messages are read at once; a message has at most 512 KiB.
const MESSAGES_MAX: usize = 16;

/// Where clients come to watch. Cheap to clone.
#[derive(Clone)]
pub struct Tail {
    journal: Journal,
    lanes: Arc<[Lane]>,
    /// How many clients there are on this node.
    clients: Arc<Mutex<usize>>,
}

/// One partition's clients.
#[derive(Clone)]
struct Lane {
    log: Log,
    clients: Arc<Mutex<Vec<Arc<Client>>>>,
    /// TailItem when the first client has come or the last has left.
    changed: Arc<Notify>,
    /// Whether the log is followed, so that whatever comes next is seen.
    followed: watch::Sender<bool>,
}

/// One who watches, as the follower sees it.
struct Client {
    org: OrgId,
    filter: Filter,
    queue: Mutex<Queue>,
    arrived: Notify,
}

/// A client's own end: leaves when it is dropped.
pub struct Watching {
    tail: Tail,
    lane: Lane,
    client: Arc<Client>,
    _counted: Counted,
}

/// Counts one more in a gauge for as long as it lives.
struct Counted(&'static str);

impl Counted {
    fn one_more(gauge: &'static str) -> Self {
        metrics::gauge!(gauge).increment(1);
        Self(gauge)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        metrics::gauge!(self.0).decrement(1);
    }
}

impl Tail {
    /// Starts the tasks, which cost nothing while nobody watches.
    pub fn start(journal: &Journal, tasks: &Tasks) -> Self {
        let lanes: Arc<[Lane]> = journal
            .partitions()
            .all()
            .map(|partition| Lane::new(Log::Events(partition)))
            .collect();
        for lane in lanes.iter().cloned() {
            let name = format!("tail {:?}", lane.log);
            let (journal, stopping) = (journal.clone(), tasks.stopping().clone());
            tasks.spawn(name, async move {
                lane.run(&journal, &stopping).await;
                Ok(())
            });
        }
        Self {
            journal: journal.clone(),
            lanes,
            clients: Arc::default(),
        }
    }

    /// Attaches a client, if there is room for one more.
    pub fn watch(&self, org: OrgId, filter: Filter) -> Result<Watching, Problem> {
        let partition = self.journal.partitions().of(org);
        let lane = self.lanes[usize::from(partition.index())].clone();
        let mut everywhere = lock(&self.clients);
        if *everywhere >= CLIENTS_MAX {
            let detail = "This node already serves as many streams as it can; try again, or list events \
                 instead.";
            return Err(Problem::new(ErrorCode::Overloaded, detail));
        }
        let client = Arc::new(Client {
            org,
            filter,
            queue: Mutex::default(),
            arrived: Notify::new(),
        });
        {
            let mut clients = lock(&lane.clients);
            if clients.iter().filter(|one| one.org == org).count() >= CLIENTS_PER_ORG_MAX {
                let detail = format!(
                    "Your organization already has {CLIENTS_PER_ORG_MAX} streams open on this node; close one first."
                );
                return Err(Problem::new(ErrorCode::LimitReached, detail));
            }
            clients.push(Arc::clone(&client));
        }
        *everywhere += 1;
        lane.changed.notify_one();
        Ok(Watching {
            tail: self.clone(),
            lane,
            client,
            _counted: Counted::one_more(names::TAIL_CLIENTS),
        })
    }
}

impl Watching {
    /// Waits until everything that is accepted from now on will be seen.
    pub async fn ready(&self) {
        let mut followed = self.lane.followed.subscribe();
        // Fails only if the lane is gone, and this holds it.
        let _ = followed.wait_for(|followed| *followed).await;
    }

    /// What is to be told next; `None` when no more will come. Nothing is lost if the wait is given up.
    pub async fn next(&self) -> Option<TailItem> {
        loop {
            {
                let mut queue = lock(&self.client.queue);
                if let Some(told) = queue.take() {
                    return Some(told);
                }
                if queue.has_ended() {
                    return None;
                }
            }
            self.client.arrived.notified().await;
        }
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        *lock(&self.tail.clients) -= 1;
        lock(&self.lane.clients).retain(|one| !Arc::ptr_eq(one, &self.client));
        self.lane.changed.notify_one();
    }
}

impl Lane {
    fn new(log: Log) -> Self {
        Self {
            log,
            clients: Arc::default(),
            changed: Arc::default(),
            followed: watch::Sender::new(false),
        }
    }

    /// Follows whenever somebody watches, until stopped.
    async fn run(&self, journal: &Journal, stopping: &CancellationToken) {
        let mut retries = Retries::new(format!("tail {}", journal.log_name(self.log)), stopping);
        loop {
            tokio::select! {
                () = self.changed.notified() => {}
                () = stopping.cancelled() => return,
            }
            while !self.is_left() {
                let followed = self.follow(journal, &mut retries, stopping).await;
                if !retries.again(followed).await {
                    return;
                }
            }
        }
    }

    /// Whether nobody watches any more; then the log counts as not followed from here on.
    fn is_left(&self) -> bool {
        let clients = lock(&self.clients);
        if clients.is_empty() {
            // While the clients are locked: whoever comes next waits until it is followed anew.
            let _ = self.followed.send_replace(false);
        }
        clients.is_empty()
    }

    /// Follows from the end of the log until nobody watches.
    async fn follow(
        &self,
        journal: &Journal,
        retries: &mut Retries,
        stopping: &CancellationToken,
    ) -> Result<(), journal::Error> {
        let position = journal.log_state(self.log).await?.last_sequence;
        let _ = self.followed.send_replace(true);
        let _counted = Counted::one_more(names::TAIL_FOLLOWERS);
        let mut follower = journal.follow(self.log, position);
        while let Some(entries) = self.read(&mut follower, stopping).await {
            match entries {
                Ok(entries) => {
                    for entry in &entries {
                        self.tell(entry)?;
                        // Searching a message for many clients takes a while; others have a turn.
                        yield_now().await;
                    }
                }
                // The follower is where it was and goes on there, so nothing is missed.
                Err(error) => {
                    let goes_on = retries.again(Err(error)).await;
                    if !goes_on
                        || journal.log_state(self.log).await?.last_sequence < follower.position()
                    {
                        // The log was lost and made again; what a client missed cannot be told.
                        self.end_all();
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    /// The next messages; `None` when nobody watches any more, or we stop. Those who come and go
    /// meanwhile do not disturb the reading.
    async fn read(
        &self,
        follower: &mut Follower,
        stopping: &CancellationToken,
    ) -> Option<Result<Vec<Entry>, journal::Error>> {
        let reading = follower.next(MESSAGES_MAX);
        pin!(reading);
        loop {
            if self.is_left() {
                return None;
            }
            tokio::select! {
                entries = reading.as_mut() => return Some(entries),
                () = self.changed.notified() => {}
                () = stopping.cancelled() => return None,
            }
        }
    }

    /// Offers a message's events to those who may want them.
    fn tell(&self, entry: &Entry) -> Result<(), journal::Error> {
        let records = match record::events(&entry.payload) {
            Ok(records) => records,
            // The indexer raises the alarm.
            Err(journal::Error::Corrupt { .. }) => return Ok(()),
            Err(error) => {
                // A newer version of us wrote it. A client that comes back finds a newer node, or
                // sees what comes after it.
                self.end_all();
                return Err(error);
            }
        };
        let clients = lock(&self.clients).clone();
        for record in &records {
            // Other organizations' events are not even parsed.
            let mut theirs = clients
                .iter()
                .filter(|client| client.org == record.org)
                .peekable();
            if theirs.peek().is_none() {
                continue;
            }
            let Ok(view) = EventView::parse(record.json) else {
                continue;
            };
            let frame = OnceCell::new();
            for client in theirs {
                if client.filter.matches(record.id, record.json, &view) {
                    client.offer(frame.get_or_init(|| frame_of(record)));
                }
            }
        }
        Ok(())
    }

    fn end_all(&self) {
        for client in std::mem::take(&mut *lock(&self.clients)) {
            lock(&client.queue).end();
            client.arrived.notify_one();
        }
    }
}

fn frame_of(record: &EventRecord<'_>) -> Bytes {
    sse::event(record.id, record.json)
}

impl Client {
    fn offer(&self, frame: &Bytes) {
        let mut queue = lock(&self.queue);
        if !queue.put(frame) {
            metrics::counter!(names::TAIL_SKIPPED).increment(1);
        }
        drop(queue);
        self.arrived.notify_one();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
