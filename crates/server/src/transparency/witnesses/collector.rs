//! Collects cosignatures: sees which logs have a new checkpoint, and begins a round for each whose turn it is.
//!
//! Normally one process does it, by a lease. Two at once are wasteful but never wrong: witnesses tell each what they saw from the
//! other.

use std::{collections::HashMap, time::Duration};

use domain::{OrgId, Timestamp};
use futures::{StreamExt as _, stream::FuturesUnordered};
use runtime::{error_chain::chain, retry::Retries};
use store::transparency::witnesses::SignedLog;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::{
    not_cosigned::NotCosigned,
    round::{Ask, Done, Outcome, Tools},
    turn::{Backoff, LogTurn, WITNESS_PAUSE_MAX},
};
use crate::{config::Witness, telemetry::metrics as names, transparency::Error};

/// How often it is looked which logs have a new checkpoint.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// So much of what was looked at is looked at again: what was signed then may have been saved later, by a slower clock.
const OVERLAP: Duration = Duration::from_secs(5);
/// How often all logs are looked at: for those that a witness is behind with, for whatever reason.
const LOOK_AT_ALL_EVERY: Duration = Duration::from_mins(1);
/// Logs that are asked about at the same time; others wait for their turn.
const ROUNDS_MAX: usize = 64;
/// Logs that a process remembers. What is beyond is found again when all are looked at.
const LOGS_MAX: usize = 20_000;
/// How long a log is remembered that has nothing left to do: longer than what is looked at twice.
const IDLE: Duration = Duration::from_secs(30);
/// For how long the lease is kept before it is handed to whoever waits for it.
const TURN: Duration = Duration::from_secs(30);
/// How long one wait for the lease lasts.
const LEASE_WAIT: Duration = Duration::from_secs(4);
/// Whoever is silent for so long, an operator should know of.
pub(crate) const SILENT_AFTER: Duration = Duration::from_mins(1);

/// Collects the cosignatures of all logs.
pub(crate) struct Collector(pub(crate) Tools);

/// What is known between two looks.
struct Watch {
    logs: HashMap<OrgId, LogTurn>,
    /// One for each witness.
    witnesses: Vec<Backoff>,
    is_silent: Vec<bool>,
    /// The latest time at which one of the checkpoints was signed that were seen; `None`: nothing was looked at.
    signed_until: Option<Timestamp>,
    all_again_at: Instant,
}

impl Collector {
    /// Collects until stopped.
    pub(crate) async fn run(self, stopping: CancellationToken) -> anyhow::Result<()> {
        let mut retries = Retries::new("collect cosignatures", &stopping);
        loop {
            let outcome = self.collect(&stopping).await;
            // Whoever is next counts; two that say the same would be added up.
            self.report_lags(&[]);
            if !retries.again(outcome).await {
                return Ok(());
            }
        }
    }

    async fn collect(&self, stopping: &CancellationToken) -> Result<(), Error> {
        let mut lease = self.0.store.witness_lease().await?;
        let (mut ends, mut is_ours) = (Instant::now(), false);
        let mut watch = Watch::new(self.0.witnesses.len());
        let mut rounds = FuturesUnordered::new();
        loop {
            if !is_ours || Instant::now() >= ends {
                is_ours = tokio::select! {
                    is_ours = lease.take(LEASE_WAIT) => is_ours?,
                    () = stopping.cancelled() => return Ok(()),
                };
                ends = Instant::now() + TURN;
                if !is_ours {
                    self.report_lags(&[]);
                    watch = Watch::new(self.0.witnesses.len());
                    rounds.clear();
                    continue;
                }
            }
            let next = Instant::now() + LOOK_EVERY;
            self.look(&mut watch).await?;
            self.report(&mut watch);
            for (org, asks) in watch.begin(ROUNDS_MAX - rounds.len(), Instant::now()) {
                rounds.push(async move { (org, self.0.round(org, &asks).await) });
            }
            loop {
                tokio::select! {
                    Some((org, outcome)) = rounds.next() => watch.end(org, outcome),
                    () = sleep_until(next) => break,
                    () = stopping.cancelled() => return Ok(()),
                }
            }
        }
    }

