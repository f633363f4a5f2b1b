//! Whether what is said to be erased was: the event that did it is in the log and names it.

use std::collections::{HashMap, HashSet};

use super::{Problem, ids};
use crate::leaf::Kind;

/// A record, by its kind and id.
pub(super) type Named = (Kind, [u8; 16]);

/// What the file says of erasures.
#[derive(Debug, Default)]
pub(super) struct Erasures {
    claims: Vec<Claim>,
    /// Which event names which record.
    named: HashSet<([u8; 16], Named)>,
}

#[derive(Debug)]
struct Claim {
    line: u64,
    record: Named,
    by: [u8; 16],
}

/// What came of the claims.
pub(super) struct Judged {
    pub(super) problems: Vec<(u64, Problem)>,
    pub(super) unchecked: u64,
}

impl Erasures {
    /// A line says that `by` erased a record.
    pub(super) fn claimed(&mut self, line: u64, record: Named, by: [u8; 16]) {
        self.claims.push(Claim { line, record, by });
    }

    /// An event says what it erased.
    pub(super) fn told(&mut self, by: [u8; 16], erased: Vec<Named>) {
        self.named.extend(erased.into_iter().map(|one| (by, one)));
    }

    /// `leaves` are those of the file, and whether each is shown. If `is_complete`, the log has no others after the first.
    pub(super) fn judge(self, leaves: &HashMap<Named, bool>, is_complete: bool) -> Judged {
        let mut judged = Judged {
            problems: Vec::new(),
            unchecked: 0,
        };
        for Claim { line, record, by } in self.claims {
            let id = || ids::encode(record.0, record.1);
            match leaves.get(&(Kind::Event, by)) {
                Some(true) if self.named.contains(&(by, record)) => {}
                Some(true) => {
                    let problem = Problem::ErasureUnfounded { id: id() };
                    judged.problems.push((line, problem));
                }
                // An erasure comes after what it erases.
                None if is_complete => {
                    let problem = Problem::ErasureMissing { id: id() };
                    judged.problems.push((line, problem));
                }
                Some(false) | None => judged.unchecked += 1,
            }
        }
        judged
    }
}
