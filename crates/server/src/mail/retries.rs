//! How often a letter is tried and when; what waits for its next try, the soonest first, and no more than so much of it.

use std::{collections::BTreeMap, time::Duration};

use tokio::time::Instant;

/// Tries of one letter. With the pauses below the last is some six minutes after the first: a mail
/// server that restarts is back, and the link in the letter still works.
pub(super) const TRIES_MAX: u32 = 12;
const PAUSE_MIN: Duration = Duration::from_millis(500);
const PAUSE_MAX: Duration = Duration::from_secs(60);
/// How many may wait. As many as may wait for their first try: a mail server that takes nothing for a
/// few minutes, and about two megabytes of mails.
const WAITING_MAX: usize = 1_000;

/// How long to wait after this many tries: twice as long each time.
pub(super) fn pause_after(tries: u32) -> Duration {
    let doublings = tries.saturating_sub(1);
    let pause = PAUSE_MIN.saturating_mul(2_u32.saturating_pow(doublings));
    pause.min(PAUSE_MAX)
}

/// Things to be tried again, by when.
pub(super) struct Retries<T> {
    /// The number keeps those apart that are due at the same moment.
    by_due: BTreeMap<(Instant, u64), T>,
    next_number: u64,
}

impl<T> Retries<T> {
    pub(super) fn new() -> Self {
        Self {
            by_due: BTreeMap::new(),
            next_number: 0,
        }
    }

    /// `false` if too many wait, and this one does not.
    #[must_use]
    pub(super) fn push(&mut self, due: Instant, thing: T) -> bool {
        if self.by_due.len() >= WAITING_MAX {
            return false;
        }
        self.by_due.insert((due, self.next_number), thing);
        self.next_number += 1;
        true
    }

    /// When the first is due.
    pub(super) fn next_due(&self) -> Option<Instant> {
        let ((due, _), _) = self.by_due.first_key_value()?;
        Some(*due)
    }

    /// Takes the one that is due first.
    pub(super) fn pop(&mut self) -> Option<T> {
        self.by_due.pop_first().map(|(_, thing)| thing)
    }

    pub(super) fn len(&self) -> usize {
        self.by_due.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_due.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_soonest_comes_first_and_of_too_many_the_newest_does_not_wait() {
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        let mut retries = Retries::new();
        assert_eq!((retries.next_due(), retries.pop()), (None, None));
        for (due, name) in [(2, "c"), (1, "a"), (1, "b")] {
            assert!(retries.push(after(due), name));
        }
        assert_eq!(retries.next_due(), Some(after(1)));
        let order: Vec<_> = std::iter::from_fn(|| retries.pop()).collect();
        assert_eq!(order, ["a", "b", "c"]);

        for _ in 0..WAITING_MAX {
            assert!(retries.push(after(1), "kept"));
        }
        assert!(!retries.push(after(0), "dropped"));
        assert_eq!(retries.len(), WAITING_MAX);
        assert_eq!(retries.pop(), Some("kept"));
        assert!(retries.push(after(0), "kept again"));
    }
}
