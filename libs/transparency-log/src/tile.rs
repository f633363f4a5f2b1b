//! Tiles: the hashes of a tree as files that never change (C2SP tlog-tiles).
//!
//! A tile of level L holds up to 256 hashes side by side, each the root of 256^L leaves; so it also tells the roots of the
//! eight levels above them. A tile that is not full is partial, and has its width in its path.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use crate::tree::{checked_count, checked_size};
use crate::{Edge, Error, Hash, Node, SIZE_MAX};

/// How many hashes a full tile has, and how many entries a full bundle.
pub const TILE_WIDTH: u16 = 256;

/// How many levels of the tree one level of tiles stands for: 256 is 2^8.
const TILE_HEIGHT: u8 = 8;

/// The highest level that a path may name.
const LEVEL_MAX: u8 = 63;

/// Which tile: `tile/<L>/<N>`, with `.p/<W>` if it is partial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Tile {
    level: u8,
    place: Place,
}

impl Tile {
    /// `width` is from 1 to 256.
    pub fn new(level: u8, index: u64, width: u16) -> Result<Self, Error> {
        if level > LEVEL_MAX {
            return Err(Error::PathMalformed);
        }
        let place = Place::new(index, width)?;
        Ok(Self { level, place })
    }

    /// The tile as it is in a tree of `size` leaves; `None` if that has none there.
    pub fn in_tree(level: u8, index: u64, size: u64) -> Option<Self> {
        let place = Place::in_row(index, row_length(level, size))?;
        Some(Self { level, place })
    }

    /// The tile of a tree of `size` leaves that holds this subtree, `None` if the tree does not have all of it.
    pub fn holding(node: Node, size: u64) -> Option<Self> {
        let end = (u128::from(node.index) + 1) << node.level.min(LEVEL_MAX);
        if end > u128::from(size) || node.level > LEVEL_MAX {
            return None;
        }
        let index = first_hash(node) / u64::from(TILE_WIDTH);
        Self::in_tree(node.level / TILE_HEIGHT, index, size)
    }

    pub fn level(&self) -> u8 {
        self.level
    }

    pub fn index(&self) -> u64 {
        self.place.index
    }

    /// How many hashes it has.
    pub fn width(&self) -> u16 {
        self.place.width
    }

    pub fn is_full(&self) -> bool {
        self.place.is_full()
    }

    /// The full tile in whose place a partial one stands.
    pub fn full(&self) -> Self {
        Self {
            level: self.level,
            place: self.place.full(),
        }
    }

    /// The subtrees whose roots are the tile's hashes. None for a tile that is outside of every tree.
    pub fn nodes(&self) -> impl Iterator<Item = Node> + use<> {
        let level = self.level.saturating_mul(TILE_HEIGHT);
        let begin = self.index().checked_mul(TILE_WIDTH.into());
        let end = begin.and_then(|begin| begin.checked_add(self.width().into()));
        let hashes = begin.zip(end).filter(|_| level <= LEVEL_MAX);
        let (begin, end) = hashes.unwrap_or_default();
        (begin..end).map(move |index| Node { level, index })
    }

    /// Which of the tile's hashes are this subtree: one, or as many as its root is computed from. `None` if the tile does not
    /// have them all.
    pub fn hashes_of(&self, node: Node) -> Option<std::ops::Range<usize>> {
        if node.level / TILE_HEIGHT != self.level {
            return None;
        }
        let begin =
            first_hash(node).checked_sub(self.index().checked_mul(u64::from(TILE_WIDTH))?)?;
        let begin = usize::try_from(begin).ok()?;
        let end = begin.checked_add(1 << (node.level % TILE_HEIGHT))?;
        (end <= usize::from(self.width())).then_some(begin..end)
    }

    /// The root of a subtree that the tile holds, from the tile's hashes.
    pub fn root_of(&self, node: Node, hashes: &[Hash]) -> Result<Hash, Error> {
        checked_count(u64::from(self.width()), hashes.len())?;
        let places = self.hashes_of(node).ok_or(Error::NodeMissing {
            level: node.level,
            index: node.index,
        })?;
        let mut edge = Edge::new();
        for hash in &hashes[places] {
            edge.append(*hash)?;
        }
        Ok(edge.root())
    }

    /// The hashes in the tile's file.
    pub fn decode(&self, bytes: &[u8]) -> Result<Vec<Hash>, Error> {
        let (hashes, rest) = bytes.as_chunks::<{ Hash::BYTES }>();
        if hashes.len() != usize::from(self.width()) || !rest.is_empty() {
            return Err(Error::TileLengthWrong {
                expected: self.width().into(),
                found_bytes: bytes.len() as u64,
            });
        }
        Ok(hashes.iter().copied().map(Hash::from_bytes).collect())
    }

    /// The tile's file.
    pub fn encode(&self, hashes: &[Hash]) -> Result<Vec<u8>, Error> {
        checked_count(u64::from(self.width()), hashes.len())?;
        Ok(hashes.iter().flat_map(|hash| *hash.as_bytes()).collect())
    }
}

