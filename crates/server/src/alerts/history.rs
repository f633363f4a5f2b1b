//! Tells the trail who changed which rule: each change is an audit event.
//!
//! A version is saved with its rule and says that the trail was not told of it. It is told right after, and
//! by a sweep should that fail or the process die in between. The event follows from the version to the
//! byte, and so does its id: told twice, it is listed once and alerts once.

use std::time::Duration;

use domain::{
    RuleId,
    event::accept::Arrival,
    rule::change::{EVENT_TYPE, event_tail},
};
use serde::Serialize;
use store::rules::versions::Told;
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
/// How long a client waits for it. Announcing the change took the journal a moment; should it be away just
/// now, nobody is kept waiting until the request runs out.
const TELL_TIMEOUT: Duration = Duration::from_secs(2);
/// How many are told in one round; the rest is for the next.
const ROUND_MAX: u32 = 100;

/// The audit event that a change is.
#[derive(Serialize)]
struct ChangeEvent<'a> {
    event_type: &'static str,
    agent_id: &'a str,
    action: &'static str,
    result: &'static str,
    metadata: ChangeMetadata<'a>,
}

#[derive(Serialize)]
struct ChangeMetadata<'a> {
    rule_id: RuleId,
    name: &'a str,
    version: u32,
    changed: &'a [String],
}

/// Tells the trail of a version that was just saved. The change stands either way, so what fails or takes
/// too long is left to the sweep.
pub(super) async fn tell(plane: &ControlPlane, told: &Told) {
    let error = match timeout(TELL_TIMEOUT, record(plane, told)).await {
        Ok(Ok(())) => return,
        Ok(Err(error)) => chain(&error),
        Err(_) => "the journal takes its time".to_owned(),
    };
    tracing::warn!(error, rule.id = %told.rule, "a rule's change is not in the trail yet");
}

/// Tells the trail what it was not told, until stopped.
pub async fn sweep(plane: ControlPlane, stopping: CancellationToken) -> anyhow::Result<()> {
    let mut retries = Retries::new("tell the trail of rules", &stopping);
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
    let waiting = plane.store.unrecorded_rule_versions(made_before, ROUND_MAX);
    for told in waiting.await? {
        record(plane, &told).await?;
    }
    Ok(())
}

/// Why the trail was not told.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error("record a rule's change")]
    Unrecorded(#[from] Unrecorded),
    #[error("read or note which changes of rules are recorded")]
    Store(#[from] store::Error),
}

async fn record(plane: &ControlPlane, told: &Told) -> Result<(), Error> {
    let event = ChangeEvent {
        event_type: EVENT_TYPE,
        agent_id: told.by.as_deref().unwrap_or("unknown"),
        action: told.what.action(),
        result: "success",
        metadata: ChangeMetadata {
            rule_id: told.rule,
            name: &told.name,
            version: told.version,
            changed: &told.changed,
        },
    };
    let arrival = Arrival {
        org: told.org,
        received_at: told.at,
        retention: plane.retention,
    };
    let tail = event_tail(told.rule, told.version);
    match record_as(tail, &plane.events, &arrival, &event).await {
        Ok(_) => {}
        // Ours are always valid. Should one not be, it must not hold up the others for ever.
        Err(error @ (Unrecorded::Invalid(_) | Unrecorded::Unwritable(_))) => {
            let error = chain(&error);
            tracing::error!(error, rule.id = %told.rule, "a rule's change cannot be recorded");
        }
        Err(error @ Unrecorded::Journal(_)) => return Err(error.into()),
    }
    Ok(plane.store.rule_version_recorded(told).await?)
}
