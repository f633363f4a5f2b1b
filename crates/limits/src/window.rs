//! One caller and operation in memory: what this node admitted, until when nothing can be admitted,
//! what Redis has not heard of, and who is asking right now.

use std::{num::NonZeroU32, time::Duration};

use domain::limit::{Log, Quota, Verdict};

use crate::coalesce::Coalescer;

/// Kept small, because there is one for every active caller.
pub(crate) struct Window {
    /// The admissions of this node, on its own clock: what decides while Redis is away.
    log: Log,
    /// Until then an earlier refusal holds; 0 if there is none.
    denied_until_us: u64,
    count: NonZeroU32,
    window_ms: u32,
    /// What most windows do not have most of the time, so that it takes no room in them.
    passing: Option<Box<Passing>>,
}

#[derive(Default)]
struct Passing {
    /// Who is asking Redis, and who waits to.
    turn: Coalescer,
    /// Admissions that Redis has not heard of, oldest first.
    unsent: Vec<u64>,
}

impl Window {
    pub(crate) fn new(quota: Quota) -> Self {
        Self {
            log: Log::default(),
            denied_until_us: 0,
            count: quota.count,
            window_ms: narrow(quota),
            passing: None,
        }
    }

    /// Takes over the quota of a new request. A refusal under another quota says nothing.
    pub(crate) fn adopt(&mut self, quota: Quota) {
        if (self.count, self.window_ms) != (quota.count, narrow(quota)) {
            self.count = quota.count;
            self.window_ms = narrow(quota);
            self.denied_until_us = 0;
        }
    }

    pub(crate) fn quota(&self) -> Quota {
        Quota {
            count: self.count,
            window: Duration::from_millis(self.window_ms.into()),
        }
    }

    /// How long an earlier refusal still holds.
    pub(crate) fn denied_for(&self, now_us: u64) -> Option<Duration> {
        let left_us = self.denied_until_us.checked_sub(now_us)?;
        (left_us > 0).then(|| Duration::from_micros(left_us))
    }

    /// The requests that ask Redis together.
    pub(crate) fn turn(&mut self) -> &mut Coalescer {
        &mut self.passing.get_or_insert_default().turn
    }

    /// Whether nobody is asking Redis.
    pub(crate) fn is_idle(&self) -> bool {
        self.passing.as_ref().is_none_or(|one| one.turn.is_idle())
    }

    /// The call in flight has its answer.
    pub(crate) fn end_turn(&mut self) {
        self.turn().end();
        self.drop_what_has_passed();
    }

    /// Takes note of what Redis decided on a call that was sent at `sent_us`. If nothing remains,
    /// nothing can be admitted before a slot frees, by any node. The wait began when Redis
    /// decided, which is not before the call was sent: so this never refuses too long.
    pub(crate) fn learn(&mut self, quota: Quota, verdict: &Verdict, sent_us: u64, now_us: u64) {
        self.log.record(quota, now_us / 1_000, verdict.granted);
        if verdict.remaining == 0 && quota == self.quota() {
            self.denied_until_us = sent_us + micros(verdict.frees_in);
        }
    }

    /// Decides without Redis. `quota` is this node's part of the limit.
    pub(crate) fn decide(&mut self, quota: Quota, now_us: u64, wanted: u32) -> Verdict {
        self.log.decide(quota, now_us / 1_000, wanted)
    }

    /// Remembers to tell Redis of admissions that it did not count.
    pub(crate) fn add_unsynced(&mut self, admissions: u32, at_ms: u64) {
        let most = self.count.get() as usize;
        let unsent = &mut self.passing.get_or_insert_default().unsent;
        // Nearly always at the end; what was in doubt is found out later than what came after it.
        let place = unsent.partition_point(|earlier| *earlier <= at_ms);
        unsent.splice(
            place..place,
            std::iter::repeat_n(at_ms, admissions as usize),
        );
        // Only the newest `count` can ever matter; making room at twice that keeps it cheap.
        if unsent.len() > 2 * most {
            unsent.drain(..unsent.len() - most);
        }
    }

    /// Redis has lost its data: it has heard of nothing.
    pub(crate) fn owe_everything(&mut self) {
        if !self.log.is_empty() {
            self.passing.get_or_insert_default().unsent = self.log.times().collect();
        }
    }

    /// What Redis has to be told, as far as it is still in the window.
    pub(crate) fn take_unsent(&mut self, now_us: u64) -> Option<Vec<u64>> {
        let mut unsent = std::mem::take(&mut self.passing.as_mut()?.unsent);
        self.drop_what_has_passed();
        let window_ms = u64::from(self.window_ms);
        unsent.retain(|at| at + window_ms > now_us / 1_000);
        (!unsent.is_empty()).then_some(unsent)
    }

