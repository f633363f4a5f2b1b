//! A clock that stands still while the host withholds the processor.
//!
//! Where others share a machine, its host may take half of a processor away, for minutes ("steal"). A bound that a test asserts
//! is about us and not about the host, so what was withheld is taken off. On a machine of its own this is a clock like any other.

use std::time::{Duration, Instant};

/// How often a second the kernel counts.
const TICKS_PER_SECOND: u64 = 100;
/// The column of `/proc/stat` that tells what was withheld, after the processor's name.
const STEAL: usize = 8;

/// A running clock.
#[derive(Clone, Debug)]
pub struct Stopwatch {
    started: Instant,
    withheld: Vec<Duration>,
}

impl Stopwatch {
    pub fn start() -> Self {
        Self {
            started: Instant::now(),
            withheld: withheld(),
        }
    }

    /// The time since the start, without what was withheld of the processor that it was withheld of most.
    pub fn elapsed(&self) -> Duration {
        let elapsed = self.started.elapsed();
        let before = self.withheld.iter();
        let withheld = withheld().into_iter().zip(before);
        let most = withheld
            .map(|(now, before)| now.saturating_sub(*before))
            .max();
        elapsed.saturating_sub(most.unwrap_or_default())
    }
}

/// What was withheld of each processor since the machine started; nothing where no kernel counts it.
fn withheld() -> Vec<Duration> {
    let text = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    read(&text)
}

fn read(text: &str) -> Vec<Duration> {
    let is_processor = |line: &&str| {
        let number = line.strip_prefix("cpu");
        number.is_some_and(|rest| rest.starts_with(|one: char| one.is_ascii_digit()))
    };
    let ticks = |line: &str| line.split_whitespace().nth(STEAL)?.parse::<u64>().ok();
    let lines = text.lines().filter(is_processor);
    lines
        .map(|line| Duration::from_millis(ticks(line).unwrap_or(0) * 1_000 / TICKS_PER_SECOND))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_withheld_of_each_processor_is_read() {
        let text = "cpu  9 9 9 9 9 9 9 350 0 0\ncpu0 1 2 3 4 5 6 7 100 0 0\ncpu1 1 2 3 4 5 6 7 250 0 0\nintr 5\n";
        let seconds = [Duration::from_secs(1), Duration::from_millis(2_500)];
        assert_eq!(read(text), seconds);
        assert_eq!(read("cpu0 1\n"), [Duration::ZERO]);
        assert!(read("").is_empty());
    }
}
