//! A clock for durations: microseconds since it was made. It never goes back and knows no date.

use std::time::Instant;

#[derive(Clone, Debug)]
pub(crate) enum Clock {
    Real(Instant),
    /// For tests: the time is what was stored last.
    #[cfg(test)]
    Set(std::sync::Arc<std::sync::atomic::AtomicU64>),
    /// For the simulation: tokio's time, which stands still until nobody has anything to do, and so much more.
    #[cfg(test)]
    Simulated {
        began: tokio::time::Instant,
        ahead_us: u64,
    },
}

impl Clock {
    pub(crate) fn start() -> Self {
        Self::Real(Instant::now())
    }

    pub(crate) fn now_us(&self) -> u64 {
        match self {
            Self::Real(started) => u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX),
            #[cfg(test)]
            Self::Set(now_us) => now_us.load(std::sync::atomic::Ordering::SeqCst),
            #[cfg(test)]
            Self::Simulated { began, ahead_us } => {
                let elapsed = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
                elapsed.saturating_add(*ahead_us)
            }
        }
    }
}
