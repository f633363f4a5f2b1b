//! Where in a log a leaf is.

use store::{Store, transparency::Leaves};
use trail_proof::leaf::{LEAF_BYTES, Leaf};

use super::{
    files::LogFiles,
    growth::{BUNDLE_LEAVES, in_full_bundles},
    sequencer::Error,
};

/// The index of a leaf in a log of `size` leaves.
pub(super) async fn index_of(
    store: &Store,
    files: LogFiles<'_>,
    size: u64,
    leaf: &[u8; LEAF_BYTES],
) -> Result<Option<u64>, Error> {
    let Ok(read) = Leaf::decode(leaf) else {
        return Ok(None);
    };
    let full = in_full_bundles(size);
    if let Some(last) = store.last_leaves(files.org, full, size).await?
        && let Some(place) = place_in(&last, leaf)
    {
        return Ok(Some(full + place));
    }
    let at = domain::Timestamp::from_unix_millis(read.received_ms);
    let mut candidates = store.bundles_around(files.org, at, None).await?;
    while let Some(last) = candidates.last().copied() {
        for number in candidates.iter().map(|one| one.number) {
            if let Some(bundle) = files.bundle(number).await?
                && let Some(place) = place_in(&bundle, leaf)
            {
                return Ok(Some(number * BUNDLE_LEAVES + place));
            }
        }
        candidates = store.bundles_around(files.org, at, Some(last)).await?;
    }
    Ok(None)
}

fn place_in(leaves: &Leaves, leaf: &[u8; LEAF_BYTES]) -> Option<u64> {
    let place = leaves.iter().position(|one| one == leaf)?;
    u64::try_from(place).ok()
}
