//! Appends what waits to the logs of a partition, and signs.
//!
//! Normally one process does it for a partition, by a lease. Two at once are wasteful but never wrong: the file of a step is
//! written once, and whoever comes second adopts it.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use archive::Bucket;
use bytes::Bytes;
use deliver::secrets::seal::Vault;
use domain::{OrgId, Timestamp, clock::Clock, partition::Partition};
use futures::{StreamExt as _, stream};
use runtime::{error_chain::chain, random, retry::Retries};
use store::{
    Store,
    transparency::{
        Leaves,
        logs::{Adopted, Advance, LogState},
    },
};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use trail_proof::leaf::{LEAF_BYTES, Leaf};
use transparency_log::{Checkpoint, Edge, Hash, SignedCheckpoint, SigningKey};

use super::{
    files::{self, LogFiles},
    growth::{Growth, in_full_bundles},
    signer::{self, NoKey},
    step::Step,
};
use crate::telemetry::metrics as names;

/// How long one round begins after the one before it: a checkpoint is at most this much older than what it leaves out, and the
/// time that writing takes.
const EVERY: Duration = Duration::from_secs(1);
/// For how long the lease is kept before it is handed to whoever waits for it.
const TURN: Duration = Duration::from_secs(30);
/// How long one wait for the lease lasts. If what waits did not move for so long, whoever has it hangs.
const LEASE_WAIT: Duration = Duration::from_secs(4);
/// How many logs are appended to at a time.
const LOGS_AT_A_TIME: usize = 16;
/// What a process knows of a log's files is compared with them again after this.
const TRUST: Duration = Duration::from_mins(1);
/// The keys that sign are read again after this: so soon does a new one sign, and one that was retired no more.
const KEYS_TRUST: Duration = Duration::from_secs(10);
/// Leaves that a full bundle has are kept for this long all the same, should the bucket lose a file.
const KEPT_AFTER_FULL: Duration = Duration::from_mins(1);
/// Logs that a process remembers; those beyond are compared with their files each time.
const KNOWN_MAX: usize = 10_000;

/// Appends to the logs of one partition.
pub(crate) struct Sequencer {
    pub(super) tools: Tools,
    pub(super) partition: Partition,
    known: Mutex<HashMap<OrgId, Known>>,
}

/// What a sequencer needs, whichever partition is its own.
#[derive(Clone)]
pub(crate) struct Tools {
    pub(crate) store: Store,
    pub(crate) bucket: Bucket,
    pub(crate) vault: Arc<Vault>,
    pub(crate) clock: Clock,
    /// What the names of new logs begin with.
    pub(crate) host: String,
}

/// What a process knows of a log.
#[derive(Clone)]
pub(crate) struct Known {
    size: u64,
    /// When its files were last seen to be the same.
    compared_at: Instant,
    keys: Arc<[SigningKey]>,
    keys_read_at: Instant,
}

impl Known {
    /// Of a log that is about to be compared with its files.
    async fn new(sequencer: &Sequencer, org: OrgId, state: &LogState) -> Result<Self, NoKey> {
        let compared_at = Instant::now();
        Ok(Self {
            size: state.size,
            compared_at,
            keys: keys(sequencer, org, state).await?,
            keys_read_at: compared_at,
        })
    }

    async fn with_keys_of_now(
        mut self,
        sequencer: &Sequencer,
        org: OrgId,
        state: &LogState,
    ) -> Result<Self, NoKey> {
        if self.keys_read_at.elapsed() >= KEYS_TRUST {
            self.keys_read_at = Instant::now();
            self.keys = keys(sequencer, org, state).await?;
        }
        Ok(self)
    }
}

async fn keys(
    sequencer: &Sequencer,
    org: OrgId,
    state: &LogState,
) -> Result<Arc<[SigningKey]>, NoKey> {
    let tools = &sequencer.tools;
    let keys = signer::keys(&tools.store, &tools.vault, tools.clock, org, &state.origin);
    Ok(keys.await?.into())
}

