//! The delivery log: what happened to each delivery, and whether all of them are there.
//!
//! [`recorder`] writes what the journal says to the store. [`list`] and [`show`] show it, in the words of
//! [`explain`], and [`conditions`] why the rule matched; [`rebuild`] makes what an attempt sent again, to the byte, and
//! proves it. [`balance`] and [`reconcile`] see that none is lost.

pub mod balance;
pub mod conditions;
mod explain;
pub mod list;
pub mod rebuild;
pub mod reconcile;
pub mod recorder;
pub mod show;
