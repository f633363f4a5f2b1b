//! Changes that the trail is told of: each is an audit event.
//!
//! A change is saved with a note that the trail is to be told of it. It is told right after, and by a sweep
//! should that fail or the process die in between. The event follows from the change to the byte, and so does
//! its id: told twice, it is listed once and alerts once.

use std::{future::ready, time::Duration};

use domain::{
    OrgId, Timestamp,
    event::{Source, accept::Arrival},
    id::Tail,
};
use journal::appenders::Appenders;
use runtime::{error_chain::chain, retry::Retries};
use serde::Serialize;
use store::Store;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::planes::ControlPlane;
use journal::system_events::{Unrecorded, record_as};

/// How often it is looked for what the trail was not told.
const SWEEP_EVERY: Duration = Duration::from_secs(1);
/// How long a client waits for it. Announcing the change took the journal a moment; should it be away just
/// now, nobody is kept waiting until the request runs out.
const PUBLISH_TIMEOUT: Duration = Duration::from_secs(2);
/// How many are told in one round; the rest is for the next.
const ROUND_MAX: u32 = 100;

/// A change that was saved.
pub trait Change: Sized + Sync {
    /// Of what, in the plural.
    const OF: &'static str;

    /// What is younger is being told by whoever saved it.
    const LEFT_BEHIND_AFTER: Duration = Duration::from_secs(5);

    /// Those that were saved before and are not noted as told, of all organizations.
    fn unpublished(
        store: &Store,
        made_before: Timestamp,
        limit: u32,
    ) -> impl Future<Output = Result<Vec<Self>, store::Error>> + Send;

    /// Whether it is still to be told. What is not is noted as if it had been.
    fn stands(&self, _plane: &ControlPlane) -> impl Future<Output = Result<bool, Error>> + Send {
        ready(Ok(true))
    }

    /// Notes that it was told.
    fn note(&self, store: &Store) -> impl Future<Output = Result<(), store::Error>> + Send;

    /// The organization, and when it was.
    fn whose(&self) -> (OrgId, Timestamp);

    /// What makes the id of its event beside the time.
    fn tail(&self) -> Tail;

    /// The audit event that it is.
    fn event(&self) -> impl Serialize + Send + Sync;

    /// The id of what changed, for our log.
    fn id(&self) -> String;
}

/// Why the trail was not told.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("record a change, or check whether it still has to be published")]
    Journal(#[from] journal::Error),
    #[error("read or mark which changes are recorded")]
    Store(#[from] store::Error),
}

/// Tells the trail of a change that was just saved. It stands either way, so what fails or takes too long is
/// left to the sweep.
pub async fn publish<C: Change>(plane: &ControlPlane, change: &C) {
    at_once(C::OF, &change.id(), record(plane, change)).await;
}

/// Waits for something to be told, but not for long. It is told later otherwise.
pub async fn at_once<E: std::error::Error>(
    of: &str,
    id: &str,
    publishing: impl Future<Output = Result<(), E>>,
) {
    match timeout(PUBLISH_TIMEOUT, publishing).await {
        Ok(told) => or_later(of, id, told),
        Err(_) => left_behind(of, id, "the journal is slow to answer"),
    }
}

/// What was not told is not lost: the sweep comes by again. So nothing that follows has to wait for it.
pub fn or_later<E: std::error::Error>(of: &str, id: &str, told: Result<(), E>) {
    if let Err(error) = told {
        left_behind(of, id, &chain(&error));
    }
}

fn left_behind(of: &str, id: &str, error: &str) {
    tracing::warn!(error, of, id, "audit event not recorded yet; will retry");
}

/// Tells the trail what it was not told, until stopped.
pub async fn sweep<C: Change>(
    plane: ControlPlane,
    stopping: CancellationToken,
) -> anyhow::Result<()> {
    rounds(C::OF, &stopping, || publish_all::<C>(&plane)).await;
    Ok(())
}

/// Makes one round after the other, until stopped. One may be given up half-way: what is told twice is told once.
pub async fn rounds<E, R>(of: &str, stopping: &CancellationToken, round: impl Fn() -> R)
where
    E: std::error::Error,
    R: Future<Output = Result<(), E>>,
{
    let mut retries = Retries::new(format!("publish audit events about {of}"), stopping);
    loop {
        let turn = async {
            sleep(SWEEP_EVERY).await;
            retries.again(round().await).await;
        };
        tokio::select! {
            () = turn => {}
            () = stopping.cancelled() => return,
        }
    }
}

async fn publish_all<C: Change>(plane: &ControlPlane) -> Result<(), store::Error> {
    let made_before = plane.clock.now().minus(C::LEFT_BEHIND_AFTER);
    for change in C::unpublished(&plane.store, made_before, ROUND_MAX).await? {
        or_later(C::OF, &change.id(), settle(plane, &change).await);
    }
    Ok(())
}

async fn settle<C: Change>(plane: &ControlPlane, change: &C) -> Result<(), Error> {
    if change.stands(plane).await? {
        record(plane, change).await
    } else {
        Ok(change.note(&plane.store).await?)
    }
}

/// Records one, and notes that it was told.
pub async fn record<C: Change>(plane: &ControlPlane, change: &C) -> Result<(), Error> {
    let (org, received_at) = change.whose();
    let arrival = Arrival {
        org,
        source: Source::Server,
        received_at,
        retention: plane.retention,
    };
    let (id, event) = (change.id(), change.event());
    put(C::OF, &id, change.tail(), &plane.events, &arrival, &event).await?;
    Ok(change.note(&plane.store).await?)
}

/// Puts an event of ours into the trail. They are always valid. Should one not be, it must not be tried for ever.
pub async fn put(
    of: &str,
    id: &str,
    tail: Tail,
    events: &Appenders,
    arrival: &Arrival,
    event: &impl Serialize,
) -> Result<(), journal::Error> {
    match record_as(tail, events, arrival, event).await {
        Ok(_) => Ok(()),
        Err(Unrecorded::Journal(error)) => Err(error),
        Err(error @ Unrecorded::Invalid(_)) => {
            let error = chain(&error);
            tracing::error!(
                error,
                of,
                id,
                "invalid audit event; it will not be recorded"
            );
            Ok(())
        }
    }
}
