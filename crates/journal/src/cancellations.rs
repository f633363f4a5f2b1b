//! Which rounds of a delivery are void: canceled, or superseded by a new one.
//!
//! A delivery may be in the queue more than once: what was scheduled when it was canceled is still there when
//! somebody asks for it again. So a worker is told up to when rounds are void, not whether a delivery is
//! wanted, and a round that begins later is sent whatever the worker has heard so far. The time only grows:
//! it is changed by comparing and setting it.

use std::time::Duration;

use domain::{DeliveryId, Timestamp};
use serde::{Deserialize, Serialize};

use crate::{
    Error, Journal,
    follow::Entry,
    kv::{Changes, from_json, to_json},
    retry::{CLIENT_PATIENCE, persist},
    streams::Bucket,
};

/// The least that two times differ.
const TICK: Duration = Duration::from_millis(1);

/// Up to when rounds of a delivery are void, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Voided {
    /// The latest begin of a round ([`crate::record::Job::since`]) that is void.
    pub until: Timestamp,
    pub why: Void,
}

/// Why a round is not sent any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Void {
    /// Nobody wants the delivery.
    Canceled,
    /// The delivery is in another round.
    Superseded,
}

impl Voided {
    /// Nobody wants the rounds that began up to now, or the present one.
    pub fn canceled(was: Option<Self>, now: Timestamp) -> Self {
        // The present round may have begun by a clock that is ahead of ours.
        let present = was.map_or(now, |was| was.until.plus(TICK));
        Self {
            until: now.max(present),
            why: Void::Canceled,
        }
    }

    /// A round begins just after what is void then.
    pub fn superseded(was: Option<Self>, now: Timestamp) -> Self {
        let before = now.minus(TICK);
        Self {
            until: was.map_or(before, |was| was.until.max(before)),
            why: Void::Superseded,
        }
    }
}

impl Voided {
    /// Every round before the one that begins at `round` is void, or more is already.
    pub fn before(was: Option<Self>, round: Timestamp) -> Self {
        let is_more = |was: &Self| was.until.plus(TICK) >= round;
        was.filter(is_more)
            .unwrap_or_else(|| Self::superseded(was, round))
    }

    /// When a round can begin, at `now` or later, that is not void.
    pub fn next_round(was: Option<Self>, now: Timestamp) -> Timestamp {
        was.map_or(now, |was| was.until.plus(TICK).max(now))
    }
}

impl Journal {
    /// Makes known that nobody wants what is on its way of a delivery; which rounds that are: those that began up to
    /// then.
    pub async fn cancel(&self, delivery: DeliveryId, now: Timestamp) -> Result<Timestamp, Error> {
        let cancel = |was| Voided::canceled(was, now);
        Ok(self.void(delivery, cancel).await?.until)
    }

    /// Makes known that a new round of a delivery begins, and what is on its way of it is void; when the round
    /// begins: at `now`, or just after what is void already. Of two who begin one at the same time both get
    /// the same, or the first one's is void.
    pub async fn want_again(
        &self,
        delivery: DeliveryId,
        now: Timestamp,
    ) -> Result<Timestamp, Error> {
        let supersede = |was| Voided::superseded(was, now);
        let voided = self.void(delivery, supersede).await?;
        Ok(voided.until.plus(TICK))
    }

    /// When another round of a delivery can begin, at `now` or later.
    pub(crate) async fn next_round(
        &self,
        delivery: DeliveryId,
        now: Timestamp,
    ) -> Result<Timestamp, Error> {
        let doing = "look up which rounds of a delivery are canceled";
        let key = &delivery.to_string();
        persist(CLIENT_PATIENCE, doing, || async move {
            let found = self.value(Bucket::Cancels, key, doing).await?;
            let was = found.map_or(Ok(None), |found| read(&found.json))?;
            Ok(Voided::next_round(was, now))
        })
        .await
    }

    /// Makes known that what is on its way of a delivery from before a round is void. The round is queued by then: were
    /// it the other way round, whoever dies in between would leave nothing that is sent.
    pub(crate) async fn supersede(
        &self,
        delivery: DeliveryId,
        round: Timestamp,
    ) -> Result<(), Error> {
        let supersede = |was| Voided::before(was, round);
        self.void(delivery, supersede).await?;
        Ok(())
    }

    /// Every delivery with rounds that are void, then every change.
    pub fn cancels(&self) -> Changes<(DeliveryId, Voided)> {
        self.changes(Bucket::Cancels, 0, |entry: &Entry| {
            let id: DeliveryId = entry.subject.rsplit('.').next()?.parse().ok()?;
            match read(&entry.payload) {
                Ok(voided) => Some((id, voided?)),
                Err(error) => {
                    tracing::error!(delivery.id = %id, %error, "skipped an unreadable cancellation");
                    None
                }
            }
        })
    }

    /// A try whose answer got lost finds what it wrote, and goes on from there.
    async fn void(
        &self,
        delivery: DeliveryId,
        change: impl Fn(Option<Voided>) -> Voided,
    ) -> Result<Voided, Error> {
        let doing = "cancel the rounds of a delivery that are under way";
        let key = &delivery.to_string();
        let change = &change;
        persist(CLIENT_PATIENCE, doing, || async move {
            loop {
                let found = self.value(Bucket::Cancels, key, doing).await?;
                let (was, revision) = match found {
                    Some(found) => (read(&found.json)?, found.revision),
                    None => (None, 0),
                };
                let voided = change(was);
                if was == Some(voided) {
                    return Ok(voided);
                }
                let json = to_json(voided);
                let set = self.set_value(Bucket::Cancels, key, json, revision, doing);
                if set.await?.is_some() {
                    return Ok(voided);
                }
                // Somebody was faster: look again.
            }
        })
        .await
    }
}

fn read(json: &[u8]) -> Result<Option<Voided>, Error> {
    from_json("cancel", json)
}
