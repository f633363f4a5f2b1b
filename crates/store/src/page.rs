//! Keyset pages: the next page starts after the last row of this one, however many came before.

/// How many rows a page may have.
pub const LIMIT_MAX: u32 = 1_000;
/// How many it has unless asked otherwise.
pub const LIMIT_DEFAULT: u32 = 100;

/// One page, newest first, and the key to ask for the next one by.
#[derive(Clone, Debug, PartialEq)]
pub struct Page<T, K> {
    pub rows: Vec<T>,
    /// `None`: this is the last page.
    pub next: Option<K>,
}

impl<T, K> Page<T, K> {
    /// From up to `limit + 1` rows: the extra one only tells that there is more.
    pub(crate) fn from_rows(mut rows: Vec<T>, limit: u32, key: impl Fn(&T) -> K) -> Self {
        let limit = limit as usize;
        let more = rows.len() > limit;
        rows.truncate(limit);
        let next = if more { rows.last().map(key) } else { None };
        Self { rows, next }
    }
}