/// Why leaves still wait.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error(transparent)]
    Store(#[from] store::Error),
    #[error(transparent)]
    Files(#[from] files::Error),
    #[error(transparent)]
    NoKey(#[from] NoKey),
    #[error(transparent)]
    Tree(#[from] transparency_log::Error),
    /// Files and PostgreSQL contradict each other, and nothing that we know of explains it.
    #[error("{0}")]
    Contradiction(String),
    /// Another sequencer was faster; the next round goes on from there.
    #[error("another sequencer appended at the same time")]
    Overtaken,
}

/// Whether logs can be kept in a bucket: it must refuse to write a file that is there.
pub(crate) async fn can_keep_logs(bucket: &Bucket) -> Result<bool, archive::Error> {
    let name = format!("transparency/probe-{}", hex::encode(random::bytes::<8>()));
    let first = bucket.put_new(&name, Bytes::from_static(b"1")).await?;
    let second = bucket.put_new(&name, Bytes::from_static(b"2")).await?;
    bucket.delete(&name).await?;
    Ok(first && !second)
}

impl Sequencer {
    pub(crate) fn new(tools: Tools, partition: Partition) -> Self {
        Self {
            tools,
            partition,
            known: Mutex::default(),
        }
    }

    /// Appends what waits, until stopped.
    pub(crate) async fn run(self, stopping: CancellationToken) -> anyhow::Result<()> {
        let what = format!("append to transparency logs {}", self.partition.index());
        let mut retries = Retries::new(what, &stopping);
        while retries.again(self.append_until(&stopping).await).await {}
        Ok(())
    }

    async fn append_until(&self, stopping: &CancellationToken) -> Result<(), Error> {
        let mut lease = self.tools.store.sequencer_lease(self.partition).await?;
        let (mut ends, mut is_ours, mut stood_at) = (Instant::now(), false, None);
        loop {
            if !is_ours || Instant::now() >= ends {
                is_ours = tokio::select! {
                    is_ours = lease.take(LEASE_WAIT) => is_ours?,
                    () = stopping.cancelled() => return Ok(()),
                };
                ends = Instant::now() + TURN;
            }
            // Only who waits for the lease watches whether its holder does its work.
            let first = if is_ours {
                None
            } else {
                self.tools.store.first_leaf_waiting(self.partition).await?
            };
            if is_ours || (first.is_some() && first == stood_at) {
                let began = Instant::now();
                self.round().await?;
                tokio::select! {
                    () = sleep(EVERY.saturating_sub(began.elapsed())) => {}
                    () = stopping.cancelled() => return Ok(()),
                }
            }
            stood_at = first;
        }
    }

    /// Appends what waits. A log to which nothing can be appended now holds up no other.
    pub(super) async fn round(&self) -> Result<(), Error> {
        let orgs = self
            .tools
            .store
            .logs_with_leaves_waiting(self.partition)
            .await?;
        let append = |org| async move { (org, self.append_to(org).await) };
        let appended: Vec<_> = orgs.into_iter().map(append).collect();
        let mut appended = stream::iter(appended).buffer_unordered(LOGS_AT_A_TIME);
        let mut failed = Ok(());
        while let Some((org, outcome)) = appended.next().await {
            match outcome {
                Ok(()) | Err(Error::Overtaken) => {}
                // It concerns all of them.
                Err(error @ Error::Store(_)) => failed = Err(error),
                Err(error) => tracing::warn!(
                    org.id = %org,
                    error = chain(&error),
                    "could not append to a transparency log; will retry"
                ),
            }
        }
        failed
    }

    async fn append_to(&self, org: OrgId) -> Result<(), Error> {
        let state = self.state(org).await?;
        if state.stopped.is_some() {
            return Ok(());
        }
        let appended = match OpenLog::open(self, org, state).await {
            Ok(log) => log.append_waiting().await,
            Err(error) => Err(error),
        };
        if appended.is_err() {
            self.forget(org);
        }
        let reason = match appended {
            Err(Error::Contradiction(reason)) => reason,
            Err(Error::Files(damaged @ files::Error::Damaged { .. })) => damaged.to_string(),
            appended => return appended,
        };
        tracing::error!(
            org.id = %org,
            reason = reason.as_str(),
            "the transparency log contradicts its files; nothing is signed until somebody has looked at it"
        );
        let store = &self.tools.store;
        store.stop_transparency_log(org, &reason).await?;
        Ok(())
    }

    /// A log as PostgreSQL has it; it begins if there is none.
    async fn state(&self, org: OrgId) -> Result<LogState, Error> {
        if let Some(state) = self.tools.store.transparency_log(org).await? {
            return Ok(state);
        }
        let files = LogFiles {
            bucket: &self.tools.bucket,
            org,
        };
        // PostgreSQL may have lost a log, which keeps its name.
        let kept = match files.steps().await?.last_key_value() {
            Some((last, _)) => files.step(*last).await?.map(|step| step.origin),
            None => None,
        };
        let origin = kept.unwrap_or_else(|| format!("{}/{org}", self.tools.host));
        self.tools
            .store
            .begin_transparency_log(org, &origin)
            .await?;
        let state = self.tools.store.transparency_log(org).await?;
        state.ok_or(Error::Overtaken)
    }

    fn known(&self, org: OrgId) -> Option<Known> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(&org).cloned()
    }

    fn remember(&self, org: OrgId, now_known: Known) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= KNOWN_MAX {
            known.clear();
        }
        known.insert(org, now_known);
    }

    fn forget(&self, org: OrgId) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.remove(&org);
    }
}

