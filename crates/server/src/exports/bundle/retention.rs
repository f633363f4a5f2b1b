//! Which records may have left the trail because of their age: then nobody deleted them whom the auditor should hear of.
//!
//! It is the condition by which `events/retention.rs` drops days, asked of a leaf.

use std::{collections::BTreeSet, time::Duration};

use domain::{Day, Timestamp};
use trail_proof::leaf::Leaf;

/// How long what is kept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kept {
    pub(crate) events: Duration,
    pub(crate) deliveries: Duration,
}

/// What had left the trail at some time.
pub(super) struct Retention {
    pub(super) kept: Kept,
    /// The days that have a file in the archive, which keeps what the database drops.
    pub(super) archived: BTreeSet<Day>,
    /// By the database's clock, as who drops days has no later one.
    pub(super) now: Timestamp,
}

impl Retention {
    /// Days of events are dropped as a whole.
    pub(super) fn may_have_dropped_event(&self, leaf: &Leaf) -> bool {
        let day = Day::of(Timestamp::from_unix_millis(leaf.occurred_ms));
        let is_overdue = day.next().start().plus(self.kept.events) <= self.now;
        is_overdue && !self.archived.contains(&day)
    }

    /// An attempt is dropped with the day of its delivery's event, which its leaf does not say; but never with another one
    /// that is younger than attempts are kept, so not while it is that young itself.
    pub(super) fn may_have_dropped_attempt(&self, leaf: &Leaf) -> bool {
        Timestamp::from_unix_millis(leaf.received_ms) < self.now.minus(self.kept.deliveries)
    }
}

#[cfg(test)]
mod tests {
    use trail_proof::leaf::{Commitment, Kind};

    use super::*;

    const DAY: Duration = Duration::from_hours(24);

    /// A leaf of an event that occurred at noon of day 100, or of an attempt that was over by then.
    fn leaf(kind: Kind) -> Leaf {
        let noon = Day::from_number(100).start().plus(DAY / 2).unix_millis();
        Leaf {
            kind,
            id: [7; 16],
            occurred_ms: noon,
            received_ms: noon,
            commitment: Commitment([9; 32]),
        }
    }

    /// As of so many hours after the start of day 110.
    fn retention(hours: u64, archived: Option<i64>) -> Retention {
        Retention {
            kept: Kept {
                events: DAY * 10,
                deliveries: DAY * 10,
            },
            archived: archived.map(Day::from_number).into_iter().collect(),
            now: Day::from_number(110)
                .start()
                .plus(Duration::from_hours(hours)),
        }
    }

    #[test]
    fn an_event_is_kept_until_its_day_is_dropped_and_for_ever_in_the_archive() {
        let cases = [
            (23, None, false),
            (24, None, true),
            (24, Some(99), true),
            (24, Some(100), false),
        ];
        for (hours, archived, expected) in cases {
            let retention = retention(hours, archived);
            let dropped = retention.may_have_dropped_event(&leaf(Kind::Event));
            assert_eq!(dropped, expected, "{hours} {archived:?}");
        }
    }

    #[test]
    fn an_attempt_is_kept_until_it_is_old_enough_itself() {
        for (hours, expected) in [(0, false), (12, false), (13, true)] {
            let dropped = retention(hours, None).may_have_dropped_attempt(&leaf(Kind::Attempt));
            assert_eq!(dropped, expected, "{hours}");
        }
    }
}
