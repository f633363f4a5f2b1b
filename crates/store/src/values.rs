//! What a query asks of one value, as conditions of SQL. Both lists that queries are about, events and
//! deliveries, ask their columns this way.

use domain::{
    EventId, Timestamp,
    query::{Range, Test, Value, Wildcard},
};

use crate::statement::Statement;

/// How much of a text a `*` looks at, as [`domain::query::Matcher`] does.
const LOOKED_AT_BYTES: usize = domain::rule::pattern::WILDCARD_BYTES_MAX;

/// Whether a text, given as SQL, passes one of these. Never NULL in an empty list; NULL or false if the text is NULL.
pub(crate) fn push_text_tests(sql: &mut impl Statement, text: &str, tests: &[Test]) {
    sql.sql("(false");
    let is: Vec<&str> = tests.iter().filter_map(plain).collect();
    if !is.is_empty() {
        sql.sql(&format!(" OR {text} = ANY("));
        sql.texts(&is);
        sql.sql(")");
    }
    for test in tests {
        match test {
            Test::Is(_) => {}
            Test::Exists => sql.sql(&format!(" OR {text} IS NOT NULL")),
            Test::Like(wildcard) => {
                sql.sql(" OR ");
                push_like(sql, text, wildcard);
            }
            Test::Number(range) => {
                sql.sql(" OR ");
                push_range(sql, &number(text), *range);
            }
            // Asked of times only, and those are no texts.
            Test::Time(_) => sql.sql(" OR false"),
        }
    }
    sql.sql(")");
}

fn plain(test: &Test) -> Option<&str> {
    match test {
        Test::Is(Value::Text(text) | Value::Word(text)) => Some(text),
        _ => None,
    }
}

/// Byte by byte, so that no collation has a say, and cut off where the matcher cuts it off.
pub(crate) fn push_like(sql: &mut impl Statement, text: &str, wildcard: &Wildcard) {
    sql.sql(&format!(
        "substring(convert_to({text}, 'UTF8') FROM 1 FOR {LOOKED_AT_BYTES}) LIKE convert_to("
    ));
    sql.text(&like(wildcard.as_str()));
    sql.sql(", 'UTF8')");
}

/// What LIKE takes in place of a text with `*`.
fn like(wildcard: &str) -> String {
    let mut pattern = String::with_capacity(wildcard.len() + 8);
    for letter in wildcard.chars() {
        match letter {
            '*' => pattern.push('%'),
            '%' | '_' | '\\' => pattern.extend(['\\', letter]),
            letter => pattern.push(letter),
        }
    }
    pattern
}

/// A text as the number that it is, as SQL. PostgreSQL refuses to read one that is too small to be told from 0, and
/// the whole search with it, so it is asked first whether it can.
pub(crate) fn number(text: &str) -> String {
    format!(
        "CASE WHEN jsonb_path_exists(to_jsonb({text}), '$.double()', '{{}}', true) THEN {text}::float8
              WHEN {text} IS NOT NULL THEN 0 END"
    )
}

/// Whether a number, given as SQL, lies within.
pub(crate) fn push_range(sql: &mut impl Statement, number: &str, range: Range<f64>) {
    let mut limit = |sign: &str, limit: f64| {
        sql.sql(&format!("({number}) {sign} "));
        sql.text(&limit.to_string());
        sql.sql("::float8");
    };
    match range {
        Range::Above(low) => limit(">", low),
        Range::From(low) => limit(">=", low),
        Range::Below(high) => limit("<", high),
        Range::UpTo(high) => limit("<=", high),
        Range::Within(low, high) => {
            limit("BETWEEN", low);
            sql.sql(" AND ");
            sql.text(&high.to_string());
            sql.sql("::float8");
        }
    }
}

/// Whether a time, which is always there, lies in one of these. `push` compares it by a sign with a time.
pub(crate) fn push_times<S: Statement>(
    sql: &mut S,
    tests: &[Test],
    push: impl Fn(&mut S, &str, Timestamp),
) {
    sql.sql("(false");
    for test in tests {
        let (from, to) = match test {
            Test::Time(range) => range.bounds(),
            _ => (None, None),
        };
        sql.sql(" OR (true");
        for (sign, at) in [(">=", from), ("<", to)] {
            if let Some(at) = at {
                sql.sql(" AND ");
                push(sql, sign, at);
            }
        }
        sql.sql(")");
    }
    sql.sql(")");
}

/// Compares an id, which has the time in front.
pub(crate) fn push_id(sql: &mut impl Statement, sign: &str, at: Timestamp) {
    sql.sql(&format!("id {sign} "));
    sql.text(&EventId::first_at(at).uuid().to_string());
    sql.sql("::uuid");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_stars_stand_for_other_text() {
        assert_eq!(like(r"a*_50%\"), r"a%\_50\%\\");
    }
}
