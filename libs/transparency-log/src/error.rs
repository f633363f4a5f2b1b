//! What is wrong with a proof, a signature or a file, in a sentence for the person who checks it.

/// Why something was refused. The text is for people; [`code`](Self::code) is for programs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    #[error("a hash is not 32 bytes in padded base64")]
    HashMalformed,

    #[error("a tree cannot have {0} leaves: at most 2^63 - 1 are supported")]
    SizeTooLarge(u64),

    #[error("there is no leaf {index} in a tree of {size} leaves")]
    IndexOutsideTree { index: u64, size: u64 },

    #[error("a tree of {old} leaves cannot be the beginning of one with {new}")]
    SizesReversed { old: u64, new: u64 },

    #[error("leaves {begin} to {end} are not a range of a tree of {size} leaves")]
    RangeOutsideTree { begin: u64, end: u64, size: u64 },

    #[error("expected {expected} hashes and found {found}: some are missing, or were added")]
    HashCountWrong { expected: u64, found: u64 },

    #[error("a subtree of 2^{level} leaves cannot start at leaf {size}")]
    SubtreeUnaligned { level: u8, size: u64 },

    #[error(
        "the hashes lead to another root than the checkpoint's: an entry was changed, moved, added or left out, \
         or this is the checkpoint of another log"
    )]
    RootMismatch,

    #[error(
        "the two trees do not belong together: the newer one does not begin with the entries of the older one"
    )]
    Inconsistent,

    #[error("the hash of the subtree at level {level}, index {index} is needed and was not given")]
    NodeMissing { level: u8, index: u64 },

    #[error("this is not the path of a tile or an entry bundle")]
    PathMalformed,

    #[error("a tile of {expected} hashes has {expected_bytes} bytes, and this has {found_bytes}", expected_bytes = expected * 32)]
    TileLengthWrong { expected: u64, found_bytes: u64 },

    #[error("the entry bundle cannot be read: {0}")]
    BundleMalformed(&'static str),

    #[error("an entry has {0} bytes, and at most 65,535 fit into a bundle")]
    EntryTooLong(usize),

    #[error("the key cannot be read: {0}")]
    KeyMalformed(&'static str),

    #[error(
        "keys of signature type {0:#04x} are not supported: only Ed25519, for notes (0x01) and cosignatures (0x04)"
    )]
    KeyUnsupported(u8),

    #[error("the note cannot be read: {0}")]
    NoteMalformed(&'static str),

    #[error(
        "the signature of {name} does not match: the text was changed, or somebody else signed it"
    )]
    SignatureMismatch { name: String },

    #[error("none of the given keys signed this")]
    NotSigned,

    #[error("the checkpoint cannot be read: {0}")]
    CheckpointMalformed(&'static str),

    #[error("the checkpoint belongs to the log {found}, not to {expected}")]
    OriginMismatch { expected: String, found: String },

    #[error("a cosignature's time must be in seconds since 1970, not 0 and below 2^63")]
    TimestampOutOfRange,

    #[error("the request to the witness cannot be read: {0}")]
    RequestMalformed(&'static str),

    #[error("the proof cannot be read: {0}")]
    ProofMalformed(&'static str),
}

impl Error {
    /// A stable name, the same in every language's verifier; the vectors use it.
    pub fn code(&self) -> &'static str {
        match self {
            Self::HashMalformed => "hash_malformed",
            Self::SizeTooLarge(_) => "size_too_large",
            Self::IndexOutsideTree { .. } => "index_outside_tree",
            Self::SizesReversed { .. } => "sizes_reversed",
            Self::RangeOutsideTree { .. } => "range_outside_tree",
            Self::HashCountWrong { .. } => "hash_count_wrong",
            Self::SubtreeUnaligned { .. } => "subtree_unaligned",
            Self::RootMismatch => "root_mismatch",
            Self::Inconsistent => "inconsistent",
            Self::NodeMissing { .. } => "node_missing",
            Self::PathMalformed => "path_malformed",
            Self::TileLengthWrong { .. } => "tile_length_wrong",
            Self::BundleMalformed(_) => "bundle_malformed",
            Self::EntryTooLong(_) => "entry_too_long",
            Self::KeyMalformed(_) => "key_malformed",
            Self::KeyUnsupported(_) => "key_unsupported",
            Self::NoteMalformed(_) => "note_malformed",
            Self::SignatureMismatch { .. } => "signature_mismatch",
            Self::NotSigned => "not_signed",
            Self::CheckpointMalformed(_) => "checkpoint_malformed",
            Self::OriginMismatch { .. } => "origin_mismatch",
            Self::TimestampOutOfRange => "timestamp_out_of_range",
            Self::RequestMalformed(_) => "request_malformed",
            Self::ProofMalformed(_) => "proof_malformed",
        }
    }
}
