//! Entry bundles: the entries themselves, 256 to a file (C2SP tlog-tiles).
//!
//! Each entry stands behind its length, as two bytes, the higher first.

use std::fmt;
use std::str::FromStr;

use crate::tile::{Place, places_between};
use crate::tree::checked_size;
use crate::{Error, TILE_WIDTH};

/// The longest entry that two bytes can announce.
pub const ENTRY_BYTES_MAX: usize = 65_535;

const LENGTH_BYTES: usize = 2;

/// Which bundle: `tile/entries/<N>`, with `.p/<W>` if it is partial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Bundle(Place);

impl Bundle {
    /// `width` is from 1 to 256.
    pub fn new(index: u64, width: u16) -> Result<Self, Error> {
        Place::new(index, width).map(Self)
    }

    /// The bundle as it is in a tree of `size` leaves; `None` if that has none there.
    pub fn in_tree(index: u64, size: u64) -> Option<Self> {
        Place::in_row(index, size).map(Self)
    }

    /// The bundle of a tree of `size` leaves that has the entry at `index`, and the entry's position in it.
    pub fn holding(index: u64, size: u64) -> Option<(Self, usize)> {
        let width = u64::from(TILE_WIDTH);
        let bundle = Self::in_tree(index / width, size)?;
        let position = usize::try_from(index % width).ok()?;
        (position < usize::from(bundle.width())).then_some((bundle, position))
    }

    pub fn index(&self) -> u64 {
        self.0.index
    }

    /// How many entries it has.
    pub fn width(&self) -> u16 {
        self.0.width
    }

    pub fn is_full(&self) -> bool {
        self.0.is_full()
    }

    /// The full bundle in whose place a partial one stands.
    pub fn full(&self) -> Self {
        Self(self.0.full())
    }

    /// The entries in the bundle's file: as many as it is wide.
    pub fn decode<'a>(&self, bytes: &'a [u8]) -> Result<Vec<&'a [u8]>, Error> {
        let entries = decode(bytes)?;
        if entries.len() != usize::from(self.width()) {
            return Err(Error::BundleMalformed(
                "it has another number of entries than its path says",
            ));
        }
        Ok(entries)
    }
}

/// The entries of a file, whichever bundle it is.
pub fn decode(mut bytes: &[u8]) -> Result<Vec<&[u8]>, Error> {
    let mut entries = Vec::new();
    while !bytes.is_empty() {
        if entries.len() == usize::from(TILE_WIDTH) {
            return Err(Error::BundleMalformed("it has more than 256 entries"));
        }
        let (length, rest) = bytes
            .split_first_chunk::<LENGTH_BYTES>()
            .ok_or(Error::BundleMalformed("it ends within an entry's length"))?;
        let (entry, rest) = rest
            .split_at_checked(u16::from_be_bytes(*length).into())
            .ok_or(Error::BundleMalformed("it ends within an entry"))?;
        entries.push(entry);
        bytes = rest;
    }
    if entries.is_empty() {
        return Err(Error::BundleMalformed("it has no entry"));
    }
    Ok(entries)
}

/// The file of these entries.
pub fn encode<'a>(entries: impl IntoIterator<Item = &'a [u8]>) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    for entry in entries {
        append(&mut bytes, entry)?;
    }
    Ok(bytes)
}

/// Appends an entry to a file that is made up one by one.
pub fn append(bytes: &mut Vec<u8>, entry: &[u8]) -> Result<(), Error> {
    let length = u16::try_from(entry.len()).map_err(|_| Error::EntryTooLong(entry.len()))?;
    bytes.reserve(LENGTH_BYTES + entry.len());
    bytes.extend_from_slice(&length.to_be_bytes());
    bytes.extend_from_slice(entry);
    Ok(())
}

/// Every bundle that a tree of `new_size` leaves has and the one of `old_size` has not: what a log writes when it grows.
pub fn bundles_between(
    old_size: u64,
    new_size: u64,
) -> Result<impl Iterator<Item = Bundle>, Error> {
    checked_size(new_size)?;
    if old_size > new_size {
        return Err(Error::SizesReversed {
            old: old_size,
            new: new_size,
        });
    }
    Ok(places_between(old_size, new_size).map(Bundle))
}

impl fmt::Display for Bundle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "tile/entries/{}", self.0)
    }
}

impl FromStr for Bundle {
    type Err = Error;

    fn from_str(path: &str) -> Result<Self, Error> {
        let place = path
            .strip_prefix("tile/entries/")
            .ok_or(Error::PathMalformed)?;
        place.parse().map(Self)
    }
}
