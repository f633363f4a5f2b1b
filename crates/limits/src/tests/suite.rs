//! What any exact limiter does: each property as a question that is asked with random traffic.

use std::{collections::VecDeque, time::Duration};

use domain::limit::{Quota, Verdict, retry_after_s};
use proptest::{
    collection::vec,
    prelude::*,
    test_runner::{Config, TestCaseError, TestRng, TestRunner},
};

/// Something that limits, on a clock that is set from outside.
pub(super) trait Limiter {
    /// Forgets everything.
    fn reset(&mut self);
    fn decide(&mut self, caller: Caller, quota: Quota, now_ms: u64, wanted: u32) -> Verdict;
}

/// Two callers with two operations each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Caller {
    pub(super) subject: &'static str,
    pub(super) operation: domain::limit::Operation,
}

pub(super) const CALLER: Caller = Caller {
    subject: "key_one",
    operation: domain::limit::Operation::Export,
};
const OTHERS: [Caller; 2] = [
    Caller {
        subject: "key_two",
        ..CALLER
    },
    Caller {
        operation: domain::limit::Operation::Login,
        ..CALLER
    },
];

/// Every property, with its name.
pub(super) type Property = fn(&mut dyn Limiter) -> Result<(), String>;
pub(super) const PROPERTIES: [(&str, Property); 10] = [
    ("P1 no rolling window holds more than N", p1_no_window_over),
    (
        "P2 after N in a window the next is refused",
        p2_next_is_refused,
    ),
    (
        "P3 refused only if N are in the window",
        p3_no_false_refusal,
    ),
    ("P4 who waits as told is admitted", p4_waiting_works),
    ("P5 who waits a second less is refused", p5_waiting_is_short),
    ("P6 refusals change nothing", p6_refusals_change_nothing),
    ("P7 callers and operations are apart", p7_callers_are_apart),
    ("P9 a steady caller is never refused", p9_steady_is_admitted),
    (
        "P10 `remaining` is N less what is in the window",
        p10_remaining_is_true,
    ),
    ("P16 a clock that goes back admits nobody", p16_clock_back),
];

/// Long, because Redis lets keys expire by the real clock, which these clocks run ahead of.
const WINDOW_MS: u64 = 60_000;
const START_MS: u64 = 1_800_000_000_000;
/// How many cases of random traffic each property sees; enough that no mutant slips through.
const CASES: u32 = 48;

/// Random traffic of one caller: a quota, and when after the one before how many arrive.
#[derive(Clone, Debug)]
struct Traffic {
    quota: Quota,
    phase_ms: u64,
    arrivals: Vec<(u64, u32)>,
}

fn traffic() -> impl Strategy<Value = Traffic> {
    let gap_ms = prop_oneof![
        4 => 0u64..3,
        3 => 0u64..WINDOW_MS / 4,
        2 => Just(WINDOW_MS - 1),
        1 => Just(WINDOW_MS),
        1 => Just(WINDOW_MS / 2),
        1 => 0u64..2 * WINDOW_MS,
    ];
    let arrivals = vec((gap_ms, 1u32..4), 1..40);
    (1u32..8, 0u64..WINDOW_MS, arrivals).prop_map(|(count, phase_ms, arrivals)| Traffic {
        quota: Quota::new(count, Duration::from_millis(WINDOW_MS)).expect("in range"),
        phase_ms,
        arrivals,
    })
}

/// What became of each arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Outcome {
    at_ms: u64,
    wanted: u32,
    verdict: Verdict,
}

impl Traffic {
    fn times(&self) -> impl Iterator<Item = (u64, u32)> + '_ {
        let mut now_ms = START_MS + self.phase_ms;
        self.arrivals.iter().map(move |(gap_ms, wanted)| {
            now_ms += gap_ms;
            (now_ms, *wanted)
        })
    }

    fn run(&self, limiter: &mut dyn Limiter) -> Vec<Outcome> {
        limiter.reset();
        let ask = |(at_ms, wanted)| Outcome {
            at_ms,
            wanted,
            verdict: limiter.decide(CALLER, self.quota, at_ms, wanted),
        };
        self.times().map(ask).collect()
    }
}

