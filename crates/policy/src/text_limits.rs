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

/// How many `&&`, `||`, `when` and `unless` a policy may have: each may be a step of that recursion too, and a
/// list of values is better asked by `contains`.
pub const JUNCTIONS_MAX: usize = 200;

/// How long a pattern of `like` may be: a text is compared with it in as many steps as both have characters,
/// multiplied.
pub const PATTERN_BYTES_MAX: usize = 256;

/// How many patterns a policy may have, for the same reason.
pub const PATTERNS_MAX: usize = 10;

/// Faults of the texts that can be seen without understanding them.
pub(crate) fn faults(policies: &str, schema: Option<&str>) -> Vec<Fault> {
    let mut faults = Vec::new();
    let together = policies.len() + schema.map_or(0, str::len);
    if together > TEXTS_BYTES_MAX {
        let detail = format!(
            "Policies and schema have {together} bytes in total, and the limit is {TEXTS_BYTES_MAX}. \
             Remove comments, or let fewer policies name more actions."
        );
        faults.push(Fault::new(FaultCode::FieldTooLong, "/policies", detail));
        return faults;
    }
    if let Some(schema) = schema {
        if schema.len() > SCHEMA_BYTES_MAX {
            let detail = format!(
                "A schema may have at most {SCHEMA_BYTES_MAX} bytes; this one has {}.",
                schema.len()
            );
            faults.push(Fault::new(FaultCode::FieldTooLong, "/schema", detail));
        } else if let Err((why, at)) = statements(schema, b"([{<", b")]}>") {
            faults.push(why.fault("/schema", schema, at));
        }
    }
    match statements(policies, b"([{", b")]}") {
        Err((why, at)) => faults.push(why.fault("/policies", policies, at)),
        Ok(statements) if statements.len() > POLICIES_MAX => {
            let detail = format!(
                "There may be at most {POLICIES_MAX} policies; these are {}.",
                statements.len()
            );
            faults.push(Fault::new(FaultCode::FieldTooLong, "/policies", detail));
        }
        Ok(statements) => {
            let long = statements.into_iter().enumerate();
            let long = long.filter(|(_, statement)| statement.len() > POLICY_BYTES_MAX);
            faults.extend(long.map(|(index, statement)| {
                let detail = format!(
                    "A policy may have at most {POLICY_BYTES_MAX} bytes; this one, {}, has {}. Split it in two.",
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

/// What a statement has too much of.
enum TooMuch {
    Nesting,
    Junctions,
    Patterns,
}

impl TooMuch {
    fn fault(&self, pointer: &str, text: &str, at: usize) -> Fault {
        let place = line_and_column(text, at);
        let detail = match self {
            Self::Nesting => format!(
                "Brackets, `if`s and chains like `a.b + c` are nested more than {NESTING_MAX} deep, {place}. Split it up."
            ),
            Self::Junctions => format!(
                "A policy may have at most {JUNCTIONS_MAX} of `&&`, `||`, `when` and `unless`, {place}. Use \
                 `[...].contains(...)`, or split it up."
            ),
            Self::Patterns => format!(
                "A policy may have at most {PATTERNS_MAX} `like` patterns of {PATTERN_BYTES_MAX} bytes each, {place}. \
                 Split it up, or shorten the pattern."
            ),
        };
        Fault::invalid(pointer, detail)
    }
}

/// Where the statements are that end in `;`, with what stands before them; what follows the last `;`
/// is one if there is anything but space and comments. Or what a statement has too much of, and where.
fn statements(
    text: &str,
    opening: &[u8],
    closing: &[u8],
) -> Result<Vec<Range<usize>>, (TooMuch, usize)> {
    let bytes = text.as_bytes();
    let mut statements = Vec::new();
    let mut start = None;
    let mut nesting = Nesting::default();
    let (mut junctions, mut patterns, mut is_after_like) = (0, 0, false);
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let token_start = at;
        at += 1;
        // Cedar takes more for space than ASCII has: what looks like one must not hide what follows.
        let letter = text.get(token_start..).and_then(|rest| rest.chars().next());
        if let Some(space) = letter.filter(|letter| letter.is_whitespace()) {
            at = token_start + space.len_utf8();
            continue;
        }
        if byte == b'/' && bytes.get(at) == Some(&b'/') {
            at = end_of_line(bytes, at);
            continue;
        }
        let begun = *start.get_or_insert(token_start);
        let is_pattern = std::mem::take(&mut is_after_like) && byte == b'"';
        match byte {
            b'"' => {
                at = end_of_string(bytes, at);
                patterns += usize::from(is_pattern);
                // With its quotation marks.
                let is_long = at - token_start > PATTERN_BYTES_MAX + 2;
                if is_pattern && (is_long || patterns > PATTERNS_MAX) {
                    return Err((TooMuch::Patterns, token_start));
                }
            }
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => {
                at = end_of_word(bytes, at);
                match &bytes[token_start..at] {
                    b"if" => nesting.ifs += 1,
                    b"like" => is_after_like = true,
                    b"when" | b"unless" => {
                        junctions += 1;
                        nesting.end_chain();
                    }
                    _ => {}
                }
            }
            b'&' | b'|' => {
                // `&&` and `||` are one.
                at += usize::from(bytes.get(at) == Some(&byte));
                junctions += 1;
                nesting.end_chain();
            }
            b';' => {
                nesting.end_chain();
                nesting.ifs = 0;
                (junctions, patterns) = (0, 0);
                statements.push(begun..at);
                start = None;
            }
            b'.' | b'+' | b'-' | b'*' => nesting.link(),
            b',' | b'=' | b'<' | b'>' | b'!' | b':' => nesting.end_chain(),
            _ => {}
        }
        if opening.contains(&byte) {
            nesting.open(byte);
        } else if closing.contains(&byte) {
            nesting.close();
        }
        if nesting.depth() > NESTING_MAX {
            return Err((TooMuch::Nesting, token_start));
        }
        if junctions > JUNCTIONS_MAX {
            return Err((TooMuch::Junctions, token_start));
        }
    }
    statements.extend(start.map(|start| start..bytes.len()));
    Ok(statements)
}

/// How deep an expression is at a place in the text, at the most.
#[derive(Default)]
struct Nesting {
    /// What each open bracket interrupts.
    outer: Vec<Chain>,
    chain: Chain,
    /// Of the statement: an `if` has no bracket that would end it.
    ifs: usize,
}

/// Links one after the other: each is a step down to what stands before it.
#[derive(Clone, Copy, Default)]
struct Chain {
    depth: usize,
    /// The deepest within the same bracket.
    deepest: usize,
}

impl Chain {
    fn reach(&mut self, depth: usize) {
        self.depth = depth;
        self.deepest = self.deepest.max(depth);
    }
}

impl Nesting {
    fn depth(&self) -> usize {
        let outer = self.outer.iter().map(|chain| chain.depth);
        self.outer.len() + outer.sum::<usize>() + self.chain.depth + self.ifs
    }

    fn open(&mut self, bracket: u8) {
        // What stands in square brackets may be an index, which is a link.
        self.chain
            .reach(self.chain.depth + usize::from(bracket == b'['));
        self.outer.push(std::mem::take(&mut self.chain));
    }

    /// What follows may be a link to all that stood in the bracket.
    fn close(&mut self) {
        let within = self.chain.deepest + 1;
        self.chain = self.outer.pop().unwrap_or_default();
        self.chain.reach(self.chain.depth.max(within));
    }

    fn link(&mut self) {
        self.chain.reach(self.chain.depth + 1);
    }

    fn end_chain(&mut self) {
        self.chain.depth = 0;
    }
}

pub(crate) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

pub(crate) fn end_of_word(bytes: &[u8], from: usize) -> usize {
    let length = bytes[from..].iter().position(|byte| !is_word(*byte));
    length.map_or(bytes.len(), |length| from + length)
}

pub(crate) fn end_of_line(bytes: &[u8], from: usize) -> usize {
    let length = bytes[from..]
        .iter()
        .position(|byte| matches!(byte, b'\n' | b'\r'));
    length.map_or(bytes.len(), |length| from + length)
}

/// Past the closing quotation mark; a backslash takes the next byte with it.
pub(crate) fn end_of_string(bytes: &[u8], mut at: usize) -> usize {
    while let Some(byte) = bytes.get(at) {
        at += match byte {
            b'"' => return at + 1,
            b'\\' => 2,
            _ => 1,
        };
    }
    bytes.len()
}
