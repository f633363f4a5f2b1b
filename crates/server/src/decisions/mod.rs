//! Decisions: may this agent do this? Asked before it acts, recorded before it is answered.
//!
//! Every organisation starts with the policy `allow-all`, so that agents are not stopped on the day
//! they are connected. Policies of one's own do not exist yet: today every answer is this one's, and
//! what it buys is the record.

pub mod decide;
