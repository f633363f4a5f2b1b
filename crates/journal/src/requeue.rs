//! Queues again what somebody may have queued before and died.
//!
//! Whoever takes over knows what was decided, because that is on record, and not how far it was queued. So it makes the same
//! messages again: the same deliveries, in the same order, of one decision only. Then they are cut alike and have the same
//! names ([`queue`](crate::queue)), and the queue drops those that it has.
//!
//! The queue knows a name for two minutes. Of a message that was settled it forgets it earlier, if the server is
//! started anew; but then all deliveries of the message are on record, also those that were only moved, and such a message
//! is not made again. After a minute
//! names are not relied on: what is not on record begins another round, and what there may be in the queue of the one
//! before is void ([`cancels`](crate::cancellations)). It is so once the new round is queued, and not before: two may begin a round
//! of the same delivery, and if the second voided the first one's and died, nothing would be left to be sent.

use std::{collections::HashSet, time::Duration};

use domain::{DeliveryId, Timestamp};
use futures::{StreamExt, TryStreamExt, stream};

use crate::{
    Connection, Error, Journal,
    queue::{QUEUE_AT_ONCE, bundles},
    record::Job,
    streams::DELIVERY_DEDUPE,
};

/// For so long after its round began a delivery that is queued again is recognized, whichever of our clocks says how
/// long that is. It was queued after its round began, so half of the window is to spare.
const RECOGNIZED_FOR: Duration = Duration::from_secs(60);
const _: () = assert!(RECOGNIZED_FOR.as_secs() * 2 <= DELIVERY_DEDUPE.as_secs());

/// Whether a delivery whose round began then, queued again now, is recognized.
pub fn is_recognized(since: Timestamp, now: Timestamp) -> bool {
    now.since(since) < RECOGNIZED_FOR
}

/// What is known of deliveries that may have been queued.
#[derive(Clone, Debug, Default)]
pub struct OnRecord {
    /// Those that were in a worker's hands, or that nobody wants any more.
    pub deliveries: HashSet<DeliveryId>,
    /// The connection over which somebody looked. If it is lost the server may have been started anew since: what was
    /// settled in between is neither known here nor by its name there.
    pub seen_over: Option<Connection>,
}

/// How deliveries that were decided on together are queued again.
#[derive(Debug)]
enum Again<'j> {
    /// As the same messages.
    Same(Vec<Vec<&'j Job>>),
    /// Each in a round that begins now.
    Anew(Vec<Job>),
}

impl<'j> Again<'j> {
    fn of(jobs: &'j [Job], on_record: &OnRecord, now: Timestamp) -> Self {
        let is_over = |job: &Job| on_record.deliveries.contains(&job.matched.delivery);
        if jobs.iter().all(|job| is_recognized(job.since, now)) {
            let mut bundles = bundles(jobs);
            // One that is over in part is made whole, or it would have another name.
            bundles.retain(|bundle| !bundle.iter().all(|job| is_over(job)));
            return Self::Same(bundles);
        }
        Self::Anew(jobs.iter().filter(|job| !is_over(job)).cloned().collect())
    }
}

/// Each in a message of its own. Two who begin the same round know different deliveries to be over: they would cut
/// otherwise, and not be recognized.
fn alone(jobs: &[Job]) -> Vec<Vec<&Job>> {
    jobs.iter().map(|job| vec![job]).collect()
}

/// What deliveries are queued again with: the journal, or that of a simulation.
#[expect(
    async_fn_in_trait,
    reason = "who calls it knows which one it is, and so whether it moves between threads"
)]
pub trait Rounds {
    /// Queues messages of what is due, as long as the connection lasts.
    async fn queue(
        &self,
        connection: Option<Connection>,
        bundles: Vec<Vec<&Job>>,
    ) -> Result<(), Error>;

    /// When another round of a delivery can begin, at `now` or later.
    async fn next_round(&self, delivery: DeliveryId, now: Timestamp) -> Result<Timestamp, Error>;

    /// Makes known that what is on its way of a delivery from before a round is void.
    async fn supersede(&self, delivery: DeliveryId, round: Timestamp) -> Result<(), Error>;

    /// Queues deliveries that may be queued already: all that were decided on together, in their order. If the connection
    /// is lost meanwhile, whoever wants to try again looks again.
    async fn queue_again(
        &self,
        jobs: Vec<Job>,
        on_record: &OnRecord,
        now: Timestamp,
    ) -> Result<(), Error> {
        let rest = match Again::of(&jobs, on_record, now) {
            Again::Same(bundles) => return self.queue(on_record.seen_over, bundles).await,
            Again::Anew(rest) => rest,
        };
        let begin_anew = async |mut job: Job| {
            job.since = self.next_round(job.matched.delivery, now).await?;
            Ok::<Job, Error>(job)
        };
        let rest = stream::iter(rest.into_iter().map(begin_anew)).buffered(QUEUE_AT_ONCE);
        let rest: Vec<Job> = rest.try_collect().await?;
        self.queue(on_record.seen_over, alone(&rest)).await?;
        let supersede = async |job: &Job| self.supersede(job.matched.delivery, job.since).await;
        stream::iter(rest.iter().map(Ok))
            .try_for_each_concurrent(QUEUE_AT_ONCE, supersede)
            .await
    }
}

impl Rounds for Journal {
    async fn queue(
        &self,
        connection: Option<Connection>,
        bundles: Vec<Vec<&Job>>,
    ) -> Result<(), Error> {
        self.queue_over(connection, bundles).await
    }

    async fn next_round(&self, delivery: DeliveryId, now: Timestamp) -> Result<Timestamp, Error> {
        self.next_round(delivery, now).await
    }

    async fn supersede(&self, delivery: DeliveryId, round: Timestamp) -> Result<(), Error> {
        self.supersede(delivery, round).await
    }
}

impl Journal {
    /// [`Rounds::queue_again`], for real.
    pub async fn deliver_again(
        &self,
        jobs: Vec<Job>,
        on_record: &OnRecord,
        now: Timestamp,
    ) -> Result<(), Error> {
        self.queue_again(jobs, on_record, now).await
    }
}
