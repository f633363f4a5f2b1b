//! Exports of format `bundle`: files that prove themselves.
//!
//! A file has the log's leaves in their order, each with the record it commits to, as [`trail_proof::export`] describes.
//! What the filter does not ask for is there as a bare hash, so nothing can be left out unseen.
//!
//! [`BundleFile`] writes one, some bundles of leaves at a time, from the log as of its last checkpoint; [`records`] finds
//! what leaves stand for, in the database and in the archive, and [`retention`] says what may have left both. [`caught_up`]
//! waits until the checkpoint has what was accepted before.

mod caught_up;
mod records;
mod retention;
mod selection;

use std::{borrow::Cow, collections::HashSet};

use archive::{Bucket, ByteWriter, Compression, Finished};
use domain::{EventId, OrgId, Timestamp, event::Filter};
use futures::future::try_join_all;
use policy::{set, starter};
use store::{Store, transparency::Leaves};
use tokio::task::spawn_blocking;
use trail_proof::export::{Header, KEYS_MAX, Policy, Writer};
use trail_proof::leaf::{Kind, Leaf};
use transparency_log::{Hash, Range};
use uuid::Uuid;

pub(crate) use self::{
    caught_up::{caught_up, is_stopped},
    retention::Kept,
};
use self::{
    records::{PolicyNamed, Record, Records},
    selection::Selection,
};
use super::source;
use crate::{
    telemetry::metrics as names,
    transparency::{self, BUNDLE_LEAVES, Published, in_full_bundles},
};

/// How many bundles of leaves are read at a time. A record has at most 32 KiB, and most have less than one.
const BUNDLES_AT_A_TIME: u64 = 4;

