//! Walks several nodes and one Redis through random schedules: what the crate promises holds after each answer.
//!
//! The nodes are the real thing, with all that they do: windows, coalescing, the link, late answers, the keeper and what it
//! tells. Time is tokio's, which stands still until nobody has anything to do, so an hour takes as long as its events.
//! Modeled is [`redis`], because the real one has a clock of its own; `twins` holds the model against the scripts in a real
//! Redis. Between them is a [`wire`] of bytes that is slow, breaks and leads nowhere. In the [`world`] Redis hangs, is
//! killed, flushed, restored from what it saved and set to another time, and nodes are killed, stopped and started, each
//! with a clock of its own. The [`books`] say who was admitted when and by whom, and what must be so.
//!
//! A run that fails prints its seed and what happened last; `WATCHBELL_TEST_SEED` shows it again, and
//! `WATCHBELL_TEST_FULL` has ten times as many runs.

mod books;
mod mood;
pub(super) mod redis;
mod wire;
mod world;

use testkit::environment;

pub(crate) use self::wire::Plug;
use self::world::World;

const SEEDS: u64 = 150;
const STEPS: u32 = 300;

#[test]
fn whatever_the_schedule_no_window_holds_more_than_is_documented() {
    let seeds = match environment::seed() {
        Some(seed) => seed..=seed,
        None if environment::is_full_length() => 1..=10 * SEEDS,
        None => 1..=SEEDS,
    };
    let (mut steps, mut admitted, mut refused, mut alone) = (0, 0, 0, 0);
    for seed in seeds {
        let books = World::run(seed, STEPS);
        steps += books.steps;
        admitted += books.admitted;
        refused += books.refused;
        alone += books.alone;
    }
    println!(
        "{steps} steps: {admitted} admitted, {alone} of them without Redis, and {refused} refused"
    );
}

#[test]
fn a_seed_tells_the_same_story_again() {
    for seed in 1..=5 {
        let story = |seed| World::run(seed, STEPS).story();
        assert_eq!(story(seed), story(seed));
    }
}
