//! How many instructions each workload takes, as kept on record and as counted now.

use std::{collections::BTreeMap, fmt, fs, path::Path};

use anyhow::Context as _;
use serde::{Deserialize, Serialize};

/// So much more is refused. Hash tables have another seed in each run, which is worth some 0.1 %.
const MORE_MAX: f64 = 0.03;
/// So much less should be put on record, or it may be lost again unseen.
const LESS_MAX: f64 = 0.03;

/// Instructions by workload.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Counts(BTreeMap<String, u64>);

/// What became of each workload.
pub(crate) struct Comparison(Vec<(String, Change)>);

/// From what is on record to now.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Change {
    Within {
        before: u64,
        now: u64,
    },
    More {
        before: u64,
        now: u64,
    },
    Less {
        before: u64,
        now: u64,
    },
    /// It is not on record.
    New {
        now: u64,
    },
    /// It is on record and there is no such workload.
    Gone {
        before: u64,
    },
}

impl Counts {
    pub(crate) fn read(record: &Path) -> anyhow::Result<Self> {
        let text = fs::read_to_string(record);
        let text = text.with_context(|| format!("read {}", record.display()))?;
        Ok(serde_json::from_str(&text)?)
    }

    pub(crate) fn write(&self, record: &Path) -> anyhow::Result<()> {
        let text = format!("{}\n", serde_json::to_string_pretty(self)?);
        fs::write(record, text).with_context(|| format!("write {}", record.display()))
    }

    /// What became of what is on record.
    pub(crate) fn compare(&self, now: &Self) -> Comparison {
        let mut names: Vec<&String> = self.0.keys().chain(now.0.keys()).collect();
        names.sort();
        names.dedup();
        let change = |name: &String| {
            let change = Change::of(self.0.get(name).copied(), now.0.get(name).copied())?;
            Some((name.clone(), change))
        };
        Comparison(names.into_iter().filter_map(change).collect())
    }
}

impl FromIterator<(&'static str, u64)> for Counts {
    fn from_iter<I: IntoIterator<Item = (&'static str, u64)>>(counts: I) -> Self {
        let counts = counts.into_iter();
        Self(
            counts
                .map(|(name, count)| (name.to_owned(), count))
                .collect(),
        )
    }
}

impl Change {
    /// `None` if there is no such workload, neither then nor now.
    fn of(before: Option<u64>, now: Option<u64>) -> Option<Self> {
        Some(match (before, now) {
            (None, None) => return None,
            (None, Some(now)) => Self::New { now },
            (Some(before), None) => Self::Gone { before },
            (Some(before), Some(now)) => match share(before, now) {
                share if share > MORE_MAX => Self::More { before, now },
                share if share < -LESS_MAX => Self::Less { before, now },
                _ => Self::Within { before, now },
            },
        })
    }
}

/// By which share of what it was something grew.
#[expect(clippy::cast_precision_loss, reason = "a share for people")]
fn share(before: u64, now: u64) -> f64 {
    now as f64 / before as f64 - 1.0
}

impl Comparison {
    /// Whether what is counted now is not what may be.
    pub(crate) fn is_refused(&self) -> bool {
        let is_refused = |change: &Change| {
            matches!(
                change,
                Change::More { .. } | Change::New { .. } | Change::Gone { .. }
            )
        };
        self.0.iter().any(|(_, change)| is_refused(change))
    }

    fn has_less(&self) -> bool {
        let is_less = |change: &Change| matches!(change, Change::Less { .. });
        self.0.iter().any(|(_, change)| is_less(change))
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, change) in &self.0 {
            writeln!(f, "{name:<10} {change}")?;
        }
        let accept = "`cargo xtask bench instructions --accept` puts the counts on record";
        if self.is_refused() {
            writeln!(
                f,
                "\nMake it cheaper; or if it is worth that, {accept}: say why in the commit."
            )?;
        } else if self.has_less() {
            writeln!(f, "\nIt got cheaper. So that it stays so, {accept}.")?;
        }
        Ok(())
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Within { before, now } => told(f, "as before", before, now),
            Self::More { before, now } => told(f, "MORE", before, now),
            Self::Less { before, now } => told(f, "less", before, now),
            Self::New { now } => write!(f, "{now:>12} instructions, NOT ON RECORD"),
            Self::Gone { before } => write!(f, "{:>12} instructions, {before} on record: GONE", 0),
        }
    }
}

fn told(f: &mut fmt::Formatter<'_>, word: &str, before: u64, now: u64) -> fmt::Result {
    let percent = 100.0 * share(before, now);
    write!(
        f,
        "{now:>12} instructions, {before} on record: {percent:+.2} %, {word}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(counts: &[(&'static str, u64)]) -> Counts {
        counts.iter().copied().collect()
    }

    fn compared(before: u64, now: u64) -> Comparison {
        counts(&[("decide", before)]).compare(&counts(&[("decide", now)]))
    }

    #[test]
    fn more_than_three_percent_more_is_refused_with_the_way_to_accept_it() {
        assert!(!compared(10_000, 10_299).is_refused());
        let refused = compared(10_000, 10_301);
        assert!(refused.is_refused());
        let text = refused.to_string();
        assert!(
            text.contains("10301 instructions, 10000 on record: +3.01 %, MORE"),
            "{text}"
        );
        assert!(
            text.contains("cargo xtask bench instructions --accept"),
            "{text}"
        );
    }

    #[test]
    fn more_than_three_percent_less_is_told_and_not_refused() {
        let less = compared(10_000, 9_699);
        assert!(!less.is_refused());
        let text = less.to_string();
        assert!(text.contains("-3.01 %, less"), "{text}");
        assert!(text.contains("--accept"), "{text}");
        assert!(!compared(10_000, 9_701).to_string().contains("--accept"));
    }

    #[test]
    fn a_workload_that_is_not_on_record_is_refused_and_so_is_one_that_is_gone() {
        let (one, both) = (
            counts(&[("decide", 1)]),
            counts(&[("decide", 1), ("sign", 1)]),
        );
        assert!(one.compare(&both).is_refused());
        assert!(both.compare(&one).is_refused());
        assert!(!both.compare(&both).is_refused());
    }

    #[test]
    fn what_is_put_on_record_is_read_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let record = folder.path().join("instructions.json");
        let written = counts(&[("decide", 5), ("sign", 7)]);
        written.write(&record).expect("written");
        assert_eq!(Counts::read(&record).expect("read"), written);
    }
}
