//! The edge: what every request passes on its way in and out, whoever handles it.
//!
//! [`envelope`] is the outermost layer: it names the request, times it, and writes every error, also
//! the web framework's own, as a [`problem`]. [`caller`] turns an API key into an argument: a handler
//! that takes a `Caller` has one that was checked. [`read`] reads bodies and parameters.

pub mod caller;
pub mod envelope;
pub mod problem;
pub mod read;

pub use caller::Caller;
pub use problem::Problem;
