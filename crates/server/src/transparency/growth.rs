//! What appending leaves makes of a tree: its new edge, the bundles that are full now, and the hashes that are new in tiles.

use std::collections::BTreeMap;

use domain::Timestamp;
use store::transparency::{Leaves, logs::BundleTimes};
use trail_proof::leaf::Leaf;
use transparency_log::{Edge, Hash, TILE_WIDTH};

/// How many leaves a full bundle has.
pub(crate) const BUNDLE_LEAVES: u64 = TILE_WIDTH as u64;
/// How many levels of the tree one level of tiles stands for.
const TILE_HEIGHT: u8 = 8;

/// A tree after leaves were appended.
#[derive(Debug)]
pub(super) struct Growth {
    pub(super) edge: Edge,
    pub(super) bundles: Vec<FullBundle>,
    /// New hashes of tiles above the lowest level, by the level of tiles and the tile.
    pub(super) tiles: BTreeMap<(u8, u64), TileGrowth>,
}

/// A bundle that is full, and the lowest tile, which is of the same leaves.
#[derive(Debug)]
pub(super) struct FullBundle {
    pub(super) times: BundleTimes,
    pub(super) leaves: Leaves,
    pub(super) hashes: Vec<Hash>,
}

/// Hashes that a tile has more now.
#[derive(Debug)]
pub(super) struct TileGrowth {
    /// How many it had before.
    pub(super) before: usize,
    pub(super) hashes: Vec<Hash>,
}

/// The first leaf that no full bundle has, in a log of so many.
pub(crate) fn in_full_bundles(size: u64) -> u64 {
    size - size % BUNDLE_LEAVES
}

impl Growth {
    /// Appends `leaves` to a tree. `last` are those that no full bundle has yet.
    pub(super) fn of(
        mut edge: Edge,
        last: &Leaves,
        leaves: &Leaves,
    ) -> Result<Self, transparency_log::Error> {
        let mut growth = Self {
            edge: Edge::new(),
            bundles: Vec::new(),
            tiles: BTreeMap::new(),
        };
        let mut filling = Leaves::default();
        let mut hashes = Vec::new();
        for leaf in last.iter() {
            filling.push(leaf);
            hashes.push(Hash::of_leaf(leaf));
        }
        for leaf in leaves.iter() {
            let hash = Hash::of_leaf(leaf);
            edge.append_each(hash, |node, hash| {
                growth.note(node.level, node.index, *hash);
            })?;
            filling.push(leaf);
            hashes.push(hash);
            if edge.size().is_multiple_of(BUNDLE_LEAVES) {
                let number = edge.size() / BUNDLE_LEAVES - 1;
                let leaves = std::mem::take(&mut filling);
                growth.bundles.push(FullBundle {
                    times: times(number, &leaves),
                    leaves,
                    hashes: std::mem::take(&mut hashes),
                });
            }
        }
        growth.edge = edge;
        Ok(growth)
    }

    /// Notes the root of a subtree if a tile above the lowest level has it.
    fn note(&mut self, level: u8, index: u64, hash: Hash) {
        if level == 0 || !level.is_multiple_of(TILE_HEIGHT) {
            return;
        }
        let (tile, place) = (index / BUNDLE_LEAVES, index % BUNDLE_LEAVES);
        let before = usize::try_from(place).expect("below 256");
        let tile = self.tiles.entry((level / TILE_HEIGHT, tile));
        let tile = tile.or_insert(TileGrowth {
            before,
            hashes: Vec::new(),
        });
        tile.hashes.push(hash);
    }
}

/// From when to when leaves are; those that cannot be read do not count.
fn times(number: u64, leaves: &Leaves) -> BundleTimes {
    let times = leaves
        .iter()
        .filter_map(|leaf| Leaf::decode(leaf).ok())
        .map(|leaf| Timestamp::from_unix_millis(leaf.received_ms));
    let (first_at, last_at) = times.fold((Timestamp::MAX, Timestamp::MIN), |(first, last), at| {
        (first.min(at), last.max(at))
    });
    BundleTimes {
        number,
        first_at,
        last_at,
    }
}
