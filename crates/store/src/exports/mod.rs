//! Exports that are made in the background: asked for and looked at by customers, worked on by nodes.

mod list;
mod work;

pub use list::{ExportFile, ExportRow, LinkedFile, NewExport};
pub use work::{Claimed, Seen};
