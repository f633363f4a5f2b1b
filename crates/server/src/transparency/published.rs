//! A log as its readers see it: as of a signed checkpoint, whatever was appended since.
//!
//! Which checkpoint that is, if witnesses cosign the log: a new one is signed each second while something happens, and the
//! cosignatures come a moment later. An auditor who asks for a witness must not have to try until he meets such a moment. So
//!
//! - whoever reads the log up to now, to export it or to prove that it has something, waits for the cosignatures of the
//!   checkpoint that is the newest when he comes ([`Published::open`]);
//! - whoever asks for a checkpoint is shown the newest one that was cosigned ([`Published::shown`]);
//!
//! both for as long as witnesses cosign. If none has for [`WITNESSES_ARE_AWAY`], it is the newest checkpoint, with no
//! cosignature: the log goes on, and whoever wants a witness is told that it is missing.

use std::time::Duration;

use archive::Bucket;
use bytes::Bytes;
use domain::OrgId;
use store::{
    Store,
    transparency::{
        Leaves,
        logs::{LogState, Witnessed},
    },
};
use tokio::time::{Instant, sleep};
use trail_proof::leaf::{LEAF_BYTES, Leaf, Salt};
use transparency_log::{
    Bundle, Hash, Node, ProofNodes, SignedCheckpoint, Tile, TlogProof, consistency_nodes,
    inclusion_nodes,
};

use super::{
    files::{self, LogFiles},
    find,
    growth::{BUNDLE_LEAVES, in_full_bundles},
    sequencer::Error,
};

/// A checkpoint that nobody has cosigned for so long, nor any after it, is shown as it is.
const WITNESSES_ARE_AWAY: Duration = Duration::from_secs(10);
/// How long a reader waits for cosignatures: two turns of a second, and the time that asking takes.
const PATIENCE: Duration = Duration::from_secs(3);
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// A log that has a checkpoint.
pub(crate) struct Published {
    store: Store,
    bucket: Bucket,
    org: OrgId,
    /// As of its newest checkpoint.
    state: LogState,
    /// How many leaves the checkpoint has that it is read as of.
    size: u64,
    pub(crate) checkpoint: SignedCheckpoint,
}

impl Published {
    /// As of now, cosigned if witnesses do that. `None`: nothing was signed yet.
    pub(crate) async fn open(
        store: &Store,
        bucket: &Bucket,
        org: OrgId,
    ) -> Result<Option<Self>, Error> {
        let Some(newest) = Self::newest(store, bucket, org).await? else {
            return Ok(None);
        };
        let deadline = Instant::now() + PATIENCE;
        let mut state = newest.state.clone();
        while let Some(witnessed) = awaited(&state) {
            if witnessed.size >= newest.size {
                let log = Self::of(store, bucket, org, state).and_then(Self::into_cosigned);
                return log.map(Some);
            }
            if Instant::now() > deadline {
                break;
            }
            sleep(LOOK_EVERY).await;
            let Some(now) = store.transparency_log(org).await? else {
                return Ok(None);
            };
            state = now;
        }
        Ok(Some(newest))
    }

    /// As of the newest checkpoint that was cosigned, if witnesses do that; else of the newest. `None`: nothing was signed
    /// yet.
    pub(crate) async fn shown(
        store: &Store,
        bucket: &Bucket,
        org: OrgId,
    ) -> Result<Option<Self>, Error> {
        let Some(log) = Self::newest(store, bucket, org).await? else {
            return Ok(None);
        };
        if awaited(&log.state).is_none() {
            return Ok(Some(log));
        }
        log.into_cosigned().map(Some)
    }

    /// As of the newest checkpoint, with whatever cosignatures it has. `None`: nothing was signed yet.
    pub(crate) async fn newest(
        store: &Store,
        bucket: &Bucket,
        org: OrgId,
    ) -> Result<Option<Self>, Error> {
        match store.transparency_log(org).await? {
            Some(state) if state.checkpoint.is_some() => {
                Self::of(store, bucket, org, state).map(Some)
            }
            _ => Ok(None),
        }
    }

    fn of(store: &Store, bucket: &Bucket, org: OrgId, state: LogState) -> Result<Self, Error> {
        let witnessed = state.witnessed.as_ref();
        let cosigned = witnessed.filter(|one| one.size == state.size);
        let text = match cosigned {
            Some(cosigned) => &cosigned.checkpoint,
            None => state.checkpoint.as_deref().unwrap_or_default(),
        };
        let checkpoint = SignedCheckpoint::parse(text)?;
        Ok(Self {
            store: store.clone(),
            bucket: bucket.clone(),
            org,
            size: state.size,
            state,
            checkpoint,
        })
    }

    /// The same log, as of the newest checkpoint that was cosigned.
    fn into_cosigned(mut self) -> Result<Self, Error> {
        if let Some(cosigned) = &self.state.witnessed {
            self.size = cosigned.size;
            self.checkpoint = SignedCheckpoint::parse(&cosigned.checkpoint)?;
        }
        Ok(self)
    }

    pub(super) fn org(&self) -> OrgId {
        self.org
    }

    pub(crate) fn origin(&self) -> &str {
        &self.state.origin
    }

