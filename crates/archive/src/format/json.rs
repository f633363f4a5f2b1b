//! JSON: one document, `{"events":[...],"export":{"events":2,"sha256":"..."}}`.

use sha2::{Digest as _, Sha256};

use super::ndjson::summary;
use crate::Events;

const START: &str = "{\"events\":[\n";
const END: &str = "\n]";

#[derive(Default)]
pub(crate) struct Writer {
    has_events: bool,
}

impl Writer {
    pub(super) fn write(&mut self, events: &Events) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(events.bytes() + events.len() + START.len());
        for event in events.iter() {
            let before = if self.has_events { ",\n" } else { START };
            self.has_events = true;
            bytes.extend_from_slice(before.as_bytes());
            bytes.extend_from_slice(event.as_bytes());
        }
        bytes
    }

    /// The SHA-256 is of every byte up to and with the bracket that ends the events.
    pub(super) fn finish(self, events: u64, content: &Sha256) -> Vec<u8> {
        let mut end = if self.has_events { "" } else { START }.to_owned();
        end.push_str(END);
        let content = content.clone().chain_update(&end);
        let summary = summary(events, &content);
        // The summary is an object of one member, which becomes the document's second.
        end.push(',');
        end.push_str(&summary[1..]);
        end.push('\n');
        end.into_bytes()
    }
}
