//! Server-sent events, read from pieces of bytes as they come (the HTML standard, section 9.2).

use std::mem;

/// The most that is kept of an event that does not end; one of ours has 32 KiB.
const BYTES_MAX: usize = 1024 * 1024;

/// One message of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Message {
    pub(super) kind: String,
    pub(super) data: String,
}

/// More than that is not a stream of ours.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("the stream contains a message larger than 1 MiB")]
pub(super) struct TooLong;

/// Puts messages together.
#[derive(Debug, Default)]
pub(super) struct Reader {
    rest: Vec<u8>,
    message: Message,
}

impl Reader {
    /// The messages that end with these bytes.
    pub(super) fn read(&mut self, bytes: &[u8]) -> Result<Vec<Message>, TooLong> {
        let mut messages = Vec::new();
        for byte in bytes {
            if *byte == b'\n' {
                messages.extend(self.line());
            } else if self.rest.len() + self.message.data.len() < BYTES_MAX {
                self.rest.push(*byte);
            } else {
                return Err(TooLong);
            }
        }
        Ok(messages)
    }

    /// Takes the line that has ended; an empty one ends the message.
    fn line(&mut self) -> Option<Message> {
        let line = mem::take(&mut self.rest);
        let line = String::from_utf8_lossy(&line);
        let line = line.trim_end_matches('\r');
        if line.is_empty() {
            let message = mem::take(&mut self.message);
            return (message != Message::default()).then_some(message);
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => self.message.kind = value.to_owned(),
            "data" => {
                if !self.message.data.is_empty() {
                    self.message.data.push('\n');
                }
                self.message.data.push_str(value);
            }
            // Comments, ids and times to wait.
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &[u8] = b"retry: 2000\nevent: ready\ndata: {}\n\n: keep-alive\n\nid: evt_1\r\nevent: event\r\ndata: {\"a\":\r\ndata: \"\xc3\xa9\"}\r\n\r\n";

    #[test]
    fn messages_are_the_same_however_the_bytes_are_cut() {
        let message = |kind: &str, data: &str| Message {
            kind: kind.to_owned(),
            data: data.to_owned(),
        };
        let expected = [message("ready", "{}"), message("event", "{\"a\":\n\"é\"}")];
        for size in 1..=STREAM.len() {
            let mut reader = Reader::default();
            let pieces = STREAM.chunks(size);
            let messages: Vec<Message> = pieces
                .flat_map(|piece| reader.read(piece).expect("short"))
                .collect();
            assert_eq!(messages, expected, "in pieces of {size}");
        }
    }

    #[test]
    fn a_message_that_does_not_end_is_refused() {
        let mut reader = Reader::default();
        assert_eq!(reader.read(&vec![b'x'; BYTES_MAX + 1]), Err(TooLong));
    }
}
