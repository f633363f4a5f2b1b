//! Checks a file while it is read: line by line, from the header to the end.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io::{self, BufRead};
use std::sync::Arc;

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use transparency_log::{Hash, Range, SignedCheckpoint, VerifierKey};

use super::erasures::{Erasures, Named};
use super::lines::{Lines, Next};
use super::since::Since;
use super::tree::Tree;
use super::{Counts, Header, Line, Problem, Remark, Report, ids, record, vouch};
use crate::leaf::{Commitment, Kind, LEAF_BYTES, Leaf};

/// How often the caller hears of progress.
const PROGRESS_EVERY_BYTES: u64 = 1024 * 1024;

/// Whom the auditor believes.
#[derive(Clone, Debug, Default)]
pub struct Trust {
    /// The log's keys, from somewhere else than the file. Without any, those in the header are used, and the report says so.
    pub keys: Vec<VerifierKey>,
    /// Witnesses, each of which must have cosigned.
    pub witnesses: Vec<VerifierKey>,
    /// A checkpoint of the same log that was kept: the file's must continue it.
    pub since: Option<SignedCheckpoint>,
}

/// Checks a whole file. `progress` is told how many bytes were read, now and then.
pub fn verify(reader: impl BufRead, trust: Trust, progress: impl FnMut(u64)) -> Report {
    verify_each(reader, trust, progress, |_| {})
}

