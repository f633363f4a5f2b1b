//! A log as its readers see it: as of its last signed checkpoint, whatever was appended since.

use archive::Bucket;
use bytes::Bytes;
use domain::OrgId;
use store::{
    Store,
    transparency::{Leaves, logs::LogState},
};
use trail_proof::leaf::{LEAF_BYTES, Leaf, Salt};
use transparency_log::{Bundle, Hash, Node, SignedCheckpoint, Tile, TlogProof, inclusion_nodes};

use super::{
    files::{self, LogFiles},
    find,
    growth::{BUNDLE_LEAVES, in_full_bundles},
    sequencer::Error,
};

/// A log that has a checkpoint.
pub(crate) struct Published {
    store: Store,
    bucket: Bucket,
    org: OrgId,
    state: LogState,
    pub(crate) checkpoint: SignedCheckpoint,
}

impl Published {
    /// `None`: nothing was signed yet.
    pub(crate) async fn open(
        store: &Store,
        bucket: &Bucket,
        org: OrgId,
    ) -> Result<Option<Self>, Error> {
        let Some(state) = store.transparency_log(org).await? else {
            return Ok(None);
        };
        let Some(text) = &state.checkpoint else {
            return Ok(None);
        };
        let checkpoint = SignedCheckpoint::parse(text)?;
        Ok(Some(Self {
            store: store.clone(),
            bucket: bucket.clone(),
            org,
            state,
            checkpoint,
        }))
    }

    pub(crate) fn origin(&self) -> &str {
        &self.state.origin
    }

    /// How many leaves the checkpoint has.
    pub(crate) fn size(&self) -> u64 {
        self.state.size
    }

    fn files(&self) -> LogFiles<'_> {
        LogFiles {
            bucket: &self.bucket,
            org: self.org,
        }
    }

    /// The file of a tile; `None` if the tree is not so large.
    pub(super) async fn tile(&self, tile: Tile) -> Result<Option<Bytes>, Error> {
        let there = Tile::in_tree(tile.level(), tile.index(), self.state.size);
        let Some(there) = there.filter(|there| tile.width() <= there.width()) else {
            return Ok(None);
        };
        let mut hashes = self.hashes(there).await?;
        hashes.truncate(tile.width().into());
        Ok(Some(Bytes::from(tile.encode(&hashes)?)))
    }

    /// The file of a bundle; `None` if the tree is not so large.
    pub(super) async fn bundle(&self, bundle: Bundle) -> Result<Option<Bytes>, Error> {
        let there = Bundle::in_tree(bundle.index(), self.state.size);
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
        let encoded = leaf.encode();
        let size = self.state.size;
        let index = find::index_of(&self.store, self.files(), size, &encoded).await?;
        let Some(index) = index else {
            return Ok(None);
        };
        let nodes = inclusion_nodes(index, size)?;
        let mut roots = Vec::new();
        for node in nodes.iter() {
            roots.push((node, self.root_of(node).await?));
        }
        let hashes = nodes.prove(|wanted| {
            let known = roots.iter().find(|(node, _)| *node == wanted);
            known.map(|(_, root)| *root)
        })?;
        let proof = TlogProof::new(index, hashes, self.checkpoint.clone())?;
        Ok(Some(proof.with_extra(salt.0.to_vec())?))
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
        let tile = Tile::holding(node, self.state.size)
            .ok_or_else(|| Error::Contradiction(format!("the tree has no subtree {node:?}")))?;
        let hashes = self.hashes(tile).await?;
        Ok(tile.root_of(node, &hashes)?)
    }

    /// The hashes of a tile as wide as it is in the tree.
    async fn hashes(&self, tile: Tile) -> Result<Vec<Hash>, Error> {
        let (level, index, width) = (tile.level(), tile.index(), tile.width().into());
        if level > 0 || tile.is_full() {
            return Ok(self.files().tile_hashes(level, index, width).await?);
        }
        let leaves = self.leaves(index, width).await?;
        Ok(leaves.iter().map(|leaf| Hash::of_leaf(leaf)).collect())
    }

    /// The leaves of a bundle, as far as the checkpoint has them.
    pub(crate) async fn leaves_of(&self, number: u64) -> Result<Leaves, Error> {
        let left = self.state.size.saturating_sub(number * BUNDLE_LEAVES);
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
