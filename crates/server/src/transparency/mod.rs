//! The transparency log of each organization: its events and delivery attempts as the leaves of a Merkle tree that only ever
//! grows, with signed checkpoints, so that whoever keeps a checkpoint can prove that nothing before it was changed.
//!
//! ```text
//! a row is written ── its leaf in the outbox, same transaction (store/transparency)
//!        │
//! sequencer ── what waits becomes a step: put-if-absent under the size it goes on from. This is the append; of two
//!        │     sequencers one comes first, whatever PostgreSQL believes, so there is one order and never a fork.
//!        ├──── full bundles and tiles ([`files`]), which follow from the steps
//!        ├──── the checkpoint, signed ([`signer`])
//!        └──── PostgreSQL: size, edge, checkpoint, and the rows of the outbox have their indexes
//! ```
//!
//! A sequencer that dies, at any point, leaves a step that PostgreSQL does not know of, or nothing. Whoever goes on finds the
//! step and adopts it ([`catch_up`]). After PostgreSQL was put back to an earlier state it is the same, with more steps. What
//! cannot be explained stops the log, with an alarm: then nothing is signed, and everything else goes on.
//!
//! [`witnesses`] has what was signed cosigned, behind the sequencer's back: it waits for nobody.

use std::time::Duration;

use deliver::secrets::seal::Vault;

mod catch_up;
pub(crate) mod doors;
mod files;
mod find;
mod growth;
pub(crate) mod public;
mod published;
pub(crate) mod rotate;
mod sequencer;
mod signer;
mod step;
pub(crate) mod stopped;
#[cfg(test)]
mod tests;
pub(crate) mod witnesses;

use archive::Bucket;
use domain::partition::Partitions;
use runtime::error_chain::chain;
use store::Store;
use tokio::time::timeout;

pub(crate) use files::folder_of;
pub(crate) use growth::{BUNDLE_LEAVES, in_full_bundles};
pub(crate) use published::Published;
pub(crate) use sequencer::{Error, Sequencer, Tools};

/// How long a start waits to learn whether the bucket can keep logs.
const PROBE_WAIT: Duration = Duration::from_secs(5);

/// The store, which keeps a transparency log of what it writes if there is somewhere to keep it; whether it does.
pub(crate) async fn with_log(
    store: Store,
    partitions: Partitions,
    bucket: Option<&Bucket>,
    vault: &Vault,
) -> (Store, bool) {
    let Some(bucket) = bucket else {
        return (store, false);
    };
    if vault.is_empty() {
        tracing::warn!(
            "no transparency log is kept: secrets.key, which its keys are sealed with, is not set"
        );
        return (store, false);
    }
    match timeout(PROBE_WAIT, sequencer::can_keep_logs(bucket)).await {
        Ok(Ok(false)) => {
            tracing::warn!(
                "no transparency log is kept: the bucket of files.url writes over files that are there, although asked not to"
            );
            return (store, false);
        }
        // What is not there now may be later, and what is to be appended waits for it.
        Ok(Err(error)) => tracing::warn!(error = chain(&error), "files.url does not respond"),
        Err(_) => tracing::warn!("files.url does not respond"),
        Ok(Ok(true)) => {}
    }
    (store.with_transparency_log(partitions), true)
}
