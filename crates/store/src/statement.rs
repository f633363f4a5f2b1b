//! SQL that is being written, with values that somebody sent.

use std::fmt::Write as _;

use sqlx::{Postgres, QueryBuilder};

use crate::literal::{Literal, Literals};

/// Takes SQL and values, which it keeps apart: as parameters, or, for COPY, which takes none, as literals.
pub(crate) trait Statement {
    /// SQL of our own.
    fn sql(&mut self, sql: &str);

    fn text(&mut self, value: &str);

    fn texts<T: AsRef<str>>(&mut self, values: &[T]);
}

impl Statement for QueryBuilder<Postgres> {
    fn sql(&mut self, sql: &str) {
        self.push(sql);
    }

    fn text(&mut self, value: &str) {
        self.push_bind(value.to_owned());
    }

    fn texts<T: AsRef<str>>(&mut self, values: &[T]) {
        let values = values.iter().map(|value| value.as_ref().to_owned());
        self.push_bind(values.collect::<Vec<String>>());
    }
}

/// For COPY.
impl Statement for String {
    fn sql(&mut self, sql: &str) {
        self.push_str(sql);
    }

    fn text(&mut self, value: &str) {
        write!(self, "{}", Literal(value)).expect("memory takes every write");
    }

    fn texts<T: AsRef<str>>(&mut self, values: &[T]) {
        write!(self, "{}", Literals(values)).expect("memory takes every write");
    }
}
