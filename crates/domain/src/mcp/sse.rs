//! Server-sent events, in which a server may answer over HTTP: cut where one ends, and passed on as every reader reads them.
//! Some readers end a line where others go on, or read what the standard does not know; neither passes.

use std::borrow::Cow;

use super::MESSAGE_BYTES_MAX;

/// What may be around a message in its event.
const AROUND_MAX: usize = 64 * 1024;
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
/// What passes of an event beside its message.
const BESIDE_DATA: [&str; 3] = ["event", "id", "retry"];
/// What ends a line to readers of Unicode, and its place in a text of JSON.
const LINE_ENDS: [(&[u8], &[u8]); 3] = [
    (b"\xc2\x85", b"\\u0085"),
    (b"\xe2\x80\xa8", b"\\u2028"),
    (b"\xe2\x80\xa9", b"\\u2029"),
];

/// The events of a stream, as its bytes come.
#[derive(Debug, Default)]
pub struct Events {
    bytes: Vec<u8>,
    /// Where a line begins whose end has not come yet.
    line: usize,
    /// Up to where that line is known to have no end.
    searched: usize,
    has_begun: bool,
}

/// One event, with the empty line that ends it.
#[derive(Debug, PartialEq, Eq)]
pub struct Event(Vec<u8>);

/// An event has no end.
#[derive(Debug, thiserror::Error)]
#[error("an event has more than 16 MiB")]
pub struct TooLong;

impl Events {
    /// The events that end with these bytes.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Vec<Event>, TooLong> {
        self.bytes.extend_from_slice(bytes);
        if !self.has_begun && self.bytes.len() >= BYTE_ORDER_MARK.len() {
            self.has_begun = true;
            if self.bytes.starts_with(BYTE_ORDER_MARK) {
                self.bytes.drain(..BYTE_ORDER_MARK.len());
                self.searched = self.line;
            }
        }
        let mut events = Vec::new();
        let mut from = 0;
        while let Some((end, next)) = line_end(&self.bytes, self.searched) {
            let is_empty = end == self.line;
            (self.line, self.searched) = (next, next);
            if is_empty {
                events.push(Event(self.bytes[from..next].to_vec()));
                from = next;
            }
        }
        self.bytes.drain(..from);
        self.line -= from;
        // The last byte may be the first half of an end.
        self.searched = self.line.max(self.bytes.len().saturating_sub(1));
        if self.bytes.len() > MESSAGE_BYTES_MAX + AROUND_MAX {
            return Err(TooLong);
        }
        Ok(events)
    }
}

impl Event {
    /// The message in it, if there is one.
    pub fn data(&self) -> Option<Vec<u8>> {
        let data = self.fields().filter_map(|line| value(line, "data"));
        let data: Vec<&[u8]> = data.collect();
        (!data.is_empty()).then(|| data.join(&b'\n'))
    }

    /// Whether the stream can be resumed behind it.
    pub fn has_id(&self) -> bool {
        let mut beside = self.beside_data();
        beside.any(|line| value(line, "id").is_some())
    }

    /// The event as it passes, with this message.
    pub fn with_data(&self, data: Option<&[u8]>) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut line = |name: &[u8], value: &[u8]| {
            bytes.extend_from_slice(name);
            bytes.extend_from_slice(value);
            bytes.push(b'\n');
        };
        // It says only that the stream is alive.
        if self.fields().any(|line| line.starts_with(b":")) {
            line(b":", b"");
        }
        self.beside_data().for_each(|beside| line(beside, b""));
        for part in data
            .into_iter()
            .flat_map(|data| data.split(|byte| matches!(byte, b'\n' | b'\r')))
        {
            line(b"data: ", &escaped(part));
        }
        line(b"", b"");
        bytes
    }

    fn beside_data(&self) -> impl Iterator<Item = &[u8]> {
        let is_plain = |line: &&[u8]| line.iter().all(|byte| matches!(byte, b' '..=b'~'));
        let is_known = |line: &&[u8]| BESIDE_DATA.iter().any(|name| value(line, name).is_some());
        self.fields().filter(is_plain).filter(is_known)
    }

    fn fields(&self) -> impl Iterator<Item = &[u8]> {
        let mut at = 0;
        std::iter::from_fn(move || {
            let (end, next) = line_end(&self.0, at)?;
            let line = &self.0[at..end];
            at = next;
            Some(line)
        })
        .filter(|line| !line.is_empty())
    }
}

