//! Verify and keep a transparency log: a list to which entries are only ever added, and whose owner can prove that to anyone.
//!
//! Nothing here performs I/O, reads a clock or draws randomness. The formats are those of C2SP (`tlog-tiles`, `tlog-checkpoint`,
//! `signed-note`, `tlog-cosignature`, `tlog-witness`, `tlog-proof`) over the Merkle tree of RFC 6962, so other people's tools
//! read what this library writes, and vice versa.
//!
//! Who does what:
//!
//! - A log appends to an [`Edge`], writes [`Tile`]s and entry bundles ([`Bundle`]), and signs a [`Checkpoint`] with a
//!   [`SigningKey`].
//! - A witness answers an [`AddCheckpoint`] with [`witness::judge`] and signs with a [`Cosigner`].
//! - An auditor verifies a [`TlogProof`], or rebuilds the root from everything in a [`Range`].
//!
//! Whatever is parsed prints back to the same bytes, and is bounded in size.

pub mod bundle;
mod checkpoint;
mod cosignature;
mod decimal;
mod error;
mod hash;
mod key;
mod lines;
mod note;
mod proof;
mod range;
mod tile;
mod tlog_proof;
mod tree;
pub mod witness;

pub use bundle::Bundle;
pub use checkpoint::{Checkpoint, SignedCheckpoint};
pub use cosignature::{Cosigner, TIMESTAMP_MAX};
pub use error::Error;
pub use hash::{Hash, sha256};
pub use key::{Algorithm, SigningKey, VerifierKey};
pub use note::{NOTE_BYTES_MAX, Note, SIGNATURES_MAX, Signature, Signed};
pub use proof::{
    ProofNodes, consistency_nodes, inclusion_nodes, verify_consistency, verify_inclusion,
};
pub use range::Range;
pub use tile::{TILE_WIDTH, Tile, tiles, tiles_between, tiles_holding};
pub use tlog_proof::{EXTRA_BYTES_MAX, Proven, TlogProof};
pub use tree::{Edge, Node, SIZE_MAX, complete_subtrees};
pub use witness::AddCheckpoint;

// The README's examples are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
