//! What is in one file, and what of it a power cut would leave.
//!
//! The file is held in chunks. The first change to a chunk after a sync keeps what was there before; a cut puts that back.
//! A chunk that only grew needs no copy: its length before is enough, so appending and syncing, which is what logs do, costs
//! nothing more.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::mem;

use rustix::io::Errno;

/// Small enough to copy at once when a page of it changes, large enough that a file of a GiB has few.
const CHUNK_BYTES: usize = 64 * 1024;

/// What a kernel writes out at once, and so what a cut leaves whole.
const PAGE_BYTES: usize = 4096;

/// To fill gaps with: unoptimized, a loop over bytes would be the slowest thing here.
const ZEROS: &[u8] = &[0; CHUNK_BYTES];

/// No engine writes larger files, and what asks for one would take all memory.
const FILE_BYTES_MAX: u64 = 64 << 30;

#[derive(Debug, Default)]
pub(super) struct Content {
    size: u64,
    /// A chunk that is shorter than it could be ends in zeros, as far as the file reaches.
    chunks: Vec<Vec<u8>>,
    /// How many bytes the chunks have together.
    held_bytes: u64,
    synced: Synced,
}

/// How the file was when it was last synced, as far as it has changed since.
#[derive(Debug, Default)]
struct Synced {
    size: u64,
    chunks: BTreeMap<usize, Before>,
    /// How many bytes were written since.
    written_since: u64,
}

#[derive(Debug)]
enum Before {
    /// It was this long and began with the bytes that it begins with now.
    Shorter(usize),
    Bytes(Vec<u8>),
}

impl Content {
    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// How much of the disk it takes; a hole takes nothing.
    pub(super) fn held_bytes(&self) -> u64 {
        self.held_bytes
    }

    /// How many bytes a cut would take back.
    pub(super) fn unsynced_bytes(&self) -> u64 {
        self.synced.written_since
    }

    pub(super) fn read(&self, offset: u64, length: usize) -> Vec<u8> {
        let left = usize::try_from(self.size.saturating_sub(offset)).unwrap_or(usize::MAX);
        let mut bytes = vec![0; length.min(left)];
        let mut filled = 0;
        for piece in pieces(offset, bytes.len()) {
            let into = &mut bytes[filled..filled + piece.length];
            filled += piece.length;
            let chunk = self.chunks.get(piece.chunk).map_or(&[][..], Vec::as_slice);
            let there = chunk.get(piece.from..).unwrap_or_default();
            let there = &there[..there.len().min(piece.length)];
            into[..there.len()].copy_from_slice(there);
        }
        bytes
    }

    /// How much more of the disk it takes when these bytes are written, or an error if no file can be that large.
    pub(super) fn growth(&self, offset: u64, length: u64) -> Result<u64, Errno> {
        let end = offset.checked_add(length).ok_or(Errno::FBIG)?;
        let length = usize::try_from(length).map_err(|_| Errno::FBIG)?;
        if end > FILE_BYTES_MAX {
            return Err(Errno::FBIG);
        }
        let grows = |piece: Piece| {
            let held = self.chunks.get(piece.chunk).map_or(0, Vec::len);
            (piece.from + piece.length).saturating_sub(held) as u64
        };
        Ok(pieces(offset, length).map(grows).sum())
    }

    pub(super) fn write(&mut self, offset: u64, bytes: &[u8]) {
        let mut rest = bytes;
        for piece in pieces(offset, bytes.len()) {
            let (written, after) = rest.split_at(piece.length);
            rest = after;
            self.change(piece.chunk, piece.from, |chunk| {
                let over = written.len().min(chunk.len() - piece.from);
                let (over, beyond) = written.split_at(over);
                chunk[piece.from..piece.from + over.len()].copy_from_slice(over);
                chunk.extend_from_slice(beyond);
            });
        }
        self.size = self.size.max(offset + bytes.len() as u64);
        self.synced.written_since += bytes.len() as u64;
    }

    /// Takes room on the disk for these bytes, and leaves those that are there.
    pub(super) fn reserve(&mut self, offset: u64, length: usize) {
        for piece in pieces(offset, length) {
            let held = self.chunks.get(piece.chunk).map_or(0, Vec::len);
            let end = piece.from + piece.length;
            if end > held {
                self.change(piece.chunk, end, |_| {});
            }
        }
    }