/// JSON without what only some readers take for the end of a line; it can be in texts alone.
fn escaped(json: &[u8]) -> Cow<'_, [u8]> {
    let mut json = Cow::Borrowed(json);
    for (end, escape) in LINE_ENDS {
        let found: Vec<usize> = memchr::memmem::find_iter(&json, end).collect();
        if found.is_empty() {
            continue;
        }
        let mut without = Vec::with_capacity(json.len() + 4 * found.len());
        let mut from = 0;
        for at in found {
            without.extend_from_slice(&json[from..at]);
            without.extend_from_slice(escape);
            from = at + end.len();
        }
        without.extend_from_slice(&json[from..]);
        json = without.into();
    }
    json
}

/// The value of a field, if the line has it.
fn value<'a>(line: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let rest = line.strip_prefix(name.as_bytes())?;
    if rest.is_empty() {
        return Some(rest);
    }
    let value = rest.strip_prefix(b":")?;
    Some(value.strip_prefix(b" ").unwrap_or(value))
}

/// Where a line that goes on here ends, and where the next begins. None if its end is not there, or may go on.
fn line_end(bytes: &[u8], from: usize) -> Option<(usize, usize)> {
    let rest = bytes.get(from..)?;
    let end = from + memchr::memchr2(b'\n', b'\r', rest)?;
    if bytes[end] == b'\n' {
        return Some((end, end + 1));
    }
    match bytes.get(end + 1)? {
        b'\n' => Some((end, end + 2)),
        _ => Some((end, end + 1)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Ends behind a byte that is no line's end, so that nothing is waited for.
    const STREAM: &[u8] = b"\xef\xbb\xbf: hello\n\nid: 1\r\nevent: message\r\nmore: 2\r\ndata: {\"a\":\r\ndata:1}\r\n\r\ndata\r\rretry: 5\n\ndata: x";

    #[test]
    fn an_event_is_cut_out_however_its_bytes_come() {
        for size in 1..STREAM.len() {
            let mut events = Events::default();
            let mut found = Vec::new();
            for bytes in STREAM.chunks(size) {
                found.extend(events.push(bytes).expect("events"));
            }
            let data: Vec<_> = found.iter().map(Event::data).collect();
            let expected = [None, Some(b"{\"a\":\n1}".to_vec()), Some(Vec::new()), None];
            assert_eq!(data, expected, "{size}");
            let ids: Vec<bool> = found.iter().map(Event::has_id).collect();
            assert_eq!(ids, [false, true, false, false]);
            assert_eq!(found[0].with_data(None), b":\n\n");
            let passed = found[1].with_data(found[1].data().as_deref());
            let expected = b"id: 1\nevent: message\ndata: {\"a\":\ndata: 1}\n\n";
            assert_eq!(passed, expected);
            assert_eq!(found[3].with_data(None), b"retry: 5\n\n");
        }
    }

    #[test]
    fn a_message_has_the_lines_that_it_has_to_every_reader() {
        let message = "{\"a\":\"\u{2028}data: 1\u{85}\u{85}\u{2029}é\"}";
        let event = Event(b"data: x\n\n".to_vec());
        let passed = event.with_data(Some(message.as_bytes()));
        let expected = "data: {\"a\":\"\\u2028data: 1\\u0085\\u0085\\u2029é\"}\n\n";
        assert_eq!(passed, expected.as_bytes());
    }

    proptest! {
        #[test]
        fn nothing_of_a_message_is_lost_or_added(pieces in prop::collection::vec("[ad:x\\r\\n]{0,9}", 0..20)) {
            let mut events = Events { has_begun: true, ..Events::default() };
            let mut seen = Vec::new();
            for piece in &pieces {
                for event in events.push(piece.as_bytes()).expect("events") {
                    seen.extend_from_slice(&event.0);
                    let data = event.data();
                    let passed = Event(event.with_data(data.as_deref()));
                    prop_assert_eq!(passed.data(), data);
                }
            }
            seen.extend_from_slice(&events.bytes);
            prop_assert_eq!(seen, pieces.concat().into_bytes());
        }
    }
}
