//! A round for one log: its newest checkpoint goes to the witnesses that have not cosigned it, all at once.

use std::{slice, sync::Arc, time::Duration};

use archive::Bucket;
use domain::{OrgId, Timestamp, clock::Clock};
use futures::{StreamExt as _, stream::FuturesUnordered};
use store::{
    Store,
    transparency::witnesses::{Cosigned, WitnessState},
};
use tokio::time::Instant;
use transparency_log::{AddCheckpoint, Note, Signature, SignedCheckpoint};

use super::{
    exchange::{Answer, Client},
    not_cosigned::{NotCosigned, Refusal},
};
use crate::{
    config::Witness,
    telemetry::metrics as names,
    transparency::{Error, published::Published},
};

/// How long a witness has for a checkpoint, all its answers together. A round lasts no longer, so the next checkpoint waits no
/// longer either, whoever hangs.
const EXCHANGE_TIMEOUT: Duration = Duration::from_secs(2);
/// Requests to a witness for one checkpoint. After a 409 the second has what the witness wants, unless somebody else asks it, too.
const REQUESTS_MAX: usize = 3;

/// What asking witnesses takes.
pub(crate) struct Tools {
    pub(super) store: Store,
    bucket: Bucket,
    pub(super) clock: Clock,
    pub(super) witnesses: Arc<[Witness]>,
    client: Client,
}

/// Whether a witness is asked in a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ask {
    Yes,
    /// It refused this log a moment ago.
    Later,
    /// It did not answer a moment ago.
    IsAway,
}

/// What became of a witness in a round.
#[derive(Clone, Copy, Debug)]
pub(super) enum Outcome {
    /// It had cosigned the checkpoint before.
    Had,
    Cosigned,
    NotAsked,
    Refused {
        why: NotCosigned,
        since: Timestamp,
    },
}

/// What became of a log's newest checkpoint.
#[derive(Debug)]
pub(super) struct Done {
    pub(super) size: u64,
    /// One for each witness.
    pub(super) outcomes: Vec<Outcome>,
}

impl Tools {
    pub(crate) fn new(
        store: Store,
        bucket: Bucket,
        clock: Clock,
        witnesses: Arc<[Witness]>,
    ) -> anyhow::Result<Self> {
        Ok(Self {
            store,
            bucket,
            clock,
            witnesses,
            client: Client::new()?,
        })
    }

    /// Asks the witnesses that may be asked for what they have not cosigned. `None`: there is no such log any more.
    pub(super) async fn round(&self, org: OrgId, asks: &[Ask]) -> Result<Option<Done>, Error> {
        let Some(log) = Published::newest(&self.store, &self.bucket, org).await? else {
            return Ok(None);
        };
        let states = self.store.witnesses_of(org).await?;
        let state = |witness: &Witness| {
            let key = witness.key.to_string();
            states.iter().find(|one| one.witness == key)
        };
        let sent = by_the_log_alone(&log)?;
        let mut outcomes = Vec::new();
        let mut requests = FuturesUnordered::new();
        for (number, (witness, ask)) in self.witnesses.iter().zip(asks).enumerate() {
            let had = log.checkpoint.cosigned_by(slice::from_ref(&witness.key));
            outcomes.push(if had.is_ok_and(|by| !by.is_empty()) {
                Outcome::Had
            } else if *ask == Ask::Yes {
                let known = state(witness).and_then(|one| one.size).unwrap_or(0);
                let (log, sent) = (&log, &sent);
                requests.push(async move { (number, self.ask(log, sent, witness, known).await) });
                Outcome::NotAsked
            } else if *ask == Ask::IsAway {
                let refusal = Refusal::new(NotCosigned::Away, "it did not answer a moment ago");
                self.note(org, witness, state(witness), &refusal).await?
            } else {
                Outcome::NotAsked
            });
        }
        let mut checkpoint = log.checkpoint.clone();
        while let Some((number, answer)) = requests.next().await {
            let witness = &self.witnesses[number];
            outcomes[number] = match answer? {
                Reply::Cosigned(cosignature) => {
                    checkpoint.add(cosignature)?;
                    self.keep(org, witness, &checkpoint).await?;
                    Outcome::Cosigned
                }
                Reply::Refused(refusal) => {
                    count(witness, refusal.why.code());
                    self.note(org, witness, state(witness), &refusal).await?
                }
                Reply::Overtaken => Outcome::NotAsked,
            };
        }
        let size = log.size();
        Ok(Some(Done { size, outcomes }))
    }

