//! What was found out about a file, in sentences for the person who checks it.

use std::io;
use std::sync::Arc;

use crate::leaf::NotALeaf;

/// What a check comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Proven,
    NotProven,
    /// It is no such file, or one that only a newer program can read.
    CannotBeChecked,
}

impl Verdict {
    /// A stable name, the same in every language.
    pub fn code(self) -> &'static str {
        match self {
            Self::Proven => "proven",
            Self::NotProven => "not_proven",
            Self::CannotBeChecked => "cannot_be_checked",
        }
    }
}

/// Something is wrong, and where.
#[derive(Clone, Debug)]
pub struct Finding {
    /// From 1; `None` if it is not in one line.
    pub line: Option<u64>,
    pub problem: Problem,
}

/// What is wrong. The text is for people; [`code`](Self::code) is for programs.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    #[error("this is not an export that proves itself: it does not start with the header of one")]
    NotAnExport,
    #[error("the export has a newer format than this program knows; a newer program can check it")]
    VersionUnknown,
    #[error("the header cannot be read")]
    HeaderMalformed,
    #[error("the checkpoint in the header cannot be used: {0}")]
    Checkpoint(#[source] transparency_log::Error),
    #[error("a key in the header cannot be used: {0}")]
    Key(#[source] transparency_log::Error),
    #[error(
        "there is no key that could have signed a checkpoint: it takes an Ed25519 key of the log"
    )]
    KeyUnsupported,
    #[error("{0}")]
    LeafUnsupported(NotALeaf),
    #[error("the file cannot be read further: {0}")]
    Unreadable(Arc<io::Error>),
    #[error(
        "whether the log continues the earlier checkpoint cannot be told: that one has {since} leaves, and the file has \
         leaves {first} to {end}; check a file that has them"
    )]
    SinceOutside { since: u64, first: u64, end: u64 },

    #[error("the header says that the log is {header}, and the checkpoint is of {checkpoint}")]
    OriginMismatch { header: String, checkpoint: String },
    #[error("the checkpoint is not signed by the log: {0}")]
    NotSigned(#[source] transparency_log::Error),
    #[error("the header's range does not fit its checkpoint: {0}")]
    Range(#[source] transparency_log::Error),
    #[error("the witness {name} did not cosign the checkpoint")]
    WitnessMissing { name: String },
    #[error("a witness's word does not count: {0}")]
    Witness(#[source] transparency_log::Error),
    #[error("the earlier checkpoint is of the log {since}, and this file of {found}")]
    SinceOriginMismatch { since: String, found: String },
    #[error("the earlier checkpoint is not signed by the log: {0}")]
    SinceNotSigned(#[source] transparency_log::Error),
    #[error(
        "the log was rolled back: it had {since} leaves at the earlier checkpoint and has {size} now"
    )]
    RolledBack { since: u64, size: u64 },
    #[error(
        "the log was replaced or rewritten: it does not begin as it did at the earlier checkpoint"
    )]
    Inconsistent,

    #[error("the line is not one that an export has")]
    LineMalformed,
    #[error("the line is longer than 4 MiB")]
    LineTooLong,
    #[error("the leaf is of another kind than what the line shows")]
    KindMismatch,
    #[error("what is shown is not what the log committed to: it was changed, or its salt was")]
    CommitmentMismatch,
    #[error("what is shown is not a JSON object with the members that such a record has")]
    RecordMalformed,
    #[error("`{member}` is not what the leaf says")]
    RecordMismatch { member: &'static str },
    #[error(
        "{id} is in the log, and the server has lost it: it was deleted by somebody other than the server"
    )]
    RecordMissing { id: String },
    #[error("{id} is there a second time")]
    LeafTwice { id: String },
    #[error("there are more leaves than the {expected} that the header announces")]
    LeavesSurplus { expected: u64 },
    #[error("the policies are not those that their digest names: a text was changed")]
    PolicyMismatch,

    #[error("the file was cut off: its last line is missing")]
    CutOff,
    #[error("something follows the last line")]
    AfterEnd,
    #[error("the numbers in the last line are not those of the file")]
    CountsWrong,
    #[error("the header announces {expected} leaves, and the file has {found}")]
    LeavesMissing { expected: u64, found: u64 },
    #[error(
        "the leaves do not make the checkpoint's root: one was changed, moved, added or left out"
    )]
    RootMismatch,
    #[error("{id} is said to be erased by an event that says nothing of it")]
    ErasureUnfounded { id: String },
    #[error("{id} is said to be erased by an event that is not in the log")]
    ErasureMissing { id: String },
}

