//! Alert rules: made by people, matched against every event.

pub mod matching;
pub mod rules;
