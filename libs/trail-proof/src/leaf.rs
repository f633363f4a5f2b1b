//! One leaf of the log: 66 bytes that name a record and commit to what was stored of it.
//!
//! | bytes | what |
//! |---|---|
//! | 1 | version of this layout: 1 |
//! | 1 | kind: 1 an event, 2 an attempt to deliver an alert |
//! | 16 | its id, as the bytes of a UUID |
//! | 8 | when it happened, in milliseconds since 1970, big-endian |
//! | 8 | when it was received or over, likewise |
//! | 32 | SHA-256 of the salt and the stored bytes |
//!
//! The salt keeps whoever has the leaf from trying out what the stored bytes might be. It is kept beside them and erased
//! with them.

use std::fmt;

use transparency_log::sha256;

/// How long a leaf is.
pub const LEAF_BYTES: usize = 66;

const VERSION: u8 = 1;

/// What a record is hidden with, from those who have only its leaf.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Salt(pub [u8; 16]);

/// What a leaf stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    Event,
    Attempt,
}

/// What a leaf says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leaf {
    pub kind: Kind,
    /// The bytes of a UUID.
    pub id: [u8; 16],
    /// When it happened, in milliseconds since 1970.
    pub occurred_ms: i64,
    /// When an event was received, or an attempt was over.
    pub received_ms: i64,
    pub commitment: Commitment,
}

/// A salted hash of stored bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Commitment(pub [u8; 32]);

/// Why bytes are not a leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotALeaf {
    #[error("a leaf has {LEAF_BYTES} bytes, and this has {0}")]
    Length(usize),
    #[error("the leaf has version {0}, which this program does not know; a newer one may")]
    Version(u8),
    #[error("the leaf is of kind {0}, which this program does not know; a newer one may")]
    Kind(u8),
}

impl Commitment {
    /// To stored bytes, with their salt.
    pub fn to(salt: Salt, stored: &[u8]) -> Self {
        Self(sha256(&[&salt.0, stored]))
    }
}

impl Leaf {
    pub fn encode(&self) -> [u8; LEAF_BYTES] {
        let mut bytes = [0; LEAF_BYTES];
        bytes[0] = VERSION;
        bytes[1] = match self.kind {
            Kind::Event => 1,
            Kind::Attempt => 2,
        };
        bytes[2..18].copy_from_slice(&self.id);
        bytes[18..26].copy_from_slice(&self.occurred_ms.to_be_bytes());
        bytes[26..34].copy_from_slice(&self.received_ms.to_be_bytes());
        bytes[34..].copy_from_slice(&self.commitment.0);
        bytes
    }

    pub fn decode(bytes: &[u8]) -> Result<Self, NotALeaf> {
        let bytes: &[u8; LEAF_BYTES] = bytes
            .try_into()
            .map_err(|_| NotALeaf::Length(bytes.len()))?;
        if bytes[0] != VERSION {
            return Err(NotALeaf::Version(bytes[0]));
        }
        let kind = match bytes[1] {
            1 => Kind::Event,
            2 => Kind::Attempt,
            other => return Err(NotALeaf::Kind(other)),
        };
        Ok(Self {
            kind,
            id: part(bytes, 2),
            occurred_ms: i64::from_be_bytes(part(bytes, 18)),
            received_ms: i64::from_be_bytes(part(bytes, 26)),
            commitment: Commitment(part(bytes, 34)),
        })
    }
}

/// So many bytes from `start` on as are wanted.
fn part<const N: usize>(bytes: &[u8; LEAF_BYTES], start: usize) -> [u8; N] {
    bytes[start..start + N]
        .try_into()
        .expect("the range has this length")
}

/// A secret as long as what it hides is one.
impl fmt::Debug for Salt {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Salt(…)")
    }
}

impl fmt::Debug for Commitment {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Commitment(")?;
        for byte in self.0 {
            write!(formatter, "{byte:02x}")?;
        }
        formatter.write_str(")")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const EXAMPLE: Leaf = Leaf {
        kind: Kind::Event,
        id: [7; 16],
        occurred_ms: 1_700_000_000_123,
        received_ms: 1_700_000_000_456,
        commitment: Commitment([9; 32]),
    };

    #[test]
    fn what_cannot_be_read_says_why() {
        let mut bytes = EXAMPLE.encode();
        assert_eq!(Leaf::decode(&bytes[1..]), Err(NotALeaf::Length(65)));
        bytes[0] = 2;
        assert_eq!(Leaf::decode(&bytes), Err(NotALeaf::Version(2)));
        bytes[0] = 1;
        bytes[1] = 3;
        assert_eq!(Leaf::decode(&bytes), Err(NotALeaf::Kind(3)));
    }

    #[test]
    fn a_commitment_depends_on_salt_and_bytes() {
        let commitment = Commitment::to(Salt([1; 16]), b"stored");
        assert_ne!(commitment, Commitment::to(Salt([2; 16]), b"stored"));
        assert_ne!(commitment, Commitment::to(Salt([1; 16]), b"stared"));
        // printf '\1%.0s' {1..16} | cat - <(printf stored) | sha256sum
        let expected = "Commitment(7f97cbf17aa83b6a";
        assert!(
            format!("{commitment:?}").starts_with(expected),
            "{commitment:?}"
        );
    }

    proptest! {
        #[test]
        fn a_leaf_reads_back_as_it_was_written(
            is_event: bool, id: [u8; 16], occurred_ms: i64, received_ms: i64, commitment: [u8; 32],
        ) {
            let kind = if is_event { Kind::Event } else { Kind::Attempt };
            let commitment = Commitment(commitment);
            let leaf = Leaf { kind, id, occurred_ms, received_ms, commitment };
            prop_assert_eq!(Leaf::decode(&leaf.encode()), Ok(leaf));
        }
    }
}
