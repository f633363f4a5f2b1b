//! Changes that the trail is told of: each is an audit event.
//!
//! A change is saved with a note that the trail is to be told of it. It is told right after, and by a sweep
//! should that fail or the process die in between. The event follows from the change to the byte, and so does
//! its id: told twice, it is listed once and alerts once.

use std::{future::ready, time::Duration};

use domain::{OrgId, Timestamp, event::accept::Arrival, id::Tail};
use serde::Serialize;
use store::Store;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::own::{Unrecorded, record_as};
use crate::{error_chain::chain, planes::ControlPlane, retry::Retries};

/// How often it is looked for what the trail was not told.
const SWEEP_EVERY: Duration = Duration::from_secs(1);
/// How long a client waits for it. Announcing the change took the journal a moment; should it be away just
/// now, nobody is kept waiting until the request runs out.
const TELL_TIMEOUT: Duration = Duration::from_secs(2);
/// How many are told in one round; the rest is for the next.
const ROUND_MAX: u32 = 100;

/// A change that was saved.
pub trait Change: Sized + Sync {
    /// Of what, in the plural.
    const OF: &'static str;

    /// What is younger is being told by whoever saved it.
    const LEFT_BEHIND_AFTER: Duration = Duration::from_secs(5);

    /// Those that were saved before and are not noted as told, of all organisations.
    fn untold(
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

    /// The organisation, and when it was.
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
    #[error("record a change")]
    Unrecorded(#[from] Unrecorded),
    #[error("read or note which changes are recorded")]
    Store(#[from] store::Error),
    #[error("ask whether a change is still to be told")]
    Journal(#[from] journal::Error),
}

/// Tells the trail of a change that was just saved. It stands either way, so what fails or takes too long is
/// left to the sweep.
pub async fn tell<C: Change>(plane: &ControlPlane, change: &C) {
    let error = match timeout(TELL_TIMEOUT, record(plane, change)).await {
        Ok(Ok(())) => return,
        Ok(Err(error)) => chain(&error),
        Err(_) => "the journal takes its time".to_owned(),
    };
    let (of, id) = (C::OF, change.id());
    tracing::warn!(error, of, id, "a change is not in the trail yet");
}

/// Tells the trail what it was not told, until stopped.
pub async fn sweep<C: Change>(
    plane: ControlPlane,
    stopping: CancellationToken,
) -> anyhow::Result<()> {
    let mut retries = Retries::new(format!("tell the trail of {}", C::OF), &stopping);
    loop {
        tokio::select! {
            () = sleep(SWEEP_EVERY) => {}
            () = stopping.cancelled() => return Ok(()),
        }
        retries.again(tell_all::<C>(&plane).await).await;
    }
}

async fn tell_all<C: Change>(plane: &ControlPlane) -> Result<(), Error> {
    let made_before = plane.clock.now().minus(C::LEFT_BEHIND_AFTER);
    for change in C::untold(&plane.store, made_before, ROUND_MAX).await? {
        if change.stands(plane).await? {
            record(plane, &change).await?;
        } else {
            change.note(&plane.store).await?;
        }
    }
    Ok(())
}

async fn record<C: Change>(plane: &ControlPlane, change: &C) -> Result<(), Error> {
    let (org, received_at) = change.whose();
    let arrival = Arrival {
        org,
        received_at,
        retention: plane.retention,
    };
    match record_as(change.tail(), &plane.events, &arrival, &change.event()).await {
        Ok(_) => {}
        // Ours are always valid. Should one not be, it must not hold up the others for ever.
        Err(error @ Unrecorded::Invalid(_)) => {
            let (error, of, id) = (chain(&error), C::OF, change.id());
            tracing::error!(error, of, id, "a change cannot be recorded");
        }
        Err(error @ Unrecorded::Journal(_)) => return Err(error.into()),
    }
    Ok(change.note(&plane.store).await?)
}
