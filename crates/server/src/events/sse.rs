//! Server-sent events, as bytes (the HTML standard, section 9.2).

use bytes::Bytes;
use domain::EventId;

/// A comment, so that proxies do not take a quiet stream for a dead one.
pub const KEEP_ALIVE: &[u8] = b": keep-alive\n\n";
/// From here on every event that is accepted is told; and how soon to come back when the stream ends.
pub const READY: &[u8] = b"retry: 2000\nevent: ready\ndata: {}\n\n";

/// An audit event.
pub fn event(id: EventId, json: &str) -> Bytes {
    message("event", id.text().as_str(), json)
}

/// A message of any kind. Its JSON may have line ends between its tokens: each line goes into a field of its
/// own, and the reader joins them.
pub fn message(kind: &str, id: &str, json: &str) -> Bytes {
    const NAMES_BYTES: usize = 64;
    let mut frame = String::with_capacity(json.len() + NAMES_BYTES);
    frame.push_str("id: ");
    frame.push_str(id);
    frame.push_str("\nevent: ");
    frame.push_str(kind);
    frame.push('\n');
    for line in json.split(['\r', '\n']) {
        frame.push_str("data: ");
        frame.push_str(line);
        frame.push('\n');
    }
    frame.push('\n');
    Bytes::from(frame)
}

/// So many events were left out, because the reader is slower than they come.
pub fn skipped(events: u64) -> Bytes {
    Bytes::from(format!(
        "event: skipped\ndata: {{\"skipped\": {events}}}\n\n"
    ))
}

#[cfg(test)]
mod tests {
    use domain::Timestamp;
    use serde_json::Value;

    use super::*;

    #[test]
    fn json_with_line_ends_between_its_tokens_reads_back() {
        let id = EventId::new(Timestamp::from_unix_millis(1), [1; 10]);
        let json = "{\"a\":\r\n 1,\n\n\"b\":\r\"x\\ny\"}";
        let frame = event(id, json);
        let text = std::str::from_utf8(&frame).expect("UTF-8");
        assert!(text.ends_with("\n\n") && !text.trim_end().contains("\n\n"));
        let data: Vec<&str> = text
            .lines()
            .filter_map(|line| line.strip_prefix("data: "))
            .collect();
        let read: Value = serde_json::from_str(&data.join("\n")).expect("JSON");
        let sent: Value = serde_json::from_str(json).expect("JSON");
        assert_eq!(read, sent);
    }
}
