//! The right edge of a growing tree: all that is needed to append to it and to know its root.
//!
//! A tree of n leaves is made of complete subtrees, one for each bit that is set in n, the largest on the left. Their roots
//! are at most 63 hashes, however large the tree is.

use crate::{Error, Hash};

/// The most leaves a tree may have. Other implementations keep sizes in signed 64-bit integers.
pub const SIZE_MAX: u64 = i64::MAX.unsigned_abs();

/// A complete subtree: the leaves from `index << level` up to, not including, `(index + 1) << level`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Node {
    /// It has `2^level` leaves.
    pub level: u8,
    /// Its position among the subtrees of that level, from 0 on the left.
    pub index: u64,
}

/// The roots of the complete subtrees of a tree, to which leaves are appended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Edge {
    size: u64,
    /// The largest subtree first: one for each bit set in `size`.
    roots: Vec<Hash>,
}

impl Edge {
    /// The tree without leaves.
    pub fn new() -> Self {
        Self::default()
    }

    /// An edge that was kept: the size of its tree, and the roots as [`roots`](Self::roots) gave them.
    pub fn from_parts(size: u64, roots: Vec<Hash>) -> Result<Self, Error> {
        checked_size(size)?;
        checked_count(u64::from(size.count_ones()), roots.len())?;
        Ok(Self { size, roots })
    }

    /// How many leaves the tree has.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The roots of the complete subtrees, the largest first; those of [`complete_subtrees(0, size)`](complete_subtrees).
    pub fn roots(&self) -> &[Hash] {
        &self.roots
    }

    /// Appends a leaf.
    pub fn append(&mut self, leaf: Hash) -> Result<(), Error> {
        self.append_each(leaf, |_, _| {})
    }

    /// Appends a leaf, and tells of every subtree that is complete with it, the leaf itself first.
    ///
    /// A log writes those whose level is a multiple of 8 into its tiles.
    pub fn append_each(
        &mut self,
        leaf: Hash,
        completed: impl FnMut(Node, &Hash),
    ) -> Result<(), Error> {
        self.append_subtree(0, leaf, completed)
    }

    /// Appends `2^level` leaves of which only the root is known. They must form a subtree: the size so far is a multiple of
    /// their number.
    pub fn append_subtree(
        &mut self,
        level: u8,
        root: Hash,
        mut completed: impl FnMut(Node, &Hash),
    ) -> Result<(), Error> {
        let size = self.size;
        let leaves = 1_u64
            .checked_shl(level.into())
            .filter(|leaves| size.is_multiple_of(*leaves))
            .ok_or(Error::SubtreeUnaligned { level, size })?;
        let grown = size.saturating_add(leaves);
        checked_size(grown)?;

        // As adding to a binary number: each subtree of the same size on the left is a carry.
        let mut node = Node {
            level,
            index: size >> level,
        };
        let mut hash = root;
        completed(node, &hash);
        while node.index % 2 == 1 {
            let left = self.roots.pop().expect("a set bit of the size has a root");
            hash = Hash::of_node(&left, &hash);
            node = Node {
                level: node.level + 1,
                index: node.index / 2,
            };
            completed(node, &hash);
        }
        self.roots.push(hash);
        self.size = grown;
        Ok(())
    }

    /// The root of the whole tree.
    pub fn root(&self) -> Hash {
        joined(&self.roots).unwrap_or_else(Hash::of_empty_tree)
    }
}

/// The largest complete subtrees that together are the leaves from `begin` up to, not including, `end`; from left to right.
pub fn complete_subtrees(begin: u64, end: u64) -> Vec<Node> {
    let mut nodes = Vec::new();
    let mut at = begin;
    while at < end {
        let aligned = at.trailing_zeros();
        let fitting = (end - at).ilog2();
        let level = aligned.min(fitting);
        nodes.push(Node {
            level: u8::try_from(level).expect("below 64"),
            index: at >> level,
        });
        at += 1 << level;
    }
    nodes
}

/// The root of subtrees that stand side by side, the largest first; `None` if there are none.
pub(crate) fn joined(roots: &[Hash]) -> Option<Hash> {
    let (last, rest) = roots.split_last()?;
    Some(
        rest.iter()
            .rfold(*last, |right, left| Hash::of_node(left, &right)),
    )
}

pub(crate) fn checked_size(size: u64) -> Result<(), Error> {
    if size > SIZE_MAX {
        return Err(Error::SizeTooLarge(size));
    }
    Ok(())
}

pub(crate) fn checked_count(expected: u64, found: usize) -> Result<(), Error> {
    let found = u64::try_from(found).unwrap_or(u64::MAX);
    if found != expected {
        return Err(Error::HashCountWrong { expected, found });
    }
    Ok(())
}