    pub(super) fn truncate(&mut self, size: u64) -> Result<(), Errno> {
        if size > FILE_BYTES_MAX {
            return Err(Errno::FBIG);
        }
        for chunk in place(size).0..self.chunks.len() {
            let keeps = kept_of(chunk, size);
            let held = self.chunks[chunk].len();
            if held > keeps {
                self.remember(chunk, keeps);
                self.chunks[chunk].truncate(keeps);
                self.held_bytes -= (held - keeps) as u64;
            }
        }
        self.size = size;
        Ok(())
    }

    /// Whatever it is now, a cut leaves it so.
    pub(super) fn sync(&mut self) {
        self.synced.chunks.clear();
        self.synced.size = self.size;
        self.synced.written_since = 0;
    }

    /// A cut leaves the file no longer than this: the truncation is on the disk, even if what was written before or since
    /// is not.
    pub(super) fn sync_truncation(&mut self, size: u64) {
        self.synced.size = size;
        let chunks = self
            .synced
            .chunks
            .keys()
            .next_back()
            .map_or(0, |last| last + 1);
        for chunk in place(size).0..chunks.max(self.chunks.len()) {
            let keeps = kept_of(chunk, size);
            match self.synced.chunks.entry(chunk) {
                Entry::Occupied(mut before) => match before.get_mut() {
                    Before::Shorter(length) => *length = (*length).min(keeps),
                    Before::Bytes(bytes) => bytes.truncate(keeps),
                },
                Entry::Vacant(unchanged) => {
                    if self.chunks[chunk].len() > keeps {
                        unchanged.insert(Before::Shorter(keeps));
                    }
                }
            }
        }
    }

    /// Forgets what was not synced, but for the pages that `survives` spares: those had just been written out.
    pub(super) fn cut(&mut self, mut survives: impl FnMut() -> bool) {
        let mut size = self.synced.size;
        for (index, before) in mem::take(&mut self.synced.chunks) {
            if self.chunks.len() <= index {
                self.chunks.resize_with(index + 1, Vec::new);
            }
            let now = &mut self.chunks[index];
            let mut left = match before {
                Before::Shorter(length) => now[..length].to_vec(),
                Before::Bytes(bytes) => bytes,
            };
            for (page, bytes) in now.chunks(PAGE_BYTES).enumerate() {
                let from = page * PAGE_BYTES;
                let end = from + bytes.len();
                if left.get(from..end) != Some(bytes) && survives() {
                    left.extend_from_slice(&ZEROS[..end.saturating_sub(left.len())]);
                    left[from..end].copy_from_slice(bytes);
                    size = size.max((index * CHUNK_BYTES + end) as u64);
                }
            }
            *now = left;
        }
        self.size = size;
        self.held_bytes = self.chunks.iter().map(|chunk| chunk.len() as u64).sum();
        self.sync();
    }

    /// Changes a chunk from `from` on, up to where it reaches at least; what is there before is kept.
    fn change(&mut self, chunk: usize, from: usize, change: impl FnOnce(&mut Vec<u8>)) {
        if self.chunks.len() <= chunk {
            self.chunks.resize_with(chunk + 1, Vec::new);
        }
        self.remember(chunk, from);
        let chunk = &mut self.chunks[chunk];
        let before = chunk.len();
        chunk.extend_from_slice(&ZEROS[..from.saturating_sub(before)]);
        change(chunk);
        self.held_bytes += (chunk.len() - before) as u64;
    }

    /// Keeps what a cut has to put back when bytes from `from` on change.
    fn remember(&mut self, chunk: usize, from: usize) {
        let bytes = &self.chunks[chunk];
        match self.synced.chunks.entry(chunk) {
            Entry::Vacant(vacant) => {
                let only_grows = from >= bytes.len();
                vacant.insert(if only_grows {
                    Before::Shorter(bytes.len())
                } else {
                    Before::Bytes(bytes.clone())
                });
            }
            Entry::Occupied(mut before) => {
                if let Before::Shorter(length) = *before.get()
                    && from < length
                {
                    before.insert(Before::Bytes(bytes[..length].to_vec()));
                }
            }
        }
    }
}

/// A part of a file that is in one chunk.
#[derive(Clone, Copy)]
struct Piece {
    chunk: usize,
    from: usize,
    length: usize,
}

fn pieces(offset: u64, length: usize) -> impl Iterator<Item = Piece> {
    let mut at = offset;
    let mut left = length;
    std::iter::from_fn(move || {
        let (chunk, from) = place(at);
        let length = left.min(CHUNK_BYTES - from);
        left -= length;
        at += length as u64;
        (length > 0).then_some(Piece {
            chunk,
            from,
            length,
        })
    })
}

