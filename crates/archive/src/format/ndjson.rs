//! NDJSON: one event on each line, as it is stored; the last line is not an event but proves the rest.

use sha2::{Digest as _, Sha256};

/// How many events there are, and the SHA-256 of every byte before this line.
pub(super) fn last_line(events: u64, content: &Sha256) -> Vec<u8> {
    let mut line = summary(events, content);
    line.push('\n');
    line.into_bytes()
}

pub(super) fn summary(events: u64, content: &Sha256) -> String {
    let sha256 = hex::encode(content.clone().finalize());
    format!(r#"{{"export":{{"events":{events},"sha256":"{sha256}"}}}}"#)
}