    /// Telling failed. What was cut into parts comes back one by one, and something may have come since:
    /// Redis relies on the order.
    pub(crate) fn put_back(&mut self, times: Vec<u64>) {
        let unsent = &mut self.passing.get_or_insert_default().unsent;
        unsent.extend(times);
        unsent.sort_unstable();
    }

    /// Forgets what no longer matters. Returns whether nothing is left.
    pub(crate) fn tidy(&mut self, now_us: u64) -> bool {
        self.log.tidy(self.quota(), now_us / 1_000);
        let is_quiet = self.log.is_empty() && self.denied_until_us <= now_us;
        if let Some(passing) = &mut self.passing {
            passing.turn.leave_if_deserted();
            if is_quiet {
                // Whatever is unsent was admitted here, and has left the window with the rest.
                passing.unsent.clear();
            }
            self.drop_what_has_passed();
        }
        is_quiet && self.passing.is_none()
    }

    fn drop_what_has_passed(&mut self) {
        if self
            .passing
            .as_ref()
            .is_some_and(|one| one.turn.is_idle() && one.unsent.is_empty())
        {
            self.passing = None;
        }
    }
}

/// A window is at most a day, some 86 million milliseconds.
fn narrow(quota: Quota) -> u32 {
    u32::try_from(quota.window_ms()).unwrap_or(u32::MAX)
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quota(text: &str) -> Quota {
        text.parse().expect("a quota")
    }

    #[test]
    fn a_window_is_small() {
        assert!(size_of::<Window>() <= 56, "{} bytes", size_of::<Window>());
    }

    #[test]
    fn a_refusal_holds_from_when_it_was_asked_for_until_a_slot_frees() {
        let mut window = Window::new(quota("1/1000ms"));
        let refused = Verdict {
            granted: 0,
            remaining: 0,
            frees_in: Duration::from_micros(300),
        };
        window.learn(quota("1/1000ms"), &refused, 1_000, 1_200);
        assert_eq!(window.denied_for(1_200), Some(Duration::from_micros(100)));
        assert_eq!(window.denied_for(1_299), Some(Duration::from_micros(1)));
        assert_eq!(window.denied_for(1_300), None);
        window.adopt(quota("1/1000ms"));
        assert!(window.denied_for(1_200).is_some());
        window.adopt(quota("2/1000ms"));
        assert_eq!(window.denied_for(1_200), None);
    }

    #[test]
    fn what_redis_said_about_another_quota_is_no_refusal() {
        let (old, new) = (quota("1/1000ms"), quota("2/1000ms"));
        let mut window = Window::new(old);
        // Asked under the old quota, and meanwhile somebody came with the new one.
        window.adopt(new);
        let full = Verdict {
            granted: 1,
            remaining: 0,
            frees_in: Duration::from_millis(500),
        };
        window.learn(old, &full, 0, 0);
        assert_eq!(window.denied_for(1), None);
        assert_eq!(window.decide(new, 0, 2).granted, 1, "but it is counted");
        window.learn(new, &full, 0, 0);
        assert!(window.denied_for(1).is_some());
    }

    #[test]
    fn what_redis_is_owed_is_bounded_and_leaves_with_the_window() {
        let mut window = Window::new(quota("3/1000ms"));
        for at_ms in (0..100).map(|number| number * 10) {
            window.add_unsynced(1, at_ms);
        }
        let unsynced = window.take_unsent(1_000_000).expect("some are unsynced");
        assert!((3..=6).contains(&unsynced.len()), "{unsynced:?}");
        assert!(unsynced.ends_with(&[970, 980, 990]));
        window.add_unsynced(1, 1_000);
        window.put_back(vec![980, 990]);
        assert_eq!(window.take_unsent(1_985_000), Some(vec![990, 1_000]));
        assert_eq!(window.take_unsent(1_985_000), None);
        window.add_unsynced(1, 0);
        assert!(window.tidy(1_000_000), "nothing of it counts any more");
    }

    #[test]
    fn a_quiet_window_is_forgotten() {
        let mut window = Window::new(quota("1/1000ms"));
        window.decide(quota("1/1000ms"), 0, 1);
        assert!(!window.tidy(999_999));
        assert!(window.tidy(1_000_000));
        let refused = Verdict {
            granted: 0,
            remaining: 0,
            frees_in: Duration::from_millis(5),
        };
        window.learn(quota("1/1000ms"), &refused, 2_000_000, 2_000_000);
        assert!(!window.tidy(2_004_999));
        assert!(window.tidy(2_005_000));
    }
}
