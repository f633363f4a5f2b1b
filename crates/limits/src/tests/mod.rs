//! The properties of the limiter (P1 to P20 of its design), on a real Redis and on clocks that the
//! tests set.
//!
//! - `suite`: what any exact limiter does, written once; `subjects` are those that must pass it, and
//!   `mutants` are well-known algorithms that must not.
//! - `twins`: the rule in Rust and the rule in Redis agree, also about restored admissions.
//! - `shortcuts`: the deny cache and coalescing change the number of calls and nothing else.
//! - `nodes`: several nodes over one Redis.
//! - `going`: Redis goes away while it is asked.
//! - `late`: it answers, but too late.
//! - `refusals`: it says no about one key.
//! - `overflow`: a node has no room for another caller.
//! - `epochs`: Redis starts again from a snapshot, or is emptied.
//! - `soak`: a million callers, and the memory they take.
//!
//! Outages are in `tests/`, through the public surface.

mod epochs;
mod going;
mod late;
mod mutants;
mod nodes;
mod overflow;
mod refusals;
mod shortcuts;
mod soak;
mod stage;
mod subjects;
mod suite;
mod twins;

use std::sync::{Arc, atomic::AtomicU64};

use domain::limit::Quota;

use crate::{CALL_BUDGET, Limits, Options, Parts, clock::Clock};

fn quota(text: &str) -> Quota {
    text.parse().expect("a quota")
}

/// A limiter without Redis, and its clock.
fn in_memory() -> (Limits, Arc<AtomicU64>) {
    let now_us = Arc::default();
    let parts = Parts {
        clock: Clock::Set(Arc::clone(&now_us)),
        ..Parts::default()
    };
    let options = Options {
        redis_url: None,
        namespace: "",
        call_budget: CALL_BUDGET,
    };
    let limits = Limits::assemble(&options, parts).expect("without an address");
    (limits, now_us)
}
