//! The clock as an argument: only the server's `system_clock` reads the real one.

use crate::Timestamp;

/// Where "now" comes from. A plain function pointer: copying it is free and a test passes its own.
#[derive(Clone, Copy, Debug)]
pub struct Clock(fn() -> Timestamp);

impl Clock {
    pub const fn new(now: fn() -> Timestamp) -> Self {
        Self(now)
    }

    pub fn now(self) -> Timestamp {
        (self.0)()
    }
}
