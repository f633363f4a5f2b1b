//! Events cut into requests: at most 1,000 events and 4 MiB each, whatever form they are read in.

use std::io::BufRead;

use anyhow::{Context as _, bail};
use serde::Deserialize;
use serde_json::{Deserializer, StreamDeserializer, de::IoRead, value::RawValue};

use crate::exit::invalid;

/// What the server takes at once.
const EVENTS_MAX: usize = 1_000;
/// Below the 5 MiB that the server takes at once, with room for what is around the events.
const BYTES_MAX: usize = 4 * 1024 * 1024;

/// Events in the form of the API.
#[derive(Deserialize)]
struct Wrapped {
    events: Option<Vec<Box<RawValue>>>,
}

/// One request's events, as they were written.
#[derive(Debug, Default)]
pub(super) struct Batch {
    events: Vec<Box<RawValue>>,
    bytes: usize,
}

impl Batch {
    pub(super) fn len(&self) -> usize {
        self.events.len()
    }

    fn takes(&self, event: &RawValue) -> bool {
        self.events.is_empty()
            || self.events.len() < EVENTS_MAX && self.bytes + event.get().len() <= BYTES_MAX
    }

    fn push(&mut self, event: Box<RawValue>) {
        self.bytes += event.get().len() + 1;
        self.events.push(event);
    }

    /// The body of the request.
    pub(super) fn body(&self) -> String {
        let events: Vec<&str> = self.events.iter().map(|event| event.get()).collect();
        format!("{{\"events\":[{}]}}", events.join(","))
    }
}

/// Reads batch after batch. JSON values may follow each other on lines of their own (NDJSON) or otherwise; a value is an
/// event, `{"events": [...]}` or an array of events.
pub(super) struct Batches<R: BufRead> {
    values: StreamDeserializer<'static, IoRead<R>, Box<RawValue>>,
    /// Read, and not handed out yet.
    ready: std::vec::IntoIter<Box<RawValue>>,
    /// Did not fit into the batch before.
    left: Option<Box<RawValue>>,
    read: u64,
    /// Where from, as people call it.
    name: String,
}

impl<R: BufRead> Batches<R> {
    pub(super) fn new(source: R, name: String) -> Self {
        Self {
            name,
            values: Deserializer::from_reader(source).into_iter(),
            ready: Vec::new().into_iter(),
            left: None,
            read: 0,
        }
    }

    /// The next batch, or `None` at the end.
    pub(super) fn next(&mut self) -> anyhow::Result<Option<Batch>> {
        let mut batch = Batch::default();
        while let Some(event) = self.next_event()? {
            if !batch.takes(&event) {
                self.left = Some(event);
                break;
            }
            batch.push(event);
        }
        Ok((batch.len() > 0).then_some(batch))
    }

    fn next_event(&mut self) -> anyhow::Result<Option<Box<RawValue>>> {
        loop {
            let event = self.left.take().or_else(|| self.ready.next());
            if event.is_some() {
                return Ok(event);
            }
            let Some(value) = self.values.next() else {
                return Ok(None);
            };
            let about = || {
                invalid(format!(
                    "cannot read event {} of {}",
                    self.read + 1,
                    self.name
                ))
            };
            let events = value
                .map_err(anyhow::Error::from)
                .and_then(unwrapped)
                .with_context(about)?;
            self.read += events.len() as u64;
            self.ready = events.into_iter();
        }
    }
}

fn unwrapped(value: Box<RawValue>) -> anyhow::Result<Vec<Box<RawValue>>> {
    match value.get().as_bytes().first() {
        Some(b'[') => serde_json::from_str(value.get()).context("not an array of events"),
        Some(b'{') => {
            let wrapped: Wrapped =
                serde_json::from_str(value.get()).context("`events` is not an array of events")?;
            Ok(wrapped.events.unwrap_or_else(|| vec![value]))
        }
        _ => bail!(
            "an event must be a JSON object, but this is {}",
            value.get()
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bodies(text: &str) -> Vec<String> {
        let mut batches = Batches::new(text.as_bytes(), "it".to_owned());
        let mut bodies = Vec::new();
        while let Some(batch) = batches.next().expect("readable") {
            bodies.push(batch.body());
        }
        bodies
    }

    #[test]
    fn every_form_becomes_the_same_request_and_events_stay_as_written() {
        let expected = [r#"{"events":[{"a": 1.0},{"b":2}]}"#];
        for text in [
            "{\"a\": 1.0}\n\n{\"b\":2}\n",
            "{\"events\": [{\"a\": 1.0},\n {\"b\":2}]}",
            "[{\"a\": 1.0}, {\"b\":2}]",
        ] {
            assert_eq!(bodies(text), expected, "{text}");
        }
        assert_eq!(
            bodies("{\n  \"a\": 1\n}"),
            ["{\"events\":[{\n  \"a\": 1\n}]}"]
        );
        assert!(bodies("\n").is_empty());
        assert!(bodies(r#"{"events": []}"#).is_empty());
    }

    #[test]
    fn a_batch_ends_at_a_thousand_events_and_at_four_mebibytes() {
        let mut batches = Batches::new("{}\n".repeat(2_001).leak().as_bytes(), "it".to_owned());
        let mut sizes = Vec::new();
        while let Some(batch) = batches.next().expect("readable") {
            sizes.push(batch.len());
        }
        assert_eq!(sizes, [1_000, 1_000, 1]);
        let large = format!("{{\"m\":\"{}\"}}\n", "x".repeat(1_500_000));
        let mut batches = Batches::new(large.repeat(3).leak().as_bytes(), "it".to_owned());
        let first = batches.next().expect("readable").expect("a batch");
        assert_eq!(first.len(), 2);
        assert!(first.body().len() < 5 * 1024 * 1024);
        assert_eq!(batches.next().expect("readable").expect("a batch").len(), 1);
    }

    #[test]
    fn what_is_no_event_is_said_with_its_place() {
        let error = |text: &'static str| {
            let error = Batches::new(text.as_bytes(), "it".to_owned())
                .next()
                .expect_err("refused");
            format!("{error:#}")
        };
        assert_eq!(
            error("{}\n{\"a\"}"),
            "cannot read event 2 of it: expected `:` at line 2 column 5"
        );
        assert_eq!(
            error("17"),
            "cannot read event 1 of it: an event must be a JSON object, but this is 17"
        );
    }
}
