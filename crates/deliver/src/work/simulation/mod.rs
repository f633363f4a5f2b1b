//! Walks workers through random schedules, one step of one task at a time: what guarantees.md promises of deliveries holds
//! after each.
//!
//! What decides is the real thing: what is in hand ([`super::message_registry`]), when a message ends ([`super::in_flight::Tally`]), what becomes of a
//! delivery ([`super::verdict`]), the schedule, endpoints, rounds, and how messages are cut and named. Modeled are the
//! [`queue`], the record ([`state`]), and the order in which the tasks of a [`worker`] do one thing after the other
//! ([`steps`], [`sends`], [`recording`]). In the [`world`] calls fail and answers get lost, processes and the journal break ([`faults`]), clocks differ, and
//! [`people`] interfere.
//!
//! A run that fails prints its seed and what happened last; `WATCHBELL_TEST_SEED` shows it again, and `WATCHBELL_TEST_FULL`
//! has more runs.

mod faults;
mod people;
mod queue;
mod recording;
mod sends;
mod state;
mod steps;
mod worker;
mod world;

use testkit::environment;
use world::World;

const SEEDS: u64 = 430;
const SEEDS_AT_FULL_LENGTH: u64 = 5_000;
const STEPS: u32 = 2_500;

fn walk(seed: u64) -> World {
    let mut world = World::new(seed);
    for _ in 0..STEPS {
        world.step();
    }
    world.come_to_rest();
    world
}

#[test]
fn whatever_the_schedule_nothing_is_lost_and_nothing_sent_twice_unless_somebody_died_with_it_in_hand()
 {
    let (mut steps, mut sends, mut again) = (0, 0, 0);
    let seeds = match environment::seed() {
        Some(seed) => seed..=seed,
        None if environment::is_full_length() => 1..=SEEDS_AT_FULL_LENGTH,
        None => 1..=SEEDS,
    };
    for seed in seeds {
        let world = walk(seed);
        steps += world.steps;
        sends += world.sends_in_all();
        again += world.sends_in_all() - world.attempts();
    }
    println!("{steps} steps, {sends} sends, {again} of them again, each with an excuse");
}

#[test]
fn a_seed_tells_the_same_story_again() {
    assert_eq!(walk(7).story(), walk(7).story());
    assert_ne!(walk(7).story(), walk(8).story());
}
