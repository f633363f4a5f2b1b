//! Puts deliveries that are not sent now where they belong: into a lane, or out of the queue.

use std::{collections::HashMap, sync::Arc};

use domain::{
    Timestamp,
    delivery::{Reason, State},
};
use journal::{
    frames::Frames,
    record::{Job, OutcomeRecord, Stood},
};

use super::{
    Worker,
    parcel::{Item, Parcel},
};

/// A delivery that ends without another attempt.
pub(super) struct Ended {
    pub(super) job: Job,
    pub(super) state: State,
    pub(super) reason: Reason,
}

/// Why nothing is sent now, and until when if that is known.
pub(super) type Shut = (Reason, Option<Timestamp>);

impl Worker {
    /// Puts deliveries of a message into the lane of their endpoint, or out of the queue if only a person
    /// can change that nothing is sent there.
    pub(super) fn put(&self, parcel: Arc<Parcel>, jobs: Vec<Job>, shut: Option<Shut>) {
        match shut {
            Some((reason, _)) if reason.needs_a_person() => {
                let hold = |job| Ended {
                    job,
                    state: State::Held,
                    reason,
                };
                self.end(parcel, jobs.into_iter().map(hold).collect());
            }
            _ => self.park(parcel, jobs, shut),
        }
    }

    fn park(&self, parcel: Arc<Parcel>, jobs: Vec<Job>, shut: Option<Shut>) {
        let worker = self.clone();
        self.0.busy.spawn(async move {
            let (count, lane) = (jobs.len(), parcel.lane(&jobs[0]));
            let deliveries: Vec<_> = jobs.iter().map(|job| job.matched.delivery).collect();
            let parked = worker.park_on_record(&parcel, jobs, shut).await;
            worker.done(&parcel, count, parked).await;
            worker.0.board.let_go(deliveries.into_iter());
            worker.ensure_lane(lane);
        });
    }

    async fn park_on_record(
        &self,
        parcel: &Parcel,
        mut jobs: Vec<Job>,
        shut: Option<Shut>,
    ) -> Result<(), journal::Error> {
        let lane = parcel.lane(&jobs[0]);
        if let Some((reason, until)) = shut {
            let now = self.clock.now();
            let news = jobs.iter_mut().filter(|job| job.held != Some(reason));
            let stood = news.map(|job| {
                job.held = Some(reason);
                stood(job, State::Held, reason, until, now)
            });
            let frames: Frames = stood.collect();
            if frames.count() > 0 {
                self.outcomes.of(lane.org).append_patiently(frames).await?;
            }
        }
        self.journal.park(&parcel.task, lane, &jobs).await
    }

    /// Puts on record that deliveries end without another attempt.
    pub(super) fn end(&self, parcel: Arc<Parcel>, ended: Vec<Ended>) {
        let worker = self.clone();
        self.0.busy.spawn(async move {
            let recorded = worker.record_end(&ended).await;
            worker.done(&parcel, ended.len(), recorded).await;
            let deliveries = ended.iter().map(|ended| ended.job.matched.delivery);
            worker.0.board.let_go(deliveries);
        });
    }

    async fn record_end(&self, ended: &[Ended]) -> Result<(), journal::Error> {
        let Some(first) = ended.first() else {
            return Ok(());
        };
        let now = self.clock.now();
        let stood = ended
            .iter()
            .map(|ended| stood(&ended.job, ended.state, ended.reason, None, now));
        let outcomes = self.outcomes.of(first.job.matched.org);
        outcomes.append_patiently(stood.collect()).await?;
        for ended in ended {
            if ended.reason == Reason::Expired {
                self.tell_of_expiry(&ended.job, now).await?;
            }
        }
        Ok(())
    }

    /// The endpoint cannot be sent to any more: everything of it goes elsewhere.
    pub(super) fn clear(&self, first: Item, shut: Shut) {
        let mut items = vec![first];
        items.extend(self.0.board.take(items[0].parcel.endpoint));
        for (parcel, jobs) in by_parcel(items) {
            self.put(parcel, jobs, Some(shut));
        }
    }
}

/// Deliveries with the message they came in.
pub(super) fn by_parcel(items: Vec<Item>) -> Vec<(Arc<Parcel>, Vec<Job>)> {
    let mut together: HashMap<*const Parcel, (Arc<Parcel>, Vec<Job>)> = HashMap::new();
    for Item { job, parcel, .. } in items {
        let place = together.entry(Arc::as_ptr(&parcel));
        place.or_insert_with(|| (parcel, Vec::new())).1.push(job);
    }
    together.into_values().collect()
}

fn stood(
    job: &Job,
    state: State,
    reason: Reason,
    next_at: Option<Timestamp>,
    at: Timestamp,
) -> OutcomeRecord {
    OutcomeRecord::Stood(Stood {
        org: job.matched.org,
        delivery: job.matched.delivery,
        state,
        reason: Some(reason),
        next_at,
        at,
    })
}