    /// How many leaves the checkpoint has.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    fn files(&self) -> LogFiles<'_> {
        LogFiles {
            bucket: &self.bucket,
            org: self.org,
        }
    }

    /// The file of a tile; `None` if the tree is not so large.
    pub(super) async fn tile(&self, tile: Tile) -> Result<Option<Bytes>, Error> {
        let there = Tile::in_tree(tile.level(), tile.index(), self.size);
        let Some(there) = there.filter(|there| tile.width() <= there.width()) else {
            return Ok(None);
        };
        let mut hashes = self.hashes(there).await?;
        hashes.truncate(tile.width().into());
        Ok(Some(Bytes::from(tile.encode(&hashes)?)))
    }

    /// The file of a bundle; `None` if the tree is not so large.
    pub(super) async fn bundle(&self, bundle: Bundle) -> Result<Option<Bytes>, Error> {
        let there = Bundle::in_tree(bundle.index(), self.size);
        if there.is_none_or(|there| bundle.width() > there.width()) {
            return Ok(None);
        }
        let leaves = self.leaves(bundle.index(), bundle.width().into()).await?;
        let entries = leaves.iter().map(<[u8; LEAF_BYTES]>::as_slice);
        let bytes = transparency_log::bundle::encode(entries)?;
        Ok(Some(Bytes::from(bytes)))
    }

    /// Proves that a leaf is in the log; `None` if it is not, or not yet.
    pub(super) async fn prove(&self, leaf: &Leaf, salt: Salt) -> Result<Option<TlogProof>, Error> {
        let Some(index) = self.index_of(leaf).await? else {
            return Ok(None);
        };
        let hashes = self.prove_by(&inclusion_nodes(index, self.size)?).await?;
        let proof = TlogProof::new(index, hashes, self.checkpoint.clone())?;
        Ok(Some(proof.with_extra(salt.0.to_vec())?))
    }

    /// Where a leaf is; `None` if the checkpoint does not have it.
    pub(crate) async fn index_of(&self, leaf: &Leaf) -> Result<Option<u64>, Error> {
        let (files, encoded) = (self.files(), leaf.encode());
        let index = find::index_of(&self.store, files, self.size, &encoded).await?;
        // A bundle that is full by now may have more than the checkpoint.
        Ok(index.filter(|index| *index < self.size))
    }

    /// Proves that the tree of the first `old_size` leaves is the beginning of the checkpoint's.
    pub(super) async fn prove_since(&self, old_size: u64) -> Result<Vec<Hash>, Error> {
        self.prove_by(&consistency_nodes(old_size, self.size)?)
            .await
    }

    async fn prove_by(&self, nodes: &ProofNodes) -> Result<Vec<Hash>, Error> {
        let mut roots = Vec::new();
        for node in nodes.iter() {
            roots.push((node, self.root_of(node).await?));
        }
        let hashes = nodes.prove(|wanted| {
            let known = roots.iter().find(|(node, _)| *node == wanted);
            known.map(|(_, root)| *root)
        })?;
        Ok(hashes)
    }

    /// The roots of subtrees of the checkpoint's tree.
    pub(crate) async fn roots_of(&self, nodes: &[Node]) -> Result<Vec<Hash>, Error> {
        let mut roots = Vec::with_capacity(nodes.len());
        for node in nodes {
            roots.push(self.root_of(*node).await?);
        }
        Ok(roots)
    }

    async fn root_of(&self, node: Node) -> Result<Hash, Error> {
        let tile = Tile::holding(node, self.size)
            .ok_or_else(|| Error::Contradiction(format!("the tree has no subtree {node:?}")))?;
        let hashes = self.hashes(tile).await?;
        Ok(tile.root_of(node, &hashes)?)
    }

    /// The hashes of a tile as wide as it is in the tree.
    async fn hashes(&self, tile: Tile) -> Result<Vec<Hash>, Error> {
        let (level, index, width) = (tile.level(), tile.index(), tile.width().into());
        if level > 0 || tile.is_full() {
            // There is a file of the tile as wide as it is now, and perhaps none of how wide it was.
            let now = Tile::in_tree(level, index, self.state.size).unwrap_or(tile);
            let width_now = now.width().into();
            let mut hashes = self.files().tile_hashes(level, index, width_now).await?;
            hashes.truncate(width);
            return Ok(hashes);
        }
        let leaves = self.leaves(index, width).await?;
        Ok(leaves.iter().map(|leaf| Hash::of_leaf(leaf)).collect())
    }

    /// The leaves of a bundle, as far as the checkpoint has them.
    pub(crate) async fn leaves_of(&self, number: u64) -> Result<Leaves, Error> {
        let left = self.size.saturating_sub(number * BUNDLE_LEAVES);
        let width = usize::try_from(left.min(BUNDLE_LEAVES)).unwrap_or_default();
        self.leaves(number, width).await
    }

    /// The first `width` leaves of a bundle.
    async fn leaves(&self, number: u64, width: usize) -> Result<Leaves, Error> {
        let start = number * BUNDLE_LEAVES;
        if start == in_full_bundles(self.state.size) {
            let end = start + width as u64;
            if let Some(leaves) = self.store.last_leaves(self.org, start, end).await? {
                return Ok(leaves);
            }
        }
        // Or it is full by now.
        let leaves = self.files().bundle(number).await?;
        let leaves = leaves.ok_or_else(|| files::Error::Missing {
            name: format!("bundle {number}"),
        })?;
        Ok(leaves.iter().take(width).collect())
    }
}

/// The newest checkpoint that was cosigned, if the next ones can be expected to be, too.
fn awaited(state: &LogState) -> Option<&Witnessed> {
    let witnessed = state.witnessed.as_ref()?;
    let is_recent = |outgrown_for: Duration| outgrown_for < WITNESSES_ARE_AWAY;
    (witnessed.outgrown_for.is_none_or(is_recent)).then_some(witnessed)
}
