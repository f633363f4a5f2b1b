//! A text in which `*` stands for any text, or none.

use memchr::memmem;

use super::WILDCARD_BYTES_MAX;

/// `payments.*.refund`. There is no way to ask for the character `*` itself; `contains` can.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Glob(Box<str>);

impl Glob {
    pub(super) fn new(text: &str) -> Self {
        Self(text.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What stands before the first `*`.
    pub fn head(&self) -> &str {
        self.0.split('*').next().unwrap_or_default()
    }

    /// What stands behind the last `*`.
    pub fn tail(&self) -> &str {
        self.0.rsplit('*').next().unwrap_or_default()
    }

    pub fn has_star(&self) -> bool {
        self.0.contains('*')
    }

    /// In a time that grows with the value only: each piece is looked for behind the one before, and
    /// the first place that is found is the best, because it leaves the most for the others.
    pub(super) fn matches(&self, text: &str) -> bool {
        // Cutting inside a character does no harm: a piece is made of whole ones.
        let looked_at = &text.as_bytes()[..text.len().min(WILDCARD_BYTES_MAX)];
        let mut pieces = self.0.split('*').map(str::as_bytes);
        let first = pieces.next().unwrap_or_default();
        let Some(last) = pieces.next_back() else {
            return text == &*self.0;
        };
        let between = looked_at
            .strip_prefix(first)
            .and_then(|rest| rest.strip_suffix(last));
        let Some(mut rest) = between else {
            return false;
        };
        for piece in pieces {
            match memmem::find(rest, piece) {
                Some(place) => rest = &rest[place + piece.len()..],
                None => return false,
            }
        }
        true
    }
}