/// Why a file could not be written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error(transparent)]
    Store(#[from] store::Error),
    #[error(transparent)]
    Archive(#[from] archive::Error),
    #[error(transparent)]
    Source(#[from] source::Error),
    #[error(transparent)]
    Log(#[from] transparency::Error),
    #[error(transparent)]
    Tree(#[from] transparency_log::Error),
    #[error("the log has no checkpoint yet")]
    NoCheckpoint,
    #[error("the transparency log is behind the trail")]
    Behind,
    /// What erased something is only in a later checkpoint.
    #[error("events were erased while the file was written")]
    ErasedMeanwhile,
    #[error("writing stopped")]
    Stopped(#[from] tokio::task::JoinError),
}

/// What a file is to have.
#[derive(Clone, Debug)]
pub(crate) struct Contents {
    pub(crate) org: OrgId,
    pub(crate) filter: Filter,
    pub(crate) compression: Compression,
    pub(crate) now: Timestamp,
    pub(crate) kept: Kept,
}

/// A file in the making.
pub(crate) struct BundleFile {
    store: Store,
    log: Published,
    records: Records,
    selection: Selection,
    range: Range,
    /// The bundle that comes next.
    next: u64,
    state: State,
    policies_written: HashSet<String>,
    /// Those that erased something that was written, and have not come yet: an erasure is behind what it erases.
    erasures: HashSet<EventId>,
}

enum State {
    Header(Box<Header>, Box<ByteWriter>),
    Leaves(Writer, Box<ByteWriter>),
    End,
}

/// What follows in a file.
pub(crate) enum Piece {
    Bytes(Vec<u8>),
    Last(Vec<u8>, Finished),
}

impl BundleFile {
    /// Begins a file of what the log's last checkpoint has.
    pub(crate) async fn begin(
        store: &Store,
        bucket: &Bucket,
        contents: Contents,
    ) -> Result<Self, Error> {
        let log = Published::open(store, bucket, contents.org).await?;
        let log = log.ok_or(Error::NoCheckpoint)?;
        let selection = Selection::of(contents.filter);
        let first = match selection.received_since() {
            None => 0,
            Some(since) => {
                let bundle = store.first_bundle_since(contents.org, since).await?;
                bundle.map_or(in_full_bundles(log.size()), |bundle| bundle * BUNDLE_LEAVES)
            }
        };
        let range = Range::new(first, log.size(), log.size())?;
        let keys = store.transparency_keys(contents.org).await?;
        let header = Header {
            made_at: contents.now.to_string(),
            origin: log.origin().to_owned(),
            checkpoint: log.checkpoint.clone(),
            keys: keys
                .into_iter()
                .rev()
                .take(KEYS_MAX)
                .map(|key| key.verifier)
                .collect(),
            first,
            end: log.size(),
            filter: selection.text(),
            before: log.roots_of(&range.before()).await?,
            after: Vec::new(),
        };
        let bytes = Box::new(ByteWriter::new(contents.compression)?);
        Ok(Self {
            store: store.clone(),
            records: Records {
                store: store.clone(),
                bucket: bucket.clone(),
                org: contents.org,
                kept: contents.kept,
            },
            log,
            selection,
            range,
            next: first / BUNDLE_LEAVES,
            state: State::Header(Box::new(header), bytes),
            policies_written: HashSet::new(),
            erasures: HashSet::new(),
        })
    }

    /// How much of it is written, from 0 to 1, and how many events.
    pub(crate) fn progress(&self) -> (f64, u64) {
        let State::Leaves(writer, _) = &self.state else {
            return (0.0, 0);
        };
        let counts = writer.counts();
        let all = self.range.end() - self.range.begin();
        #[expect(clippy::cast_precision_loss, reason = "it is shown to people")]
        let done = counts.leaves as f64 / all.max(1) as f64;
        (done, counts.events)
    }

    /// The next bytes; `None` after the last.
    pub(crate) async fn next(&mut self) -> Result<Option<Piece>, Error> {
        let (writer, bytes, lines) = match std::mem::replace(&mut self.state, State::End) {
            State::End => return Ok(None),
            State::Header(header, bytes) => {
                let mut lines = Vec::new();
                let writer = Writer::begin(&header, &mut lines);
                (writer, bytes, lines)
            }
            State::Leaves(mut writer, bytes) => {
                let mut lines = Vec::new();
                if self.next * BUNDLE_LEAVES >= self.range.end() {
                    if self.were_erased_meanwhile().await? {
                        return Err(Error::ErasedMeanwhile);
                    }
                    let events = writer.counts().events;
                    writer.end(&mut lines);
                    let written = spawn_blocking(move || bytes.finish(lines, events)).await?;
                    let (last, finished) = written?;
                    return Ok(Some(Piece::Last(last, finished)));
                }
                self.write_leaves(&mut writer, &mut lines).await?;
                (writer, bytes, lines)
            }
        };
        let compressed = spawn_blocking(move || {
            let mut bytes = bytes;
            let compressed = bytes.write(lines);
            (bytes, compressed)
        });
        let (bytes, compressed) = compressed.await?;
        self.state = State::Leaves(writer, bytes);
        Ok(Some(Piece::Bytes(compressed?)))
    }

    /// Whether what erased something is behind the checkpoint: the store has it, and the checkpoint does not. What the store
    /// does not have either erased nothing, and whoever verifies the file finds that.
    async fn were_erased_meanwhile(&self) -> Result<bool, Error> {
        for erasure in &self.erasures {
            let committed = self
                .store
                .committed_event(self.records.org, *erasure)
                .await?;
            if let Some((leaf, _)) = committed.flatten()
                && self.log.index_of(&leaf).await?.is_none()
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    async fn write_leaves(
        &mut self,
        writer: &mut Writer,
        lines: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let bundles = self.range.end().div_ceil(BUNDLE_LEAVES);
        let until = bundles.min(self.next + BUNDLES_AT_A_TIME);
        let leaves = (self.next..until).map(|number| self.log.leaves_of(number));
        let leaves = try_join_all(leaves).await?;
        let leaves: Vec<_> = leaves.iter().flat_map(Leaves::iter).collect();
        let before = writer.counts().events;
        for (leaf, record) in self.records.of(&leaves, &self.selection).await? {
            if !self.erasures.is_empty()
                && let Ok(Leaf {
                    kind: Kind::Event,
                    id,
                    ..
                }) = Leaf::decode(leaf)
            {
                self.erasures
                    .remove(&EventId::from_uuid(Uuid::from_bytes(id)));
            }
            match record {
                Record::Shown {
                    kind,
                    record,
                    policies,
                } => {
                    for policy in policies {
                        self.write_policy(&policy, writer, lines).await?;
                    }
                    writer.record(kind, leaf, record.salt, &record.stored, lines);
                }
                Record::Withheld => writer.withheld(&Hash::of_leaf(leaf), lines),
                Record::Erased(by) => {
                    writer.erased(leaf, by.uuid().into_bytes(), lines);
                    self.erasures.insert(by);
                }
                Record::Gone => writer.gone(leaf, lines),
                Record::Missing => writer.missing(leaf, lines),
            }
        }
        self.next = until;
        let written = writer.counts().events - before;
        metrics::counter!(names::EVENTS_EXPORTED).increment(written);
        Ok(())
    }

    /// What a decision was made by, once in a file: under the digest that the decision names, whatever the text is now. The
    /// policies that we bring may be others in another version of Watchbell; then the file lacks them.
    async fn write_policy(
        &mut self,
        named: &PolicyNamed,
        writer: &mut Writer,
        lines: &mut Vec<u8>,
    ) -> Result<(), Error> {
        if self.policies_written.contains(&named.digest) {
            return Ok(());
        }
        if let Some(policy) = self.policy(named).await? {
            writer.policy(&policy, lines);
        }
        self.policies_written.insert(named.digest.clone());
        Ok(())
    }

    async fn policy<'n>(&self, named: &'n PolicyNamed) -> Result<Option<Policy<'n>>, Error> {
        let digest = Cow::Borrowed(&*named.digest);
        if named.version == starter::VERSION {
            let text = Cow::Borrowed(starter::POLICIES);
            let is_the_same = set::digest(starter::POLICIES, None) == named.digest;
            return Ok(is_the_same.then_some(Policy {
                digest,
                text,
                schema: None,
            }));
        }
        let text = self
            .store
            .policy_text(self.records.org, named.version)
            .await?;
        Ok(text.map(|text| Policy {
            digest,
            text: Cow::Owned(text.policies),
            schema: text.schema.map(Cow::Owned),
        }))
    }
}
