//! The rule in Rust and the rule in Redis agree (P18), and what it costs Redis when a whole window
//! of admissions leaves at once (P20).

use std::time::Duration;

use domain::limit::{Log, Quota, Verdict};
use proptest::{collection::vec, prelude::*};
use redis::Commands as _;

use super::{
    quota,
    stage::Stage,
    subjects::InRedis,
    suite::{CALLER, Limiter as _, runner},
};
use crate::simulation::redis::{Redis, Rule};

const START_MS: u64 = 1_800_000_000_000;
const WINDOW_MS: u64 = 60_000;

#[derive(Clone, Copy, Debug)]
enum Step {
    Arrive { after_ms: u64, wanted: u32 },
    ClockBack { by_ms: u64 },
    Limit { count: u32, window_ms: u64 },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        16 => (prop_oneof![0u64..5, 0u64..WINDOW_MS], 0u32..6)
            .prop_map(|(after_ms, wanted)| Step::Arrive { after_ms, wanted }),
        1 => (0u64..2 * WINDOW_MS).prop_map(|by_ms| Step::ClockBack { by_ms }),
        2 => (1u32..30, WINDOW_MS..2 * WINDOW_MS)
            .prop_map(|(count, window_ms)| Step::Limit { count, window_ms }),
    ];
    vec(step, 1..80)
}

#[test]
fn rust_and_redis_decide_alike_on_random_traffic_clocks_and_limits() {
    let redis = std::cell::RefCell::new(InRedis::new(Stage::shared()));
    let agreed = runner(150).run(&steps(), |steps| {
        let mut redis = redis.borrow_mut();
        redis.reset();
        let mut log = Log::default();
        let mut limit = quota("9/60s");
        let mut now_ms = START_MS;
        for step in steps {
            match step {
                Step::Arrive { after_ms, wanted } => {
                    now_ms += after_ms;
                    let decided = redis.decide(CALLER, limit, now_ms, wanted);
                    prop_assert_eq!(decided, log.decide(limit, now_ms, wanted), "at {}", now_ms);
                }
                Step::ClockBack { by_ms } => now_ms -= by_ms,
                Step::Limit { count, window_ms } => {
                    let window = Duration::from_millis(window_ms);
                    limit = Quota::new(count, window).expect("in range");
                }
            }
        }
        Ok(())
    });
    agreed.expect("they agree");
}

/// Restores admissions of these ages, oldest first.
fn restore(redis: &mut InRedis, limit: Quota, ages_ms: &[u64]) {
    let script = redis.stage.scripts().restore;
    let key = redis.key(CALLER);
    let () = redis::cmd("EVAL")
        .arg(script)
        .arg(1)
        .arg(key)
        .arg(limit.count.get())
        .arg(limit.window_ms())
        .arg(ages_ms)
        .query(&mut redis.stage.connection)
        .expect("the script runs");
}

fn stored(redis: &mut InRedis) -> Vec<u64> {
    let key = redis.key(CALLER);
    let list = redis.stage.connection.lrange(key, 0, -1);
    list.expect("Redis answers")
}

#[test]
fn restored_admissions_are_merged_in_order_and_the_newest_are_kept() {
    let redis = std::cell::RefCell::new(InRedis::new(Stage::shared()));
    // Some longer than the pieces in which the script reads and writes.
    let ages = || {
        prop_oneof![
            3 => vec(0u64..WINDOW_MS + 10_000, 0..40),
            1 => vec(0u64..WINDOW_MS + 10_000, 0..1_500),
        ]
    };
    let clock_back_ms = || prop_oneof![Just(0), 0..2 * WINDOW_MS];
    let plan = (
        [ages(), ages(), ages()],
        [clock_back_ms(), clock_back_ms(), clock_back_ms()],
        prop_oneof![1u32..60, 1u32..4_000],
    );
    let merged = runner(100).run(&plan, |(ages, clock_back_ms, count)| {
        let mut redis = redis.borrow_mut();
        redis.reset();
        let limit = Quota::new(count, Duration::from_millis(WINDOW_MS)).expect("in range");
        let mut expected: Vec<u64> = Vec::new();
        for (mut ages_ms, back_ms) in ages.into_iter().zip(clock_back_ms) {
            redis.stage.set_ms(START_MS - back_ms);
            ages_ms.sort_unstable_by(|one, other| other.cmp(one));
            restore(&mut redis, limit, &ages_ms);
            // A clock that went back stands still at the newest that is known.
            let newest = expected.first().copied().unwrap_or_default();
            let now_ms = newest.max(START_MS - back_ms);
            let counted = ages_ms.iter().filter(|age| **age < WINDOW_MS);
            expected.extend(counted.map(|age| now_ms - age));
            expected.sort_unstable_by(|one, other| other.cmp(one));
            expected.truncate(count as usize);
            // Not shown when it fails: they are long.
            prop_assert!(stored(&mut redis) == expected, "the lists differ");
        }
        Ok(())
    });
    merged.expect("they are");
}