    /// Sees which logs have a new checkpoint, and from time to time which ones have any that was not cosigned.
    async fn look(&self, watch: &mut Watch) -> Result<(), Error> {
        let store = &self.0.store;
        let since = watch.signed_until.map(|until| until.minus(OVERLAP));
        let signed = store
            .logs_signed_since(since.unwrap_or(Timestamp::MIN))
            .await?;
        let newest = signed.iter().map(|log| log.signed_at).max();
        watch.signed_until = watch.signed_until.max(newest);
        if since.is_some() {
            for log in &signed {
                watch.see(log);
            }
        }
        if Instant::now() < watch.all_again_at {
            return Ok(());
        }
        watch.all_again_at = Instant::now() + LOOK_AT_ALL_EVERY;
        let witnesses: Vec<String> = self
            .0
            .witnesses
            .iter()
            .map(|one| one.key.to_string())
            .collect();
        let mut after = None;
        while watch.logs.len() < LOGS_MAX {
            let page = store.logs_to_cosign(&witnesses, after).await?;
            let Some(last) = page.last() else {
                break;
            };
            after = Some(last.org);
            for log in &page {
                watch.see_again(log);
            }
        }
        Ok(())
    }

    /// How long logs wait for each witness, as a metric; and in the log when that begins to be long, and when it ends.
    fn report(&self, watch: &mut Watch) {
        let now = self.0.clock.now();
        let lags = watch.lags(now);
        self.report_lags(&lags);
        for ((witness, lag), is_silent) in
            self.0.witnesses.iter().zip(&lags).zip(&mut watch.is_silent)
        {
            let was_silent = std::mem::replace(is_silent, *lag >= SILENT_AFTER);
            if *is_silent && !was_silent {
                tracing::warn!(
                    witness = witness.name(),
                    waiting_s = lag.as_secs(),
                    "a witness does not cosign; see `watchbell doctor`"
                );
            } else if was_silent && !*is_silent {
                tracing::info!(witness = witness.name(), "a witness cosigns again");
            }
        }
    }

    fn report_lags(&self, lags: &[Duration]) {
        let all = self.0.witnesses.iter().map(Witness::name);
        for (number, name) in all.enumerate() {
            let lag = lags.get(number).copied().unwrap_or_default();
            metrics::gauge!(names::TRANSPARENCY_WITNESS_LAG, "witness" => name.to_owned())
                .set(lag.as_secs_f64());
        }
    }
}

impl Watch {
    fn new(witnesses: usize) -> Self {
        let now = Instant::now();
        Self {
            logs: HashMap::new(),
            witnesses: vec![Backoff::new(WITNESS_PAUSE_MAX, now); witnesses],
            is_silent: vec![false; witnesses],
            signed_until: None,
            all_again_at: now,
        }
    }

    /// A log has a checkpoint that may be new.
    fn see(&mut self, log: &SignedLog) {
        let (now, witnesses) = (Instant::now(), self.witnesses.len());
        if self.logs.len() >= LOGS_MAX && !self.logs.contains_key(&log.org) {
            return;
        }
        let turn = self.logs.entry(log.org);
        turn.or_insert_with(|| LogTurn::new(0, witnesses, now))
            .grows_to(log.size, log.signed_at, now);
    }

    /// A log has a checkpoint that was not cosigned by all, although it may be no newer than what we know.
    fn see_again(&mut self, log: &SignedLog) {
        match self.logs.get_mut(&log.org) {
            Some(turn) if !turn.is_being_asked => {
                turn.pairs.iter_mut().for_each(|pair| pair.is_done = false);
            }
            Some(_) => {}
            None => {
                let turn = LogTurn::new(log.size, self.witnesses.len(), Instant::now());
                self.logs.insert(log.org, turn);
            }
        }
    }

