//! The rule, as tables and against a model that remembers every admission there ever was.

use proptest::prelude::*;

use super::*;

fn quota(text: &str) -> Quota {
    text.parse().expect("a quota")
}

fn verdict(granted: u32, remaining: u32, frees_in_ms: u64) -> Verdict {
    Verdict {
        granted,
        remaining,
        frees_in: Duration::from_millis(frees_in_ms),
    }
}

#[test]
fn a_window_rolls_with_each_admission() {
    let three = quota("3/1000ms");
    let mut log = Log::default();
    let story = [
        // At this time so many are wanted: granted, remaining, until a slot frees.
        ((0, 0), (0, 3, 1_000)),
        ((100, 1), (1, 2, 1_000)),
        ((400, 1), (1, 1, 700)),
        ((400, 2), (1, 0, 700)),
        ((1_099, 1), (0, 0, 1)),
        ((1_100, 1), (1, 0, 300)),
        ((1_399, 5), (0, 0, 1)),
        ((1_400, 5), (2, 0, 700)),
        ((2_100, 0), (0, 1, 300)),
        ((2_400, 0), (0, 3, 1_000)),
    ];
    for ((now_ms, wanted), (granted, remaining, frees_in_ms)) in story {
        let decided = log.decide(three, now_ms, wanted);
        let expected = verdict(granted, remaining, frees_in_ms);
        assert_eq!(decided, expected, "{wanted} at {now_ms}");
    }
}

#[test]
fn when_the_clock_goes_back_it_stands_still() {
    let two = quota("2/1000ms");
    let mut log = Log::default();
    assert_eq!(log.decide(two, 10_000, 1), verdict(1, 1, 1_000));
    assert_eq!(log.decide(two, 2_000, 1), verdict(1, 0, 1_000));
    assert_eq!(log.decide(two, 5_000, 1), verdict(0, 0, 1_000));
    assert_eq!(log.decide(two, 10_999, 1), verdict(0, 0, 1));
    assert_eq!(log.decide(two, 11_000, 1), verdict(1, 1, 1_000));
}

#[test]
fn a_lowered_limit_frees_a_slot_when_few_enough_are_left() {
    let mut log = Log::default();
    for now_ms in [0, 10, 20, 30, 40] {
        log.decide(quota("5/1000ms"), now_ms, 1);
    }
    // Of five, the newest two matter now: the fourth leaves at 1,030.
    assert_eq!(log.decide(quota("2/1000ms"), 50, 1), verdict(0, 0, 980));
    assert_eq!(log.decide(quota("2/1000ms"), 1_029, 1), verdict(0, 0, 1));
    assert_eq!(log.decide(quota("2/1000ms"), 1_030, 1), verdict(1, 0, 10));
}

#[test]
fn admissions_decided_elsewhere_count() {
    let two = quota("2/1000ms");
    let mut log = Log::default();
    log.record(two, 5, 3);
    assert_eq!(log.decide(two, 6, 1), verdict(0, 0, 999));
    assert_eq!(log.times().collect::<Vec<_>>(), [5, 5, 5]);
}

#[test]
fn a_quiet_log_is_empty_and_small() {
    let many = quota("1000/1000ms");
    let mut log = Log::default();
    log.decide(many, 0, 1_000);
    log.tidy(many, 999);
    assert_eq!(log.times().len(), 1_000);
    log.tidy(many, 1_000);
    assert!(log.is_empty());
    assert_eq!(log.admitted_at.capacity(), 0);
}

#[test]
fn retry_after_is_rounded_up_and_at_least_a_second() {
    let cases = [
        (0, 1),
        (1, 1),
        (999, 1),
        (1_000, 1),
        (1_001, 2),
        (59_000, 59),
        (59_001, 60),
    ];
    for (frees_in_ms, seconds) in cases {
        assert_eq!(
            retry_after_s(Duration::from_millis(frees_in_ms)),
            seconds,
            "{frees_in_ms}"
        );
    }
    assert_eq!(retry_after_s(Duration::from_nanos(1_000_000_001)), 2);
}

/// The rule as its sentence says it, one request after the other and one millisecond after the other.
#[derive(Default)]
struct Model {
    admitted_at: Vec<u64>,
}

