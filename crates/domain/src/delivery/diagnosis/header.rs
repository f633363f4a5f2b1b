//! The two headers of an answer that say something about time.

use std::time::{Duration, UNIX_EPOCH};

use crate::{Timestamp, delivery::outcome::QUIET_MAX};

/// What `Retry-After` asks for (RFC 9110, 10.2.3): seconds, or a moment. A moment of the past, or
/// fewer than no seconds, is no wait; more than a day is a day; anything else is as if it were absent.
pub fn retry_after(value: &str, now: Timestamp) -> Option<Duration> {
    let value = value.trim();
    let asked = match value.strip_prefix('-') {
        Some(digits) if is_number(digits) => Duration::ZERO,
        None if is_number(value) => Duration::from_secs(value.parse().unwrap_or(u64::MAX)),
        _ => moment(value)?.since(now),
    };
    Some(asked.min(QUIET_MAX))
}

/// How many seconds the receiver's clock is ahead of ours, by the `Date` of its answer; negative:
/// behind. It includes the time that the answer took, and whole seconds are all that `Date` has.
pub fn clock_skew(date: &str, now: Timestamp) -> Option<i32> {
    let ahead = moment(date.trim())?.unix_seconds() - now.unix_seconds();
    let within = ahead.clamp(i32::MIN.into(), i32::MAX.into());
    i32::try_from(within).ok()
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Any of the three forms of RFC 9110, 5.6.7.
fn moment(text: &str) -> Option<Timestamp> {
    let moment = httpdate::parse_http_date(text).ok()?;
    let since_1970 = moment.duration_since(UNIX_EPOCH).ok()?;
    Some(Timestamp::default().plus(since_1970))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Sun, 06 Nov 1994 08:49:37 GMT, the example of the RFC.
    const NOW: Timestamp = Timestamp::from_unix_millis(784_111_777_250);

    #[test]
    fn a_wait_is_read_in_every_form_and_garbage_in_none() {
        for (value, seconds) in [
            ("120", Some(120)),
            (" 120 ", Some(120)),
            ("0", Some(0)),
            ("-5", Some(0)),
            ("86401", Some(86_400)),
            ("99999999999999999999999999", Some(86_400)),
            ("Sun, 06 Nov 1994 08:50:37 GMT", Some(59)),
            ("Sunday, 06-Nov-94 08:50:37 GMT", Some(59)),
            ("Sun Nov  6 08:50:37 1994", Some(59)),
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(0)),
            ("Mon, 01 Jan 2080 00:00:00 GMT", Some(86_400)),
            ("", None),
            ("-", None),
            ("--1", None),
            ("+1", None),
            ("1.5", None),
            ("1e3", None),
            ("soon", None),
            ("Sun, 06 Nov 1994", None),
            ("\u{0661}", None),
        ] {
            let read = retry_after(value, NOW).map(|wait| wait.as_secs());
            assert_eq!(read, seconds, "{value:?}");
        }
    }

    #[test]
    fn a_clock_is_compared_in_whole_seconds() {
        for (date, skew) in [
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(0)),
            ("Sun, 06 Nov 1994 08:50:37 GMT", Some(60)),
            ("Sun, 06 Nov 1994 08:39:37 GMT", Some(-600)),
            ("Fri, 31 Dec 9999 23:59:59 GMT", Some(i32::MAX)),
            ("yesterday", None),
            ("120", None),
        ] {
            assert_eq!(clock_skew(date, NOW), skew, "{date:?}");
        }
    }

    proptest! {
        #[test]
        fn whatever_a_receiver_writes_is_read_or_ignored(value: String, millis: i64) {
            let now = Timestamp::from_unix_millis(millis);
            prop_assert!(retry_after(&value, now).unwrap_or_default() <= QUIET_MAX);
            let _ = clock_skew(&value, now);
        }
    }
}
