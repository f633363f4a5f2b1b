//! Times in arguments: RFC 3339, a day, or how long ago or from now (`90s`, `15m`, `24h`, `7d`).

use std::time::Duration;

use domain::Timestamp;

use crate::machine::CLOCK;

const DAY: Duration = Duration::from_hours(24);
/// Of `2026-11-15`.
const DAY_LENGTH: usize = 10;

/// Reads an argument; for clap.
pub(crate) fn argument(text: &str) -> Result<Timestamp, String> {
    parse(text, CLOCK.now()).ok_or_else(|| {
        "expected a time such as 2026-11-15T09:30:00Z, a day in UTC such as 2026-11-15, today or yesterday, or how long ago: 90s, 15m, 24h, 7d"
            .to_owned()
    })
}

fn parse(text: &str, now: Timestamp) -> Option<Timestamp> {
    match text {
        "now" => Some(now),
        "today" => midnight(&now.to_string()),
        "yesterday" => midnight(&now.minus(DAY).to_string()),
        _ => Timestamp::parse(text)
            .or_else(|| day(text))
            .or_else(|| span(text).map(|ago| now.minus(ago))),
    }
}

/// Reads an argument that is about the future; for clap.
pub(crate) fn to_come(text: &str) -> Result<Timestamp, String> {
    parse_to_come(text, CLOCK.now()).ok_or_else(|| {
        "expected a time such as 2027-01-01T00:00:00Z, a day in UTC such as 2027-01-01, or in how long: 24h, 90d"
            .to_owned()
    })
}

fn parse_to_come(text: &str, now: Timestamp) -> Option<Timestamp> {
    Timestamp::parse(text)
        .or_else(|| day(text))
        .or_else(|| span(text).map(|ahead| now.plus(ahead)))
}

fn day(text: &str) -> Option<Timestamp> {
    midnight(text).filter(|_| text.len() == DAY_LENGTH)
}

/// The beginning of a day, in UTC like every time that is shown.
fn midnight(text: &str) -> Option<Timestamp> {
    Timestamp::parse(&format!("{}T00:00:00Z", text.get(..DAY_LENGTH)?))
}

fn span(text: &str) -> Option<Duration> {
    let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let seconds = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3_600,
        "d" => 86_400,
        _ => return None,
    };
    let number: u32 = number.parse().ok()?;
    Some(Duration::from_secs(u64::from(number) * seconds))
}

/// Reads how long something lasts; for clap.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    span(text).ok_or_else(|| "expected a duration such as 0s, 15m, 1h or 7d".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_written_out_or_a_day_or_so_long_ago() {
        let now = Timestamp::parse("2026-11-15T12:00:00Z").expect("a time");
        let read = |text| parse(text, now).map(|at| at.to_string());
        let at = |text: &str| Some(text.to_owned());
        assert_eq!(
            read("2026-11-15T09:30:00+01:00"),
            at("2026-11-15T08:30:00.000Z")
        );
        assert_eq!(read("now"), at("2026-11-15T12:00:00.000Z"));
        assert_eq!(read("90s"), at("2026-11-15T11:58:30.000Z"));
        assert_eq!(read("15m"), at("2026-11-15T11:45:00.000Z"));
        assert_eq!(read("24h"), at("2026-11-14T12:00:00.000Z"));
        assert_eq!(read("7d"), at("2026-11-08T12:00:00.000Z"));
        assert_eq!(read("today"), at("2026-11-15T00:00:00.000Z"));
        assert_eq!(read("yesterday"), at("2026-11-14T00:00:00.000Z"));
        assert_eq!(read("2026-11-01"), at("2026-11-01T00:00:00.000Z"));
        for wrong in [
            "",
            "h",
            "-1h",
            "1w",
            "1é",
            "lately",
            "2026-11-31",
            "2026-11-15T",
        ] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn what_is_to_come_is_a_time_or_a_day_or_so_far_ahead() {
        let now = Timestamp::parse("2026-11-15T12:00:00Z").expect("a time");
        let read = |text| parse_to_come(text, now).map(|at| at.to_string());
        let at = |text: &str| Some(text.to_owned());
        assert_eq!(read("2027-01-01T00:00:00Z"), at("2027-01-01T00:00:00.000Z"));
        assert_eq!(read("2027-01-01"), at("2027-01-01T00:00:00.000Z"));
        assert_eq!(read("24h"), at("2026-11-16T12:00:00.000Z"));
        assert_eq!(read("90d"), at("2027-02-13T12:00:00.000Z"));
        for wrong in ["", "soon", "yesterday", "2027-02-30", "2027-01-01T"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
