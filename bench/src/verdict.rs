//! What a profile came to: its figures, whether they are what we aim at, and whether they are so bad that something is
//! broken.

use std::{fs, path::Path};

use anyhow::Context as _;
use serde::{Deserialize, Serialize};

/// What was reached, line by line.
#[derive(Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Verdict(Vec<Line>);

/// One figure.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Line {
    pub(crate) what: String,
    /// `None` if it could not be measured here.
    figure: Option<f64>,
    /// What we promise on a quiet machine, if anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    aim: Option<Aim>,
    word: Word,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Aim {
    AtLeast(f64),
    AtMost(f64),
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Word {
    Reached,
    Missed,
    Broken,
    /// It has no aim.
    Told,
}

/// So many digits behind the point are kept: more would be noise.
const KEPT: f64 = 1_000.0;

impl Verdict {
    /// `aim` is what we promise on a quiet machine; below `floor` something is broken.
    pub(crate) fn at_least(&mut self, what: &str, figure: f64, aim: f64, floor: f64) {
        let word = Word::of(figure >= aim, figure >= floor);
        self.note(what, figure, Some(Aim::AtLeast(aim)), word);
    }

    /// The same for what should stay small.
    pub(crate) fn at_most(&mut self, what: &str, figure: f64, aim: f64, ceiling: f64) {
        let word = Word::of(figure <= aim, figure <= ceiling);
        self.note(what, figure, Some(Aim::AtMost(aim)), word);
    }

    /// What has no aim.
    pub(crate) fn tell(&mut self, what: &str, figure: f64) {
        self.note(what, figure, None, Word::Told);
    }

    fn note(&mut self, what: &str, figure: f64, aim: Option<Aim>, word: Word) {
        let figure = (figure * KEPT).round() / KEPT;
        self.0.push(Line {
            what: what.to_owned(),
            figure: figure.is_finite().then_some(figure),
            aim,
            word,
        });
    }

    pub(crate) fn lines(&self) -> &[Line] {
        &self.0
    }

    /// Whether a figure is so bad that something must be.
    pub(crate) fn is_broken(&self) -> bool {
        self.0.iter().any(|line| line.word == Word::Broken)
    }

    pub(crate) fn print(&self) {
        println!();
        for line in &self.0 {
            println!("{line}");
        }
    }

    pub(crate) fn write(&self, path: &Path) -> anyhow::Result<()> {
        let text = serde_json::to_string(self)?;
        fs::write(path, text).with_context(|| format!("write {}", path.display()))
    }

    pub(crate) fn read(path: &Path) -> anyhow::Result<Self> {
        let text = fs::read_to_string(path);
        let text = text.with_context(|| format!("read {}", path.display()))?;
        Ok(serde_json::from_str(&text)?)
    }
}

impl Word {
    fn of(hit: bool, sane: bool) -> Self {
        match (hit, sane) {
            (true, _) => Self::Reached,
            (false, true) => Self::Missed,
            (false, false) => Self::Broken,
        }
    }
}

impl std::fmt::Display for Line {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let word = match self.word {
            Word::Reached => "reached",
            Word::Missed => "missed",
            Word::Broken => "BROKEN",
            Word::Told => "",
        };
        let figure = self
            .figure
            .map_or("not measured".to_owned(), |figure| format!("{figure:.2}"));
        write!(f, "{word:<8} {}: {figure}", self.what)?;
        match self.aim {
            Some(Aim::AtLeast(aim)) => write!(f, " (aim >= {aim})"),
            Some(Aim::AtMost(aim)) => write!(f, " (aim <= {aim})"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_beyond_its_floor_is_broken_and_a_missed_aim_is_not() {
        let mut verdict = Verdict::default();
        verdict.at_least("ratio", 0.5, 0.7, 0.1);
        verdict.at_most("ms", 80.0, 50.0, 100.0);
        verdict.tell("cores", 0.2);
        assert!(!verdict.is_broken());
        verdict.at_least("ratio", 0.05, 0.7, 0.1);
        assert!(verdict.is_broken());
    }

    /// As where the system does not say how often a disk was told to sync.
    #[test]
    fn what_could_not_be_measured_is_broken_and_is_kept_as_that() {
        let mut verdict = Verdict::default();
        verdict.at_most("syncs", f64::NAN, 1.0, 100.0);
        assert!(verdict.is_broken());
        assert!(verdict.lines()[0].to_string().contains("not measured"));
    }
}
