//! Takes what stands in lanes when their endpoints can be sent to again.

use std::time::Duration;

use domain::{
    Timestamp,
    delivery::{Reason, endpoint::Gate},
};
use journal::queue::{Lane, Source};
use metrics::gauge;
use tokio::{
    sync::Notify,
    time::{Instant, sleep, timeout},
};

use super::{Worker, intake::reserve};
use crate::{retry::Retries, telemetry::metrics as names};

/// How often lanes are looked for that other workers filled, or this one before it was started again.
const FIND_EVERY: Duration = Duration::from_secs(5);
/// Where there are so many that looking takes long, it is done for one part in so many of the time.
const FIND_SHARE: u32 = 20;
/// A lane that gives nothing for this long is empty.
const EMPTY_AFTER: Duration = Duration::from_millis(500);
/// Messages taken from a lane at a time; and those of all lanes that a worker has at a time: enough for a
/// thousand endpoints that are back at once.
const TAKE_AT_ONCE: usize = 4;
pub(super) const MESSAGES_MAX: usize = 4_096;
/// However long an endpoint stays shut, it is looked at again after this.
const LOOK_AGAIN_AFTER: Duration = Duration::from_secs(60);

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
        let mut messages = 0;
        for partition in self.journal.partitions().all() {
            for (lane, waiting) in self.journal.lanes(partition).await? {
                messages += waiting;
                self.ensure_lane(lane);
            }
        }
        gauge!(names::DELIVERY_MESSAGES_PARKED).set(u32::try_from(messages).unwrap_or(u32::MAX));
        Ok(())
    }

    /// Takes from a lane until it is empty, unless this worker does already.
    pub(super) fn ensure_lane(&self, lane: Lane) {
        if self.0.stopping.is_cancelled() {
            return;
        }
        if let Some(wake) = self.0.board.begin_lane(lane.endpoint) {
            let worker = self.clone();
            self.0.busy.spawn(async move {
                let what = format!("take from the lane of {}", lane.endpoint);
                let mut retries = Retries::new(what, &worker.0.stopping);
                loop {
                    let emptied = worker.empty(lane, &wake).await;
                    let is_empty = emptied.is_ok();
                    if !retries.again(emptied).await || is_empty {
                        break;
                    }
                }
                worker.0.board.end_lane(lane.endpoint);
            });
        }
    }

    /// Returns when nothing stands in the lane any more, or we are stopping.
    async fn empty(&self, lane: Lane, wake: &Notify) -> Result<(), journal::Error> {
        let mut source: Option<Source> = None;
        while !self.0.stopping.is_cancelled() {
            let now = self.clock.now();
            let (most, is_probe) = match self.endpoints.gate(lane.endpoint, now) {
                Gate::Open => {
                    let room = self.0.board.room(lane.endpoint);
                    (room.min(TAKE_AT_ONCE), false)
                }
                Gate::Probe => {
                    let whose = (lane.org, lane.endpoint);
                    let ours = self.endpoints.take_probe(whose, now).await?;
                    (usize::from(ours), true)
                }
                Gate::Shut {
                    reason: Reason::Paused | Reason::Disabled,
                    ..
                } => (TAKE_AT_ONCE, false),
                Gate::Shut { until, .. } => {
                    if let Some(source) = source.take() {
                        Source::forget(source).await?;
                    }
                    self.wait(until, wake).await;
                    continue;
                }
            };
            if most == 0 {
                self.wait(None, wake).await;
                continue;
            }
            let source = match &source {
                Some(source) => source,
                None => source.insert(self.journal.lane(lane).await?),
            };
            if self.take(source, most, is_probe).await? == 0 {
                return Ok(());
            }
        }
        Ok(())
    }

    async fn take(
        &self,
        source: &Source,
        most: usize,
        is_probe: bool,
    ) -> Result<usize, journal::Error> {
        let mut places = reserve(&self.0.lane_room, most).await;
        let mut taking = source.take(places.len(), EMPTY_AFTER).await?;
        let mut taken = 0;
        while let Some(task) = taking.next().await? {
            taken += 1;
            if is_probe {
                self.place_probe(task, places.pop()).await;
            } else {
                self.place(task, places.pop(), true).await;
            }
        }
        Ok(taken)
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