/// The same, and shows what each line says that nothing is wrong with. It is proven only if the report says so in the end.
pub fn verify_each(
    reader: impl BufRead,
    trust: Trust,
    mut progress: impl FnMut(u64),
    mut show: impl FnMut(Line<'_>),
) -> Report {
    let mut verifier = Verifier::new(trust);
    let mut lines = Lines::of(reader);
    let mut told = 0;
    while !verifier.is_done() {
        if let Some(line) = verifier.feed(lines.next_line()) {
            show(line);
        }
        if lines.bytes_read() - told >= PROGRESS_EVERY_BYTES {
            told = lines.bytes_read();
            progress(told);
        }
    }
    progress(lines.bytes_read());
    verifier.report()
}

/// A check that is under way.
#[derive(Debug)]
pub struct Verifier {
    trust: Trust,
    state: State,
    line: u64,
    report: Report,
    /// Every leaf that is not withheld, and whether what it commits to is shown.
    leaves: HashMap<Named, bool>,
    erasures: Erasures,
    latest_gone_ms: Option<i64>,
}

#[derive(Debug)]
enum State {
    Start,
    Leaves(Box<Tree>),
    /// The last line was read.
    Ended(Box<Tree>),
    /// The file ended, or what follows would mean nothing.
    Done,
}

impl Verifier {
    pub fn new(trust: Trust) -> Self {
        Self {
            trust,
            state: State::Start,
            line: 0,
            report: Report::empty(),
            leaves: HashMap::new(),
            erasures: Erasures::default(),
            latest_gone_ms: None,
        }
    }

    /// Whether reading on would change nothing.
    pub fn is_done(&self) -> bool {
        matches!(self.state, State::Done)
    }

    /// Takes what [`Lines`] gave, and returns what a line says unless something is wrong with it. What is returned is proven
    /// only if the report says so in the end.
    pub fn feed<'l>(&mut self, next: io::Result<Next<'l>>) -> Option<Line<'l>> {
        if self.is_done() {
            return None;
        }
        match next {
            Ok(Next::End) => self.end_of_file(),
            Ok(next) => return self.line(&next),
            Err(error) => self.stop_at(None, Problem::Unreadable(Arc::new(error))),
        }
        None
    }

    /// What there is to say when the file was read, or what was found before.
    pub fn report(self) -> Report {
        self.report
    }

    fn line<'l>(&mut self, next: &Next<'l>) -> Option<Line<'l>> {
        self.line += 1;
        match (&self.state, next) {
            (State::Start, Next::Line(line)) => self.header(line),
            (State::Start, _) => self.stop(Problem::NotAnExport),
            (State::Leaves(_), Next::Line(line)) => return self.body(line),
            (State::Leaves(_), Next::TooLong) => self.stop(Problem::LineTooLong),
            (State::Leaves(_), _) => self.stop_at(None, Problem::CutOff),
            (State::Ended(_) | State::Done, _) => self.stop(Problem::AfterEnd),
        }
        None
    }

    fn end_of_file(&mut self) {
        match std::mem::replace(&mut self.state, State::Done) {
            State::Start => self.found_at(Some(1), Problem::NotAnExport),
            State::Leaves(_) => self.found_at(None, Problem::CutOff),
            State::Ended(tree) => self.judge(*tree),
            State::Done => {}
        }
    }

    fn header(&mut self, line: &[u8]) {
        match self.started(line) {
            Ok(tree) => self.state = State::Leaves(Box::new(tree)),
            Err(problem) => self.stop(problem),
        }
    }

    fn started(&mut self, line: &[u8]) -> Result<Tree, Problem> {
        let header = Header::read(line)?;
        vouch::for_checkpoint(&header, &mut self.trust, &mut self.report)?;
        let claimed = header.checkpoint.unverified();
        let range = Range::new(header.first, header.end, claimed.size()).map_err(Problem::Range)?;
        let since = Since::of(range, claimed, &self.trust, &mut self.report);
        Tree::new(range, &header, since)
    }

    fn body<'l>(&mut self, bytes: &'l [u8]) -> Option<Line<'l>> {
        let Some(line) = Line::read(bytes) else {
            self.stop(Problem::LineMalformed);
            return None;
        };
        let fine = match &line {
            Line::Record {
                kind,
                leaf,
                salt,
                stored,
            } => {
                let counted = match kind {
                    Kind::Event => &mut self.report.counts.events,
                    Kind::Attempt => &mut self.report.counts.attempts,
                };
                *counted += 1;
                let leaf = self.leaf(leaf, true)?;
                if leaf.kind != *kind {
                    Err(Problem::KindMismatch)
                } else if Commitment::to(*salt, stored.as_bytes()) != leaf.commitment {
                    Err(Problem::CommitmentMismatch)
                } else {
                    let erased = record::check(&leaf, stored);
                    erased.map(|erased| self.erasures.told(leaf.id, erased))
                }
            }
            Line::Erased { leaf, by } => {
                self.report.counts.erased += 1;
                let leaf = self.leaf(leaf, false)?;
                let record = (leaf.kind, leaf.id);
                self.erasures.claimed(self.line, record, *by);
                Ok(())
            }
            Line::Gone { leaf } => {
                self.report.counts.gone += 1;
                let leaf = self.leaf(leaf, false)?;
                self.latest_gone_ms = self.latest_gone_ms.max(Some(leaf.received_ms));
                Ok(())
            }
            Line::Missing { leaf } => {
                let Leaf { kind, id, .. } = self.leaf(leaf, false)?;
                let id = ids::encode(kind, id);
                Err(Problem::RecordMissing { id })
            }
            Line::Withheld(hashes) => {
                self.report.counts.withheld += hashes.len() as u64;
                for hash in hashes {
                    self.append(*hash)?;
                }
                Ok(())
            }
            Line::Policy(policy) => {
                self.report.policies += 1;
                let is_named = policy.is_named_by_its_digest();
                is_named.then_some(()).ok_or(Problem::PolicyMismatch)
            }
            Line::End(counts) => {
                self.end(*counts);
                Ok(())
            }
        };
        match fine {
            Ok(()) => Some(line),
            Err(problem) => {
                self.found(problem);
                None
            }
        }
    }

    /// Takes a leaf into the tree; `None` if that is where the check stops.
    fn leaf(&mut self, bytes: &[u8; LEAF_BYTES], is_shown: bool) -> Option<Leaf> {
        let leaf = match Leaf::decode(bytes) {
            Ok(leaf) => leaf,
            Err(error) => {
                self.stop(Problem::LeafUnsupported(error));
                return None;
            }
        };
        self.append(Hash::of_leaf(bytes))?;
        match self.leaves.entry((leaf.kind, leaf.id)) {
            Entry::Vacant(place) => drop(place.insert(is_shown)),
            Entry::Occupied(_) => {
                let id = ids::encode(leaf.kind, leaf.id);
                self.found(Problem::LeafTwice { id });
            }
        }
        Some(leaf)
    }

    fn append(&mut self, leaf: Hash) -> Option<()> {
        let State::Leaves(tree) = &mut self.state else {
            return None;
        };
        self.report.counts.leaves += 1;
        match tree.append(leaf) {
            Ok(()) => Some(()),
            Err(problem) => {
                self.stop(problem);
                None
            }
        }
    }

    fn end(&mut self, counts: Counts) {
        if counts != self.report.counts {
            self.found(Problem::CountsWrong);
        }
        self.state = match std::mem::replace(&mut self.state, State::Done) {
            State::Leaves(tree) => State::Ended(tree),
            other => other,
        };
    }

    /// What only the whole file can tell.
    fn judge(&mut self, tree: Tree) {
        let range = tree.range();
        if let Err(problem) = tree.complete() {
            return self.found_at(None, problem);
        }
        for problem in tree.finish() {
            self.found_at(None, problem);
        }
        let is_complete = range.end() == range.size() && self.report.counts.withheld == 0;
        let erasures = std::mem::take(&mut self.erasures);
        let judged = erasures.judge(&self.leaves, is_complete);
        for (line, problem) in judged.problems {
            self.found_at(Some(line), problem);
        }
        self.remark(range, judged.unchecked);
    }

    fn remark(&mut self, range: Range, erasures_unchecked: u64) {
        let (first, end, size) = (range.begin(), range.end(), range.size());
        let remarks = &mut self.report.remarks;
        if first > 0 || end < size {
            remarks.push(Remark::PartOfLog { first, end, size });
        }
        let Counts { withheld, gone, .. } = self.report.counts;
        if withheld > 0 {
            remarks.push(Remark::Withheld { count: withheld });
        }
        if let Some(latest) = self.latest_gone_ms {
            let latest = rfc3339(latest);
            remarks.push(Remark::Gone {
                count: gone,
                latest,
            });
        }
        if erasures_unchecked > 0 {
            let count = erasures_unchecked;
            remarks.push(Remark::ErasuresUnchecked { count });
        }
    }

    fn found(&mut self, problem: Problem) {
        self.found_at(Some(self.line), problem);
    }

    fn found_at(&mut self, line: Option<u64>, problem: Problem) {
        self.report.found(line, problem);
    }

    fn stop(&mut self, problem: Problem) {
        self.stop_at(Some(self.line), problem);
    }

    fn stop_at(&mut self, line: Option<u64>, problem: Problem) {
        self.found_at(line, problem);
        self.state = State::Done;
    }
}

fn rfc3339(unix_millis: i64) -> String {
    let moment = OffsetDateTime::from_unix_timestamp_nanos(i128::from(unix_millis) * 1_000_000);
    let text = moment.ok().and_then(|moment| moment.format(&Rfc3339).ok());
    text.unwrap_or_else(|| format!("{unix_millis} ms since 1970"))
}