/// The admissions in `(now - W, now]`, as the outcomes go by.
#[derive(Default)]
struct InWindow(VecDeque<u64>);

impl InWindow {
    fn count(&mut self, now_ms: u64) -> u32 {
        self.0.retain(|at| at + WINDOW_MS > now_ms);
        u32::try_from(self.0.len()).expect("few")
    }

    fn add(&mut self, now_ms: u64, admissions: u32) {
        self.0
            .extend(std::iter::repeat_n(now_ms, admissions as usize));
    }
}

fn with_traffic(
    limiter: &mut dyn Limiter,
    property: impl Fn(&mut dyn Limiter, &Traffic) -> Result<(), String>,
) -> Result<(), String> {
    let limiter = std::cell::RefCell::new(limiter);
    runner(CASES)
        .run(&traffic(), |traffic| {
            property(&mut **limiter.borrow_mut(), &traffic).map_err(TestCaseError::fail)
        })
        .map_err(|failure| failure.to_string())
}

/// The same cases in every run: who sees one fail sees it again.
pub(super) fn runner(cases: u32) -> TestRunner {
    let config = Config {
        cases,
        failure_persistence: None,
        max_shrink_iters: 64,
        ..Config::default()
    };
    let rng = TestRng::deterministic_rng(config.rng_algorithm);
    TestRunner::new_with_rng(config, rng)
}

fn check(holds: bool, otherwise: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(otherwise()) }
}

fn p1_no_window_over(limiter: &mut dyn Limiter) -> Result<(), String> {
    with_traffic(limiter, |limiter, traffic| {
        let mut inside = InWindow::default();
        for outcome in traffic.run(limiter) {
            inside.add(outcome.at_ms, outcome.verdict.granted);
            let count = inside.count(outcome.at_ms);
            check(count <= traffic.quota.count.get(), || {
                format!("{count} in the window that ends at {}", outcome.at_ms)
            })?;
        }
        Ok(())
    })
}

fn p2_next_is_refused(limiter: &mut dyn Limiter) -> Result<(), String> {
    with_traffic(limiter, |limiter, traffic| {
        limiter.reset();
        let count = traffic.quota.count.get();
        let spacing_ms = (WINDOW_MS - 1) / u64::from(count);
        for number in 0..=count {
            let now_ms = START_MS + traffic.phase_ms + u64::from(number) * spacing_ms;
            let granted = limiter.decide(CALLER, traffic.quota, now_ms, 1).granted;
            let expected = u32::from(number < count);
            check(granted == expected, || {
                format!("number {} of {count} got {granted}", number + 1)
            })?;
        }
        Ok(())
    })
}

fn p3_no_false_refusal(limiter: &mut dyn Limiter) -> Result<(), String> {
    with_traffic(limiter, |limiter, traffic| {
        let mut inside = InWindow::default();
        for outcome in traffic.run(limiter) {
            inside.add(outcome.at_ms, outcome.verdict.granted);
            let count = inside.count(outcome.at_ms);
            let is_refused = outcome.verdict.granted < outcome.wanted;
            check(!is_refused || count >= traffic.quota.count.get(), || {
                format!("refused at {} with {count} in the window", outcome.at_ms)
            })?;
        }
        Ok(())
    })
}

/// A lone caller that goes quiet after each refusal, for `wait` of what it was told.
fn after_waiting(
    limiter: &mut dyn Limiter,
    traffic: &Traffic,
    wait: impl Fn(u64) -> Option<u64>,
) -> Vec<u32> {
    limiter.reset();
    let mut waited_ms = 0;
    let mut granted = Vec::new();
    for (at_ms, wanted) in traffic.times() {
        let verdict = limiter.decide(CALLER, traffic.quota, at_ms + waited_ms, wanted);
        if verdict.granted < wanted
            && let Some(seconds) = wait(retry_after_s(verdict.frees_in))
        {
            waited_ms += seconds * 1_000;
            let now_ms = at_ms + waited_ms;
            granted.push(limiter.decide(CALLER, traffic.quota, now_ms, 1).granted);
        }
    }
    granted
}

