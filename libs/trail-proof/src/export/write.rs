//! Writes a file, line by line, to the end of whatever the caller sends on when it is large enough.

use std::mem;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use transparency_log::Hash;

use super::{Counts, Header, Policy, WITHHELD_PER_LINE_MAX, ids};
use crate::leaf::{Kind, LEAF_BYTES, Salt};

/// A file that is being written. Leaves come in the order of the log, none left out.
#[derive(Debug, Default)]
pub struct Writer {
    counts: Counts,
    /// Withheld leaves that are not in a line yet.
    withheld: Vec<u8>,
}

impl Writer {
    /// Writes the header. It has at most [`KEYS_MAX`](super::KEYS_MAX) keys.
    pub fn begin(header: &Header, lines: &mut Vec<u8>) -> Self {
        header.write(lines);
        Self::default()
    }

    /// How many leaves were written, by what they are.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// An event's stored bytes, or an attempt's statement.
    pub fn record(
        &mut self,
        kind: Kind,
        leaf: &[u8; LEAF_BYTES],
        salt: Salt,
        stored: &str,
        lines: &mut Vec<u8>,
    ) {
        self.flush(lines);
        self.counts.leaves += 1;
        lines.extend_from_slice(b"{\"leaf\":");
        base64(lines, leaf);
        lines.extend_from_slice(b",\"salt\":");
        base64(lines, &salt.0);
        match kind {
            Kind::Event => {
                self.counts.events += 1;
                lines.extend_from_slice(b",\"event\":");
            }
            Kind::Attempt => {
                self.counts.attempts += 1;
                lines.extend_from_slice(b",\"attempt\":");
            }
        }
        string(lines, stored);
        lines.extend_from_slice(b"}\n");
    }

    /// A leaf whose bytes and salt were erased, and the event that says so.
    pub fn erased(&mut self, leaf: &[u8; LEAF_BYTES], by: [u8; 16], lines: &mut Vec<u8>) {
        self.flush(lines);
        self.counts.leaves += 1;
        self.counts.erased += 1;
        lines.extend_from_slice(b"{\"leaf\":");
        base64(lines, leaf);
        lines.extend_from_slice(b",\"erased\":");
        string(lines, &ids::encode(Kind::Event, by));
        lines.extend_from_slice(b"}\n");
    }

    /// A leaf whose bytes are past their retention.
    pub fn gone(&mut self, leaf: &[u8; LEAF_BYTES], lines: &mut Vec<u8>) {
        self.flush(lines);
        self.counts.leaves += 1;
        self.counts.gone += 1;
        lines.extend_from_slice(b"{\"leaf\":");
        base64(lines, leaf);
        lines.extend_from_slice(b",\"gone\":true}\n");
    }

    /// A leaf whose bytes should be there and are not: the file will not be proven, and says which line.
    pub fn missing(&mut self, leaf: &[u8; LEAF_BYTES], lines: &mut Vec<u8>) {
        self.flush(lines);
        self.counts.leaves += 1;
        lines.extend_from_slice(b"{\"leaf\":");
        base64(lines, leaf);
        lines.extend_from_slice(b",\"missing\":true}\n");
    }

    /// A leaf that the filter does not match. Several share a line, which is written when it is full or something else comes.
    pub fn withheld(&mut self, leaf: &Hash, lines: &mut Vec<u8>) {
        self.counts.leaves += 1;
        self.counts.withheld += 1;
        self.withheld.extend_from_slice(leaf.as_bytes());
        if self.withheld.len() == WITHHELD_PER_LINE_MAX * Hash::BYTES {
            self.flush(lines);
        }
    }

    /// What decisions in the file were made by, anywhere in it.
    pub fn policy(&mut self, policy: &Policy<'_>, lines: &mut Vec<u8>) {
        self.flush(lines);
        lines.extend_from_slice(b"{\"policy\":{\"digest\":");
        string(lines, &policy.digest);
        lines.extend_from_slice(b",\"text\":");
        string(lines, &policy.text);
        if let Some(schema) = &policy.schema {
            lines.extend_from_slice(b",\"schema\":");
            string(lines, schema);
        }
        lines.extend_from_slice(b"}}\n");
    }

    /// Writes the last line.
    pub fn end(mut self, lines: &mut Vec<u8>) {
        self.flush(lines);
        let Counts {
            leaves,
            events,
            attempts,
            erased,
            gone,
            withheld,
        } = self.counts;
        let counts = format!(
            r#"{{"end":{{"leaves":{leaves},"events":{events},"attempts":{attempts},"erased":{erased},"gone":{gone},"withheld":{withheld}}}}}"#
        );
        lines.extend_from_slice(counts.as_bytes());
        lines.push(b'\n');
    }

    fn flush(&mut self, lines: &mut Vec<u8>) {
        if self.withheld.is_empty() {
            return;
        }
        lines.extend_from_slice(b"{\"hashes\":");
        base64(lines, &mem::take(&mut self.withheld));
        lines.extend_from_slice(b"}\n");
    }
}

pub(super) fn string(line: &mut Vec<u8>, text: &str) {
    serde_json::to_writer(line, text).expect("a text always encodes");
}

pub(super) fn strings(line: &mut Vec<u8>, texts: &[String]) {
    serde_json::to_writer(line, texts).expect("texts always encode");
}

pub(super) fn number(line: &mut Vec<u8>, number: u64) {
    line.extend_from_slice(number.to_string().as_bytes());
}

fn base64(line: &mut Vec<u8>, bytes: &[u8]) {
    line.push(b'"');
    line.extend_from_slice(BASE64.encode(bytes).as_bytes());
    line.push(b'"');
}
