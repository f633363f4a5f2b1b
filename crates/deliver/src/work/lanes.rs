//! Takes what stands in lanes when their endpoints can be sent to again.

use std::time::Duration;

use domain::{
    Timestamp,
    delivery::{Reason, endpoint::Gate},
};
use journal::queue::{Lane, Source};
use metrics::gauge;
use runtime::retry::Retries;
use tokio::{
    sync::Notify,
    time::{Instant, sleep, timeout},
};

use super::{Worker, in_flight::Room, intake::reserve};
use crate::metrics as names;

/// How often lanes are looked for that other workers filled, or this one before it was started again.
const FIND_EVERY: Duration = Duration::from_secs(5);
/// Where there are so many that looking takes long, it is done for one part in so many of the time.
const FIND_SHARE: u32 = 20;
/// A lane that gives nothing for this long is empty.
const EMPTY_AFTER: Duration = Duration::from_millis(500);
/// Messages taken from a lane at a time; and those of all lanes that a worker has at a time, of which a slow
/// endpoint may have sixteen.
const TAKE_AT_ONCE: usize = 4;
pub(super) const MESSAGES_MAX: usize = 4_096;
/// However long an endpoint stays shut, it is looked at again after this.
const LOOK_AGAIN_AFTER: Duration = Duration::from_secs(60);
/// After a wait of this length the server is asked for the lane again: it forgets one that nobody takes from in 20 s.
const SOURCE_KEPT: Duration = Duration::from_secs(10);
/// Nothing is sent from the lane of an endpoint that is not verified. So often it is looked whether what waits there
/// became too old; and whether a rule still goes there, because what waits goes along with its rule.
const TIDY_EVERY: Duration = Duration::from_hours(1);
const LOOK_FOR_RULES_EVERY: Duration = Duration::from_secs(5);

impl Worker {
    /// Looks for lanes in which something stands, until stopped.
    pub(super) async fn find_lanes(self) {
        let mut retries = Retries::new("find lanes", &self.0.stopping);
        loop {
            let began = Instant::now();
            if !retries.again(self.find().await).await {
                return;
            }
            let pause = FIND_EVERY.max(began.elapsed() * FIND_SHARE);
            tokio::select! {
                () = sleep(pause) => {}
                () = self.0.stopping.cancelled() => {}
            }
        }
    }

    async fn find(&self) -> Result<(), journal::Error> {
        let (mut messages, mut found) = (0, Ok(()));
        for partition in self.journal.partitions().all() {
            match self.journal.lanes(partition).await {
                Ok(lanes) => {
                    for (lane, waiting) in lanes {
                        messages += waiting;
                        self.ensure_lane(lane);
                    }
                }
                // The others' lanes are looked for all the same.
                Err(error) => found = Err(error),
            }
        }
        gauge!(names::DELIVERY_MESSAGES_PARKED).set(u32::try_from(messages).unwrap_or(u32::MAX));
        found
    }

    /// Takes from a lane until it is empty, unless this worker does already.
    pub(super) fn ensure_lane(&self, lane: Lane) {
        if self.0.stopping.is_cancelled() {
            return;
        }
        let endpoint = lane.endpoint;
        let has_open_breaker = self.endpoints.has_open_breaker(endpoint);
        let has_strays = !self.targets.are_at(endpoint);
        let scheduler = &self.0.scheduler;
        let begun = scheduler.begin_lane(endpoint, has_open_breaker, has_strays);
        if let Some(wake) = begun {
            let worker = self.clone();
            self.0.lanes.spawn(async move {
                let what = format!("take from the lane of {}", lane.endpoint);
                let mut retries = Retries::new(what, &worker.0.stopping);
                loop {
                    let emptied = worker.empty(lane, &wake).await;
                    let is_empty = emptied.is_ok();
                    if !retries.again(emptied).await || is_empty {
                        break;
                    }
                }
                worker.0.scheduler.end_lane(lane.endpoint);
            });
        }
    }

