//! Logins that were refused: noted for the account's organization, after the answer.
//!
//! How long a refusal takes must not tell whether there is such an account, so nothing of this happens before it is
//! answered. What does not fit the queue is dropped and logged: it is a record of attempts, not of what was done.

use domain::{OrgId, Timestamp, UserId, limit::Operation::RefusedLogin};
use runtime::error_chain::chain;
use serde_json::json;
use store::account_outbox::Hand;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::planes::ControlPlane;

/// How many may wait: as many as passwords can be checked in some seconds.
const WAITING_MAX: usize = 1_000;

/// Somebody was refused to log in to an account.
#[derive(Debug)]
pub struct Refusal {
    pub org: OrgId,
    pub user: UserId,
    pub at: Timestamp,
    pub client_address: String,
    pub user_agent: Option<String>,
}

/// Takes refusals. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Refusals {
    waiting: mpsc::Sender<Refusal>,
}

/// Where they are taken from.
#[derive(Debug)]
pub struct Waiting(mpsc::Receiver<Refusal>);

impl Refusals {
    pub fn new() -> (Self, Waiting) {
        let (waiting, taken) = mpsc::channel(WAITING_MAX);
        (Self { waiting }, Waiting(taken))
    }

    /// Makes nobody wait.
    pub fn note(&self, refusal: Refusal) {
        if self.waiting.try_send(refusal).is_err() {
            tracing::warn!("too many refused logins are waiting to be recorded; one was dropped");
        }
    }
}

/// Notes refusals until stopped.
pub async fn work(
    plane: ControlPlane,
    mut waiting: Waiting,
    stopping: CancellationToken,
) -> anyhow::Result<()> {
    loop {
        let refusal = tokio::select! {
            refusal = waiting.0.recv() => refusal,
            // What waits is still noted.
            () = stopping.cancelled() => waiting.0.try_recv().ok(),
        };
        let Some(refusal) = refusal else {
            return Ok(());
        };
        settle(&plane, refusal).await;
    }
}

/// Notes one, unless its account has had enough of them: nobody may fill somebody else's trail.
async fn settle(plane: &ControlPlane, refusal: Refusal) {
    let quotas = &plane.door.quotas;
    if quotas
        .admit(RefusedLogin, &refusal.user.to_string())
        .await
        .is_err()
    {
        return;
    }
    let hand = Hand {
        org: refusal.org,
        user: refusal.user,
        at: refusal.at,
    };
    let details = json!({
        "user_id": refusal.user, "client_address": refusal.client_address, "user_agent": refusal.user_agent,
    });
    // The sweep tells it: the next refusal does not wait for the journal.
    if let Err(error) = plane.store.login_refused(hand, details).await {
        tracing::warn!(error = chain(&error), "could not record a refused login");
    }
}
