//! Proofs that a leaf is in a tree, and that one tree is the beginning of another (RFC 6962, sections 2.1.1 and 2.1.2).
//!
//! Making a proof takes two steps, so that a caller can fetch in between: [`inclusion_nodes`] or [`consistency_nodes`] names
//! the complete subtrees, and [`ProofNodes::prove`] makes the proof from their roots.

use crate::tree::{checked_count, checked_size, joined};
use crate::{Error, Hash, Node, complete_subtrees};

/// Accepts that a tree of `size` leaves with this `root` has `leaf` at `index`.
pub fn verify_inclusion(
    leaf: &Hash,
    index: u64,
    size: u64,
    root: &Hash,
    proof: &[Hash],
) -> Result<(), Error> {
    let path = inclusion_path(index, size)?;
    checked_count(path.len() as u64, proof.len())?;
    let found = path
        .iter()
        .zip(proof)
        .fold(*leaf, |inner, (step, sibling)| match step.side {
            Side::Left => Hash::of_node(sibling, &inner),
            Side::Right => Hash::of_node(&inner, sibling),
        });
    if found == *root {
        Ok(())
    } else {
        Err(Error::RootMismatch)
    }
}

/// Accepts that a tree of `old_size` leaves with the root `old_root` is the beginning of one of `new_size` leaves with the
/// root `new_root`.
///
/// The empty tree is the beginning of every tree, and every tree of itself; neither needs a proof, and none may be given.
pub fn verify_consistency(
    old_size: u64,
    old_root: &Hash,
    new_size: u64,
    new_root: &Hash,
    proof: &[Hash],
) -> Result<(), Error> {
    let path = consistency_path(old_size, new_size)?;
    checked_count(path.hash_count(), proof.len())?;
    if old_size == 0 {
        let empty = Hash::of_empty_tree();
        let is_consistent = *old_root == empty && (new_size > 0 || *new_root == empty);
        return is_consistent.then_some(()).ok_or(Error::Inconsistent);
    }

    let (start, siblings) = match path.start {
        Start::OldTree => (old_root, proof),
        Start::Subtree { .. } => proof.split_first().expect("the hashes were counted"),
    };
    let (mut old, mut new) = (*start, *start);
    for (step, sibling) in path.steps.iter().zip(siblings) {
        match step.side {
            // What is on the left was there before, what is on the right was not.
            Side::Left => {
                old = Hash::of_node(sibling, &old);
                new = Hash::of_node(sibling, &new);
            }
            Side::Right => new = Hash::of_node(&new, sibling),
        }
    }
    if old == *old_root && new == *new_root {
        Ok(())
    } else {
        Err(Error::Inconsistent)
    }
}

/// What is needed to prove that the leaf at `index` is in the tree of `size` leaves.
pub fn inclusion_nodes(index: u64, size: u64) -> Result<ProofNodes, Error> {
    let path = inclusion_path(index, size)?;
    Ok(ProofNodes::of(path.into_iter().map(|step| step.sibling)))
}

/// What is needed to prove that the tree of `old_size` leaves is the beginning of the one with `new_size`.
pub fn consistency_nodes(old_size: u64, new_size: u64) -> Result<ProofNodes, Error> {
    let path = consistency_path(old_size, new_size)?;
    let first = match path.start {
        Start::OldTree => None,
        Start::Subtree(leaves) => Some(leaves),
    };
    let siblings = path.steps.into_iter().map(|step| step.sibling);
    Ok(ProofNodes::of(first.into_iter().chain(siblings)))
}

/// The complete subtrees from which a proof is made: for each of its hashes, those whose roots it joins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProofNodes(Vec<Vec<Node>>);

impl ProofNodes {
    fn of(hashes: impl Iterator<Item = Leaves>) -> Self {
        Self(
            hashes
                .map(|Leaves(begin, end)| complete_subtrees(begin, end))
                .collect(),
        )
    }

    /// Every subtree whose root is needed.
    pub fn iter(&self) -> impl Iterator<Item = Node> + '_ {
        self.0.iter().flatten().copied()
    }

    /// The proof, from whatever knows the roots of the subtrees.
    pub fn prove(&self, mut root_of: impl FnMut(Node) -> Option<Hash>) -> Result<Vec<Hash>, Error> {
        let mut known = |node: Node| {
            root_of(node).ok_or(Error::NodeMissing {
                level: node.level,
                index: node.index,
            })
        };
        let mut proof = Vec::with_capacity(self.0.len());
        for nodes in &self.0 {
            let roots = nodes
                .iter()
                .map(|node| known(*node))
                .collect::<Result<Vec<_>, _>>()?;
            proof.push(joined(&roots).expect("a sibling has leaves"));
        }
        Ok(proof)
    }
}

/// The leaves from the first up to, not including, the second.
#[derive(Clone, Copy)]
struct Leaves(u64, u64);

/// One level of the way up: what stands beside the tree so far, and on which side.
struct Step {
    sibling: Leaves,
    side: Side,
}

#[derive(Clone, Copy)]
enum Side {
    Left,
    Right,
}

/// The way from a leaf up to the root.
fn inclusion_path(index: u64, size: u64) -> Result<Vec<Step>, Error> {
    checked_size(size)?;
    if index >= size {
        return Err(Error::IndexOutsideTree { index, size });
    }
    let mut path = Vec::new();
    let (mut begin, mut end) = (0, size);
    while end - begin > 1 {
        let middle = begin + split(end - begin);
        path.push(step_into(&mut begin, &mut end, middle, index < middle));
    }
    path.reverse();
    Ok(path)
}

/// The way from the last subtree that both trees have up to the root of the new one.
struct ConsistencyPath {
    start: Start,
    steps: Vec<Step>,
}

enum Start {
    /// That subtree is the old tree itself, whose root is known.
    OldTree,
    /// Its root is the proof's first hash.
    Subtree(Leaves),
}

impl ConsistencyPath {
    fn hash_count(&self) -> u64 {
        let first = u64::from(matches!(self.start, Start::Subtree(_)));
        first + self.steps.len() as u64
    }
}

fn consistency_path(old: u64, new: u64) -> Result<ConsistencyPath, Error> {
    checked_size(new)?;
    if old > new {
        return Err(Error::SizesReversed { old, new });
    }
    let (mut begin, mut end) = (0, new);
    let mut steps = Vec::new();
    // The old tree ends at the end of the subtree that is searched for.
    while old > 0 && old < end {
        let middle = begin + split(end - begin);
        steps.push(step_into(&mut begin, &mut end, middle, old <= middle));
    }
    steps.reverse();
    let start = if begin == 0 {
        Start::OldTree
    } else {
        Start::Subtree(Leaves(begin, end))
    };
    Ok(ConsistencyPath { start, steps })
}

/// Goes down from a tree to its left or right half, and returns the step back up.
fn step_into(begin: &mut u64, end: &mut u64, middle: u64, to_the_left: bool) -> Step {
    if to_the_left {
        let sibling = Leaves(middle, *end);
        *end = middle;
        Step {
            sibling,
            side: Side::Right,
        }
    } else {
        let sibling = Leaves(*begin, middle);
        *begin = middle;
        Step {
            sibling,
            side: Side::Left,
        }
    }
}

/// How many leaves the left half of a tree has: the largest power of two below its size.
fn split(size: u64) -> u64 {
    1 << (size - 1).ilog2()
}
