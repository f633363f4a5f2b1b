//! What the journal's messages hold.
//!
//! A message is one version byte and then any number of frames, so that one message can carry the
//! records of many requests. A frame is a record in postcard (compact, and read without copying).
//! A record's fields never change: a new shape is a new version, and `golden/` holds an example of
//! every version that was ever written, decoded in a test for as long as old bytes may exist.

mod v1;
mod v2;

use domain::{
    AttemptId, DeliveryId, EventId, OrgId, RuleId, SecretId, Timestamp,
    delivery::{
        Cause, Outcome, Reason, State, Trigger,
        endpoint::{Endpoint, Notice},
        schedule::Round,
    },
    rule::{
        Rule,
        throttle::{Group, Groups},
    },
};
use serde::{Deserialize, Serialize};

use crate::Error;

/// The version written today. Version 1 knew neither thresholds nor what the matcher has judged; version 2
/// knew no endpoints, no reasons, and less of an attempt. Version 3 is written alike, but who read it knew no
/// `source` in the text of an event, and would take such an event for none; nor may it go on from a judgment
/// whose events it cannot read.
pub const VERSION: u8 = 4;

/// That of jobs: nobody who sends one reads its event, so those who know version 3 go on sending. Version 5 is written
/// alike too, but holds jobs of several rules: who knows less would send all of them to where the first one goes.
const JOBS_VERSION: u8 = 3;
const JOBS_OF_RULES_VERSION: u8 = 5;

/// One accepted audit event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EventRecord<'a> {
    pub org: OrgId,
    pub id: EventId,
    pub received_at: Timestamp,
    /// The event as stored and delivered.
    pub json: &'a str,
}

/// What became of an event, of a delivery, or of a period of suppression.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum OutcomeRecord {
    /// A delivery that the matcher did not make.
    Matched(Matched),
    Attempted(Box<Attempted>),
    Alerted(Box<Alerted>),
    Counted(Counted),
    Ended(Box<Ended>),
    Judged(Judged),
    StateChanged(StateChanged),
    Endpoint(Box<EndpointNoticed>),
}

/// A delivery, as it came into being: everything about it that never changes.
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
    pub cause: Cause,
}

impl Matched {
    /// A delivery of a rule as it is now.
    pub fn by(
        rule: &Rule,
        (delivery, cause): (DeliveryId, Cause),
        (event, event_type): (EventId, &str),
        matched_at: Timestamp,
    ) -> Self {
        Self {
            org: rule.org_id,
            delivery,
            event,
            rule: rule.id,
            rule_name: rule.definition.name.clone(),
            event_type: event_type.to_owned(),
            url: rule.definition.url.clone(),
            matched_at,
            cause,
        }
    }
}

/// An alert: a match that the rule's threshold, if it has one, makes one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Alerted {
    pub matched: Matched,
    /// `Pending`, or why nothing is sent.
    pub state: State,
    pub paced: Paced,
}

/// A match that counts toward a threshold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Counted {
    pub org: OrgId,
    pub event: EventId,
    pub rule: RuleId,
    pub paced: Paced,
}

/// What the pace of a rule has to know of a match.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Paced {
    /// The sequence of the message that the event is in.
    pub message: u64,
    pub at: Timestamp,
    /// [`domain::rule::Rule::counts_since`] of the rule it was judged by.
    pub counts_since: u32,
    pub groups: Groups,
    /// A group of the rule had to be forgotten.
    pub overflowed: bool,
}

/// A period of suppression that ended with alerts kept back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ended {
    pub org: OrgId,
    pub rule: RuleId,
    pub counts_since: u32,
    pub group: Group,
    /// The sequence of the message with the last event that was kept back.
    pub message: u64,
    /// The delivery that says how many were; `None` if the rule sends nothing any more.
    pub summary: Option<Matched>,
}