fn p4_waiting_works(limiter: &mut dyn Limiter) -> Result<(), String> {
    with_traffic(limiter, |limiter, traffic| {
        let granted = after_waiting(limiter, traffic, Some);
        check(granted.iter().all(|one| *one == 1), || {
            format!("{granted:?}")
        })
    })
}

fn p5_waiting_is_short(limiter: &mut dyn Limiter) -> Result<(), String> {
    with_traffic(limiter, |limiter, traffic| {
        let granted = after_waiting(limiter, traffic, |seconds| {
            assert!(seconds * 1_000 <= WINDOW_MS, "told to wait {seconds} s");
            (seconds > 1).then(|| seconds - 1)
        });
        check(granted.iter().all(|one| *one == 0), || {
            format!("{granted:?}")
        })
    })
}

fn p6_refusals_change_nothing(limiter: &mut dyn Limiter) -> Result<(), String> {
    with_traffic(limiter, |limiter, traffic| {
        let quiet = traffic.run(limiter);
        limiter.reset();
        for outcome in quiet {
            let verdict = limiter.decide(CALLER, traffic.quota, outcome.at_ms, outcome.wanted);
            check(verdict == outcome.verdict, || {
                format!("{verdict:?} instead of {outcome:?}")
            })?;
            // Who was refused asks again and again.
            while verdict.granted < outcome.wanted
                && limiter
                    .decide(CALLER, traffic.quota, outcome.at_ms, 3)
                    .granted
                    > 0
            {}
        }
        Ok(())
    })
}

fn p7_callers_are_apart(limiter: &mut dyn Limiter) -> Result<(), String> {
    with_traffic(limiter, |limiter, traffic| {
        let alone = traffic.run(limiter);
        limiter.reset();
        for outcome in alone {
            for other in OTHERS {
                limiter.decide(other, traffic.quota, outcome.at_ms, 2);
            }
            let verdict = limiter.decide(CALLER, traffic.quota, outcome.at_ms, outcome.wanted);
            check(verdict == outcome.verdict, || {
                format!("{verdict:?} instead of {outcome:?}")
            })?;
        }
        Ok(())
    })
}

fn p9_steady_is_admitted(limiter: &mut dyn Limiter) -> Result<(), String> {
    with_traffic(limiter, |limiter, traffic| {
        limiter.reset();
        let count = u64::from(traffic.quota.count.get());
        let every_ms = WINDOW_MS.div_ceil(count);
        for number in 0..3 * count {
            let now_ms = START_MS + traffic.phase_ms + number * every_ms;
            let granted = limiter.decide(CALLER, traffic.quota, now_ms, 1).granted;
            check(granted == 1, || format!("number {number} is refused"))?;
        }
        Ok(())
    })
}

fn p10_remaining_is_true(limiter: &mut dyn Limiter) -> Result<(), String> {
    with_traffic(limiter, |limiter, traffic| {
        let mut inside = InWindow::default();
        for outcome in traffic.run(limiter) {
            inside.add(outcome.at_ms, outcome.verdict.granted);
            let expected = traffic
                .quota
                .count
                .get()
                .saturating_sub(inside.count(outcome.at_ms));
            let remaining = outcome.verdict.remaining;
            check(remaining == expected, || {
                format!("{remaining} instead of {expected} at {}", outcome.at_ms)
            })?;
        }
        Ok(())
    })
}

fn p16_clock_back(limiter: &mut dyn Limiter) -> Result<(), String> {
    with_traffic(limiter, |limiter, traffic| {
        limiter.reset();
        let count = traffic.quota.count.get();
        let full_at_ms = START_MS + traffic.phase_ms;
        let filled = limiter
            .decide(CALLER, traffic.quota, full_at_ms, count)
            .granted;
        check(filled == count, || format!("{filled} of {count} at first"))?;
        for (back_ms, wanted) in &traffic.arrivals {
            let now_ms = full_at_ms - back_ms;
            let granted = limiter
                .decide(CALLER, traffic.quota, now_ms, *wanted)
                .granted;
            check(granted == 0, || {
                format!("{granted} after going back {back_ms} ms")
            })?;
        }
        Ok(())
    })
}
