//! Alert rules: made by people, announced to every node, matched against every event.

pub mod announce;
pub mod matching;
pub mod rules;
