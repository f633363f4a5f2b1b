//! Rounds of deliveries that are not to be sent any more.

use std::{
    collections::HashMap,
    sync::{Arc, PoisonError, RwLock},
};

use domain::{DeliveryId, Timestamp};
use journal::{
    Journal,
    cancellations::{Void, Voided},
    mirror::Mirror,
    record::Job,
    streams::Bucket,
};
use tokio_util::sync::CancellationToken;

/// So many are known before those that are too old to matter are looked for.
const FEW: usize = 4096;

/// Those that became void within the life of a delivery. Cheap to clone.
#[derive(Clone)]
pub struct Cancels {
    journal: Journal,
    known: Arc<RwLock<Known>>,
    mirror: Mirror,
}

struct Known {
    voided: HashMap<DeliveryId, Voided>,
    /// With so many, those that are too old are looked for.
    many: usize,
}

impl Cancels {
    pub fn new(journal: Journal) -> Self {
        Self {
            mirror: Mirror::new(journal.clone(), Bucket::Cancels),
            journal,
            known: Arc::default(),
        }
    }

    /// Why this job is not to be sent, if so.
    pub fn of(&self, job: &Job) -> Option<Void> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.of(job.matched.delivery, job.since)
    }

    pub async fn catch_up(&self) -> Result<(), journal::Error> {
        self.mirror.catch_up().await
    }

    pub async fn follow(self, stopping: CancellationToken) -> anyhow::Result<()> {
        let changes = self.journal.cancels();
        let apply = |changes: Vec<_>| {
            let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
            known.apply(changes);
        };
        self.mirror.follow(changes, apply, stopping).await
    }
}

impl Default for Known {
    fn default() -> Self {
        Self {
            voided: HashMap::new(),
            many: FEW,
        }
    }
}

impl Known {
    fn of(&self, delivery: DeliveryId, since: Timestamp) -> Option<Void> {
        let voided = self.voided.get(&delivery)?;
        (since <= voided.until).then_some(voided.why)
    }

    fn apply(&mut self, changes: Vec<(DeliveryId, Voided)>) {
        let newest = changes.iter().map(|(_, voided)| voided.until).max();
        self.voided.extend(changes);
        if let Some(now) = newest
            && self.voided.len() > self.many
        {
            self.forget_old(now);
        }
    }

    /// Forgets what the bucket has forgotten. Looks again when there are twice as many as are left.
    fn forget_old(&mut self, now: Timestamp) {
        let oldest = now.minus(Bucket::Cancels.keep());
        self.voided.retain(|_, voided| voided.until >= oldest);
        self.many = (self.voided.len() * 2).max(FEW);
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn delivery(number: usize) -> DeliveryId {
        DeliveryId::from_uuid(Uuid::from_u128(number as u128))
    }

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_unix_millis(millis)
    }

    #[test]
    fn rounds_that_began_up_to_then_are_void_and_later_ones_are_not() {
        let mut known = Known::default();
        let voided = Voided {
            until: at(10),
            why: Void::Canceled,
        };
        known.apply(vec![(delivery(1), voided)]);
        assert_eq!(known.of(delivery(1), at(10)), Some(Void::Canceled));
        assert_eq!(known.of(delivery(1), at(11)), None, "begun since");
        assert_eq!(known.of(delivery(2), at(10)), None, "another delivery");
    }

    #[test]
    fn what_the_bucket_has_forgotten_is_forgotten() {
        let mut known = Known::default();
        let voided = |until| Voided {
            until,
            why: Void::Superseded,
        };
        known.apply(
            (0..FEW)
                .map(|number| (delivery(number), voided(at(0))))
                .collect(),
        );
        assert_eq!(known.voided.len(), FEW);
        let now = at(1).plus(Bucket::Cancels.keep());
        known.apply(vec![(delivery(FEW), voided(now))]);
        assert_eq!(known.voided.len(), 1);
    }
}
