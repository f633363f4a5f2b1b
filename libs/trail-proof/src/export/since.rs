//! Whether the log continues a checkpoint that the auditor kept.

use transparency_log::{Checkpoint, Edge, Hash, Range};

use super::{Problem, Report, Trust};

/// An earlier checkpoint, and the root that the log has at that size, as soon as it is known.
#[derive(Debug)]
pub(super) struct Since {
    size: u64,
    expected: Hash,
    found: Option<Hash>,
}

impl Since {
    /// What is left to check while the leaves are read; `None` if there is nothing, or the report says why not.
    pub(super) fn of(
        range: Range,
        now: &Checkpoint,
        trust: &Trust,
        report: &mut Report,
    ) -> Option<Self> {
        match Self::checked(range, now, trust) {
            Ok(since) => since,
            Err(problem) => {
                report.found(Some(1), problem);
                None
            }
        }
    }

    fn checked(range: Range, now: &Checkpoint, trust: &Trust) -> Result<Option<Self>, Problem> {
        let Some(kept) = &trust.since else {
            return Ok(None);
        };
        let since = kept.unverified();
        if since.origin() != now.origin() {
            return Err(Problem::SinceOriginMismatch {
                since: since.origin().to_owned(),
                found: now.origin().to_owned(),
            });
        }
        let signed = kept.note().verify(&trust.keys);
        signed.map_err(Problem::SinceNotSigned)?;
        let size = since.size();
        if size > now.size() {
            return Err(Problem::RolledBack {
                since: size,
                size: now.size(),
            });
        }
        // The whole tree and the empty one need no leaves.
        let found = if size == now.size() {
            Some(*now.root())
        } else if size == 0 {
            Some(Hash::of_empty_tree())
        } else {
            None
        };
        if found.is_none() && !(range.begin()..=range.end()).contains(&size) {
            return Err(Problem::SinceOutside {
                since: size,
                first: range.begin(),
                end: range.end(),
            });
        }
        Ok(Some(Self {
            size,
            expected: *since.root(),
            found,
        }))
    }

    /// Remembers the root if the tree is as large as it was then.
    pub(super) fn watch(&mut self, edge: &Edge) {
        if self.found.is_none() && edge.size() == self.size {
            self.found = Some(edge.root());
        }
    }

    pub(super) fn is_continued(&self) -> bool {
        self.found == Some(self.expected)
    }
}
