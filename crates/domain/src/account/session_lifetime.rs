//! How long people stay logged in: a session ends a week after it was last used, and a month after it was made whatever
//! happens.

use std::time::Duration;

/// A session that nobody used for this long has ended.
pub const IDLE_MAX: Duration = Duration::from_hours(7 * 24);
/// A session that was made this long ago has ended.
pub const AGE_MAX: Duration = Duration::from_hours(30 * 24);
/// `last_seen_at` is not written more often than this: a page that asks ten times a second must not
/// write ten times a second.
pub const SEEN_EVERY: Duration = Duration::from_mins(5);
/// How many sessions one person may have; the oldest go. More than anybody has devices, and few
/// enough to list on one page.
pub const SESSIONS_MAX: u32 = 50;
