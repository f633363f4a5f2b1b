//! Cuts a time into the whole days, hours and minutes that are counted, and what is left over at its ends.

use domain::Day;

use crate::events::Grain;

/// From `low` on and before `high`, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub low: i64,
    pub high: i64,
}

/// Counted intervals, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Whole {
    pub grain: Grain,
    pub span: Span,
}

/// What a time was cut into.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Split {
    pub whole: Vec<Whole>,
    /// What no interval covers exactly.
    pub ends: Vec<Span>,
    /// Whether the intervals reach beyond the time.
    pub is_wider: bool,
}

/// What becomes of the ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ends {
    /// Their events are read one by one.
    Read,
    /// The intervals that they are in count as a whole, which is too much.
    Widened,
}

impl Span {
    /// What both have in common; `None` if that is nothing.
    pub(super) fn part_in(self, other: Self) -> Option<Self> {
        let part = Self {
            low: self.low.max(other.low),
            high: self.high.min(other.high),
        };
        (part.low < part.high).then_some(part)
    }

    /// The whole intervals that it touches.
    fn widened(self, grain: Grain) -> Self {
        Self {
            low: grain.bucket(self.low),
            high: ceiling(grain, self.high),
        }
    }
}

impl Split {
    /// Cuts a time into grains up to `coarsest`. Minutes are there from `minutes_from` on.
    pub(super) fn of(span: Span, coarsest: Grain, minutes_from: i64, ends: Ends) -> Self {
        let covered = match ends {
            Ends::Read => span,
            Ends::Widened if span.low < minutes_from => span.widened(Grain::Hour),
            Ends::Widened => span.widened(Grain::Minute),
        };
        let mut split = Self {
            is_wider: covered != span,
            ..Self::default()
        };
        split.cut(covered, coarsest, minutes_from);
        split
    }

    pub(super) fn append(&mut self, other: Self) {
        self.whole.extend(other.whole);
        self.ends.extend(other.ends);
        self.is_wider |= other.is_wider;
    }

    fn cut(&mut self, span: Span, grain: Grain, minutes_from: i64) {
        if span.low >= span.high {
            return;
        }
        let mut counted = Span {
            low: ceiling(grain, span.low),
            high: grain.bucket(span.high),
        };
        if grain == Grain::Minute {
            counted.low = counted.low.max(ceiling(grain, minutes_from));
        }
        if counted.low >= counted.high {
            return self.cut_finer(span, grain, minutes_from);
        }
        let before = Span {
            high: counted.low,
            ..span
        };
        let after = Span {
            low: counted.high,
            ..span
        };
        self.cut_finer(before, grain, minutes_from);
        self.whole.push(Whole {
            grain,
            span: counted,
        });
        self.cut_finer(after, grain, minutes_from);
    }

    fn cut_finer(&mut self, span: Span, grain: Grain, minutes_from: i64) {
        match grain {
            Grain::Day => self.cut(span, Grain::Hour, minutes_from),
            Grain::Hour => self.cut(span, Grain::Minute, minutes_from),
            Grain::Minute if span.low < span.high => self.ends.push(span),
            Grain::Minute => {}
        }
    }
}

/// Days that follow each other, as one piece of time each.
pub(super) fn runs(days: &[Day]) -> Vec<Span> {
    let mut runs: Vec<Span> = Vec::new();
    for day in days {
        let low = day.start().unix_millis();
        let high = day.next().start().unix_millis();
        match runs.last_mut() {
            Some(run) if run.high == low => run.high = high,
            _ => runs.push(Span { low, high }),
        }
    }
    runs
}

/// The first start of an interval then or later.
fn ceiling(grain: Grain, millis: i64) -> i64 {
    grain.bucket(millis + grain.millis() - 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MINUTE: i64 = 60_000;
    const HOUR: i64 = 60 * MINUTE;
    const DAY: i64 = 24 * HOUR;

    fn whole(grain: Grain, low: i64, high: i64) -> Whole {
        Whole {
            grain,
            span: Span { low, high },
        }
    }

    #[test]
    fn the_longest_intervals_are_in_the_middle_and_the_rest_is_at_the_ends() {
        let span = Span {
            low: DAY - HOUR - MINUTE - 1,
            high: 3 * DAY + 2 * HOUR + 7,
        };
        let split = Split::of(span, Grain::Day, 0, Ends::Read);
        assert_eq!(
            split.whole,
            [
                whole(Grain::Minute, DAY - HOUR - MINUTE, DAY - HOUR),
                whole(Grain::Hour, DAY - HOUR, DAY),
                whole(Grain::Day, DAY, 3 * DAY),
                whole(Grain::Hour, 3 * DAY, 3 * DAY + 2 * HOUR),
            ]
        );
        let ends = [(span.low, span.low + 1), (span.high - 7, span.high)];
        assert_eq!(split.ends, ends.map(|(low, high)| Span { low, high }));
    }

    #[test]
    fn where_minutes_are_not_kept_events_are_read() {
        let span = Span {
            low: HOUR + 1,
            high: 3 * HOUR,
        };
        let split = Split::of(span, Grain::Day, DAY, Ends::Read);
        assert_eq!(split.whole, [whole(Grain::Hour, 2 * HOUR, 3 * HOUR)]);
        assert_eq!(split.ends.len(), 1);
        let widened = Split::of(span, Grain::Day, DAY, Ends::Widened);
        assert_eq!(widened.whole, [whole(Grain::Hour, HOUR, 3 * HOUR)]);
        assert!(widened.ends.is_empty());
        assert!(widened.is_wider);
    }

    #[test]
    fn days_that_follow_each_other_are_one_piece() {
        let days = [3, 4, 5, 9].map(Day::from_number);
        let runs: Vec<(i64, i64)> = runs(&days).iter().map(|run| (run.low, run.high)).collect();
        assert_eq!(runs, [(3 * DAY, 6 * DAY), (9 * DAY, 10 * DAY)]);
    }

    proptest! {
        #[test]
        fn the_pieces_are_the_whole_and_do_not_overlap(
            low in 0..10 * DAY, length in 0..10 * DAY, minutes_from in 0..20 * DAY,
            coarsest in prop::sample::select(Grain::ALL.to_vec()),
        ) {
            let span = Span { low, high: low + length };
            let split = Split::of(span, coarsest, minutes_from, Ends::Read);
            let mut pieces: Vec<Span> = split.whole.iter().map(|one| one.span).collect();
            pieces.extend(&split.ends);
            pieces.sort_by_key(|piece| piece.low);
            let mut reached = low;
            for piece in pieces {
                prop_assert_eq!(piece.low, reached);
                prop_assert!(piece.high > piece.low);
                reached = piece.high;
            }
            prop_assert_eq!(reached, span.high);
            for one in &split.whole {
                prop_assert_eq!(one.span.low % one.grain.millis(), 0);
                prop_assert_eq!(one.span.high % one.grain.millis(), 0);
                prop_assert!(one.grain != Grain::Minute || one.span.low >= minutes_from);
            }
        }
    }
}