impl Model {
    fn decide(&mut self, quota: Quota, now_ms: u64, wanted: u32) -> Verdict {
        // The clock of a log does not go back behind its last admission.
        let newest = self.admitted_at.iter().copied().max().unwrap_or(0);
        let now_ms = newest.max(now_ms);
        let is_inside = |at: &u64, now_ms: u64| at + quota.window_ms() > now_ms;
        // What has left the window once does not come back into it.
        self.admitted_at.retain(|at| is_inside(at, now_ms));

        let count = quota.count.get();
        let inside_at = |admitted_at: &[u64], now_ms: u64| {
            let inside = admitted_at.iter().filter(|at| is_inside(at, now_ms));
            u32::try_from(inside.count()).expect("few")
        };
        let mut granted = 0;
        while granted < wanted && inside_at(&self.admitted_at, now_ms) < count {
            self.admitted_at.push(now_ms);
            granted += 1;
        }
        let inside = inside_at(&self.admitted_at, now_ms);
        // The shortest wait after which one more fits than now.
        let fits_after =
            |wait_ms: &u64| inside_at(&self.admitted_at, now_ms + wait_ms) < inside.min(count);
        let frees_in_ms = (0..=quota.window_ms()).find(fits_after);
        verdict(
            granted,
            count.saturating_sub(inside),
            frees_in_ms.unwrap_or(quota.window_ms()),
        )
    }
}

#[derive(Clone, Copy, Debug)]
enum Step {
    /// Time passes and so many arrive together.
    Arrive { after_ms: u64, wanted: u32 },
    /// The clock is set back.
    Back { by_ms: u64 },
    /// The operator changes the limit.
    Limit { count: u32, window_ms: u64 },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        12 => (0u64..40, 0u32..4).prop_map(|(after_ms, wanted)| Step::Arrive { after_ms, wanted }),
        1 => (0u64..200).prop_map(|by_ms| Step::Back { by_ms }),
        1 => (1u32..8, 1u64..120).prop_map(|(count, window_ms)| Step::Limit { count, window_ms }),
    ];
    proptest::collection::vec(step, 0..80)
}

proptest! {
    // P1, P2, P3, P6, P10 and P16 at once: the model admits, refuses, counts and waits by the
    // sentence of the rule, and nothing a caller, a clock or an operator does makes the log differ.
    #[test]
    fn the_log_decides_as_its_sentence_says(steps in steps()) {
        let (mut log, mut model) = (Log::default(), Model::default());
        let mut now_ms = 1_000;
        let mut limit = quota("3/60ms");
        for step in steps {
            match step {
                Step::Arrive { after_ms, wanted } => {
                    now_ms += after_ms;
                    let decided = log.decide(limit, now_ms, wanted);
                    prop_assert_eq!(decided, model.decide(limit, now_ms, wanted), "at {}", now_ms);
                }
                Step::Back { by_ms } => now_ms = now_ms.saturating_sub(by_ms),
                Step::Limit { count, window_ms } => {
                    let window = Duration::from_millis(window_ms);
                    limit = Quota::new(count, window).expect("in range");
                }
            }
        }
    }

    // P4 and P5.
    #[test]
    fn who_waits_as_told_is_admitted_and_who_waits_a_second_less_is_not(
        gaps_ms in proptest::collection::vec(0u64..2_000, 5..40),
    ) {
        let five = quota("5/10s");
        let mut log = Log::default();
        let mut now_ms = 0;
        for gap_ms in gaps_ms {
            now_ms += gap_ms;
            let decided = log.decide(five, now_ms, 1);
            if decided.granted == 0 {
                let seconds = retry_after_s(decided.frees_in);
                prop_assert!(seconds <= 10);
                if seconds > 1 {
                    let early = log.clone().decide(five, now_ms + (seconds - 1) * 1_000, 1);
                    prop_assert_eq!(early.granted, 0);
                }
                prop_assert_eq!(log.clone().decide(five, now_ms + seconds * 1_000, 1).granted, 1);
            }
        }
    }

    // P9.
    #[test]
    fn a_steady_caller_at_the_limit_is_never_refused(count in 1u32..50, every_ms in 1u64..200, start_ms: u32) {
        let window = Duration::from_millis(u64::from(count) * every_ms);
        let steady = Quota::new(count, window).expect("in range");
        let mut log = Log::default();
        for number in 0..u64::from(count) * 3 {
            let now_ms = u64::from(start_ms) + number * every_ms;
            prop_assert_eq!(log.decide(steady, now_ms, 1).granted, 1);
        }
    }
}