/// How far a matcher is: the first record of each of its messages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judged {
    /// When the log of events was made, as [`crate::log_state::LogState::created`] says.
    pub created: String,
    pub position: Position,
    /// Whether a part of the record at the position is judged too: by the rules that are on record.
    pub is_partial: bool,
    /// Of the messages of this kind, those up to this sequence need no look any more: all that they
    /// decided is queued.
    pub settled: u64,
    /// The first of them that a rule's pace still depends on.
    pub since: u64,
    /// The latest time of an event that was judged.
    pub at: Timestamp,
}

/// A place in a log of events: what is before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Position {
    /// This message and all before it.
    pub sequence: u64,
    /// And so many records of the one that follows.
    pub records: u32,
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
    pub timings: Timings,
    /// With the stored event, this gives the exact bytes that were signed and sent.
    pub signed_at: Timestamp,
    /// The secrets it was signed with; the first gave the main signature.
    pub secrets: Vec<SecretUsed>,
    pub url: String,
    pub remote_address: Option<String>,
    /// The version of TLS, as `TLSv1.3`.
    pub tls: Option<String>,
    pub body_sha256: String,
    pub body_bytes: u32,
    pub status: Option<u16>,
    pub outcome: Outcome,
    /// What went wrong and what to do about it, in plain words.
    pub error: Option<String>,
    pub answer_headers: Vec<(String, String)>,
    /// The first bytes of the receiver's answer.
    pub answer: String,
    /// How far the receiver's clock is ahead of ours, by its `Date` header.
    pub clock_skew_s: Option<i32>,
    /// How long the receiver asked us to wait.
    pub retry_after_s: Option<u32>,
    /// Where the delivery stands after this attempt.
    pub state: State,
    pub reason: Option<Reason>,
    pub next_at: Option<Timestamp>,
}

/// Which secret a signature was made with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SecretUsed {
    /// The one of the configuration.
    Deployment,
    /// One of the organization's own.
    Own(SecretId),
}

/// When the phases of an attempt were over, in microseconds from its start. The first three are of a new
/// connection only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timings {
    pub resolved_us: Option<u32>,
    pub connected_us: Option<u32>,
    pub secured_us: Option<u32>,
    pub sent_us: Option<u32>,
    /// When the headers of the answer were there.
    pub answered_us: Option<u32>,
}

/// Where a delivery stands, without an attempt: held, canceled, or due again because somebody asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StateChanged {
    pub org: OrgId,
    pub delivery: DeliveryId,
    pub state: State,
    pub reason: Option<Reason>,
    pub next_at: Option<Timestamp>,
    /// The round that this is said of: the one that began then, or the last before that. Of a job that is
    /// [`Job::since`], by the clock of whoever asked for the round, so no clocks are compared. Workers up to 0.1 put the
    /// time here at which they said it, by their own clock.
    pub round_at: Timestamp,
}

/// Something about an endpoint that its owner should know, and the endpoint as it is since.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EndpointNoticed {
    pub endpoint: Endpoint,
    pub notice: Notice,
    /// What went wrong last, in plain words.
    pub error: Option<String>,
    pub at: Timestamp,
}

/// A delivery to be sent: everything the sender needs, so that it asks nobody.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Job {
    pub matched: Matched,
    /// The event as stored.
    pub json: String,
    /// The number of the attempt to be made, from 1.
    pub attempt: u32,
    /// Why it is made.
    pub trigger: Trigger,
    pub due_at: Timestamp,
    /// Failures that count, so far: the place in the schedule.
    pub step: u32,
    /// When the schedule began: at the match, or when somebody asked for the delivery again.
    pub since: Timestamp,
    /// Why it is held, as the record has it.
    pub held: Option<Reason>,
}

impl Job {
    /// The first attempt of a delivery, due at once.
    pub fn first(matched: Matched, json: String) -> Self {
        Self {
            attempt: 1,
            trigger: matched.cause.first_trigger(),
            due_at: matched.matched_at,
            step: 0,
            since: matched.matched_at,
            held: None,
            matched,
            json,
        }
    }

