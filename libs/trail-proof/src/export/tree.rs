//! The log's tree, as far as the file was read.

use transparency_log::{Edge, Error, Hash, Range};

use super::since::Since;
use super::{Header, Problem};

/// What the leaves are appended to, and what they must come to.
#[derive(Debug)]
pub(super) struct Tree {
    range: Range,
    edge: Edge,
    after: Vec<Hash>,
    root: Hash,
    since: Option<Since>,
}

impl Tree {
    pub(super) fn new(
        range: Range,
        header: &Header,
        since: Option<Since>,
    ) -> Result<Self, Problem> {
        let expected = range.after().len() as u64;
        let found = header.after.len() as u64;
        if expected != found {
            return Err(Problem::Range(Error::HashCountWrong { expected, found }));
        }
        let mut tree = Self {
            range,
            edge: range.start(&header.before).map_err(Problem::Range)?,
            after: header.after.clone(),
            root: *header.checkpoint.unverified().root(),
            since,
        };
        tree.watch();
        Ok(tree)
    }

    pub(super) fn range(&self) -> Range {
        self.range
    }

    pub(super) fn append(&mut self, leaf: Hash) -> Result<(), Problem> {
        let is_full = self.edge.size() == self.range.end();
        if is_full || self.edge.append(leaf).is_err() {
            let expected = self.range.end() - self.range.begin();
            return Err(Problem::LeavesSurplus { expected });
        }
        self.watch();
        Ok(())
    }

    /// Refuses a tree that misses leaves of the range.
    pub(super) fn complete(&self) -> Result<(), Problem> {
        let begin = self.range.begin();
        let (expected, found) = (self.range.end() - begin, self.edge.size() - begin);
        if found < expected {
            return Err(Problem::LeavesMissing { expected, found });
        }
        Ok(())
    }

    /// What is wrong with a complete one.
    pub(super) fn finish(self) -> Vec<Problem> {
        let mut problems = Vec::new();
        if self.range.finish(self.edge, &self.after) != Ok(self.root) {
            problems.push(Problem::RootMismatch);
        }
        if self.since.is_some_and(|since| !since.is_continued()) {
            problems.push(Problem::Inconsistent);
        }
        problems
    }

    fn watch(&mut self) {
        if let Some(since) = &mut self.since {
            since.watch(&self.edge);
        }
    }
}
