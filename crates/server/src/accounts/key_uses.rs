//! When API keys were last used: gathered in memory, written in batches, never waited for.

use std::{collections::HashMap, time::Duration};

use domain::{KeyId, OrgId, Timestamp, clock::Clock};
use runtime::retry::Retries;
use store::Store;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::snapshots::Keys;

/// How long uses are gathered.
const GATHER: Duration = Duration::from_secs(10);
/// How many keys' uses wait for a database that is down; those of further keys are dropped.
const WAITING_MAX: usize = 100_000;

/// Notes uses until stopped, then once more.
pub async fn note(
    keys: Keys,
    store: Store,
    clock: Clock,
    stopping: CancellationToken,
) -> anyhow::Result<()> {
    let mut retries = Retries::new("record the use of API keys", &stopping);
    let mut waiting: HashMap<(OrgId, KeyId), Timestamp> = HashMap::new();
    let mut goes_on = true;
    while goes_on {
        goes_on = tokio::select! {
            () = sleep(GATHER) => true,
            () = stopping.cancelled() => false,
        };
        let now = clock.now();
        for key in keys.take_used() {
            let key = (key.org_id, key.id);
            if waiting.len() < WAITING_MAX || waiting.contains_key(&key) {
                waiting.insert(key, now);
            }
        }
        if waiting.is_empty() {
            continue;
        }
        let uses = waiting.iter().map(|((org, id), at)| (*org, *id, *at));
        let noted = store.note_keys_used(uses).await;
        if noted.is_ok() {
            waiting.clear();
        }
        retries.again(noted).await;
    }
    Ok(())
}
