//! Alert rules: made by people, tried on what is stored, matched against every event.

pub mod backtest;
mod given;
pub mod matching;
pub mod rules;
pub mod suggest;
pub mod trial;
pub mod trigger;
