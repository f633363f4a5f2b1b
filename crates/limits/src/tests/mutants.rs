//! Well-known algorithms in the limiter's place: the suite must catch each of them (P19).

use std::{collections::HashMap, time::Duration};

use domain::limit::{Quota, Verdict};

use super::suite::{Caller, Limiter, PROPERTIES};

/// Decides on one request: `None` if it is admitted, else how long to wait in milliseconds.
type Algorithm = fn(&mut State, Quota, u64) -> Option<f64>;

#[derive(Clone, Copy, Default)]
struct State {
    bucket: u64,
    count: u32,
    count_before: u32,
    arrival_ms: f64,
}

/// One counter for each stretch of the clock.
fn fixed_window(state: &mut State, quota: Quota, now_ms: u64) -> Option<f64> {
    let bucket = now_ms / quota.window_ms();
    if bucket != state.bucket {
        (state.bucket, state.count) = (bucket, 0);
    }
    if state.count < quota.count.get() {
        state.count += 1;
        return None;
    }
    Some(millis((bucket + 1) * quota.window_ms() - now_ms))
}

/// Two counters, the older one weighted by how much of it is still in the window.
fn sliding_counter(state: &mut State, quota: Quota, now_ms: u64) -> Option<f64> {
    let bucket = now_ms / quota.window_ms();
    if bucket != state.bucket {
        let is_next = bucket == state.bucket + 1;
        state.count_before = if is_next { state.count } else { 0 };
        (state.bucket, state.count) = (bucket, 0);
    }
    let passed = millis(now_ms % quota.window_ms()) / millis(quota.window_ms());
    let estimate = f64::from(state.count_before) * (1.0 - passed) + f64::from(state.count);
    if estimate + 1.0 <= f64::from(quota.count.get()) {
        state.count += 1;
        return None;
    }
    Some(millis((bucket + 1) * quota.window_ms() - now_ms))
}

/// The leaky bucket as a meter, with a burst of N.
fn gcra(state: &mut State, quota: Quota, now_ms: u64) -> Option<f64> {
    let now_ms = millis(now_ms);
    let every_ms = millis(quota.window_ms()) / f64::from(quota.count.get());
    let arrival_ms = state.arrival_ms.max(now_ms) + every_ms;
    let wait_ms = arrival_ms - now_ms - millis(quota.window_ms());
    if wait_ms > 0.0 {
        return Some(wait_ms);
    }
    state.arrival_ms = arrival_ms;
    None
}

#[expect(clippy::cast_precision_loss, reason = "milliseconds fit 52 bits")]
fn millis(whole: u64) -> f64 {
    whole as f64
}

struct Mutant {
    algorithm: Algorithm,
    states: HashMap<String, State>,
}

impl Limiter for Mutant {
    fn reset(&mut self) {
        self.states.clear();
    }

    fn decide(&mut self, caller: Caller, quota: Quota, now_ms: u64, wanted: u32) -> Verdict {
        let state = self.states.entry(format!("{caller:?}")).or_default();
        let mut granted = 0;
        let mut frees_in = quota.window;
        for _ in 0..wanted {
            match (self.algorithm)(state, quota, now_ms) {
                None => granted += 1,
                Some(wait_ms) => frees_in = Duration::from_secs_f64(wait_ms / 1_000.0),
            }
        }
        // Generously: whatever it would still admit.
        let mut after = *state;
        let remaining = (0..quota.count.get())
            .take_while(|_| (self.algorithm)(&mut after, quota, now_ms).is_none())
            .count();
        Verdict {
            granted,
            remaining: u32::try_from(remaining).expect("few"),
            frees_in,
        }
    }
}

#[test]
fn the_suite_catches_every_algorithm_that_is_not_exact() {
    let algorithms: [(&str, Algorithm); 3] = [
        ("fixed window", fixed_window),
        ("sliding counter", sliding_counter),
        ("GCRA", gcra),
    ];
    for (name, algorithm) in algorithms {
        let mut mutant = Mutant {
            algorithm,
            states: HashMap::new(),
        };
        let caught: Vec<&str> = PROPERTIES
            .iter()
            .filter(|(_, property)| property(&mut mutant).is_err())
            .map(|(property, _)| *property)
            .collect();
        println!("{name} breaks {caught:#?}");
        assert!(
            caught.iter().any(|one| one.starts_with("P1 ")),
            "{name} keeps P1; it breaks {caught:?}"
        );
        assert!(caught.len() >= 2, "{name} breaks {caught:?} only");
    }
}
