//! The files of a log: steps, full bundles, and tiles.
//!
//! Only steps say anything new. Bundles and tiles follow from them, so whoever writes one writes the same bytes, and one that
//! is missing is made again from what is below it.

use std::collections::BTreeMap;

use archive::Bucket;
use bytes::Bytes;
use domain::{OrgId, Timestamp};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use store::transparency::Leaves;
use trail_proof::leaf::LEAF_BYTES;
use transparency_log::{Bundle, Edge, Hash, TILE_WIDTH, Tile};

use super::{
    growth::{BUNDLE_LEAVES, FullBundle, Growth},
    step::Step,
};

/// Steps that are deleted at a time; the rest goes the next time.
const DELETED_AT_A_TIME: usize = 1_000;
/// Files of one log that are written at a time.
const WRITES_AT_A_TIME: usize = 8;

/// Whatever of an organization's log is in files is below this.
pub(crate) fn folder_of(org: OrgId) -> String {
    format!("transparency/{org}")
}

/// The files of one log.
#[derive(Clone, Copy, Debug)]
pub(super) struct LogFiles<'b> {
    pub(super) bucket: &'b Bucket,
    pub(super) org: OrgId,
}

/// Why the files of a log are of no use.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error(transparent)]
    Storage(#[from] archive::Error),
    /// Not what it must be: somebody changed it, or it was damaged.
    #[error("{name}: {problem}")]
    Damaged { name: String, problem: String },
    /// It was there, or so we believed.
    #[error("{name} is missing")]
    Missing { name: String },
}

