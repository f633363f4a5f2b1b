//! A text in which `*` stands for any text, or none.

use std::hash::{Hash, Hasher};

use super::{WILDCARD_BYTES_MAX, part::Part};

/// `payments.*.refund`. There is no way to ask for the character `*` itself; `contains` can.
#[derive(Clone, Debug)]
pub struct Glob {
    text: Box<str>,
    /// How many bytes stand before the first `*`, and behind the last; all of them if there is none.
    head: usize,
    tail: usize,
    /// What stands between two `*`, in order.
    between: Box<[Part]>,
}

impl Glob {
    pub(crate) fn new(text: &str) -> Self {
        let pieces: Vec<&str> = text.split('*').collect();
        let between = match pieces.as_slice() {
            [_, between @ .., _] => between,
            _ => &[],
        };
        let length = |piece: Option<&&str>| piece.map_or(0, |piece| piece.len());
        Self {
            text: text.into(),
            head: length(pieces.first()),
            tail: length(pieces.last()),
            between: between.iter().map(|piece| Part::new(piece)).collect(),
        }
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// What stands before the first `*`.
    pub fn head(&self) -> &str {
        &self.text[..self.head]
    }

    /// What stands behind the last `*`.
    pub fn tail(&self) -> &str {
        &self.text[self.text.len() - self.tail..]
    }

    pub fn has_star(&self) -> bool {
        self.head < self.text.len()
    }

    /// In a time that grows with the value only: each piece is looked for behind the one before, and
    /// the first place that is found is the best, because it leaves the most for the others.
    pub(crate) fn matches(&self, text: &str) -> bool {
        if !self.has_star() {
            return text == &*self.text;
        }
        // Cutting inside a character does no harm: a piece is made of whole ones.
        let looked_at = &text.as_bytes()[..text.len().min(WILDCARD_BYTES_MAX)];
        let inside = looked_at
            .strip_prefix(self.head().as_bytes())
            .and_then(|rest| rest.strip_suffix(self.tail().as_bytes()));
        let mut between = self.between.iter();
        inside.is_some_and(|inside| {
            between
                .try_fold(inside, |rest, piece| piece.behind(rest))
                .is_some()
        })
    }
}

impl PartialEq for Glob {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Glob {}

impl Hash for Glob {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}