/// A log that is appended to.
pub(super) struct OpenLog<'s> {
    pub(super) sequencer: &'s Sequencer,
    pub(super) files: LogFiles<'s>,
    pub(super) org: OrgId,
    pub(super) state: LogState,
    pub(super) edge: Edge,
    known: Known,
}

impl<'s> OpenLog<'s> {
    async fn open(sequencer: &'s Sequencer, org: OrgId, state: LogState) -> Result<Self, Error> {
        let files = LogFiles {
            bucket: &sequencer.tools.bucket,
            org,
        };
        let edge = edge(&state)?;
        let is_current =
            |known: &Known| known.size == state.size && known.compared_at.elapsed() < TRUST;
        let current = sequencer.known(org).filter(is_current);
        let is_current = current.is_some();
        let known = match current {
            Some(known) => known.with_keys_of_now(sequencer, org, &state).await?,
            None => Known::new(sequencer, org, &state).await?,
        };
        let mut log = Self {
            sequencer,
            files,
            org,
            state,
            edge,
            known,
        };
        if !is_current {
            log.catch_up().await?;
        }
        Ok(log)
    }

    async fn append_waiting(mut self) -> Result<(), Error> {
        let (store, partition) = (&self.sequencer.tools.store, self.sequencer.partition);
        loop {
            let waiting = store.leaves_waiting(self.org, partition).await?;
            if waiting.leaves.is_empty() {
                return Ok(());
            }
            if self.drop_known(&waiting.leaves).await? {
                continue;
            }
            let growth = self.grow(&waiting.leaves).await?;
            let step = Step {
                origin: self.state.origin.clone(),
                from: self.edge.size(),
                leaves: waiting.leaves,
                root: growth.edge.root(),
            };
            // Whoever hung meanwhile must not write a step whose place was taken and given up again since.
            if self.known.compared_at.elapsed() > TRUST {
                return Err(Error::Overtaken);
            }
            if !self.files.write_step(&step).await? {
                self.adopt_step(step.from).await?;
                continue;
            }
            self.files.write(&growth).await?;
            let advance = self.advance(&growth)?;
            if !store
                .append_waiting(self.org, &advance, &waiting.rows)
                .await?
            {
                return Err(Error::Overtaken);
            }
            self.count(&step);
            self.moved(growth).await?;
        }
    }

