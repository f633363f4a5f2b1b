//! Puts deliveries that are not sent now where they belong: into a lane, or out of the queue.

use std::{collections::HashMap, sync::Arc};

use domain::{
    OrgId, Timestamp,
    delivery::{Reason, State},
};
use journal::{
    frames::Frames,
    record::{Job, OutcomeRecord, StateChanged},
};

use super::{
    Worker,
    in_flight::{Item, Share},
    verdict::{self, Shut},
};

/// A delivery that ends without another attempt.
pub(super) struct Ended {
    pub(super) item: Item,
    pub(super) state: State,
    pub(super) reason: Reason,
}

impl Worker {
    /// Puts deliveries of a share into the lane of their endpoint, or out of the queue if only a person
    /// can change that nothing is sent there.
    pub(super) fn put(&self, share: Arc<Share>, items: Vec<Item>, shut: Option<Shut>) {
        match shut {
            Some((reason, _)) if reason.needs_a_person() => {
                let hold = |item| Ended {
                    item,
                    state: State::Held,
                    reason,
                };
                self.end(items.into_iter().map(hold).collect());
            }
            _ => self.park(share, items, shut),
        }
    }

    fn park(&self, share: Arc<Share>, mut items: Vec<Item>, shut: Option<Shut>) {
        items.iter().for_each(Item::touch);
        let worker = self.clone();
        self.spawn(async move {
            let news = state_changes(&mut items, shut);
            let jobs: Vec<Job> = items.iter().map(|item| item.job.clone()).collect();
            let lane = share.lane();
            let park = || worker.journal.park(&share.message.task, lane, &jobs);
            let is_parked = worker.record_before_moving(lane.org, news).await
                && worker.persist("park deliveries", park).await;
            if !is_parked {
                return;
            }
            items.into_iter().for_each(Item::done);
            worker.ensure_lane(lane);
            let is_stray = |job: &Job| {
                let target = worker.targets.of(job.matched.rule);
                verdict::is_stray(job, target.as_ref())
            };
            if jobs.iter().any(is_stray) {
                // Since it was begun with; whoever sorts the lane may have been there already.
                worker.0.scheduler.rules_left(Some(lane.endpoint));
            }
        });
    }

    /// Queues a delivery anew whose rule goes elsewhere now: whoever takes it sees where to.
    pub(super) fn queue_anew(&self, item: Item) {
        item.touch();
        let worker = self.clone();
        self.spawn(async move {
            let jobs = [item.job.clone()];
            let news: Frames = first_word(&item.job).into_iter().collect();
            let queue = || worker.journal.put_back(&item.message().task, &jobs);
            let is_queued = worker
                .record_before_moving(item.job.matched.org, news)
                .await
                && worker
                    .persist("requeue a delivery whose rule has moved", queue)
                    .await;
            if is_queued {
                item.done();
            }
        });
    }

    /// Puts on record where deliveries stand that are about to be moved; whether it is.
    async fn record_before_moving(&self, org: OrgId, news: Frames) -> bool {
        let outcomes = self.outcomes.of(org);
        let record = || outcomes.append_patiently(news.clone());
        news.count() == 0
            || self
                .persist("record the states of deliveries", record)
                .await
    }

    /// Puts on record that deliveries end without another attempt.
    pub(super) fn end(&self, ended: Vec<Ended>) {
        for ended in &ended {
            ended.item.touch();
        }
        let worker = self.clone();
        self.spawn(async move {
            let now = worker.own_clock.now();
            let record = || worker.record_end(&ended);
            let tell = || worker.tell_of_end(&ended, now);
            let is_on_record = worker.persist("record the end of deliveries", record).await
                && worker
                    .persist("record audit events for ended deliveries", tell)
                    .await;
            if is_on_record {
                for ended in ended {
                    ended.item.done();
                }
            }
        });
    }

    async fn record_end(&self, ended: &[Ended]) -> Result<(), journal::Error> {
        let Some(first) = ended.first() else {
            return Ok(());
        };
        let stood = ended
            .iter()
            .map(|ended| stood(&ended.item.job, ended.state, Some(ended.reason), None));
        let outcomes = self.outcomes.of(first.item.job.matched.org);
        outcomes.append_patiently(stood.collect()).await
    }

    async fn tell_of_end(&self, ended: &[Ended], now: Timestamp) -> Result<(), journal::Error> {
        for ended in ended {
            if ended.reason == Reason::Expired {
                self.tell_of_expiry(&ended.item.job, now).await?;
            }
        }
        Ok(())
    }

    /// The endpoint cannot be sent to any more: everything of it goes elsewhere.
    pub(super) fn clear(&self, first: Item, shut: Shut) {
        let mut items = vec![first];
        items.extend(self.0.scheduler.take(items[0].share.endpoint));
        for (share, items) in by_share(items) {
            self.put(share, items, Some(shut));
        }
    }
}

/// Deliveries with the share they are of.
fn by_share(items: Vec<Item>) -> Vec<(Arc<Share>, Vec<Item>)> {
    let mut together: HashMap<*const Share, (Arc<Share>, Vec<Item>)> = HashMap::new();
    for item in items {
        let place = together.entry(Arc::as_ptr(&item.share));
        let (_, items) = place.or_insert_with(|| (Arc::clone(&item.share), Vec::new()));
        items.push(item);
    }
    together.into_values().collect()
}

/// What is to be put on record of deliveries that are put into a lane: that they are held, unless they were before; and of
/// those that only wait for room what there may be no word of.
fn state_changes(items: &mut [Item], shut: Option<Shut>) -> Frames {
    let Some((reason, until)) = shut else {
        return items.iter().filter_map(|it| first_word(&it.job)).collect();
    };
    let jobs = items.iter_mut().map(|item| &mut item.job);
    let news = jobs.filter(|job| job.held != Some(reason));
    let stood = news.map(|job| {
        job.held = Some(reason);
        stood(job, State::Held, Some(reason), until)
    });
    stood.collect()
}

/// That a delivery waits for its first attempt, if nothing else was put on record of it.
pub(super) fn first_word(job: &Job) -> Option<OutcomeRecord> {
    let is_first = job.attempt == 1 && job.held.is_none();
    is_first.then(|| stood(job, State::Pending, None, None))
}

/// Where a delivery stands in the round of this job: it may be in another by the time that this is on record.
fn stood(
    job: &Job,
    state: State,
    reason: Option<Reason>,
    next_at: Option<Timestamp>,
) -> OutcomeRecord {
    OutcomeRecord::StateChanged(StateChanged {
        org: job.matched.org,
        delivery: job.matched.delivery,
        state,
        reason,
        next_at,
        round_at: job.since,
    })
}
