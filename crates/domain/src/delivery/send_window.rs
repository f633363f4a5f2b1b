//! How many sends an endpoint may have in flight: a congestion window, kept by one worker.
//!
//! It is what TCP has too: it halves when the receiver is too slow or says that it has too much, and grows by one for each
//! whole window of successes. It is not shared: each worker finds its own share of what the receiver can take.

use super::{Answer, Outcome};

/// How much one endpoint takes at a time.
#[derive(Clone, Debug)]
pub struct SendWindow {
    max: u32,
    limit: u32,
    /// Successes since the window last changed.
    credit: u32,
    /// The breaker has just closed: the window doubles.
    ramping: bool,
}

impl SendWindow {
    /// A new endpoint is trusted with all that the setting allows.
    pub fn new(max: u32) -> Self {
        let max = max.max(1);
        Self {
            max,
            limit: max,
            credit: 0,
            ramping: false,
        }
    }

    /// How many attempts may be in flight.
    pub fn limit(&self) -> u32 {
        self.limit
    }

    /// Begins again with one at a time, because the breaker has closed: 1, 2, 4, 8.
    pub fn ramp(&mut self) {
        *self = Self {
            limit: 1,
            ramping: self.max > 1,
            ..Self::new(self.max)
        };
    }

    /// Grows or shrinks by how one attempt ended.
    pub fn answered(&mut self, answer: &Answer) {
        if !answer.outcome.is_about_the_receiver() {
            return;
        }
        let overloaded = answer.timed_out || matches!(answer.status, Some(429 | 502..=504));
        if answer.outcome != Outcome::Delivered {
            self.ramping = false;
            if overloaded {
                self.limit = (self.limit / 2).max(1);
                self.credit = 0;
            }
        } else if self.ramping {
            self.limit = self.limit.saturating_mul(2).min(self.max);
            self.ramping = self.limit < self.max;
        } else if self.limit < self.max {
            self.credit += 1;
            if self.credit >= self.limit {
                self.limit += 1;
                self.credit = 0;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::test_answers::{no_answer, status};
    use super::*;

    #[test]
    fn the_window_halves_on_overload_and_nothing_else() {
        let slow = no_answer(Outcome::Transient, true);
        let refused = no_answer(Outcome::Transient, false);
        let ours = no_answer(Outcome::OurFault, true);
        for (answer, limit) in [
            (slow, 4),
            (status(429), 4),
            (status(502), 4),
            (status(503), 4),
            (status(504), 4),
            (status(500), 8),
            (status(404), 8),
            (status(301), 8),
            (refused, 8),
            (ours, 8),
        ] {
            let mut window = SendWindow::new(8);
            window.answered(&answer);
            assert_eq!(window.limit(), limit, "{answer:?}");
        }
    }

    #[test]
    fn the_window_grows_by_one_for_each_window_of_successes() {
        let mut window = SendWindow::new(4);
        for _ in 0..9 {
            window.answered(&status(503));
        }
        assert_eq!(window.limit(), 1);
        let limits: Vec<u32> = (0..8)
            .map(|_| {
                window.answered(&status(200));
                window.limit()
            })
            .collect();
        assert_eq!(limits, [2, 2, 3, 3, 3, 4, 4, 4]);
    }

    #[test]
    fn after_the_breaker_closed_the_window_doubles_with_each_success() {
        let mut window = SendWindow::new(8);
        window.ramp();
        let mut limits = vec![window.limit()];
        for _ in 0..4 {
            window.answered(&status(200));
            limits.push(window.limit());
        }
        assert_eq!(limits, [1, 2, 4, 8, 8]);
        window.ramp();
        for answer in [status(200), status(500), status(200)] {
            window.answered(&answer);
        }
        assert_eq!(window.limit(), 2, "a failure ends the doubling");
    }

    proptest! {
        #[test]
        fn the_window_is_never_empty_and_never_larger_than_the_setting(
            max in 0u32..70,
            answers in prop::collection::vec((100u16..600, any::<bool>()), 0..200),
        ) {
            let mut window = SendWindow::new(max);
            for (code, ramp) in answers {
                window.answered(&status(code));
                if ramp {
                    window.ramp();
                }
                prop_assert!((1..=max.max(1)).contains(&window.limit()));
            }
        }
    }
}
