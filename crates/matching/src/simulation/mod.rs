//! Walks matchers through random schedules: three of them, one journal, and all that may go wrong between them.
//!
//! The cast: [`journal`] is what NATS holds, [`calls`] what is on its way there, [`node`] is what a matcher has around it,
//! [`matcher`] its life, [`stories`] is what clients do, [`schedule`] throws the dice and [`checks`] says what must be so.
//!
//! What matchers do is the real code, [`Judge`](crate::Judge); only its [`World`](crate::world::World) is another one. It goes
//! on by one answer at a time, so any two of them meet at any place. An answer may get lost, a call may arrive after its
//! caller was killed, a turn may end in the middle of it.
//!
//! A run that fails prints its seed and its last steps; `WATCHBELL_TEST_SEED` shows it again, `WATCHBELL_TEST_FULL` has more runs.
//!
//! Not simulated: a process that is stopped for minutes in the middle of a call, a log that was lost or put back, messages
//! that cannot be read, more groups than a rule may remember, and workers, but for one that sends what it
//! finds or puts it into a lane.

mod calls;
mod checks;
mod journal;
mod matcher;
mod node;
mod schedule;
mod stories;
mod trace;

use schedule::Simulation;
use testkit::environment;

/// How many steps go wrong in each run, before all goes well again.
const STEPS: usize = 500;
/// How many runs there are: some 300,000 steps, in 6 s without optimization; and a million, if somebody
/// has a minute.
const SEEDS: u64 = 600;
const SEEDS_AT_FULL_LENGTH: u64 = 2_000;

#[test]
fn whatever_goes_wrong_each_match_is_judged_once_in_order_and_queued() {
    let seeds = match environment::seed() {
        Some(seed) => seed..=seed,
        None if environment::is_full_length() => 1..=SEEDS_AT_FULL_LENGTH,
        None => 1..=SEEDS,
    };
    let steps: usize = seeds.map(|seed| Simulation::run(seed, STEPS).0.len()).sum();
    println!("{steps} steps");
}

#[test]
fn a_seed_tells_the_same_story_every_time() {
    for seed in 1..=5 {
        assert_eq!(Simulation::run(seed, STEPS), Simulation::run(seed, STEPS));
    }
}
