//! The rule of a limit, over the times of past admissions.

use std::{collections::VecDeque, time::Duration};

use super::Quota;

/// The admissions of one caller and operation that may still matter, oldest first, in milliseconds
/// of any one clock.
#[derive(Clone, Debug, Default)]
pub struct Log {
    admitted_at: VecDeque<u64>,
}

/// What was decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// How many of those wanted are admitted.
    pub granted: u32,
    /// How many more would be admitted now.
    pub remaining: u32,
    /// How long until one more would be: until the oldest admission that counts leaves the window.
    /// If there is none, the window.
    pub frees_in: Duration,
}

/// What `Retry-After` says: whole seconds, rounded up so that who waits is admitted, at least 1.
pub fn retry_after_s(frees_in: Duration) -> u64 {
    let started_second = u64::from(frees_in.subsec_nanos() > 0);
    (frees_in.as_secs() + started_second).max(1)
}

impl Log {
    /// Decides on `wanted` requests that arrive together, and records those it admits. If the
    /// clock goes back it stands still here: nobody is admitted twice for the same time.
    pub fn decide(&mut self, quota: Quota, now_ms: u64, wanted: u32) -> Verdict {
        let now_ms = self.advance(quota, now_ms);
        let free = quota.count.get().saturating_sub(self.count());
        let granted = wanted.min(free);
        self.push(now_ms, granted);
        Verdict {
            granted,
            remaining: free - granted,
            frees_in: self.frees_in(quota, now_ms),
        }
    }

    /// Records admissions that were decided elsewhere.
    pub fn record(&mut self, quota: Quota, now_ms: u64, admissions: u32) {
        let now_ms = self.advance(quota, now_ms);
        self.push(now_ms, admissions);
    }

    /// Forgets what has left the window, and the room it took.
    pub fn tidy(&mut self, quota: Quota, now_ms: u64) {
        self.advance(quota, now_ms);
        if self.admitted_at.capacity() > ROOMY.max(2 * self.admitted_at.len()) {
            self.admitted_at.shrink_to_fit();
        }
    }

    pub fn is_empty(&self) -> bool {
        self.admitted_at.is_empty()
    }

    /// The times, oldest first.
    pub fn times(&self) -> impl ExactSizeIterator<Item = u64> + '_ {
        self.admitted_at.iter().copied()
    }

    /// Drops what has left the window; returns the time that counts as now.
    fn advance(&mut self, quota: Quota, now_ms: u64) -> u64 {
        let newest = self.admitted_at.back().copied().unwrap_or(0);
        let now_ms = now_ms.max(newest);
        let window_ms = quota.window_ms();
        let has_left = |at: &u64| at.saturating_add(window_ms) <= now_ms;
        if self.admitted_at.front().is_some_and(has_left) {
            let expired = self.admitted_at.partition_point(has_left);
            self.admitted_at.drain(..expired);
        }
        now_ms
    }

    fn push(&mut self, now_ms: u64, admissions: u32) {
        // Most callers make a request or two in a window: the first takes no more room than it needs.
        if self.admitted_at.capacity() == 0 {
            self.admitted_at.reserve_exact(admissions as usize);
        }
        self.admitted_at
            .extend(std::iter::repeat_n(now_ms, admissions as usize));
    }

    /// With more admissions than the quota (it was lowered, or a shared log was merged), a slot is
    /// free when only `count - 1` are left: the newest `count` are those that matter.
    fn frees_in(&self, quota: Quota, now_ms: u64) -> Duration {
        let surplus = self.count().saturating_sub(quota.count.get());
        match self.admitted_at.get(surplus as usize) {
            Some(at) => Duration::from_millis(at + quota.window_ms() - now_ms),
            None => quota.window,
        }
    }

    fn count(&self) -> u32 {
        u32::try_from(self.admitted_at.len()).unwrap_or(u32::MAX)
    }
}

/// Below this many places, giving room back saves nothing.
const ROOMY: usize = 8;

#[cfg(test)]
mod tests;