    /// What the tree is with more leaves.
    pub(super) async fn grow(&self, leaves: &Leaves) -> Result<Growth, Error> {
        let last = self.last_leaves().await?;
        Ok(Growth::of(self.edge.clone(), &last, leaves)?)
    }

    /// The next state of the log, signed. Its step is written, so no other tree of this size is ever signed.
    pub(super) fn advance(&self, growth: &Growth) -> Result<Advance, Error> {
        let checkpoint = Checkpoint::of(&self.state.origin, &growth.edge)?;
        let keys: Vec<&SigningKey> = self.known.keys.iter().collect();
        let checkpoint = SignedCheckpoint::sign(checkpoint, &keys)?.to_string();
        Ok(Advance {
            from: self.edge.size(),
            size: growth.edge.size(),
            edge: edge_bytes(&growth.edge),
            checkpoint,
            at: self.sequencer.tools.clock.now(),
            bundles: growth.bundles.iter().map(|bundle| bundle.times).collect(),
        })
    }

    /// PostgreSQL knows of the growth.
    pub(super) async fn moved(&mut self, growth: Growth) -> Result<(), Error> {
        let filled = !growth.bundles.is_empty();
        self.edge = growth.edge;
        self.known.size = self.edge.size();
        self.sequencer.remember(self.org, self.known.clone());
        if filled {
            let full = in_full_bundles(self.edge.size());
            let before = self.sequencer.tools.clock.now().minus(KEPT_AFTER_FULL);
            let store = &self.sequencer.tools.store;
            store.forget_appended(self.org, full, before).await?;
        }
        Ok(())
    }

    fn count(&self, step: &Step) {
        metrics::counter!(names::TRANSPARENCY_LEAVES).increment(step.leaves.count() as u64);
        let received = step
            .leaves
            .iter()
            .filter_map(|leaf| Leaf::decode(leaf).ok());
        if let Some(oldest) = received.map(|leaf| leaf.received_ms).min() {
            let lag = self
                .sequencer
                .tools
                .clock
                .now()
                .since(Timestamp::from_unix_millis(oldest));
            metrics::histogram!(names::TRANSPARENCY_CHECKPOINT_LAG).record(lag.as_secs_f64());
        }
    }

    /// Takes leaves that the log has already out of those that wait; whether there were any. After PostgreSQL was put back to
    /// an earlier state, the same rows are written again.
    async fn drop_known(&self, leaves: &Leaves) -> Result<bool, Error> {
        let Some(until) = self.state.adopted_until else {
            return Ok(false);
        };
        let mut known = Leaves::default();
        for leaf in leaves.iter() {
            let at = Leaf::decode(leaf).map_or(i64::MAX, |leaf| leaf.received_ms);
            if at <= until.unix_millis() && self.index_of(leaf).await?.is_some() {
                known.push(leaf);
            }
        }
        if known.is_empty() {
            return Ok(false);
        }
        let known = Adopted {
            partition: self.sequencer.partition,
            leaves: known,
            until,
        };
        let store = &self.sequencer.tools.store;
        store.drop_waiting(self.org, &known).await?;
        Ok(true)
    }

    /// Where in the log a leaf is.
    async fn index_of(&self, leaf: &[u8; LEAF_BYTES]) -> Result<Option<u64>, Error> {
        super::find::index_of(
            &self.sequencer.tools.store,
            self.files,
            self.edge.size(),
            leaf,
        )
        .await
    }
}

fn edge(state: &LogState) -> Result<Edge, Error> {
    let (roots, _) = state.edge.as_chunks::<{ Hash::BYTES }>();
    let roots = roots.iter().copied().map(Hash::from_bytes).collect();
    Ok(Edge::from_parts(state.size, roots)?)
}

fn edge_bytes(edge: &Edge) -> Vec<u8> {
    edge.roots()
        .iter()
        .flat_map(|root| *root.as_bytes())
        .collect()
}