impl Problem {
    /// A stable name, the same in every language's verifier; the vectors use it.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotAnExport => "not_an_export",
            Self::VersionUnknown => "version_unknown",
            Self::HeaderMalformed => "header_malformed",
            Self::Checkpoint(error)
            | Self::Key(error)
            | Self::NotSigned(error)
            | Self::Range(error)
            | Self::Witness(error) => error.code(),
            Self::KeyUnsupported => "key_unsupported",
            Self::LeafUnsupported(_) => "leaf_unsupported",
            Self::Unreadable(_) => "unreadable",
            Self::SinceOutside { .. } => "since_outside",
            Self::OriginMismatch { .. } => "origin_mismatch",
            Self::WitnessMissing { .. } => "witness_missing",
            Self::SinceOriginMismatch { .. } => "since_origin_mismatch",
            Self::SinceNotSigned(_) => "since_not_signed",
            Self::RolledBack { .. } => "rolled_back",
            Self::Inconsistent => "inconsistent",
            Self::LineMalformed => "line_malformed",
            Self::LineTooLong => "line_too_long",
            Self::KindMismatch => "kind_mismatch",
            Self::CommitmentMismatch => "commitment_mismatch",
            Self::RecordMalformed => "record_malformed",
            Self::RecordMismatch { .. } => "record_mismatch",
            Self::RecordMissing { .. } => "record_missing",
            Self::LeafTwice { .. } => "leaf_twice",
            Self::LeavesSurplus { .. } => "leaves_surplus",
            Self::PolicyMismatch => "policy_mismatch",
            Self::CutOff => "cut_off",
            Self::AfterEnd => "after_end",
            Self::CountsWrong => "counts_wrong",
            Self::LeavesMissing { .. } => "leaves_missing",
            Self::RootMismatch => "root_mismatch",
            Self::ErasureUnfounded { .. } => "erasure_unfounded",
            Self::ErasureMissing { .. } => "erasure_missing",
        }
    }

    /// What a file with this problem is, if it has no worse one.
    pub fn verdict(&self) -> Verdict {
        match self {
            Self::NotAnExport
            | Self::VersionUnknown
            | Self::HeaderMalformed
            | Self::Checkpoint(_)
            | Self::Key(_)
            | Self::KeyUnsupported
            | Self::LeafUnsupported(_)
            | Self::Unreadable(_)
            | Self::SinceOutside { .. } => Verdict::CannotBeChecked,
            _ => Verdict::NotProven,
        }
    }
}

/// What whoever reads the verdict should know beside it. Nothing is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Remark {
    #[error(
        "the key is the file's own word: compare it with what the log's owner told you elsewhere"
    )]
    KeyFromFile,
    #[error("no witness was asked for: whoever has the log's key could show others another log")]
    NoWitness,
    #[error("the file has leaves {first} to {end} of {size}")]
    PartOfLog { first: u64, end: u64, size: u64 },
    #[error(
        "{count} leaves are withheld: they are in the log, and the file does not say what they are"
    )]
    Withheld { count: u64 },
    #[error(
        "{count} records are said to be past their retention; the latest was received at {latest}"
    )]
    Gone { count: u64, latest: String },
    #[error(
        "{count} erasures could not be checked: the events that say so are not shown in the file"
    )]
    ErasuresUnchecked { count: u64 },
}

impl Remark {
    /// A stable name, the same in every language.
    pub fn code(&self) -> &'static str {
        match self {
            Self::KeyFromFile => "key_from_file",
            Self::NoWitness => "no_witness",
            Self::PartOfLog { .. } => "part_of_log",
            Self::Withheld { .. } => "withheld",
            Self::Gone { .. } => "gone",
            Self::ErasuresUnchecked { .. } => "erasures_unchecked",
        }
    }
}
