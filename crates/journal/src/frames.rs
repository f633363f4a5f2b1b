//! Records packed into messages as they are written: no record has a buffer of its own.

use serde::Serialize;

use crate::record::VERSION;

/// The largest message; NATS takes 1 MiB by default, and half of it leaves room for headers.
pub const MESSAGE_BYTES_MAX: usize = 512 * 1024;

/// The records of one request, in as few messages as they fit.
#[derive(Clone, Debug, Default)]
pub struct Frames {
    messages: Vec<Vec<u8>>,
    count: usize,
    /// How many bytes are expected to come.
    expected: usize,
}

impl Frames {
    /// Expects so many bytes; more or fewer may come.
    pub fn expecting(bytes: usize) -> Self {
        Self {
            expected: bytes,
            ..Self::default()
        }
    }

    /// Adds a record. One that is too large for the message that is being filled begins the next.
    pub fn push<R: Serialize>(&mut self, record: &R) {
        let expected = self.expected;
        if self.messages.is_empty() {
            self.messages.push(begun(expected));
        }
        let message = self.messages.last_mut().expect("there is one now");
        let start = message.len();
        postcard::to_io(record, &mut *message).expect("a record of plain fields always encodes");
        self.expected = expected.saturating_sub(message.len() - start);
        if message.len() > MESSAGE_BYTES_MAX && start > 1 {
            let mut next = begun(expected);
            next.extend_from_slice(&message[start..]);
            message.truncate(start);
            self.messages.push(next);
        }
        self.count += 1;
    }

    /// How many records there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// How many bytes they are together.
    pub fn bytes(&self) -> usize {
        self.messages.iter().map(Vec::len).sum()
    }

    /// The messages, each with its version in front.
    pub fn into_messages(self) -> Vec<Vec<u8>> {
        self.messages
    }
}

impl<R: Serialize> FromIterator<R> for Frames {
    fn from_iter<I: IntoIterator<Item = R>>(records: I) -> Self {
        let mut frames = Self::default();
        for record in records {
            frames.push(&record);
        }
        frames
    }
}

/// A message without records.
fn begun(expected: usize) -> Vec<u8> {
    let mut message = Vec::with_capacity(1 + expected.min(MESSAGE_BYTES_MAX));
    message.push(VERSION);
    message
}

#[cfg(test)]
mod tests {
    use domain::{EventId, OrgId, Timestamp};
    use proptest::prelude::*;
    use uuid::Uuid;

    use super::*;
    use crate::record::{self, EventRecord};

    proptest! {
        #[test]
        fn packing_loses_repeats_and_reorders_nothing(
            sizes in prop::collection::vec(0usize..300_000, 1..12), expected in 0usize..1_000_000,
        ) {
            let texts: Vec<String> = sizes.iter().map(|size| "x".repeat(*size)).collect();
            let mut frames = Frames::expecting(expected);
            for (number, json) in (0u128..).zip(&texts) {
                frames.push(&EventRecord {
                    org: OrgId::from_uuid(Uuid::from_u128(1)),
                    id: EventId::from_uuid(Uuid::from_u128(number)),
                    received_at: Timestamp::default(),
                    json,
                });
            }
            prop_assert_eq!(frames.count(), texts.len());
            let messages = frames.into_messages();
            let mut seen = Vec::new();
            for message in &messages {
                prop_assert!(message.len() <= MESSAGE_BYTES_MAX);
                let events = record::events(message).expect("readable");
                prop_assert!(!events.is_empty());
                seen.extend(events.iter().map(|event| (event.id.uuid().as_u128(), event.json.len())));
            }
            let sent: Vec<(u128, usize)> = (0..).zip(sizes).collect();
            prop_assert_eq!(seen, sent);
            // Two messages beside each other never fit one.
            for pair in messages.windows(2) {
                let first = record::events(&pair[1]).expect("readable")[0].json.len();
                prop_assert!(pair[0].len() + first + 40 > MESSAGE_BYTES_MAX);
            }
        }
    }
}
