//! What a check has to say.

use transparency_log::Hash;

use super::{Counts, FINDINGS_MAX, Finding, Problem, Remark, Verdict};

/// The outcome of a check. Everything but the verdict and the findings is as far as the check came.
#[derive(Clone, Debug)]
pub struct Report {
    pub verdict: Verdict,
    /// What is wrong, in the order in which it was found; at most [`FINDINGS_MAX`].
    pub findings: Vec<Finding>,
    /// How many more there were.
    pub findings_left_out: u64,
    /// What to know beside the verdict.
    pub remarks: Vec<Remark>,
    /// Which leaves of which log; `None` if the header could not be read.
    pub covered: Option<Covered>,
    pub counts: Counts,
    pub policies: u64,
    /// The keys that signed the checkpoint, out of those that are trusted.
    pub signed_by: Vec<String>,
    /// The witnesses that cosigned it, out of those that were asked for.
    pub cosigned: Vec<Cosigned>,
    /// When the file says that it was made. Nothing vouches for it.
    pub made_at: Option<String>,
    /// What the file says was asked for. Nothing vouches for it.
    pub filter: Option<String>,
}

/// The leaves from `first` up to, not including, `end`, of a tree of `size` leaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Covered {
    pub origin: String,
    pub first: u64,
    pub end: u64,
    pub size: u64,
    pub root: Hash,
}

/// A witness's word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cosigned {
    /// Its key, as text.
    pub witness: String,
    /// When, in seconds since 1970.
    pub unix_seconds: u64,
}

impl Report {
    pub(super) fn empty() -> Self {
        Self {
            verdict: Verdict::Proven,
            findings: Vec::new(),
            findings_left_out: 0,
            remarks: Vec::new(),
            covered: None,
            counts: Counts::default(),
            policies: 0,
            signed_by: Vec::new(),
            cosigned: Vec::new(),
            made_at: None,
            filter: None,
        }
    }

    /// A file of which something is wrong for certain is not proven, whatever else could not be checked.
    pub(super) fn found(&mut self, line: Option<u64>, problem: Problem) {
        if self.verdict != Verdict::NotProven {
            self.verdict = problem.verdict();
        }
        if self.findings.len() < FINDINGS_MAX {
            self.findings.push(Finding { line, problem });
        } else {
            self.findings_left_out += 1;
        }
    }
}