    pub fn round(&self) -> Round {
        Round {
            step: self.step,
            since: self.since,
        }
    }
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
    message_of([record])
}

/// One message of several records, however large.
pub fn message_of<'r, R: Serialize + 'r>(records: impl IntoIterator<Item = &'r R>) -> Vec<u8> {
    versioned(VERSION, records)
}

/// One message of deliveries to be sent.
pub fn message_of_jobs(jobs: &[&Job]) -> Vec<u8> {
    let is_of_one_rule = jobs
        .windows(2)
        .all(|pair| pair[0].matched.rule == pair[1].matched.rule);
    let version = if is_of_one_rule {
        JOBS_VERSION
    } else {
        JOBS_OF_RULES_VERSION
    };
    versioned(version, jobs.iter().copied())
}

fn versioned<'r, R: Serialize + 'r>(
    version: u8,
    records: impl IntoIterator<Item = &'r R>,
) -> Vec<u8> {
    records.into_iter().fold(vec![version], |message, record| {
        postcard::to_io(record, message).expect("a record of plain fields always encodes")
    })
}

/// The events of a message, borrowed from it.
pub fn events(message: &[u8]) -> Result<Vec<EventRecord<'_>>, Error> {
    let (_, body) = body("event record", message)?;
    all("event record", body)
}

/// The outcomes of a message.
pub fn outcomes(message: &[u8]) -> Result<Vec<OutcomeRecord>, Error> {
    let what = "outcome record";
    match body(what, message)? {
        (1, body) => Ok(converted(all::<v1::OutcomeRecord>(what, body)?)),
        (2, body) => Ok(converted(all::<v2::OutcomeRecord>(what, body)?)),
        (_, body) => all(what, body),
    }
}

/// The same for who goes on without those of a message that is damaged: the recorder puts it aside and says so.
pub fn readable_outcomes(message: &[u8]) -> Result<Vec<OutcomeRecord>, Error> {
    match outcomes(message) {
        Err(Error::Corrupt { .. }) => Ok(Vec::new()),
        outcomes => outcomes,
    }
}

/// The deliveries of a message, all of one organization.
pub fn jobs(message: &[u8]) -> Result<Vec<Job>, Error> {
    let what = "delivery job";
    match body_up_to(JOBS_OF_RULES_VERSION, what, message)? {
        (1, body) => Ok(converted(all::<v1::Job>(what, body)?)),
        (2, body) => Ok(converted(all::<v2::Job>(what, body)?)),
        (_, body) => all(what, body),
    }
}

fn converted<Old, New: From<Old>>(old: Vec<Old>) -> Vec<New> {
    old.into_iter().map(New::from).collect()
}

/// The dead letter of a message.
pub fn dead_letter(message: &[u8]) -> Result<DeadLetter, Error> {
    let (_, body) = body("dead letter", message)?;
    one("dead letter", body)
}

fn one<'m, R: Deserialize<'m>>(what: &'static str, body: &'m [u8]) -> Result<R, Error> {
    postcard::from_bytes(body).map_err(|error| corrupt(what, error))
}

fn all<'m, R: Deserialize<'m>>(what: &'static str, mut body: &'m [u8]) -> Result<Vec<R>, Error> {
    let mut records = Vec::new();
    while !body.is_empty() {
        let (record, after) =
            postcard::take_from_bytes(body).map_err(|error| corrupt(what, error))?;
        records.push(record);
        body = after;
    }
    Ok(records)
}

/// The version of a message, if we know it, and what follows.
fn body<'m>(what: &'static str, message: &'m [u8]) -> Result<(u8, &'m [u8]), Error> {
    body_up_to(VERSION, what, message)
}

fn body_up_to<'m>(
    last: u8,
    what: &'static str,
    message: &'m [u8],
) -> Result<(u8, &'m [u8]), Error> {
    match message.split_first() {
        Some((&version, _)) if version > last => Err(Error::Newer { what, version }),
        Some((&version @ 1.., rest)) => Ok((version, rest)),
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
