//! Whether the figures are what we aim at; and whether they are so bad that something is broken.

/// What was reached, line by line.
#[derive(Default)]
pub(crate) struct Verdict {
    lines: Vec<String>,
    is_broken: bool,
}

impl Verdict {
    /// `aim` is what we promise on a quiet machine; below `floor` something is broken.
    pub(crate) fn at_least(&mut self, what: &str, figure: f64, aim: f64, floor: f64) {
        self.note(what, figure, ">=", aim, figure >= aim, figure >= floor);
    }

    /// The same for what should stay small.
    pub(crate) fn at_most(&mut self, what: &str, figure: f64, aim: f64, ceiling: f64) {
        self.note(what, figure, "<=", aim, figure <= aim, figure <= ceiling);
    }

    fn note(&mut self, what: &str, figure: f64, sign: &str, aim: f64, hit: bool, sane: bool) {
        let word = match (hit, sane) {
            (true, _) => "reached",
            (false, true) => "missed",
            (false, false) => "BROKEN",
        };
        self.lines
            .push(format!("{word:<8} {what}: {figure:.2} (aim {sign} {aim})"));
        self.is_broken |= !sane;
    }

    /// Prints it; whether nothing is broken.
    pub(crate) fn print(&self) -> bool {
        println!();
        for line in &self.lines {
            println!("{line}");
        }
        !self.is_broken
    }
}
