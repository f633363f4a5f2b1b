//! What one ingest request carries: a body in one of four forms, read as far as its events.
//!
//! [`json`] is `{"events": [...]}` or one bare event, [`ndjson`] one event a line, [`cloud_events`]
//! events in the envelopes of CloudEvents 1.0. Whatever the form, the events are borrowed from the
//! body, keep their order, and one that cannot be read takes its place as a fault.

mod cloud_events;
mod elements;
pub(crate) mod json;
mod ndjson;

use crate::{
    event::{Sent, view},
    fault::Fault,
};

/// The most events one request may carry.
pub const EVENTS_MAX: usize = 1_000;
/// The most bytes one request may carry, as they travel and again when they are unpacked.
pub const BODY_BYTES_MAX: usize = 5 * 1024 * 1024;

/// How a body is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `{"events": [...]}`, or one bare event.
    Json,
    /// One event a line.
    Ndjson,
    /// One CloudEvent.
    CloudEvent,
    /// An array of CloudEvents.
    CloudEvents,
}

impl Form {
    pub const ALL: [Self; 4] = [
        Self::Json,
        Self::Ndjson,
        Self::CloudEvent,
        Self::CloudEvents,
    ];

    /// The form that a media type (without parameters) names.
    pub fn of(media_type: &str) -> Option<Self> {
        const ALSO_NDJSON: [&str; 2] = ["application/ndjson", "application/jsonl"];
        let is = |name: &str| media_type.eq_ignore_ascii_case(name);
        if ALSO_NDJSON.into_iter().any(is) {
            return Some(Self::Ndjson);
        }
        Self::ALL.into_iter().find(|form| is(form.media_type()))
    }

    pub fn media_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Ndjson => "application/x-ndjson",
            Self::CloudEvent => "application/cloudevents+json",
            Self::CloudEvents => "application/cloudevents-batch+json",
        }
    }
}

/// The events of a body, in the order sent; what should be one and is not, as its fault.
#[derive(Debug)]
pub struct Batch<'a> {
    pub events: Vec<Result<Sent<'a>, Fault>>,
    shape: Shape,
}

/// Where in a body an event stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// The body is the one event itself.
    Bare,
    /// An element of `events`.
    Listed,
    /// An element of the body; lines count like elements.
    Row,
}

impl Batch<'_> {
    /// The RFC 6901 pointer to an event of the batch.
    pub fn pointer_to(&self, index: usize) -> String {
        match self.shape {
            Shape::Bare => String::new(),
            Shape::Listed => format!("/events/{index}"),
            Shape::Row => format!("/{index}"),
        }
    }
}

/// Reads a body as far as its events.
pub fn parse(form: Form, body: &[u8]) -> Result<Batch<'_>, Unreadable> {
    let (read, shape) = match form {
        Form::Json => json::read(text(body)?)?,
        Form::Ndjson => (ndjson::read(body), Shape::Row),
        Form::CloudEvent => (cloud_events::read_one(text(body)?)?, Shape::Bare),
        Form::CloudEvents => (cloud_events::read_many(text(body)?)?, Shape::Row),
    };
    match read.count {
        0 => Err(Unreadable::Empty),
        1..=EVENTS_MAX => Ok(Batch {
            events: read.events,
            shape,
        }),
        count => Err(Unreadable::TooMany { count }),
    }
}

/// What was found in a body: at most [`EVENTS_MAX`] events are kept, all are counted.
#[derive(Debug, Default)]
pub(crate) struct Read<'a> {
    pub(crate) events: Vec<Result<Sent<'a>, Fault>>,
    pub(crate) count: usize,
}

impl<'a> Read<'a> {
    fn push(&mut self, event: impl FnOnce() -> Result<Sent<'a>, Fault>) {
        self.count += 1;
        if self.count <= EVENTS_MAX {
            self.events.push(event());
        }
    }
}

fn text(body: &[u8]) -> Result<&str, Unreadable> {
    std::str::from_utf8(body).map_err(|error| Unreadable::NotUtf8 {
        valid_up_to: error.valid_up_to(),
    })
}

/// Why a body is not a batch.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    #[error("The body is not UTF-8: byte {valid_up_to} is not part of a character.")]
    NotUtf8 { valid_up_to: usize },
    #[error("The body is not {expected}: {}.", view::reason(source))]
    NotJson {
        expected: &'static str,
        source: serde_json::Error,
    },
    #[error("The batch contains no events.")]
    Empty,
    #[error(
        "The batch contains {count} events; a request can carry at most {EVENTS_MAX}. Split it."
    )]
    TooMany { count: usize },
}

#[cfg(test)]
mod tests;