    /// The logs whose turn it is, those first that wait longest, and whom to ask about each.
    fn begin(&mut self, at_most: usize, now: Instant) -> Vec<(OrgId, Vec<Ask>)> {
        self.logs.retain(|_, turn| !turn.is_over(IDLE, now));
        let mut due: Vec<(Instant, OrgId)> = Vec::new();
        for (org, turn) in &self.logs {
            let since = turn.is_due_since(&self.witnesses, now);
            due.extend(since.map(|since| (since, *org)));
        }
        due.sort_unstable();
        let mut begun = Vec::new();
        for (_, org) in due.into_iter().take(at_most) {
            let Some(turn) = self.logs.get_mut(&org) else {
                continue;
            };
            let (mut asks, mut is_asked) = (Vec::new(), false);
            for (pair, witness) in turn.pairs.iter_mut().zip(&mut self.witnesses) {
                asks.push(if !witness.may_try(now) {
                    Ask::IsAway
                } else if !pair.backoff.may_try(now) {
                    Ask::Later
                } else {
                    if !pair.is_done {
                        pair.backoff.tries(now);
                        witness.tries(now);
                        is_asked = true;
                    }
                    Ask::Yes
                });
            }
            turn.begins(now, is_asked);
            begun.push((org, asks));
        }
        begun
    }

    fn end(&mut self, org: OrgId, outcome: Result<Option<Done>, Error>) {
        let now = Instant::now();
        let Some(turn) = self.logs.get_mut(&org) else {
            return;
        };
        turn.is_being_asked = false;
        let done = match outcome {
            Ok(Some(done)) => done,
            Ok(None) => {
                self.logs.remove(&org);
                return;
            }
            Err(error) => {
                // It is its turn again in a second.
                tracing::warn!(org.id = %org, error = chain(&error), "could not ask witnesses");
                return;
            }
        };
        let is_newest = done.size >= turn.size;
        turn.size = turn.size.max(done.size);
        let pairs = turn.pairs.iter_mut().zip(&mut self.witnesses);
        for ((pair, witness), outcome) in pairs.zip(done.outcomes) {
            match outcome {
                Outcome::NotAsked => {}
                Outcome::Had | Outcome::Cosigned => {
                    pair.is_done = is_newest;
                    pair.waits_since = None;
                    pair.backoff.works();
                    if matches!(outcome, Outcome::Cosigned) {
                        witness.works();
                    }
                }
                Outcome::Refused { why, since } => {
                    pair.waits_since =
                        Some(pair.waits_since.map_or(since, |known| known.min(since)));
                    if why == NotCosigned::Away {
                        witness.fails(now);
                    } else {
                        witness.works();
                        pair.backoff.fails(now);
                    }
                }
            }
        }
    }

    /// For how long the log that waits longest does so, for each witness.
    fn lags(&self, now: Timestamp) -> Vec<Duration> {
        let lag = |number: usize| {
            let waiting = self.logs.values().map(|turn| &turn.pairs[number]);
            let since = waiting.filter_map(|pair| pair.waits_since.filter(|_| !pair.is_done));
            since.min().map_or(Duration::ZERO, |since| now.since(since))
        };
        (0..self.witnesses.len()).map(lag).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use tokio::time::advance;
    use uuid::Uuid;

    use super::*;

    fn answer(size: u64, why: Option<NotCosigned>) -> Done {
        let since = Timestamp::MIN;
        let outcome = why.map_or(Outcome::Cosigned, |why| Outcome::Refused { why, since });
        let outcomes = vec![outcome];
        Done { size, outcomes }
    }

    #[tokio::test(start_paused = true)]
    async fn a_log_that_a_witness_always_fails_at_does_not_have_all_its_tries() {
        let orgs = [1, 2, 3].map(|number| OrgId::from_uuid(Uuid::from_u128(number)));
        let mut watch = Watch::new(1);
        for org in orgs {
            let (size, signed_at) = (7, Timestamp::MIN);
            watch.see(&SignedLog {
                org,
                size,
                signed_at,
            });
        }
        let mut cosigned = HashSet::new();
        // At first all are asked at once, and the witness is away.
        let mut is_away = true;
        for _ in 0..400 {
            for (org, asks) in watch.begin(ROUNDS_MAX, Instant::now()) {
                let fails = is_away || org == orgs[0] || asks[0] != Ask::Yes;
                let why = fails.then_some(NotCosigned::Away);
                cosigned.extend((!fails).then_some(org));
                watch.end(org, Ok(Some(answer(7, why))));
            }
            is_away = false;
            advance(LOOK_EVERY).await;
        }
        assert_eq!(cosigned, HashSet::from([orgs[1], orgs[2]]));
    }
}
