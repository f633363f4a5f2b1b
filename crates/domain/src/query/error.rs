//! What is wrong with a query, and where.

use std::ops::Range;

/// A part of a query's text, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    pub start: usize,
    /// Behind the last byte.
    pub end: usize,
}

/// Why a text is not a query, or not one that can be answered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{detail}")]
pub struct Error {
    /// What is wrong; empty where something is missing.
    pub span: Span,
    /// What was expected there, and what to do next.
    pub detail: String,
    /// What to write in place of the part, where that is known.
    pub instead: Option<String>,
}

impl Error {
    pub(super) fn new(span: Span, detail: impl Into<String>) -> Self {
        Self {
            span,
            detail: detail.into(),
            instead: None,
        }
    }

    pub(super) fn or_write(self, instead: impl Into<String>) -> Self {
        Self {
            instead: Some(instead.into()),
            ..self
        }
    }

    /// At which character of the text it begins, counted from 1.
    pub fn position(&self, text: &str) -> usize {
        chars(text, 0..self.span.start) + 1
    }

    /// How many characters of the text are wrong.
    pub fn length(&self, text: &str) -> usize {
        chars(text, self.span.start..self.span.end)
    }
}

impl Span {
    pub(super) fn new(start: usize, end: usize) -> Self {
        Self { start, end }
    }

    /// A place where something is missing.
    pub(super) fn at(place: usize) -> Self {
        Self::new(place, place)
    }
}

fn chars(text: &str, bytes: Range<usize>) -> usize {
    text.get(bytes).map_or(0, |part| part.chars().count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_are_counted_and_not_bytes() {
        let text = "\"größe\" results:denied";
        let start = text.find("results").expect("there");
        let error = Error::new(Span::new(start, start + 7), "No such field.");
        assert_eq!((error.position(text), error.length(text)), (9, 7));
        let missing = Error::new(Span::at(0), "Empty.");
        assert_eq!((missing.position(""), missing.length("")), (1, 0));
    }
}
