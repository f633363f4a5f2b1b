//! Judges a batch: each event is packed for the journal or rejected, in the order sent.

use domain::{
    EventId,
    batch::Batch,
    event::{self, accept::Arrival},
    fault::Fault,
    id::{RANDOM_BYTES, Tail},
    idempotency::RequestName,
};
use journal::{frames::Frames, record::EventRecord};
use runtime::random;

/// What an accepted event takes in the journal beyond its own bytes: ids, time, and the fields that
/// the server adds. Only for how much memory is asked for at once.
const ADDED_BYTES: usize = 192;

/// What became of a batch; nothing is durable yet.
pub(super) struct Validated {
    pub(super) accepted: Vec<EventId>,
    /// The others, each with its place in the batch.
    pub(super) rejected: Vec<(usize, Fault)>,
    pub(super) frames: Frames,
}

/// What makes the ids of a batch's events.
pub(super) enum Tails<'a> {
    /// Drawn for all of them at once.
    Random(Vec<u8>),
    /// They follow from the request's name.
    Of(&'a RequestName),
}

impl Tails<'_> {
    pub(super) fn random(events: usize) -> Self {
        let mut bytes = vec![0; events * RANDOM_BYTES];
        random::fill(&mut bytes);
        Self::Random(bytes)
    }

    fn tail(&self, index: usize) -> Tail {
        match self {
            Self::Random(bytes) => {
                let (tails, _) = bytes.as_chunks();
                Tail::Random(tails[index])
            }
            Self::Of(request) => request.tail(index),
        }
    }
}

pub(super) fn validate(batch: &Batch<'_>, arrival: &Arrival, tails: &Tails<'_>) -> Validated {
    let sent_bytes: usize = batch.events.iter().flatten().map(|e| e.json.len()).sum();
    let mut judged = Validated {
        accepted: Vec::with_capacity(batch.events.len()),
        rejected: Vec::new(),
        frames: Frames::expecting(sent_bytes + ADDED_BYTES * batch.events.len()),
    };
    let mut json = String::new();
    for (index, sent) in batch.events.iter().enumerate() {
        json.clear();
        let outcome = match sent {
            Ok(sent) => event::accept(sent, arrival, tails.tail(index), &mut json),
            Err(fault) => Err(fault.clone()),
        };
        match outcome {
            Ok(id) => {
                judged.frames.push(&EventRecord {
                    org: arrival.org,
                    id,
                    received_at: arrival.received_at,
                    json: &json,
                });
                judged.accepted.push(id);
            }
            Err(fault) => judged.rejected.push((index, fault)),
        }
    }
    judged
}