    /// Returns when nothing stands in the lane any more, or we are stopping.
    async fn empty(&self, lane: Lane, wake: &Notify) -> Result<(), journal::Error> {
        let mut source: Option<Source> = None;
        let mut looked = Instant::now();
        while !self.0.stopping.is_cancelled() {
            let now = self.clock.now();
            let (most, is_probe) = match self.gate(lane.endpoint, now) {
                Gate::Open => {
                    let room = self.0.scheduler.room(lane.endpoint);
                    (room.min(TAKE_AT_ONCE), false)
                }
                Gate::Probe => {
                    let ours = self.endpoints.take_probe(lane.endpoint, now).await?;
                    (usize::from(ours), true)
                }
                Gate::Shut { reason, .. } if reason.needs_a_person() => (TAKE_AT_ONCE, false),
                Gate::Shut { .. } if self.0.scheduler.take_strays(lane.endpoint) => {
                    if let Err(error) = self.sort(lane).await {
                        // They are still there.
                        self.0.scheduler.rules_left(Some(lane.endpoint));
                        return Err(error);
                    }
                    continue;
                }
                Gate::Shut {
                    reason: Reason::Unverified,
                    ..
                } if looked.elapsed() >= self.tidy_every(lane) => {
                    looked = Instant::now();
                    let source = self.journal.lane(lane).await?;
                    if self.tidy(lane, &source).await? {
                        return Ok(());
                    }
                    continue;
                }
                Gate::Shut { reason, until } => {
                    // The server may have forgotten it by then.
                    source = None;
                    let until = match reason {
                        Reason::Unverified => Some(now.plus(LOOK_FOR_RULES_EVERY)),
                        _ => until,
                    };
                    self.wait(until, wake).await;
                    continue;
                }
            };
            if most == 0 {
                self.wait(None, wake).await;
                continue;
            }
            // A slow host may have room for us only in minutes.
            let asked = Instant::now();
            let Some(rooms) = self.lane_room(lane, most).await else {
                return Ok(());
            };
            if asked.elapsed() > SOURCE_KEPT {
                source = None;
            }
            let source = match &source {
                Some(source) => source,
                None => source.insert(self.journal.lane(lane).await?),
            };
            let is_empty = if is_probe {
                self.probe(lane, source, rooms).await?
            } else {
                let wanted = rooms.len();
                let taken = self.take(source, rooms).await?;
                if taken < wanted {
                    self.0.scheduler.lane_is_drained(lane.endpoint);
                }
                taken == 0
            };
            if is_empty {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Takes messages until one of them gave a probe; whether the lane is empty.
    async fn probe(
        &self,
        lane: Lane,
        source: &Source,
        rooms: Vec<Room>,
    ) -> Result<bool, journal::Error> {
        let mut next = Some(rooms);
        while let Some(mut rooms) = next {
            let mut taking = source.take(1, EMPTY_AFTER).await?;
            let Some(task) = taking.next().await? else {
                return Ok(true);
            };
            let room = rooms.pop().unwrap_or_default();
            if self.place_probe(lane.endpoint, task, room).await {
                return Ok(false);
            }
            next = self.lane_room(lane, 1).await;
        }
        Ok(true)
    }

    /// How often the lane of an endpoint that is not verified is looked at: soon, if no rule goes there any more.
    fn tidy_every(&self, lane: Lane) -> Duration {
        if self.targets.are_at(lane.endpoint) {
            TIDY_EVERY
        } else {
            LOOK_FOR_RULES_EVERY
        }
    }

    /// Ends what became too old in a lane from which nothing is taken, and moves on what goes elsewhere now, up to the
    /// first message that stays; that one goes to the end. Whether the lane is empty.
    async fn tidy(&self, lane: Lane, source: &Source) -> Result<bool, journal::Error> {
        while let Some(room) = self.room_anywhere().await {
            let mut taking = source.take(1, EMPTY_AFTER).await?;
            let Some(task) = taking.next().await? else {
                return Ok(true);
            };
            if self.place(task, room, true).await.contains(&lane.endpoint) {
                return Ok(false);
            }
        }
        Ok(false)
    }

    /// Goes once through a lane from which nothing is taken: what goes elsewhere now is moved on, what is not wanted
    /// any more ends, and the rest stands in line again.
    async fn sort(&self, lane: Lane) -> Result<(), journal::Error> {
        let source = self.journal.lane(lane).await?;
        let mut left = source.waiting().await?;
        while left > 0 {
            let Some(room) = self.room_anywhere().await else {
                return Ok(());
            };
            let mut taking = source.take(1, EMPTY_AFTER).await?;
            if let Some(task) = taking.next().await? {
                self.place(task, room, true).await;
                left -= 1;
            } else {
                // Others took them; or those that we took are not in line again yet, and the server gives no more.
                left = left.min(source.waiting().await?);
            }
        }
        Ok(())
    }

    /// Takes as many messages as there is room for; says how many there were.
    async fn take(&self, source: &Source, mut rooms: Vec<Room>) -> Result<usize, journal::Error> {
        let mut taking = source.take(rooms.len(), EMPTY_AFTER).await?;
        let mut taken = 0;
        while let Some(task) = taking.next().await? {
            taken += 1;
            if self.0.stopping.is_cancelled() {
                let _ = task.hand_back().await;
            } else {
                let room = rooms.pop().unwrap_or_default();
                self.place(task, room, true).await;
            }
        }
        Ok(taken)
    }

    /// Room for messages from a lane, at least for one; `None` if we are stopping.
    async fn lane_room(&self, lane: Lane, most: usize) -> Option<Vec<Room>> {
        tokio::select! {
            rooms = self.reserve_rooms(lane, most) => Some(rooms),
            () = self.0.stopping.cancelled() => None,
        }
    }

    /// Room for a message that is not sent to the host of its lane; `None` if we are stopping.
    async fn room_anywhere(&self) -> Option<Room> {
        tokio::select! {
            mut rooms = reserve(&self.0.lane_room, 1) => Some(Room::new(rooms.pop())),
            () = self.0.stopping.cancelled() => None,
        }
    }

    /// At its host first: who waits there holds nothing that anybody else waits for. Of a lane that was found,
    /// the first message says where it goes.
    async fn reserve_rooms(&self, lane: Lane, most: usize) -> Vec<Room> {
        let Some((host, at_host)) = self.0.scheduler.room_at_host(lane) else {
            let room = reserve(&self.0.lane_room, 1).await.pop();
            return vec![Room::new(room)];
        };
        let at_host = reserve(&at_host, most).await;
        let messages = reserve(&self.0.lane_room, at_host.len()).await;
        let rooms = messages.into_iter().zip(at_host);
        rooms
            .map(|(message, at_host)| Room::with_host(message, host, at_host))
            .collect()
    }

    /// Until then, or until something about the endpoint changed.
    async fn wait(&self, until: Option<Timestamp>, wake: &Notify) {
        let now = self.clock.now();
        let wait = until.map_or(LOOK_AGAIN_AFTER, |until| {
            until.since(now).min(LOOK_AGAIN_AFTER)
        });
        tokio::select! {
            // Somebody woke us, or it is time.
            _ = timeout(wait, wake.notified()) => {}
            () = self.0.stopping.cancelled() => {}
        }
    }
}