impl LogFiles<'_> {
    /// Writes a step; whether it is the first one from its size.
    pub(super) async fn write_step(&self, step: &Step) -> Result<bool, Error> {
        let name = self.step_name(step.from);
        Ok(self.bucket.put_new(&name, step.encode()).await?)
    }

    /// The step that goes on from a size.
    pub(super) async fn step(&self, from: u64) -> Result<Option<Step>, Error> {
        let name = self.step_name(from);
        let Some(bytes) = self.bucket.get(&name).await? else {
            return Ok(None);
        };
        let step = Step::decode(&bytes).map_err(|problem| damaged(&name, &problem))?;
        Ok(Some(step))
    }

    /// The sizes that the steps which are kept go on from, the smallest first, and when they were written.
    pub(super) async fn steps(&self) -> Result<BTreeMap<u64, Timestamp>, Error> {
        let folder = format!("{}/steps", folder_of(self.org));
        let files = self.bucket.list_with_times(&folder).await?;
        let step = |(name, written): (String, Timestamp)| {
            let from = name.rsplit('/').next()?.parse().ok()?;
            Some((from, written))
        };
        Ok(files.into_iter().filter_map(step).collect())
    }

    /// Deletes steps of which full bundles have every leaf, once they are old: nobody who hung may write one again.
    pub(super) async fn delete_old_steps(
        &self,
        steps: &BTreeMap<u64, Timestamp>,
        in_full_bundles: u64,
        before: Timestamp,
    ) -> Result<(), Error> {
        let ends = steps.keys().skip(1);
        let old = steps
            .iter()
            .zip(ends)
            .filter(|((_, written), end)| **end <= in_full_bundles && **written < before);
        for ((from, _), _) in old.take(DELETED_AT_A_TIME) {
            self.bucket.delete(&self.step_name(*from)).await?;
        }
        Ok(())
    }

    /// Writes the bundles that are full and the tiles that have grown.
    pub(super) async fn write(&self, growth: &Growth) -> Result<(), Error> {
        let writes: Vec<_> = growth
            .bundles
            .iter()
            .map(|bundle| self.write_bundle(bundle))
            .collect();
        let mut writes = stream::iter(writes).buffer_unordered(WRITES_AT_A_TIME);
        while writes.try_next().await?.is_some() {}
        // From below: a tile that is missing is made again from those below it.
        for ((level, index), grown) in &growth.tiles {
            let mut hashes = match grown.before {
                0 => Vec::new(),
                before => self.tile_hashes(*level, *index, before).await?,
            };
            hashes.extend_from_slice(&grown.hashes);
            self.write_tile(*level, *index, &hashes).await?;
            if grown.before > 0 {
                let before = tile(*level, *index, grown.before);
                self.bucket.delete(&self.name(&before.to_string())).await?;
            }
        }
        Ok(())
    }

    async fn write_bundle(&self, bundle: &FullBundle) -> Result<(), Error> {
        let number = bundle.times.number;
        let entries = bundle.leaves.iter().map(<[u8; LEAF_BYTES]>::as_slice);
        let bytes = transparency_log::bundle::encode(entries).expect("a leaf has 66 bytes");
        let name = self.name(&full_bundle(number).to_string());
        self.bucket.put(&name, Bytes::from(bytes)).await?;
        self.write_tile(0, number, &bundle.hashes).await
    }

    async fn write_tile(&self, level: u8, index: u64, hashes: &[Hash]) -> Result<(), Error> {
        let tile = tile(level, index, hashes.len());
        let bytes = tile
            .encode(hashes)
            .expect("the width is that of the hashes");
        let name = self.name(&tile.to_string());
        Ok(self.bucket.put(&name, Bytes::from(bytes)).await?)
    }

    /// The leaves of a full bundle; `None` if it is not there.
    pub(super) async fn bundle(&self, number: u64) -> Result<Option<Leaves>, Error> {
        let bundle = full_bundle(number);
        let name = self.name(&bundle.to_string());
        let Some(bytes) = self.bucket.get(&name).await? else {
            return Ok(None);
        };
        let entries = bundle
            .decode(&bytes)
            .map_err(|problem| damaged(&name, &problem))?;
        let mut leaves = Leaves::default();
        for entry in entries {
            let leaf = entry.try_into();
            leaves.push(leaf.map_err(|_| damaged(&name, &"an entry is not a leaf"))?);
        }
        Ok(Some(leaves))
    }

    /// The first `width` hashes of a tile, from whichever of its files has them, or else from below.
    pub(super) async fn tile_hashes(
        &self,
        level: u8,
        index: u64,
        width: usize,
    ) -> Result<Vec<Hash>, Error> {
        for at_hand in [
            tile(level, index, width),
            tile(level, index, TILE_WIDTH.into()),
        ] {
            let name = self.name(&at_hand.to_string());
            if let Some(bytes) = self.bucket.get(&name).await? {
                let mut hashes = at_hand
                    .decode(&bytes)
                    .map_err(|problem| damaged(&name, &problem))?;
                hashes.truncate(width);
                return Ok(hashes);
            }
        }
        if level == 0 {
            let leaves = self.bundle(index).await?;
            let leaves = leaves.ok_or_else(|| Error::Missing {
                name: full_bundle(index).to_string(),
            })?;
            return Ok(leaves
                .iter()
                .take(width)
                .map(|leaf| Hash::of_leaf(leaf))
                .collect());
        }
        let mut hashes = Vec::with_capacity(width);
        for place in 0..width as u64 {
            let below = Box::pin(self.tile_hashes(
                level - 1,
                index * BUNDLE_LEAVES + place,
                TILE_WIDTH.into(),
            ));
            hashes.push(root_of(&below.await?));
        }
        Ok(hashes)
    }

    fn step_name(&self, from: u64) -> String {
        // So wide that names sort as numbers do.
        self.name(&format!("steps/{from:020}"))
    }

    fn name(&self, path: &str) -> String {
        format!("{}/{path}", folder_of(self.org))
    }
}

/// The root of a full tile.
fn root_of(hashes: &[Hash]) -> Hash {
    let mut edge = Edge::new();
    for hash in hashes {
        edge.append(*hash).expect("256 hashes are a tree");
    }
    edge.root()
}

fn tile(level: u8, index: u64, width: usize) -> Tile {
    let width = u16::try_from(width).expect("a tile has at most 256 hashes");
    Tile::new(level, index, width).expect("a tile of a tree that exists")
}

fn full_bundle(number: u64) -> Bundle {
    Bundle::new(number, TILE_WIDTH).expect("a bundle of a tree that exists")
}

fn damaged(name: &str, problem: &dyn std::fmt::Display) -> Error {
    Error::Damaged {
        name: name.to_owned(),
        problem: problem.to_string(),
    }
}
