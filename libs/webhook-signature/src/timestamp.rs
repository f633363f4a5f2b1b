//! Reading the time a delivery was signed, and how far from now it may be.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::{Refusal, Side};

/// How far the signing time may be from now, in either direction: service specification, 5.2.7.
/// Exactly this far is still accepted.
#[expect(
    clippy::duration_suboptimal_units,
    reason = "the specification says 300 seconds"
)]
pub const REPLAY_WINDOW: Duration = Duration::from_secs(300);

/// Nanoseconds since 1970, negative before. Wide enough for every `SystemTime` and every year that
/// can be written, so comparing two of them cannot overflow.
pub(crate) type UnixNanos = i128;

const NANOS_PER_SECOND: i128 = 1_000_000_000;

/// Reads a date-time such as `2026-01-15T12:00:00.000Z`.
///
/// Watchbell always sends that form. Any other RFC 3339 date-time is accepted as well, because the
/// specification refuses only what cannot be parsed; but only in a shape that every language's
/// parser reads alike: see [`has_portable_shape`].
///
/// The offset (`Z` or `+01:00`) is required, and nothing may follow it. That also makes the signed
/// text unambiguous: the timestamp contains a full stop, and without a definite end of the
/// timestamp `…00:00.123Z` and a body could be cut again as `…00:00` and `123Z.` and the body.
pub(crate) fn parse(text: &str) -> Result<UnixNanos, Refusal> {
    if !has_portable_shape(text) {
        return Err(Refusal::TimestampUnparseable);
    }
    match OffsetDateTime::parse(text, &Rfc3339) {
        Ok(at) => Ok(at.unix_timestamp_nanos()),
        Err(_) => Err(Refusal::TimestampUnparseable),
    }
}

/// Excludes what RFC 3339 permits and parsers disagree about: a separator other than `T`, a
/// lowercase `z`, a leap second, and fractions finer than a nanosecond.
fn has_portable_shape(text: &str) -> bool {
    const FRACTION_DIGITS_MAX: usize = 9;
    let bytes = text.as_bytes();
    let fraction = bytes.get(20..).unwrap_or_default();
    let fraction_digits = fraction
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    bytes.get(10) == Some(&b'T')
        && bytes.get(17..19) != Some(b"60".as_slice())
        && bytes.last() != Some(&b'z')
        && fraction_digits <= FRACTION_DIGITS_MAX
}

/// Reads whole seconds since 1970, as Standard Webhooks writes them.
///
/// Only the one canonical spelling is accepted: verifiers in other languages sign over the number
/// they read, we sign over the text as received, and the two must be the same.
pub(crate) fn parse_unix_seconds(text: &str) -> Result<UnixNanos, Refusal> {
    match text.parse::<i64>() {
        Ok(seconds) if seconds >= 0 && seconds.to_string() == text => {
            Ok(i128::from(seconds) * NANOS_PER_SECOND)
        }
        _ => Err(Refusal::TimestampUnparseable),
    }
}

pub(crate) fn within_window(at: UnixNanos, now: SystemTime) -> Result<(), Refusal> {
    let ahead = at - unix_nanos(now);
    let off_by = duration(ahead.unsigned_abs());
    if off_by <= REPLAY_WINDOW {
        return Ok(());
    }
    let side = if ahead < 0 { Side::Past } else { Side::Future };
    Err(Refusal::TimestampOutsideWindow { off_by, side })
}

fn unix_nanos(at: SystemTime) -> UnixNanos {
    match at.duration_since(UNIX_EPOCH) {
        Ok(after) => nanos(after),
        Err(before) => -nanos(before.duration()),
    }
}

fn nanos(duration: Duration) -> i128 {
    i128::from(duration.as_secs()) * NANOS_PER_SECOND + i128::from(duration.subsec_nanos())
}

fn duration(nanos: u128) -> Duration {
    let nanos_per_second = NANOS_PER_SECOND.unsigned_abs();
    let seconds = u64::try_from(nanos / nanos_per_second).unwrap_or(u64::MAX);
    let rest = u32::try_from(nanos % nanos_per_second).expect("a remainder below 10^9 fits");
    Duration::new(seconds, rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_rfc_3339_with_an_offset() {
        let noon = parse("2026-01-15T12:00:00.000Z");
        assert_eq!(noon, Ok(1_768_478_400_000_000_000));
        for same in [
            "2026-01-15T12:00:00Z",
            "2026-01-15T12:00:00.000000000Z",
            "2026-01-15T13:30:00.000+01:30",
            "2026-01-15T11:00:00-01:00",
        ] {
            assert_eq!(parse(same), noon, "{same}");
        }
    }

    #[test]
    fn refuses_everything_else() {
        for text in [
            "",
            "now",
            "1768478400",
            "2026-01-15",
            "2026-01-15T12:00:00",
            "2026-01-15T12:00:00.000",
            "2026-01-15T12:00Z",
            "2026-01-15 12:00:00.000Z",
            "2026-01-15t12:00:00.000Z",
            "2026-01-15T12:00:00.000z",
            "2026-01-15T12:00:00.Z",
            "2026-01-15T12:00:00,000Z",
            "2026-01-15T12:00:00.0000000000Z",
            "2026-01-15T12:00:00.000+0100",
            "2026-01-15T12:00:00.000Z ",
            " 2026-01-15T12:00:00.000Z",
            "2026-01-15T12:00:00.000Z.{}",
            "2026-02-29T12:00:00.000Z",
            "2026-01-15T24:00:00.000Z",
            "2026-12-31T23:59:60.000Z",
            "2026-01-15T12:00:00.000Ż",
            "+2026-01-15T12:00:00.000Z",
        ] {
            assert_eq!(parse(text), Err(Refusal::TimestampUnparseable), "{text:?}");
        }
    }

    #[test]
    fn reads_unix_seconds_in_one_spelling_only() {
        assert_eq!(
            parse_unix_seconds("1768478400"),
            Ok(1_768_478_400_000_000_000)
        );
        for text in [
            "",
            "-1",
            "-0",
            "+1",
            "01",
            "1.0",
            " 1",
            "1e9",
            "９",
            "9223372036854775808",
        ] {
            assert_eq!(
                parse_unix_seconds(text),
                Err(Refusal::TimestampUnparseable),
                "{text:?}"
            );
        }
    }

    #[test]
    fn the_window_is_exact_on_both_sides() {
        let now = UNIX_EPOCH + Duration::from_hours(24);
        let off = |nanos: i128| within_window(unix_nanos(now) + nanos, now);
        let edge = nanos(REPLAY_WINDOW);
        assert_eq!(off(edge), Ok(()));
        assert_eq!(off(-edge), Ok(()));
        let off_by = REPLAY_WINDOW + Duration::from_nanos(1);
        let refused = |side| Err(Refusal::TimestampOutsideWindow { off_by, side });
        assert_eq!(off(edge + 1), refused(Side::Future));
        assert_eq!(off(-edge - 1), refused(Side::Past));
    }

    #[test]
    fn a_clock_before_1970_is_no_special_case() {
        let now = UNIX_EPOCH - Duration::from_secs(1);
        assert_eq!(within_window(299 * NANOS_PER_SECOND, now), Ok(()));
        assert!(within_window(300 * NANOS_PER_SECOND, now).is_err());
    }
}
