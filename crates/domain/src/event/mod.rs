//! An audit event: what an agent did, as the client sent it, and what we add to it.
//!
//! The bytes a client sends are kept verbatim. What the server adds ([`OF_THE_SERVER`], and
//! `occurred_at` when the client gave none) is written in front of the client's first field, so
//! that nothing is re-serialized: the list, the export and the webhook all carry the same bytes.
//! [`view::EventView`] reads such bytes without copying them, in one pass ([`scan`]) if they are as usual;
//! [`accept::accept`] is the door, and [`own`] is beside it, for what we write ourselves; [`filter::Filter`] is what people
//! ask for.

pub mod accept;
pub mod check;
pub mod filter;
mod metadata;
pub mod own;
pub mod reserved;
pub mod sanitize;
pub(crate) mod scan;
pub mod source;
pub mod view;

pub use accept::{Sent, accept};
pub use filter::Filter;
pub use source::Source;
pub use view::EventView;

use std::time::Duration;

/// The fields that only the server sets.
pub const OF_THE_SERVER: [&str; 3] = ["id", "received_at", "source"];

/// An event larger than this is refused (bytes as sent).
pub const EVENT_BYTES_MAX: usize = 32 * 1024;
/// The largest `metadata` of an event (bytes as sent).
pub const METADATA_BYTES_MAX: usize = 16 * 1024;
/// The longest `client_event_id`, and the longest of the ids that an event refers to.
pub const NAME_CHARS_MAX: usize = 128;
/// The longest `resource`.
pub const RESOURCE_CHARS_MAX: usize = 256;
/// How far an agent's clock may run ahead of ours.
pub const AHEAD_MAX: Duration = Duration::from_secs(5 * 60);
