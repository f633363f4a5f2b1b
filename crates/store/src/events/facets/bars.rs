//! The bars of a histogram: over the whole time that is asked for, each as long as people count in.

use domain::{EventId, Timestamp};
use uuid::Uuid;

use super::split::Span;
use crate::events::Grain;

/// How many bars a histogram has at most: one of some ten pixels each fits a screen.
const BARS_MAX: i64 = 120;
/// How wide a bar can be, in seconds: what people count in. Beyond the last, so many of it as are needed.
const INTERVALS_S: [i64; 16] = [
    1,
    5,
    10,
    30,
    60,
    5 * 60,
    10 * 60,
    30 * 60,
    HOUR,
    3 * HOUR,
    6 * HOUR,
    12 * HOUR,
    DAY,
    7 * DAY,
    28 * DAY,
    364 * DAY,
];
const HOUR: i64 = 3600;
const DAY: i64 = 24 * HOUR;

/// The shortest interval.
pub(super) const SHORTEST_MS: i64 = INTERVALS_S[0] * 1000;

/// Bars of one length, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bars {
    /// When the first begins, in milliseconds; a multiple of the interval.
    first: i64,
    pub interval: i64,
    count: i64,
}

impl Bars {
    /// The shortest, of at least so many milliseconds, of which not too many reach over a time.
    pub(super) fn over(time: Span, at_least_ms: i64) -> Self {
        let last = time.high - 1;
        let reach = |interval: i64| last.div_euclid(interval) - time.low.div_euclid(interval) + 1;
        let known = INTERVALS_S.into_iter().map(|seconds| seconds * 1000);
        let longest = known.clone().max().unwrap_or(SHORTEST_MS);
        let multiples = (2..).map(|times| longest * times);
        let interval = known
            .chain(multiples)
            .find(|interval| *interval >= at_least_ms && reach(*interval) <= BARS_MAX)
            .unwrap_or(longest);
        Self {
            first: time.low.div_euclid(interval) * interval,
            interval,
            count: reach(interval),
        }
    }

    pub(super) fn len(&self) -> usize {
        usize::try_from(self.count).unwrap_or(0)
    }

    fn starts_ms(self) -> impl Iterator<Item = i64> {
        (0..self.count).map(move |number| self.first + number * self.interval)
    }

    pub(super) fn starts(&self) -> impl Iterator<Item = Timestamp> {
        self.starts_ms().map(Timestamp::from_unix_millis)
    }

    /// The first ids of each. What comes after the last bar counts as in it: clocks differ.
    pub(super) fn first_ids(&self) -> Vec<Uuid> {
        self.starts()
            .map(|at| EventId::first_at(at).uuid())
            .collect()
    }

    /// The longest grain of which every bar is made.
    pub(super) fn grain(&self) -> Grain {
        let fits = |grain: &Grain| self.interval % grain.millis() == 0;
        let mut coarsest_first = Grain::ALL.into_iter().rev();
        coarsest_first.find(fits).unwrap_or(Grain::Minute)
    }

    /// The start of the first bar that begins then or later.
    pub(super) fn start_after(&self, millis: i64) -> i64 {
        let within = millis.rem_euclid(self.interval);
        if within == 0 {
            millis
        } else {
            millis - within + self.interval
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn over(from_s: i64, to_s: i64) -> Bars {
        let time = Span {
            low: from_s * 1000,
            high: to_s * 1000,
        };
        Bars::over(time, 1)
    }

    #[test]
    fn intervals_are_the_shortest_that_fit() {
        for (from_s, to_s, interval_s) in [
            (0, 1, 1),
            (0, 120, 1),
            (0, 121, 5),
            (1, 601, 10),
            (0, DAY, 30 * 60),
            (7, 30 * DAY, 6 * HOUR),
            (0, 100 * 364 * DAY, 364 * DAY),
            (0, 1000 * 364 * DAY, 9 * 364 * DAY),
        ] {
            assert_eq!(over(from_s, to_s).interval, interval_s * 1000);
        }
    }

    #[test]
    fn bars_reach_over_the_whole_time() {
        let bars = over(7, 3 * HOUR + 1);
        let starts: Vec<i64> = bars.starts_ms().collect();
        assert_eq!(starts.first(), Some(&0));
        assert_eq!(starts.len(), bars.len());
        let end = starts.last().expect("a bar") + bars.interval;
        assert!(end > 3 * HOUR * 1000, "the last second is in a bar");
        assert!(
            end - bars.interval <= 3 * HOUR * 1000,
            "and no bar is beyond it"
        );
    }

    #[test]
    fn bars_are_made_of_the_longest_grain_that_fits() {
        assert_eq!(over(0, DAY).grain(), Grain::Minute);
        assert_eq!(over(0, 5 * DAY).grain(), Grain::Hour);
        assert_eq!(over(0, 100 * DAY).grain(), Grain::Day);
    }

    #[test]
    fn a_part_begins_with_a_bar() {
        let bars = over(0, DAY);
        assert_eq!(bars.start_after(0), 0);
        assert_eq!(bars.start_after(1), 30 * 60 * 1000);
        assert_eq!(bars.start_after(30 * 60 * 1000), 30 * 60 * 1000);
    }
}
