//! A stretch of a tree's leaves, and how having all of them leads to the root: nothing in it can be missing.
//!
//! Whoever hands over the leaves of a range adds the roots of the largest complete subtrees before and after it. With the leaf
//! hashes in between they make the root; if one leaf is missing, doubled, moved or changed, they make another.

use crate::tree::{checked_count, checked_size};
use crate::{Edge, Error, Hash, Node, complete_subtrees};

/// The leaves from `begin` up to, not including, `end`, of a tree of `size` leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    begin: u64,
    end: u64,
    size: u64,
}

impl Range {
    pub fn new(begin: u64, end: u64, size: u64) -> Result<Self, Error> {
        checked_size(size)?;
        if begin > end || end > size {
            return Err(Error::RangeOutsideTree { begin, end, size });
        }
        Ok(Self { begin, end, size })
    }

    pub fn begin(&self) -> u64 {
        self.begin
    }

    pub fn end(&self) -> u64 {
        self.end
    }

    pub fn size(&self) -> u64 {
        self.size
    }

    /// The subtrees before the range whose roots are needed, from left to right.
    pub fn before(&self) -> Vec<Node> {
        complete_subtrees(0, self.begin)
    }

    /// The subtrees after the range whose roots are needed, from left to right.
    pub fn after(&self) -> Vec<Node> {
        complete_subtrees(self.end, self.size)
    }

    /// The root of the tree, from the leaves of the range and the roots around it. Compare it with a verified checkpoint's.
    pub fn root(
        &self,
        before: &[Hash],
        leaves: impl IntoIterator<Item = Hash>,
        after: &[Hash],
    ) -> Result<Hash, Error> {
        let mut edge = self.start(before)?;
        for leaf in leaves {
            edge.append(leaf)?;
        }
        self.finish(edge, after)
    }

    /// The edge to which the leaves of the range are appended, for a caller that reads them one by one.
    pub fn start(&self, before: &[Hash]) -> Result<Edge, Error> {
        Edge::from_parts(self.begin, before.to_vec())
    }

    /// The root of the tree, when all leaves of the range were appended to what [`start`](Self::start) gave.
    pub fn finish(&self, mut edge: Edge, after: &[Hash]) -> Result<Hash, Error> {
        if edge.size() != self.end {
            return Err(Error::HashCountWrong {
                expected: self.end - self.begin,
                found: edge.size().saturating_sub(self.begin),
            });
        }
        let nodes = self.after();
        checked_count(nodes.len() as u64, after.len())?;
        for (node, root) in nodes.iter().zip(after) {
            edge.append_subtree(node.level, *root, |_, _| {})?;
        }
        Ok(edge.root())
    }
}
