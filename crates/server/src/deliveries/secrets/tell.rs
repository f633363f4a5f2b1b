//! Tells the trail who staged, promoted or dropped which signing secret: each change is an audit event.
//!
//! A change is saved with a note that the trail is to be told of it. It is told right after, and by a sweep
//! should that fail or the process die in between. The event follows from the change to the byte, and so does
//! its id: told twice, it is listed once.

use std::time::Duration;

use domain::{
    SecretId, Timestamp,
    event::accept::Arrival,
    secret::{EVENT_TYPE, event_tail},
};
use serde::Serialize;
use store::signing_secrets::Told;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::{
    error_chain::chain,
    events::own::{Unrecorded, record_as},
    planes::ControlPlane,
    retry::Retries,
};

/// How often it is looked for what the trail was not told.
const SWEEP_EVERY: Duration = Duration::from_secs(1);
/// What is younger is being told by whoever saved it.
const LEFT_BEHIND_AFTER: Duration = Duration::from_secs(5);
/// How long a client waits for it; what takes longer is left to the sweep.
const TELL_TIMEOUT: Duration = Duration::from_secs(2);
/// How many are told in one round; the rest is for the next.
const ROUND_MAX: u32 = 100;

/// The audit event that a change is.
#[derive(Serialize)]
struct ChangeEvent {
    event_type: &'static str,
    agent_id: String,
    action: &'static str,
    result: &'static str,
    metadata: ChangeMetadata,
}

#[derive(Serialize)]
struct ChangeMetadata {
    secret_id: SecretId,
    /// Of a promotion: until when the secret before signs beside it.
    #[serde(skip_serializing_if = "Option::is_none")]
    overlap_ends_at: Option<Timestamp>,
}

/// Tells the trail of a change that was just saved. It stands either way, so what fails is left to the sweep.
pub(super) async fn tell(plane: &ControlPlane, told: &Told) {
    let error = match timeout(TELL_TIMEOUT, record(plane, told)).await {
        Ok(Ok(())) => return,
        Ok(Err(error)) => chain(&error),
        Err(_) => "the journal takes its time".to_owned(),
    };
    tracing::warn!(error, secret.id = %told.secret, "a change of a signing secret is not in the trail yet");
}

/// Tells the trail what it was not told, until stopped.
pub async fn sweep(plane: ControlPlane, stopping: CancellationToken) -> anyhow::Result<()> {
    let mut retries = Retries::new("tell the trail of signing secrets", &stopping);
    loop {
        tokio::select! {
            () = sleep(SWEEP_EVERY) => {}
            () = stopping.cancelled() => return Ok(()),
        }
        retries.again(tell_all(&plane).await).await;
    }
}

async fn tell_all(plane: &ControlPlane) -> Result<(), Error> {
    let made_before = plane.clock.now().minus(LEFT_BEHIND_AFTER);
    let waiting = plane.store.untold_secret_changes(made_before, ROUND_MAX);
    for told in waiting.await? {
        record(plane, &told).await?;
    }
    Ok(())
}

/// Why the trail was not told.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error("record a change of a signing secret")]
    Unrecorded(#[from] Unrecorded),
    #[error("read or note which changes of signing secrets are recorded")]
    Store(#[from] store::Error),
}

async fn record(plane: &ControlPlane, told: &Told) -> Result<(), Error> {
    let event = ChangeEvent {
        event_type: EVENT_TYPE,
        agent_id: told.by.to_string(),
        action: told.what.action(),
        result: "success",
        metadata: ChangeMetadata {
            secret_id: told.secret,
            overlap_ends_at: told.until,
        },
    };
    let arrival = Arrival {
        org: told.org,
        received_at: told.at,
        retention: plane.retention,
    };
    let tail = event_tail(told.secret, told.what);
    match record_as(tail, &plane.events, &arrival, &event).await {
        Ok(_) => {}
        // Ours are always valid. Should one not be, it must not hold up the others for ever.
        Err(error @ (Unrecorded::Invalid(_) | Unrecorded::Unwritable(_))) => {
            let error = chain(&error);
            tracing::error!(error, secret.id = %told.secret, "a change of a signing secret cannot be recorded");
        }
        Err(error @ Unrecorded::Journal(_)) => return Err(error.into()),
    }
    Ok(plane.store.secret_change_told(told).await?)
}
