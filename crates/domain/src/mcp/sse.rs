//! Server-sent events, in which a server may answer over HTTP: cut where one ends, and passed on as they came.

use super::MESSAGE_BYTES_MAX;

/// What may be around a message in its event.
const AROUND_MAX: usize = 64 * 1024;
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The events of a stream, as its bytes come.
#[derive(Debug, Default)]
pub struct Events {
    bytes: Vec<u8>,
    /// Where a line begins whose end has not come yet.
    line: usize,
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
            }
        }
        let mut events = Vec::new();
        let mut from = 0;
        while let Some((end, next)) = next_line(&self.bytes, self.line) {
            let is_empty = end == self.line;
            self.line = next;
            if is_empty {
                events.push(Event(self.bytes[from..next].to_vec()));
                from = next;
            }
        }
        self.bytes.drain(..from);
        self.line -= from;
        if self.bytes.len() > MESSAGE_BYTES_MAX + AROUND_MAX {
            return Err(TooLong);
        }
        Ok(events)
    }
}

impl Event {
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// The message in it, if there is one.
    pub fn data(&self) -> Option<Vec<u8>> {
        let data = self.fields().filter_map(|line| value(line, "data"));
        let data: Vec<&[u8]> = data.collect();
        (!data.is_empty()).then(|| data.join(&b'\n'))
    }

    /// Whether the stream can be resumed behind it.
    pub fn has_id(&self) -> bool {
        self.fields().any(|line| value(line, "id").is_some())
    }

    /// The same event with another message, which has no line ends.
    pub fn with_data(&self, data: &[u8]) -> Self {
        let mut bytes = Vec::new();
        let others = self.fields().filter(|line| value(line, "data").is_none());
        for line in others {
            bytes.extend_from_slice(line);
            bytes.push(b'\n');
        }
        bytes.extend_from_slice(b"data: ");
        bytes.extend_from_slice(data);
        bytes.extend_from_slice(b"\n\n");
        Self(bytes)
    }

    fn fields(&self) -> impl Iterator<Item = &[u8]> {
        let mut at = 0;
        std::iter::from_fn(move || {
            let (end, next) = next_line(&self.0, at)?;
            let line = &self.0[at..end];
            at = next;
            Some(line)
        })
        .filter(|line| !line.is_empty())
    }
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

/// Where the line that begins here ends, and where the next begins. None if its end is not there, or may go on.
fn next_line(bytes: &[u8], from: usize) -> Option<(usize, usize)> {
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
    const STREAM: &[u8] = b"\xef\xbb\xbf: hello\n\nid: 1\r\nevent: message\r\ndata: {\"a\":\r\ndata:1}\r\n\r\ndata\r\rretry: 5\n\ndata: x";

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
            let changed = found[1].with_data(b"{}");
            assert_eq!(changed.bytes(), b"id: 1\nevent: message\ndata: {}\n\n");
        }
    }

    proptest! {
        #[test]
        fn nothing_of_a_stream_is_lost_or_added(pieces in prop::collection::vec("[a\r\n:d]{0,9}", 0..20)) {
            let mut events = Events { has_begun: true, ..Events::default() };
            let mut seen = Vec::new();
            for piece in &pieces {
                for event in events.push(piece.as_bytes()).expect("events") {
                    seen.extend_from_slice(event.bytes());
                    let same = event.data().unwrap_or_default();
                    if !same.contains(&b'\n') {
                        prop_assert_eq!(event.with_data(&same).data(), Some(same));
                    }
                }
            }
            seen.extend_from_slice(&events.bytes);
            prop_assert_eq!(seen, pieces.concat().into_bytes());
        }
    }
}