/// The tiles of a tree of `size` leaves that have these subtrees: what to fetch for a proof, or for the edge of a tree.
pub fn tiles_holding(
    nodes: impl IntoIterator<Item = Node>,
    size: u64,
) -> Result<BTreeSet<Tile>, Error> {
    let held = nodes.into_iter().map(|node| {
        Tile::holding(node, size).ok_or(Error::NodeMissing {
            level: node.level,
            index: node.index,
        })
    });
    held.collect()
}

/// Every tile of a tree of `size` leaves: level by level, from left to right.
pub fn tiles(size: u64) -> Result<impl Iterator<Item = Tile>, Error> {
    tiles_between(0, size)
}

/// Every tile that a tree of `new_size` leaves has and the one of `old_size` has not: what a log writes when it grows.
pub fn tiles_between(old_size: u64, new_size: u64) -> Result<impl Iterator<Item = Tile>, Error> {
    checked_size(new_size)?;
    if old_size > new_size {
        return Err(Error::SizesReversed {
            old: old_size,
            new: new_size,
        });
    }
    let levels = 0..=LEVEL_MAX / TILE_HEIGHT;
    Ok(levels.flat_map(move |level| {
        let (old, new) = (row_length(level, old_size), row_length(level, new_size));
        places_between(old, new).map(move |place| Tile { level, place })
    }))
}

impl fmt::Display for Tile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "tile/{}/{}", self.level, self.place)
    }
}

impl FromStr for Tile {
    type Err = Error;

    fn from_str(path: &str) -> Result<Self, Error> {
        let place = path.strip_prefix("tile/").ok_or(Error::PathMalformed)?;
        let (level, place) = place.split_once('/').ok_or(Error::PathMalformed)?;
        let level = crate::decimal::parse(level)
            .and_then(|level| u8::try_from(level).ok())
            .filter(|level| *level <= LEVEL_MAX)
            .ok_or(Error::PathMalformed)?;
        let place = place.parse()?;
        Ok(Self { level, place })
    }
}

/// Where a tile or a bundle is in its row, and how wide: `<N>[.p/<W>]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) index: u64,
    pub(crate) width: u16,
}

impl Place {
    pub(crate) fn new(index: u64, width: u16) -> Result<Self, Error> {
        if index > SIZE_MAX || width == 0 || width > TILE_WIDTH {
            return Err(Error::PathMalformed);
        }
        Ok(Self { index, width })
    }

    /// The place in a row of `length` hashes or entries, `None` if the row ends before it.
    pub(crate) fn in_row(index: u64, length: u64) -> Option<Self> {
        let begin = index.checked_mul(TILE_WIDTH.into())?;
        let rest = length.checked_sub(begin).filter(|rest| *rest > 0)?;
        let width = u16::try_from(rest).unwrap_or(TILE_WIDTH).min(TILE_WIDTH);
        Some(Self { index, width })
    }

    pub(crate) fn is_full(self) -> bool {
        self.width == TILE_WIDTH
    }

    pub(crate) fn full(self) -> Self {
        Self {
            index: self.index,
            width: TILE_WIDTH,
        }
    }
}

/// The places that are new or wider when a row grows from `old` to `new` hashes or entries.
pub(crate) fn places_between(old: u64, new: u64) -> impl Iterator<Item = Place> {
    let width = u64::from(TILE_WIDTH);
    let end = if new > old { new.div_ceil(width) } else { 0 };
    (old / width..end).filter_map(move |index| Place::in_row(index, new))
}

/// `x001/x234/067` for 1,234,067: three digits to a folder, and all but the last start with `x`.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut groups = vec![self.index % 1_000];
        let mut rest = self.index / 1_000;
        while rest > 0 {
            groups.push(rest % 1_000);
            rest /= 1_000;
        }
        for group in groups[1..].iter().rev() {
            write!(f, "x{group:03}/")?;
        }
        write!(f, "{:03}", groups[0])?;
        if self.is_full() {
            Ok(())
        } else {
            write!(f, ".p/{}", self.width)
        }
    }
}

impl FromStr for Place {
    type Err = Error;

    fn from_str(path: &str) -> Result<Self, Error> {
        let (number, width) = match path.split_once(".p/") {
            Some((number, width)) => {
                let width = width.parse().ok().filter(|width| *width < TILE_WIDTH);
                (number, width.ok_or(Error::PathMalformed)?)
            }
            None => (path, TILE_WIDTH),
        };
        let digits = number
            .split('/')
            .map(|group| group.strip_prefix('x').unwrap_or(group));
        let index = digits
            .collect::<String>()
            .parse()
            .map_err(|_| Error::PathMalformed)?;
        let place = Self::new(index, width)?;
        // There is one way to write each, so nothing else needs to be refused one by one.
        if place.to_string() == path {
            Ok(place)
        } else {
            Err(Error::PathMalformed)
        }
    }
}

/// How many hashes the tiles of a level have together, in a tree of `size` leaves.
fn row_length(level: u8, size: u64) -> u64 {
    let shift = u32::from(level) * u32::from(TILE_HEIGHT);
    size.checked_shr(shift).unwrap_or(0)
}

/// The position, among the hashes of its level of tiles, of the first that belongs to this subtree.
fn first_hash(node: Node) -> u64 {
    node.index.saturating_mul(1 << (node.level % TILE_HEIGHT))
}
