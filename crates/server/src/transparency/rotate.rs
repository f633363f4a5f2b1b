//! Replaces the key of a log: for as long as auditors and witnesses need to learn the new one, both sign.

use anyhow::{Context as _, bail, ensure};
use deliver::secrets::seal::Vault;
use domain::{OrgId, Timestamp, clock::Clock};
use serde::Serialize;
use store::{Store, transparency::keys::LogKey};

use super::signer::new_key;

/// The keys that sign a log from now on, as the command prints them.
#[derive(Debug, Serialize)]
pub(crate) struct Signing {
    org_id: OrgId,
    /// Oldest first.
    signing: Vec<String>,
    retired_at: Option<Timestamp>,
}

/// Adds a key, which signs beside the one that there is.
pub(crate) async fn add(
    store: &Store,
    vault: &Vault,
    clock: Clock,
    org: OrgId,
) -> anyhow::Result<Signing> {
    let (origin, keys) = log(store, org).await?;
    let signing: Vec<&LogKey> = signing(&keys).collect();
    let old = match signing.as_slice() {
        [old] => *old,
        [] => bail!("this log has no key yet; it gets its first one with its first entry"),
        _ => bail!("two keys sign this log already; retire the older one first, with --retire"),
    };
    let number = keys.iter().map(|key| key.number).max().unwrap_or(0) + 1;
    let new = new_key(vault, clock, org, &origin, number)?;
    let added = store.add_transparency_key(org, &new).await?;
    ensure!(added, "somebody else is adding a key right now; try again");
    Ok(Signing {
        org_id: org,
        signing: vec![old.verifier.clone(), new.verifier],
        retired_at: None,
    })
}

/// Retires all keys but the newest.
pub(crate) async fn retire(store: &Store, clock: Clock, org: OrgId) -> anyhow::Result<Signing> {
    let (_, keys) = log(store, org).await?;
    let newest = signing(&keys)
        .next_back()
        .context("no key signs this log")?;
    let now = clock.now();
    let retired = store
        .retire_transparency_keys(org, newest.number, now)
        .await?;
    ensure!(
        retired > 0,
        "one key signs this log; add another first, without --retire"
    );
    Ok(Signing {
        org_id: org,
        signing: vec![newest.verifier.clone()],
        retired_at: Some(now),
    })
}

async fn log(store: &Store, org: OrgId) -> anyhow::Result<(String, Vec<LogKey>)> {
    let log = store.transparency_log(org).await?;
    let log = log.with_context(|| format!("{org} has no transparency log"))?;
    Ok((log.origin, store.transparency_keys(org).await?))
}

fn signing(keys: &[LogKey]) -> impl DoubleEndedIterator<Item = &LogKey> {
    keys.iter().filter(|key| key.retired_at.is_none())
}
