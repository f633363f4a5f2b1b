//! What a witness answers to a checkpoint, and what it does before it answers.

use std::sync::Arc;

use anyhow::Context as _;
use domain::Timestamp;
use transparency_log::{
    AddCheckpoint, Cosigner, Note, Signature, SignedCheckpoint, VerifierKey,
    witness::{Answer, judge},
};

use super::{
    evidence::{Evidence, Kept, Wrong},
    folder::Folder,
    logs::{Log, Logs},
    memory::{self, Memory},
};
use crate::output::{counted, note};

pub(super) struct Witness {
    cosigner: Cosigner,
    logs: Logs,
    memory: Memory,
    evidence: Evidence,
    /// Held for as long as the memory is used.
    _folder: Folder,
}

/// The answer to a checkpoint of a known log.
pub(super) enum Reply {
    Cosigned(Signature),
    Refused(Answer),
}

impl Witness {
    pub(super) fn new(cosigner: Cosigner, logs: Logs, folder: Folder) -> Self {
        Self {
            memory: Memory::new(folder.path(), cosigner.verifier_key().clone()),
            evidence: Evidence::new(folder.path()),
            cosigner,
            logs,
            _folder: folder,
        }
    }

    /// The log of this origin, if it is one of ours.
    pub(super) fn log(&self, origin: &str) -> Option<Arc<Log>> {
        self.logs.get(origin)
    }

    /// The last checkpoint that was cosigned of the log whose origin has this hash.
    pub(super) fn last(&self, origin_hash: &str) -> anyhow::Result<Option<SignedCheckpoint>> {
        self.memory.last(origin_hash)
    }

    /// Judges a checkpoint and, if it continues what was seen, remembers it; only then the cosignature is handed out. The caller
    /// holds the log's lock.
    pub(super) fn add_checkpoint(
        &self,
        log_keys: &[VerifierKey],
        request: &AddCheckpoint,
        now: Timestamp,
    ) -> anyhow::Result<Reply> {
        let checkpoint = request.checkpoint().unverified();
        let last = self.memory.last(&memory::hash(checkpoint.origin()))?;
        let seen = last.as_ref().map(memory::seen);
        match judge(request, Some(log_keys), seen) {
            Answer::Cosign(_) => {
                let time = u64::try_from(now.unix_seconds()).unwrap_or(0);
                let cosignature = self
                    .cosigner
                    .cosign(checkpoint, time)
                    .context("this machine's clock is wrong")?;
                let kept = with_cosignature(request.checkpoint(), log_keys, cosignature.clone())?;
                self.memory.keep(&kept)?;
                note(format_args!(
                    "{now}  cosigned  {}  {}",
                    checkpoint.origin(),
                    entries(checkpoint.size())
                ));
                Ok(Reply::Cosigned(cosignature))
            }
            refused => {
                if let Some(last) = &last
                    && let Some(wrong) = wrong(&refused, last, request)
                {
                    self.alarm(wrong, last, request, now);
                }
                Ok(Reply::Refused(refused))
            }
        }
    }

    /// Says what is wrong with a log, and keeps what shows it.
    fn alarm(
        &self,
        wrong: Wrong,
        before: &SignedCheckpoint,
        request: &AddCheckpoint,
        now: Timestamp,
    ) {
        let kept = match self.evidence.keep(wrong, before, request) {
            Ok(Kept::Here(file)) => format!("Keep {}", file.display()),
            // Said when it was, and whoever sends it a thousand times gets no thousand lines.
            Ok(Kept::Already) => return,
            Ok(Kept::Not) => "There is enough evidence of this log already".to_owned(),
            Err(error) => format!("It could not be kept ({error:#})"),
        };
        let checkpoint = request.checkpoint().unverified();
        let (origin, size) = (checkpoint.origin(), entries(checkpoint.size()));
        let said = match wrong {
            Wrong::Fork => format!(
                "{origin} signed two different trees of {size}: it has rewritten its history. {kept}: the two signatures prove it."
            ),
            Wrong::Unproven => format!(
                "{origin} signed a tree of {size}, and it was not proven that it contains the {} shown before. \
                 {kept}: if the log cannot prove it, it has rewritten its history.",
                entries(before.unverified().size())
            ),
        };
        note(format_args!("{now}  ALARM  {said}"));
    }
}

/// What the refusal says about the log, if anything. Its signature has been verified where it does.
fn wrong(refused: &Answer, last: &SignedCheckpoint, request: &AddCheckpoint) -> Option<Wrong> {
    let (before, now) = (last.unverified(), request.checkpoint().unverified());
    let is_fork = before.size() == now.size() && before.root() != now.root();
    match refused {
        // Whatever size the request says it continues.
        Answer::Conflict { .. } if is_fork => Some(Wrong::Fork),
        // A proof that nothing asked for is a mistake of whoever sent it.
        Answer::Inconsistent(_) if before.size() < now.size() && before.size() > 0 => {
            Some(Wrong::Unproven)
        }
        _ => None,
    }
}

/// The checkpoint with the log's own signatures and ours. Others are not ours to pass on.
fn with_cosignature(
    checkpoint: &SignedCheckpoint,
    log_keys: &[VerifierKey],
    cosignature: Signature,
) -> anyhow::Result<SignedCheckpoint> {
    let note = checkpoint.note();
    let is_by = |key: &VerifierKey, signature: &Signature| {
        signature.name() == key.name() && signature.key_id() == key.id()
    };
    let by_log = log_keys.iter().filter_map(|key| {
        let mut signatures = note.signatures().iter();
        signatures.find(|signature| is_by(key, signature)).cloned()
    });
    let signatures = by_log.chain([cosignature]).collect();
    let note = Note::new(note.text().to_owned(), signatures)?;
    Ok(SignedCheckpoint::parse(&note.to_string())?)
}

fn entries(count: u64) -> String {
    counted(count, "entry")
}