    /// Asks a witness that is believed to have seen `known` leaves last, and once more from where it says that it is.
    async fn ask(
        &self,
        log: &Published,
        sent: &SignedCheckpoint,
        witness: &Witness,
        known: u64,
    ) -> Result<Reply, Error> {
        let mut old_size = known.min(log.size());
        let deadline = Instant::now() + EXCHANGE_TIMEOUT;
        for _ in 0..REQUESTS_MAX {
            let proof = log.prove_since(old_size).await?;
            let request = AddCheckpoint::new(old_size, proof, sent.clone())?;
            let answer = self.client.add_checkpoint(witness, &request, deadline);
            match answer.await {
                Answer::Cosigned(cosignature) => return Ok(Reply::Cosigned(cosignature)),
                Answer::Refused(refusal) => return Ok(Reply::Refused(refusal)),
                Answer::Conflict(size) if size > log.size() => {
                    return self.is_behind(log, size).await;
                }
                Answer::Conflict(size) if size == old_size && size == log.size() => {
                    let detail = format!("it has cosigned another tree of {size} entries");
                    let refusal = Refusal::new(NotCosigned::Inconsistent, detail);
                    return Ok(Reply::Refused(refusal));
                }
                Answer::Conflict(size) => old_size = size,
            }
        }
        let detail = "it answers 409 whatever size it is told";
        Ok(Reply::Refused(Refusal::new(NotCosigned::Refused, detail)))
    }

    /// What it means that a witness has seen more than the log's newest checkpoint has.
    async fn is_behind(&self, log: &Published, seen: u64) -> Result<Reply, Error> {
        let now = self.store.transparency_log(log.org()).await?;
        // Another process asked meanwhile, with a newer one.
        if now.is_some_and(|now| now.size >= seen) {
            return Ok(Reply::Overtaken);
        }
        let detail = format!(
            "it has cosigned {seen} entries, and there are {}",
            log.size()
        );
        Ok(Reply::Refused(Refusal::new(
            NotCosigned::RolledBack,
            detail,
        )))
    }

    async fn keep(
        &self,
        org: OrgId,
        witness: &Witness,
        checkpoint: &SignedCheckpoint,
    ) -> Result<(), Error> {
        count(witness, "cosigned");
        let cosigned = Cosigned {
            witness: &witness.key.to_string(),
            size: checkpoint.unverified().size(),
            checkpoint: &checkpoint.to_string(),
            at: self.clock.now(),
        };
        self.store.keep_cosigned(org, &cosigned).await?;
        Ok(())
    }

    /// Notes why a witness did not cosign, and says so if that is new.
    async fn note(
        &self,
        org: OrgId,
        witness: &Witness,
        state: Option<&WitnessState>,
        refusal: &Refusal,
    ) -> Result<Outcome, Error> {
        let (why, now) = (refusal.why, self.clock.now());
        if state.and_then(|one| one.problem.as_deref()) != Some(why.code()) {
            let key = witness.key.to_string();
            let noted = self.store.note_witness_problem(org, &key, why.code(), now);
            noted.await?;
            say(org, witness, refusal);
        }
        let since = state.and_then(|one| one.problem_since).unwrap_or(now);
        Ok(Outcome::Refused { why, since })
    }
}

enum Reply {
    Cosigned(Signature),
    Refused(Refusal),
    Overtaken,
}

/// The checkpoint without cosignatures: what others signed is not a witness's to look at.
fn by_the_log_alone(log: &Published) -> Result<SignedCheckpoint, Error> {
    let note = log.checkpoint.note();
    let by_log = note
        .signatures()
        .iter()
        .filter(|one| one.name() == log.origin());
    let note = Note::new(note.text().to_owned(), by_log.cloned().collect())?;
    Ok(SignedCheckpoint::parse(&note.to_string())?)
}

fn count(witness: &Witness, outcome: &'static str) {
    let name = witness.name().to_owned();
    metrics::counter!(names::TRANSPARENCY_COSIGNATURES, "witness" => name, "outcome" => outcome)
        .increment(1);
}

fn say(org: OrgId, witness: &Witness, refusal: &Refusal) {
    let (name, why, reason) = (witness.name(), refusal.why.code(), &refusal.detail);
    if refusal.why.accuses_the_log() {
        tracing::error!(
            org.id = %org, witness = name, why, reason,
            "a witness says that a transparency log is not what it was before; compare what it saw with the log"
        );
    } else if refusal.why != NotCosigned::Away {
        tracing::warn!(
            org.id = %org, witness = name, why, reason,
            "a witness does not cosign a transparency log"
        );
    }
}
