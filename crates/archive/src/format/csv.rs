//! CSV (RFC 4180): a header line, then a line for each event.
//!
//! Spreadsheets run a cell that starts with `=`, `+`, `-`, `@`, a tab or a line end as a formula, and
//! what agents write into events is not ours. Such a text gets a `'` in front, and so does one that
//! starts with `'` itself, so that taking one `'` off always gives the text back. Where `;` or a tab
//! separates cells, one begins in the midst of a text, and after a line end a row does: what is risky
//! there gets its `'` too, and is read back the same way.
//! Numbers (`latency_ms`) are never negative and stay numbers (of `-0` the zero); metadata is JSON and
//! starts with a brace, and its `;` is written as JSON may, `\u003b`.

use std::{borrow::Cow, io::Write as _};

use crate::{
    Events,
    columns::{COLUMNS, Kind, cell, view},
};

const LINE_END: &[u8] = b"\r\n";
/// What a formula starts with, and the `'` by which we say that there is none.
const STARTS_FORMULA: &[char] = &['=', '+', '-', '@', '\''];
/// After these a spreadsheet may see a new cell, although there is none.
const STARTS_CELL: &[char] = &[';', '\t', '\r', '\n'];

#[derive(Default)]
pub(crate) struct Writer {
    has_header: bool,
}

impl Writer {
    pub(super) fn write(&mut self, events: &Events) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(events.bytes());
        self.header(&mut bytes);
        for json in events.iter() {
            let event = view(json);
            for (number, (name, kind)) in COLUMNS.iter().enumerate() {
                if number > 0 {
                    bytes.push(b',');
                }
                if let Some(text) = cell(&event, name, *kind) {
                    write_cell(&mut bytes, &text, *kind);
                }
            }
            bytes.extend_from_slice(LINE_END);
        }
        bytes
    }

    /// A file without events has its header.
    pub(super) fn finish(mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.header(&mut bytes);
        bytes
    }

    fn header(&mut self, bytes: &mut Vec<u8>) {
        if !std::mem::replace(&mut self.has_header, true) {
            let names = COLUMNS.map(|(name, _)| name).join(",");
            bytes.extend_from_slice(names.as_bytes());
            bytes.extend_from_slice(LINE_END);
        }
    }
}

fn write_cell(bytes: &mut Vec<u8>, text: &str, kind: Kind) {
    let text = match kind {
        Kind::Number => Cow::Borrowed(text.trim_start_matches('-')),
        Kind::Text => guarded(text),
        Kind::Json if text.contains(';') => Cow::Owned(text.replace(';', "\\u003b")),
        Kind::Json => Cow::Borrowed(text),
    };
    let write = if text.contains([',', '"', '\r', '\n']) {
        write!(bytes, "\"{}\"", text.replace('"', "\"\""))
    } else {
        write!(bytes, "{text}")
    };
    write.expect("memory takes every write");
}

