//! Deletes the files of exports that ran out or were canceled.

use std::time::Duration;

use archive::Bucket;
use domain::{ExportId, OrgId, clock::Clock};
use runtime::error_chain::chain;
use store::Store;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

/// Files wait at most this long after their time.
const EVERY: Duration = Duration::from_mins(5);
/// Exports whose files are deleted in one round.
const AT_A_TIME: u32 = 100;

/// The folder of an export's files.
pub(super) fn folder(org: OrgId, id: ExportId) -> String {
    format!("{}/{id}", folder_of(org))
}

/// The folder of all files of an organization's exports.
pub(crate) fn folder_of(org: OrgId) -> String {
    format!("exports/{org}")
}

pub async fn run(
    store: Store,
    files: Bucket,
    clock: Clock,
    stopping: CancellationToken,
) -> anyhow::Result<()> {
    loop {
        match store.exports_to_sweep(clock.now(), AT_A_TIME).await {
            Ok(exports) => {
                for (org, id) in exports {
                    sweep(&store, &files, org, id).await;
                }
            }
            Err(error) => tracing::warn!(
                error = chain(&error),
                "could not look for expired files; will retry later"
            ),
        }
        tokio::select! {
            () = sleep(EVERY) => {}
            () = stopping.cancelled() => return Ok(()),
        }
    }
}

/// Deletes, then notes it: what is interrupted in between is done again.
async fn sweep(store: &Store, files: &Bucket, org: OrgId, id: ExportId) {
    let swept = match files.delete_below(&folder(org, id)).await {
        Ok(()) => store
            .note_swept(org, id)
            .await
            .map_err(|error| chain(&error)),
        Err(error) => Err(chain(&error)),
    };
    if let Err(error) = swept {
        tracing::warn!(error, export.id = %id, "could not delete the files of an export; will retry");
    }
}
