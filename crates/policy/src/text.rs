//! The texts of a version before Cedar reads them: how long and how deep they may be.
//!
//! Cedar's parser recurses where a text nests, so a text that nests without end would exhaust the
//! stack. This looks at brackets, strings and comments only, and in one pass.

use std::ops::Range;

use domain::fault::{Fault, FaultCode};

/// How many policies a version may have.
pub const POLICIES_MAX: usize = 1000;

/// How long a policy may be; what Amazon Verified Permissions allows.
pub const POLICY_BYTES_MAX: usize = 10_000;

/// How long a schema may be; the same.
pub const SCHEMA_BYTES_MAX: usize = 100_000;

/// How long the texts of a version may be together: two versions, the active and the shadow, travel in
/// one message of the journal, which may have 1 MiB.
pub const TEXTS_BYTES_MAX: usize = 384 * 1024;

/// How deep a text may nest, where brackets, `if`s and links of a chain like `a.b + c` are counted alike.
/// Cedar walks expressions by recursion and gives up when the stack runs out, which some kilobytes a
/// step bring about: what it says must not depend on whose stack it is.
pub const NESTING_MAX: usize = 64;

/// Faults of the texts that can be seen without understanding them.
pub(crate) fn faults(policies: &str, schema: Option<&str>) -> Vec<Fault> {
    let mut faults = Vec::new();
    let together = policies.len() + schema.map_or(0, str::len);
    if together > TEXTS_BYTES_MAX {
        let detail = format!(
            "Policies and schema are {together} bytes together and may be {TEXTS_BYTES_MAX}. \
             Take comments out, or let fewer policies name more actions."
        );
        faults.push(Fault::new(FaultCode::FieldTooLong, "/policies", detail));
        return faults;
    }
    if let Some(schema) = schema {
        if schema.len() > SCHEMA_BYTES_MAX {
            let detail = format!(
                "A schema may have {SCHEMA_BYTES_MAX} bytes; this one has {}.",
                schema.len()
            );
            faults.push(Fault::new(FaultCode::FieldTooLong, "/schema", detail));
        } else if let Err(at) = statements(schema, b"([{<", b")]}>") {
            faults.push(too_deep("/schema", schema, at));
        }
    }
    match statements(policies, b"([{", b")]}") {
        Err(at) => faults.push(too_deep("/policies", policies, at)),
        Ok(statements) if statements.len() > POLICIES_MAX => {
            let detail = format!(
                "There may be {POLICIES_MAX} policies; these are {}.",
                statements.len()
            );
            faults.push(Fault::new(FaultCode::FieldTooLong, "/policies", detail));
        }
        Ok(statements) => {
            let long = statements.into_iter().enumerate();
            let long = long.filter(|(_, statement)| statement.len() > POLICY_BYTES_MAX);
            faults.extend(long.map(|(index, statement)| {
                let detail = format!(
                    "A policy may have {POLICY_BYTES_MAX} bytes; this one, {}, has {}. Cut it in two.",
                    line_and_column(policies, statement.start),
                    statement.len(),
                );
                Fault::new(FaultCode::FieldTooLong, format!("/policies/{index}"), detail)
            }));
        }
    }
    faults
}

/// Where a byte of a text is, for people.
pub(crate) fn line_and_column(text: &str, at: usize) -> String {
    let before = text.as_bytes().get(..at).unwrap_or(text.as_bytes());
    let before = String::from_utf8_lossy(before);
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
    format!("line {line}, column {column}")
}

fn too_deep(pointer: &str, text: &str, at: usize) -> Fault {
    let place = line_and_column(text, at);
    Fault::invalid(
        pointer,
        format!(
            "Brackets, `if`s and chains like `a.b + c` nest more than {NESTING_MAX} deep, {place}. Cut it in several."
        ),
    )
}

/// Where the statements are that end in `;`, with what stands before them; what follows the last `;`
/// is one if there is anything but space and comments. Or where the text nests too deeply.
fn statements(text: &str, opening: &[u8], closing: &[u8]) -> Result<Vec<Range<usize>>, usize> {
    let bytes = text.as_bytes();
    let mut statements = Vec::new();
    let mut start = None;
    let mut nesting = Nesting::default();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let token_start = at;
        at += 1;
        if byte.is_ascii_whitespace() {
            continue;
        }
        if byte == b'/' && bytes.get(at) == Some(&b'/') {
            at = end_of_line(bytes, at);
            continue;
        }
        let begun = *start.get_or_insert(token_start);
        match byte {
            b'"' => at = end_of_string(bytes, at),
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => {
                at = end_of_word(bytes, at);
                nesting.ifs += usize::from(&bytes[token_start..at] == b"if");
            }
            b';' => {
                nesting.end_chain();
                nesting.ifs = 0;
                statements.push(begun..at);
                start = None;
            }
            b'.' | b'+' | b'-' | b'*' => nesting.link(),
            b'&' | b'|' | b',' | b'=' | b'<' | b'>' | b'!' | b':' => nesting.end_chain(),
            _ => {}
        }
        if opening.contains(&byte) {
            nesting.open(byte);
        } else if closing.contains(&byte) {
            nesting.close();
        }
        if nesting.depth() > NESTING_MAX {
            return Err(token_start);
        }
    }
    statements.extend(start.map(|start| start..bytes.len()));
    Ok(statements)
}

/// How deep an expression is at a place in the text, at the most.
#[derive(Default)]
struct Nesting {
    /// The chain that each open bracket interrupts, by its length.
    outer: Vec<usize>,
    chain: usize,
    /// Of the statement: an `if` has no bracket that would end it.
    ifs: usize,
}

impl Nesting {
    fn depth(&self) -> usize {
        self.outer.len() + self.outer.iter().sum::<usize>() + self.chain + self.ifs
    }

    fn open(&mut self, bracket: u8) {
        // What stands in square brackets may be an index, which is a link.
        self.chain += usize::from(bracket == b'[');
        self.outer.push(self.chain);
        self.chain = 0;
    }

    fn close(&mut self) {
        self.chain = self.outer.pop().unwrap_or(0);
    }

    fn link(&mut self) {
        self.chain += 1;
    }

    fn end_chain(&mut self) {
        self.chain = 0;
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn end_of_word(bytes: &[u8], from: usize) -> usize {
    let length = bytes[from..].iter().position(|byte| !is_word(*byte));
    length.map_or(bytes.len(), |length| from + length)
}

fn end_of_line(bytes: &[u8], from: usize) -> usize {
    let length = bytes[from..]
        .iter()
        .position(|byte| matches!(byte, b'\n' | b'\r'));
    length.map_or(bytes.len(), |length| from + length)
}

/// Past the closing quotation mark; a backslash takes the next byte with it.
fn end_of_string(bytes: &[u8], mut at: usize) -> usize {
    while let Some(byte) = bytes.get(at) {
        at += match byte {
            b'"' => return at + 1,
            b'\\' => 2,
            _ => 1,
        };
    }
    bytes.len()
}