/// The text with a `'` wherever a spreadsheet might see the start of a formula.
fn guarded(text: &str) -> Cow<'_, str> {
    let starts_risky = text.starts_with([STARTS_FORMULA, &['\t', '\r', '\n']].concat().as_slice());
    if !starts_risky && !text.contains(STARTS_CELL) {
        return Cow::Borrowed(text);
    }
    let mut guarded = String::with_capacity(text.len() + 1);
    if starts_risky {
        guarded.push('\'');
    }
    let mut before = None;
    for next in text.chars() {
        let is_start = before.is_some_and(|before| STARTS_CELL.contains(&before));
        if is_start && STARTS_FORMULA.contains(&next) {
            guarded.push('\'');
        }
        guarded.push(next);
        before = Some(next);
    }
    Cow::Owned(guarded)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Reads a file as RFC 4180 says.
    fn read(text: &str) -> Vec<Vec<String>> {
        let (mut lines, mut line, mut cell) = (Vec::new(), Vec::new(), String::new());
        let mut rest = text.chars().peekable();
        while let Some(first) = rest.next() {
            match first {
                '"' => loop {
                    match rest.next().expect("a closing quote") {
                        '"' if rest.peek() == Some(&'"') => cell.extend(rest.next()),
                        '"' => break,
                        other => cell.push(other),
                    }
                },
                ',' => line.push(std::mem::take(&mut cell)),
                '\r' => {
                    assert_eq!(rest.next(), Some('\n'), "a bare CR outside quotes");
                    line.push(std::mem::take(&mut cell));
                    lines.push(std::mem::take(&mut line));
                }
                other => cell.push(other),
            }
        }
        assert!(line.is_empty() && cell.is_empty(), "the last line ends");
        lines
    }

    /// Takes one `'` off wherever we may have put one.
    fn plain(cell: &str) -> String {
        let mut text = String::new();
        let mut is_start = true;
        for next in cell.chars() {
            if !(is_start && next == '\'') {
                text.push(next);
            }
            is_start = STARTS_CELL.contains(&next);
        }
        text
    }

    fn event(agent: &str, resource: &str) -> String {
        // Escaped by hand: this crate needs no JSON writer elsewhere.
        let escaped = |text: &str| -> String {
            text.chars()
                .map(|c| match c {
                    '"' => "\\\"".to_owned(),
                    '\\' => "\\\\".to_owned(),
                    c if (c as u32) < 0x20 => format!("\\u{:04x}", c as u32),
                    c => c.to_string(),
                })
                .collect()
        };
        format!(
            r#"{{"id":"evt_1","agent_id":"{}","resource":"{}","latency_ms":12.5,"metadata":{{"a":"=1,\"2;=3"}}}}"#,
            escaped(agent),
            escaped(resource)
        )
    }

    #[test]
    fn a_line_has_its_cells_and_numbers_stay_numbers() {
        let mut events = Events::default();
        events.push(&event("=SUM(A1);=B1", "a,\"b\"\r\nc"));
        let text = String::from_utf8(Writer::default().write(&events)).expect("UTF-8");
        let lines = read(&text);
        assert_eq!(lines[0].len(), COLUMNS.len());
        let cell = |name: &str| {
            let column = lines[0].iter().position(|one| one == name);
            lines[1][column.expect("a column")].as_str()
        };
        assert_eq!(cell("agent_id"), "'=SUM(A1);'=B1");
        assert_eq!(cell("resource"), "a,\"b\"\r\nc");
        assert_eq!(cell("latency_ms"), "12.5");
        assert_eq!(cell("metadata"), r#"{"a":"=1,\"2\u003b=3"}"#);
        assert_eq!(cell("severity"), "");
    }

    #[test]
    fn no_events_are_a_header() {
        let text = String::from_utf8(Writer::default().finish()).expect("UTF-8");
        assert_eq!(read(&text).len(), 1);
    }

    proptest! {
        #[test]
        fn every_text_reads_back_and_none_starts_a_formula(
            texts in prop::collection::vec(("[=+@'\\-\t\r\n,;\"a]{0,6}", any::<String>()), 1..8)
        ) {
            let mut events = Events::default();
            for (agent, resource) in &texts {
                events.push(&event(agent, resource));
            }
            let text = String::from_utf8(Writer::default().write(&events)).expect("UTF-8");
            let lines = read(&text);
            prop_assert_eq!(lines.len(), texts.len() + 1);
            for (line, (agent, resource)) in lines[1..].iter().zip(&texts) {
                prop_assert_eq!(line.len(), COLUMNS.len());
                for cell in line {
                    prop_assert!(!cell.starts_with(['\t', '\r', '\n']), "{:?}", cell);
                    for part in cell.split(STARTS_CELL) {
                        prop_assert!(!part.starts_with(['=', '+', '-', '@']), "{:?}", cell);
                    }
                }
                prop_assert_eq!(&plain(&line[4]), agent);
                prop_assert_eq!(&plain(&line[8]), resource);
            }
        }
    }
}
