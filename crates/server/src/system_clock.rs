//! The real clock: everything else is handed it.

use std::time::{SystemTime, UNIX_EPOCH};

use domain::{Timestamp, clock::Clock};

pub(crate) const SYSTEM: Clock = Clock::new(now);

#[expect(
    clippy::disallowed_methods,
    reason = "this is the one place that reads the clock"
)]
fn now() -> Timestamp {
    let since_1970 = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    Timestamp::from_unix_millis(i64::try_from(since_1970.as_millis()).unwrap_or(i64::MAX))
}
