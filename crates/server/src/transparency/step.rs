//! One step of a log: leaves that were appended together. The file of a step is the append itself: it is named by the size
//! of the log before it, and is never written twice.
//!
//! ```text
//! watchbell-step/v1
//! <origin>
//! <size before> <size after>
//! <root after, in base64>
//!
//! <the leaves, as in an entry bundle: two bytes of length and the leaf>
//! ```

use bytes::Bytes;
use store::transparency::Leaves;
use transparency_log::Hash;

const FORMAT: &str = "watchbell-step/v1";

/// Leaves that were appended together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) origin: String,
    /// The size of the log before.
    pub(super) from: u64,
    pub(super) leaves: Leaves,
    /// The root of the log after.
    pub(super) root: Hash,
}

/// The file is not a step that we can read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is not a step of a log")]
pub(super) struct Malformed;

impl Step {
    /// The size of the log after.
    pub(super) fn size(&self) -> u64 {
        self.from + self.leaves.count() as u64
    }

    pub(super) fn encode(&self) -> Bytes {
        let (origin, from, size, root) = (&self.origin, self.from, self.size(), self.root);
        let mut bytes = format!("{FORMAT}\n{origin}\n{from} {size}\n{root}\n\n").into_bytes();
        for leaf in self.leaves.iter() {
            transparency_log::bundle::append(&mut bytes, leaf).expect("a leaf has 66 bytes");
        }
        Bytes::from(bytes)
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let end = bytes
            .windows(2)
            .position(|pair| pair == b"\n\n")
            .ok_or(Malformed)?;
        let head = str::from_utf8(&bytes[..end]).map_err(|_| Malformed)?;
        let mut lines = head.split('\n');
        let (Some(FORMAT), Some(origin), Some(sizes), Some(root), None) = (
            lines.next(),
            lines.next(),
            lines.next(),
            lines.next(),
            lines.next(),
        ) else {
            return Err(Malformed);
        };
        let (from, size) = sizes.split_once(' ').ok_or(Malformed)?;
        let (from, size): (u64, u64) = (
            from.parse().map_err(|_| Malformed)?,
            size.parse().map_err(|_| Malformed)?,
        );
        let step = Self {
            origin: origin.to_owned(),
            from,
            leaves: leaves(&bytes[end + 2..])?,
            root: root.parse().map_err(|_| Malformed)?,
        };
        (step.size() == size).then_some(step).ok_or(Malformed)
    }
}

fn leaves(mut bytes: &[u8]) -> Result<Leaves, Malformed> {
    let mut leaves = Leaves::default();
    while let Some((length, rest)) = bytes.split_first_chunk() {
        let length = usize::from(u16::from_be_bytes(*length));
        let (leaf, rest) = rest.split_at_checked(length).ok_or(Malformed)?;
        leaves.push(leaf.try_into().map_err(|_| Malformed)?);
        bytes = rest;
    }
    bytes.is_empty().then_some(leaves).ok_or(Malformed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_reads_back_as_it_was_written_and_a_cut_one_does_not() {
        let leaves = [[1; 66], [2; 66]];
        let step = Step {
            origin: "watchbell.example/org_1".to_owned(),
            from: 7,
            leaves: leaves.iter().collect(),
            root: Hash::of_leaf(b"root"),
        };
        let bytes = step.encode();
        assert_eq!(Step::decode(&bytes), Ok(step));
        for length in 0..bytes.len() {
            assert_eq!(
                Step::decode(&bytes[..length]),
                Err(Malformed),
                "{length} bytes"
            );
        }
    }
}
