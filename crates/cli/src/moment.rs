//! Times in arguments: RFC 3339, or how long ago (`90s`, `15m`, `24h`, `7d`).

use std::time::Duration;

use domain::Timestamp;

use crate::machine::CLOCK;

/// Reads an argument; for clap.
pub(crate) fn argument(text: &str) -> Result<Timestamp, String> {
    parse(text, CLOCK.now()).ok_or_else(|| {
        "expected a time such as 2026-11-15T09:30:00Z, or how long ago: 90s, 15m, 24h, 7d"
            .to_owned()
    })
}

fn parse(text: &str, now: Timestamp) -> Option<Timestamp> {
    if text == "now" {
        return Some(now);
    }
    Timestamp::parse(text).or_else(|| ago(text).map(|ago| now.minus(ago)))
}

fn ago(text: &str) -> Option<Duration> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_written_out_or_so_long_ago() {
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
        for wrong in ["", "h", "-1h", "1w", "1é", "yesterday", "2026-11-15"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
