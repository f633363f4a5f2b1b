//! What becomes of endpoints: the trail is told ([`notice`]), and each is asked whose it is ([`challenge`]).

pub mod challenge;
pub mod notice;
