//! Events as files: the formats an export can have, their compression, and where files are kept; the
//! only crate that knows Parquet and speaks to object storage.
//!
//! It is handed events ([`Events`]: their stored bytes, many at a time) and hands back the bytes of a
//! file, piece by piece ([`FileWriter`]), so that a file of any length is made in the same memory.
//! [`Bucket`] is where files are kept; [`days`] are the files that days of the trail become, and [`without`] erases events from them.

pub mod bucket;
mod columns;
pub mod compression;
pub mod days;
mod error;
mod events;
mod file;
pub mod format;
mod upload;
pub mod without;

pub use bucket::Bucket;
pub use compression::Compression;
pub use error::Error;
pub use events::Events;
pub use file::{ByteWriter, FileWriter, Finished};
pub use format::Format;
pub use upload::FileUpload;

// See Cargo.toml.
use nix as _;