#[test]
fn the_redis_of_the_simulation_decides_and_restores_as_the_scripts_do() {
    let redis = std::cell::RefCell::new(InRedis::new(Stage::shared()));
    let step = (
        prop_oneof![0u64..5, 0u64..WINDOW_MS],
        0u32..6,
        vec(0u64..WINDOW_MS + 10_000, 0..5),
    );
    let agreed = runner(100).run(&vec(step, 1..60), |steps| {
        let mut redis = redis.borrow_mut();
        redis.reset();
        let (mut model, limit, mut now_ms) = (Redis::default(), quota("9/60s"), START_MS);
        let rule = Rule {
            count: 9,
            window_ms: WINDOW_MS,
        };
        for (after_ms, wanted, mut ages_ms) in steps {
            now_ms += after_ms;
            redis.stage.set_ms(now_ms);
            ages_ms.sort_unstable_by(|one, other| other.cmp(one));
            if !ages_ms.is_empty() {
                restore(&mut redis, limit, &ages_ms);
                model.restore("key", rule, 1_000 * now_ms, &ages_ms);
            }
            let decided = redis.decide(CALLER, limit, now_ms, wanted);
            let (granted, remaining, frees_in_us) =
                model.decide("key", rule, 1_000 * now_ms, wanted as usize);
            let modeled = Verdict {
                granted: u32::try_from(granted).expect("few"),
                remaining: u32::try_from(remaining).expect("few"),
                frees_in: Duration::from_micros(frees_in_us),
            };
            prop_assert_eq!(decided, modeled, "at {}", now_ms);
        }
        Ok(())
    });
    agreed.expect("they agree");
}

#[test]
fn one_late_admission_costs_redis_less_than_a_millisecond_however_long_the_list_is() {
    let mut redis = InRedis::new(Stage::own());
    let limit = quota("100000/60s");
    for part in 0..80 {
        let decided = redis.decide(CALLER, limit, START_MS + part * 10, 1_000);
        assert_eq!(decided.granted, 1_000);
    }
    let mut took_us = Vec::new();
    for round in 1..=9 {
        let now_ms = START_MS + 1_000 * round;
        assert_eq!(redis.decide(CALLER, limit, now_ms, 20).granted, 20);
        redis.stage.set_ms(now_ms + 50);
        redis.stage.script_time_us();
        restore(&mut redis, limit, &[100]);
        took_us.push(redis.stage.script_time_us());
        let newest: Vec<u64> = stored(&mut redis)[..21].to_vec();
        assert_eq!(newest, [vec![now_ms; 20], vec![now_ms - 50]].concat());
    }
    took_us.sort_unstable();
    println!("one restored among 80,000: {took_us:?} us");
    // The median: a single one may have been interrupted on a busy machine.
    assert!(took_us[4] < 1_000, "{took_us:?} us");
}

#[test]
fn after_restoring_redis_decides_as_if_it_had_admitted_all_of_them() {
    let mut redis = InRedis::new(Stage::shared());
    let five = quota("5/60s");
    redis.stage.set_ms(START_MS);
    restore(&mut redis, five, &[50_000, 40_000, 30_000]);
    restore(&mut redis, five, &[59_000, 45_000, 10_000, 10_000]);
    // Seven in the window, the newest five matter: 45, 40, 30, 10 and 10 seconds ago.
    let decided = redis.decide(CALLER, five, START_MS, 1);
    assert_eq!((decided.granted, decided.remaining), (0, 0));
    assert_eq!(decided.frees_in, Duration::from_secs(15));
    let decided = redis.decide(CALLER, five, START_MS + 15_000, 1);
    assert_eq!((decided.granted, decided.frees_in.as_secs()), (1, 5));
}

#[test]
fn a_whole_window_that_leaves_at_once_costs_redis_less_than_a_millisecond() {
    let mut redis = InRedis::new(Stage::own());
    let limit = quota("5000/60s");
    let mut took_us = Vec::new();
    for round in 0..9 {
        let filled_at_ms = START_MS + round * 10 * WINDOW_MS;
        for part in 0..5 {
            let decided = redis.decide(CALLER, limit, filled_at_ms + part, 1_000);
            assert_eq!(decided.granted, 1_000);
        }
        // All but the last have left.
        redis.stage.script_time_us();
        let decided = redis.decide(CALLER, limit, filled_at_ms + 3 + WINDOW_MS, 1);
        assert_eq!((decided.granted, decided.remaining), (1, 3_999));
        took_us.push(redis.stage.script_time_us());
    }
    took_us.sort_unstable();
    println!("5,000 in the window, 4,000 leave at once: {took_us:?} us");
    // The median: a single one may have been interrupted on a busy machine.
    assert!(took_us[4] < 1_000, "{took_us:?} us");
}
