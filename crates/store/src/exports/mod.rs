//! Exports that are made in the background: asked for and looked at by customers, worked on by nodes.

mod lease;
mod list;

pub use lease::{Claimed, Seen};
pub use list::{ExportFile, ExportRow, LinkedFile, NewExport};
