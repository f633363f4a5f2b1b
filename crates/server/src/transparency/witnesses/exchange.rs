//! One request to a witness and its answer: bounded in time and bytes, and believed only if the signature verifies.

use std::{slice, time::Duration};

use reqwest::{Response, StatusCode, redirect::Policy};
use runtime::error_chain::chain;
use tokio::time::Instant;
use transparency_log::{
    AddCheckpoint, Signature, SignedCheckpoint, VerifierKey, witness::parse_conflict,
};

use super::not_cosigned::{NotCosigned, Refusal};
use crate::config::Witness;

/// How much of an answer is read. A cosignature has 200 bytes; those that withstand quantum computers, which a witness may add,
/// some kilobytes each.
const ANSWER_BYTES_MAX: usize = 64 * 1024;
/// How long a connection may take, of the time that the exchange has.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);

/// Asks witnesses.
#[derive(Clone, Debug)]
pub(super) struct Client(reqwest::Client);

/// What a witness answered.
#[derive(Debug)]
pub(super) enum Answer {
    Cosigned(Signature),
    /// It saw so many leaves last, or another tree of as many as it was told.
    Conflict(u64),
    Refused(Refusal),
}

impl Client {
    pub(super) fn new() -> reqwest::Result<Self> {
        let client = reqwest::Client::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            .redirect(Policy::none())
            .no_proxy()
            .user_agent(concat!("watchbell/", env!("CARGO_PKG_VERSION")))
            .build()?;
        Ok(Self(client))
    }

    /// Asks a witness to cosign, until the deadline.
    pub(super) async fn add_checkpoint(
        &self,
        witness: &Witness,
        request: &AddCheckpoint,
        deadline: Instant,
    ) -> Answer {
        let left = deadline.saturating_duration_since(Instant::now());
        let away =
            |error: reqwest::Error| Answer::Refused(Refusal::new(NotCosigned::Away, chain(&error)));
        let url = format!("{}add-checkpoint", witness.url);
        // The time limit includes reading the answer.
        let sent = self.0.post(url).timeout(left).body(request.to_string());
        let answer = match sent.send().await {
            Ok(answer) => answer,
            Err(error) => return away(error),
        };
        let status = answer.status();
        if status != StatusCode::OK && status != StatusCode::CONFLICT {
            let detail = format!("it answered {}", status.as_u16());
            return Answer::Refused(Refusal::new(why(status), detail));
        }
        let body = match read(answer).await {
            Ok(Some(body)) => body,
            Ok(None) => return not_believed("its answer is too long or not a text"),
            Err(error) => return away(error),
        };
        if status == StatusCode::CONFLICT {
            return match parse_conflict(&body) {
                Ok(size) => Answer::Conflict(size),
                // That it saw another tree of this size needs no size.
                Err(_) if request.old_size() == request.checkpoint().unverified().size() => {
                    Answer::Conflict(request.old_size())
                }
                Err(_) => not_believed("its answer 409 has no size"),
            };
        }
        match cosignature(request.checkpoint(), &witness.key, &body) {
            Some(signature) => Answer::Cosigned(signature),
            None => not_believed("its answer is no cosignature of the checkpoint by its key"),
        }
    }
}

fn not_believed(detail: &str) -> Answer {
    Answer::Refused(Refusal::new(NotCosigned::NotBelieved, detail))
}

fn why(status: StatusCode) -> NotCosigned {
    match status {
        StatusCode::NOT_FOUND => NotCosigned::UnknownLog,
        StatusCode::UNPROCESSABLE_ENTITY => NotCosigned::Inconsistent,
        StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS => NotCosigned::Away,
        status if status.is_server_error() => NotCosigned::Away,
        _ => NotCosigned::Refused,
    }
}

/// The text of an answer; `None` if it is too long, or none.
async fn read(mut answer: Response) -> reqwest::Result<Option<String>> {
    let mut body = Vec::new();
    while let Some(chunk) = answer.chunk().await? {
        if body.len() + chunk.len() > ANSWER_BYTES_MAX {
            return Ok(None);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(String::from_utf8(body).ok())
}

/// The line by which this witness cosigned this checkpoint, if there is one. Other lines are nothing that we asked for.
fn cosignature(checkpoint: &SignedCheckpoint, key: &VerifierKey, lines: &str) -> Option<Signature> {
    let signatures = Signature::parse_lines(lines).ok()?;
    signatures.into_iter().find(|signature| {
        let mut signed = checkpoint.clone();
        let added = signed.add(signature.clone());
        let cosigned =
            added.and_then(|()| signed.cosigned_by(slice::from_ref(key)).map(|by| by.len()));
        cosigned == Ok(1)
    })
}

#[cfg(test)]
mod tests {
    use transparency_log::{Checkpoint, Cosigner, Hash, SigningKey};

    use super::*;

    #[test]
    fn only_a_cosignature_of_this_checkpoint_by_this_key_is_one() {
        let log = SigningKey::from_seed("log.example/1", &[1; 32]).expect("a key");
        let checkpoint = |size| {
            let text = Checkpoint::new("log.example/1", size, Hash::of_leaf(b"a")).expect("one");
            SignedCheckpoint::sign(text, &[&log]).expect("signed")
        };
        let witness = |seed| Cosigner::from_seed("w.example/1", &[seed; 32]).expect("a key");
        let line = |by: &Cosigner, of: &SignedCheckpoint| {
            let signature = by.cosign(of.unverified(), 1_790_000_000).expect("signed");
            format!("{signature}\n")
        };
        let (ours, another, seven) = (witness(2), witness(3), checkpoint(7));
        let key = ours.verifier_key();
        let good = line(&ours, &seven);
        assert!(cosignature(&seven, key, &good).is_some());
        let among = format!("{}{good}", line(&another, &seven));
        assert!(cosignature(&seven, key, &among).is_some());
        for wrong in [
            line(&another, &seven),
            line(&ours, &checkpoint(8)),
            format!("{}\n", seven.note().signatures()[0]),
            good.trim_end().to_owned(),
            String::new(),
            "<html>\n".to_owned(),
        ] {
            assert!(cosignature(&seven, key, &wrong).is_none(), "{wrong}");
        }
    }
}
