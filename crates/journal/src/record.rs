//! What the journal's messages hold.
//!
//! A message is one version byte and then any number of frames, so that one message can carry the
//! records of many requests. A frame is a record in postcard (compact, and read without copying).
//! A record's fields never change: a new shape is a new version, and `golden/` holds an example of
//! every version that was ever written, decoded in a test for as long as old bytes may exist.

use domain::{
    AttemptId, DeliveryId, EventId, OrgId, RuleId, Timestamp,
    delivery::{Outcome, State, Trigger},
};
use serde::{Deserialize, Serialize};

use crate::Error;

/// The version written today, and the only one there has been.
pub const VERSION: u8 = 1;

/// One accepted audit event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EventRecord<'a> {
    pub org: OrgId,
    pub id: EventId,
    pub received_at: Timestamp,
    /// The event as stored and delivered.
    pub json: &'a str,
}

/// Something that became of a delivery.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum OutcomeRecord {
    Matched(Matched),
    Attempted(Box<Attempted>),
}

/// A rule matched an event: from now on the delivery exists.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Matched {
    pub org: OrgId,
    pub delivery: DeliveryId,
    pub event: EventId,
    pub rule: RuleId,
    pub rule_name: String,
    pub event_type: String,
    pub url: String,
    pub matched_at: Timestamp,
}

/// One send of a delivery, and what follows from it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Attempted {
    pub id: AttemptId,
    pub org: OrgId,
    pub delivery: DeliveryId,
    pub number: u32,
    pub trigger: Trigger,
    pub due_at: Timestamp,
    pub started_at: Timestamp,
    pub finished_at: Timestamp,
    /// With the stored event, this gives the exact bytes that were signed and sent.
    pub signed_at: Timestamp,
    pub url: String,
    pub remote_address: Option<String>,
    pub body_sha256: String,
    pub body_bytes: u32,
    pub status: Option<u16>,
    pub outcome: Outcome,
    /// What went wrong, in plain words.
    pub error: Option<String>,
    /// The first bytes of the receiver's answer.
    pub answer: String,
    /// Where the delivery stands after this attempt.
    pub state: State,
    pub next_at: Option<Timestamp>,
}

/// A delivery to be sent: everything the sender needs, so that it asks nobody.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Job {
    pub org: OrgId,
    pub delivery: DeliveryId,
    pub event: EventId,
    pub rule: RuleId,
    pub rule_name: String,
    pub event_type: String,
    pub url: String,
    /// The event as stored.
    pub json: String,
    pub matched_at: Timestamp,
    /// The number of the attempt to be made, from 1.
    pub attempt: u32,
    pub due_at: Timestamp,
}

/// A record that could not be applied.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeadLetter {
    /// The stream it was in, and where.
    pub log: String,
    pub sequence: u64,
    pub at: Timestamp,
    /// Why it could not be applied, for people.
    pub reason: String,
    /// A message of the log with this record alone, or the whole message if it could not be read.
    pub payload: Vec<u8>,
}

/// A message of one record, however large.
pub fn message<R: Serialize>(record: &R) -> Vec<u8> {
    postcard::to_io(record, vec![VERSION]).expect("a record of plain fields always encodes")
}

/// The events of a message, borrowed from it.
pub fn events(message: &[u8]) -> Result<Vec<EventRecord<'_>>, Error> {
    all("event record", message)
}

/// The outcomes of a message.
pub fn outcomes(message: &[u8]) -> Result<Vec<OutcomeRecord>, Error> {
    all("outcome record", message)
}

/// The delivery of a message.
pub fn job(message: &[u8]) -> Result<Job, Error> {
    one("delivery job", message)
}

/// The dead letter of a message.
pub fn dead_letter(message: &[u8]) -> Result<DeadLetter, Error> {
    one("dead letter", message)
}

fn one<'m, R: Deserialize<'m>>(what: &'static str, message: &'m [u8]) -> Result<R, Error> {
    postcard::from_bytes(body(what, message)?).map_err(|error| corrupt(what, error))
}

fn all<'m, R: Deserialize<'m>>(what: &'static str, message: &'m [u8]) -> Result<Vec<R>, Error> {
    let mut rest = body(what, message)?;
    let mut records = Vec::new();
    while !rest.is_empty() {
        let (record, after) =
            postcard::take_from_bytes(rest).map_err(|error| corrupt(what, error))?;
        records.push(record);
        rest = after;
    }
    Ok(records)
}

/// What follows the version byte, if it is a version we know.
fn body<'m>(what: &'static str, message: &'m [u8]) -> Result<&'m [u8], Error> {
    match message.split_first() {
        Some((&VERSION, rest)) => Ok(rest),
        Some((&version, _)) if version > VERSION => Err(Error::Newer { what, version }),
        Some((version, _)) => Err(corrupt(what, format!("there is no version {version}"))),
        None => Err(corrupt(what, "the message is empty")),
    }
}

fn corrupt(what: &'static str, problem: impl std::fmt::Display) -> Error {
    Error::Corrupt {
        what,
        problem: problem.to_string(),
    }
}
