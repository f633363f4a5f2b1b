//! A quota: so many in so long, written `600/60s`.

use std::{fmt, num::NonZeroU32, str::FromStr, time::Duration};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// At most `count` admissions in any rolling `window`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Quota {
    pub count: NonZeroU32,
    /// In whole milliseconds.
    pub window: Duration,
}

/// The text is not a quota.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a limit is written COUNT/WINDOW, such as 600/60s, 10/15m or 3/1h: a count from 1 to {}, and a window from 1ms to 24h in ms, s, m or h",
    Quota::COUNT_MAX
)]
pub struct NotAQuota;

impl Quota {
    /// Each admission in the window is remembered, 8 bytes each: a caller at this limit costs 1 MB.
    pub const COUNT_MAX: u32 = 100_000;
    /// A longer window is a plan or a budget, and belongs into a database.
    pub const WINDOW_MAX: Duration = Duration::from_secs(24 * 3_600);

    /// `None` outside of the bounds, or if the window is not a number of whole milliseconds.
    pub fn new(count: u32, window: Duration) -> Option<Self> {
        let count = NonZeroU32::new(count).filter(|count| count.get() <= Self::COUNT_MAX)?;
        let is_whole = window.subsec_nanos().is_multiple_of(1_000_000);
        let is_window = is_whole && !window.is_zero() && window <= Self::WINDOW_MAX;
        is_window.then_some(Self { count, window })
    }

    pub fn window_ms(self) -> u64 {
        u64::try_from(self.window.as_millis()).unwrap_or(u64::MAX)
    }

    /// What one of `nodes` nodes may grant by itself, rounded up.
    #[must_use]
    pub fn share(self, nodes: NonZeroU32) -> Self {
        let count = self.count.get().div_ceil(nodes.get());
        Self {
            count: NonZeroU32::new(count).unwrap_or(NonZeroU32::MIN),
            ..self
        }
    }
}

/// The units of a window, longest first.
const UNITS: [(&str, u64); 4] = [("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];

impl FromStr for Quota {
    type Err = NotAQuota;

    fn from_str(text: &str) -> Result<Self, NotAQuota> {
        let (count, window) = text.split_once('/').ok_or(NotAQuota)?;
        let unit_at = window
            .find(|one: char| !one.is_ascii_digit())
            .ok_or(NotAQuota)?;
        let (number, unit) = window.split_at(unit_at);
        let (_, unit_ms) = UNITS
            .iter()
            .find(|(name, _)| *name == unit)
            .ok_or(NotAQuota)?;
        let window_ms = whole(number)?.checked_mul(*unit_ms).ok_or(NotAQuota)?;
        let count = u32::try_from(whole(count)?).map_err(|_| NotAQuota)?;
        Self::new(count, Duration::from_millis(window_ms)).ok_or(NotAQuota)
    }
}

/// Digits only: the standard parser would take a sign too.
fn whole(digits: &str) -> Result<u64, NotAQuota> {
    let is_plain = digits.bytes().all(|one| one.is_ascii_digit());
    digits.parse().ok().filter(|_| is_plain).ok_or(NotAQuota)
}

impl fmt::Display for Quota {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let window_ms = self.window_ms();
        // The specification says 60s, not 1m.
        let is_one_minute = |unit: &str| unit == "m" && window_ms == 60_000;
        let (unit, unit_ms) = UNITS
            .into_iter()
            .find(|(unit, unit_ms)| window_ms.is_multiple_of(*unit_ms) && !is_one_minute(unit))
            .unwrap_or(("ms", 1));
        write!(f, "{}/{}{unit}", self.count, window_ms / unit_ms)
    }
}

impl Serialize for Quota {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Quota {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_quota_is_written_as_people_say_it() {
        let cases = [
            ("600/60s", 600, 60_000, "600/60s"),
            ("10/15m", 10, 900_000, "10/15m"),
            ("3/1h", 3, 3_600_000, "3/1h"),
            ("5/500ms", 5, 500, "5/500ms"),
            ("1/1ms", 1, 1, "1/1ms"),
            ("100000/24h", 100_000, 86_400_000, "100000/24h"),
            ("7/90s", 7, 90_000, "7/90s"),
            ("7/120s", 7, 120_000, "7/2m"),
        ];
        for (text, count, window_ms, shown) in cases {
            let quota: Quota = text.parse().expect(text);
            assert_eq!(quota.count.get(), count, "{text}");
            assert_eq!(quota.window_ms(), window_ms, "{text}");
            assert_eq!(quota.to_string(), shown);
        }
    }

    #[test]
    fn anything_else_is_refused_with_the_form() {
        let cases = [
            "",
            "600",
            "600/",
            "/60s",
            "600/60",
            "0/60s",
            "600/0s",
            "100001/60s",
            "1/25h",
            "1/86400001ms",
            "-1/60s",
            "+1/60s",
            "1/+60s",
            "1/60 s",
            "1/60S",
            "1/1.5s",
            "1/s",
            "1/99999999999999999999s",
            "1/9999999999999999h",
            "1/2d",
            "1/60s ",
            "1/60s/2",
        ];
        for text in cases {
            assert_eq!(text.parse::<Quota>(), Err(NotAQuota), "{text}");
        }
        assert_eq!(
            NotAQuota.to_string(),
            "a limit is written COUNT/WINDOW, such as 600/60s, 10/15m or 3/1h: a count from 1 to \
             100000, and a window from 1ms to 24h in ms, s, m or h"
        );
        assert_eq!(Quota::new(1, Duration::from_micros(1_500)), None);
    }

    #[test]
    fn shares_add_up_to_at_least_the_whole() {
        let nodes = |count| NonZeroU32::new(count).expect("not zero");
        let quota: Quota = "10/15m".parse().expect("a quota");
        for (count, share) in [(1, 10), (2, 5), (3, 4), (9, 2), (10, 1), (1_000, 1)] {
            assert_eq!(
                quota.share(nodes(count)).count.get(),
                share,
                "{count} nodes"
            );
        }
    }

    proptest! {
        #[test]
        fn what_is_shown_parses_to_the_same(count in 1..=Quota::COUNT_MAX, window_ms in 1u64..=86_400_000) {
            let quota = Quota::new(count, Duration::from_millis(window_ms)).expect("in range");
            prop_assert_eq!(quota.to_string().parse(), Ok(quota));
            let json = serde_json::to_string(&quota).expect("it serializes");
            prop_assert_eq!(serde_json::from_str::<Quota>(&json).expect("it deserializes"), quota);
        }

        #[test]
        fn no_text_panics(text in "[0-9/smh .+-]{0,24}") {
            let _ = text.parse::<Quota>();
        }
    }
}