/// The chunk that a byte is in, and where in it.
fn place(offset: u64) -> (usize, usize) {
    let offset = usize::try_from(offset).expect("64 bits, and FILE_BYTES_MAX is far below");
    (offset / CHUNK_BYTES, offset % CHUNK_BYTES)
}

/// How long a chunk may be in a file of this size.
fn kept_of(chunk: usize, size: u64) -> usize {
    let (last, within) = place(size);
    match chunk.cmp(&last) {
        std::cmp::Ordering::Less => CHUNK_BYTES,
        std::cmp::Ordering::Equal => within,
        std::cmp::Ordering::Greater => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Dice;

    #[test]
    fn a_cut_leaves_what_was_there_at_the_sync() {
        let mut dice = Dice(25);
        let mut content = Content::default();
        let mut now: Vec<u8> = Vec::new();
        let mut synced = now.clone();
        for _ in 0..3_000 {
            let offset = dice.below(5 * CHUNK_BYTES as u64);
            match dice.below(10_u8) {
                0 => {
                    content.sync();
                    synced = now.clone();
                }
                1 => {
                    content.cut(|| false);
                    now = synced.clone();
                }
                2 => {
                    content.truncate(offset).expect("small");
                    now.resize(usize::try_from(offset).expect("small"), 0);
                }
                3 => content.reserve(offset, 10_000),
                _ => {
                    let at = usize::try_from(offset).expect("small");
                    let length = dice.place(20_000);
                    let bytes = vec![dice.below(255_u8) + 1; length];
                    content.write(offset, &bytes);
                    if length > 0 {
                        now.resize(now.len().max(at + length), 0);
                        now[at..at + length].copy_from_slice(&bytes);
                    }
                }
            }
            assert_eq!(content.size(), now.len() as u64);
            assert!(content.read(0, now.len() + 1) == now);
            let held: usize = content.chunks.iter().map(Vec::len).sum();
            assert_eq!(content.held_bytes(), held as u64);
        }
    }

    #[test]
    fn a_torn_cut_leaves_each_page_as_it_was_or_as_it_is() {
        let mut dice = Dice(26);
        for _ in 0..100 {
            let mut content = Content::default();
            let synced = dice.place(3 * CHUNK_BYTES);
            content.write(0, &vec![1; synced]);
            content.sync();
            let (offset, length) = (dice.place(4 * CHUNK_BYTES), 1 + dice.place(CHUNK_BYTES));
            content.write(offset as u64, &vec![2; length]);
            let all = content.read(0, usize::MAX);
            content.cut(|| dice.one_in(2));
            let left = content.read(0, usize::MAX);
            assert!((synced..=all.len().max(synced)).contains(&left.len()));
            let mut before = vec![0; left.len()];
            before[..synced].fill(1);
            let pages = left.chunks(PAGE_BYTES).zip(before.chunks(PAGE_BYTES));
            for (page, before) in pages
                .zip(all.chunks(PAGE_BYTES))
                .map(|((a, b), c)| (a, (b, c)))
            {
                let (before, after) = before;
                assert!(page == before || page == &after[..page.len()]);
            }
            content.cut(|| true);
            assert!(
                content.read(0, usize::MAX) == left,
                "a second cut has nothing to take"
            );
        }
    }

    #[test]
    fn a_truncation_that_is_on_the_disk_leaves_nothing_beyond_it() {
        let mut content = Content::default();
        content.write(0, &vec![1; 3 * CHUNK_BYTES]);
        content.sync();
        content.truncate(10).expect("small");
        content.write(5, &vec![2; 100_000]);
        content.sync_truncation(10);
        assert_eq!(
            content.read(0, 20)[..12],
            [1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2]
        );
        content.cut(|| false);
        assert_eq!(content.read(0, 1_000), [1; 10]);
        assert_eq!(content.held_bytes(), 10);
    }

    #[test]
    fn an_append_keeps_no_copy_of_what_was_there() {
        let mut content = Content::default();
        for _ in 0..3 {
            content.write(content.size(), &[7; 1_000]);
            let before: Vec<_> = content.synced.chunks.values().collect();
            assert!(matches!(before[..], [Before::Shorter(_)]), "{before:?}");
            content.sync();
        }
    }
}
