//! The end of an organization: an owner [asks](request) for it, and after a delay everything that it has is [deleted](worker).
//!
//! | when | what |
//! |---|---|
//! | asked for | in the trail; every owner has a mail; everything goes on as before, and any owner can cancel |
//! | due | nobody can come in any more, and nothing that is on its way is sent; then the rows go, then the organization |
//! | later | looked at once more, for what was on its way; what is left is a tombstone without names |
//!
//! How that is made to end well whatever dies in between: [`store::deletions`]. What cannot be taken back at once, such as what
//! the journal keeps for 7 days, is in docs/how-to/accounts.md.

pub mod request;
pub(crate) mod worker;
