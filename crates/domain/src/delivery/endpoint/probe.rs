//! An open breaker: nothing is sent but a probe now and then.

use std::time::Duration;

use super::{Endpoint, OpenBreaker};
use crate::Timestamp;

/// The wait before the first probe: most failures are restarts, which are over by then.
const FIRST_WAIT: Duration = Duration::from_secs(5);

/// The waits double up to this: an endpoint that is well again gets its alerts within a minute.
const WAIT_MAX: Duration = Duration::from_secs(60);

impl OpenBreaker {
    pub(super) fn new(now: Timestamp) -> Self {
        Self {
            since: now,
            probes: 0,
            probe_at: now.plus(wait(0)),
        }
    }
}

impl Endpoint {
    /// Takes the probe that the gate offers. The next may be when this one's wait is over, whether or
    /// not this one was heard of again: a worker that dies with a probe is replaced.
    pub fn start_probe(&mut self, now: Timestamp) {
        if let Some(breaker) = &mut self.breaker {
            breaker.probes = breaker.probes.saturating_add(1);
            breaker.probe_at = now.plus(wait(breaker.probes));
        }
    }
}

/// 5, 10, 20, 40, 60, 60.. seconds, by how many probes there were.
fn wait(probes: u32) -> Duration {
    let factor = 1_u32.checked_shl(probes).unwrap_or(u32::MAX);
    FIRST_WAIT.saturating_mul(factor).min(WAIT_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probes_come_every_5_seconds_doubling_to_60() {
        let waits = [0, 1, 2, 3, 4, 5, 31, 32, u32::MAX].map(|probes| wait(probes).as_secs());
        assert_eq!(waits, [5, 10, 20, 40, 60, 60, 60, 60, 60]);
    }
}
