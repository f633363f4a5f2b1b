//! The terms of a query as conditions of SQL, which mean what [`domain::query::Matcher`] means.
//!
//! Columns are asked first. What is only in an event's body is asked last, of those that pass: the body is read
//! as JSON once, and what is in it is compared as the matcher compares it. It is read as `json` and not as
//! `jsonb`: that refuses numbers of too many digits, and one event with such a number would be the end of
//! every search.

use domain::{
    Timestamp,
    event::{Filter, reserved, source::SourcePattern},
    query::{Condition, Path, Query, Range, Term, Test, Value},
    rule::pattern::ELEMENTS_MAX,
};

use crate::{
    statement::Statement,
    values::{number, push_id, push_like, push_range, push_text_tests, push_times},
};

/// Searching an event's text costs so many times as much as grouping it: a page of the list that searches 20,000 takes
/// 100 to 125 ms.
pub(super) const TEXT_COST: u64 = 8;
/// Reading it as JSON, and finding a place in that: 20,000 events of 1.3 KB took 75 ms to search for a text, 110 ms to
/// read and 270 ms more for each place.
const JSON_COST: u64 = 12;
const PLACE_COST: u64 = 28;

/// The fields that have a column of their own, as text.
const COLUMNS: [&str; 9] = [
    "event_type",
    "agent_id",
    "action",
    "result",
    "severity",
    "session_id",
    "trace_id",
    "decision_id",
    "source",
];
/// Those that no event is without.
const ALWAYS_THERE: [&str; 4] = ["event_type", "agent_id", "action", "result"];

/// The first time whose year PostgreSQL reads as it is written, 0001-01-01: before it, years count backward. Nothing
/// was received before it either.
const YEAR_ONE: Timestamp = Timestamp::from_unix_millis(-62_135_596_800_000);

/// The body as JSON, once for all terms: PostgreSQL does not merge a subquery that has an OFFSET. NUL cannot be in a
/// text of PostgreSQL, and no query asks for it, so another character that nobody types stands for it. After an odd
/// number of backslashes, `\u0000` is no NUL but six characters that somebody wrote.
const BODY: &str = r"SELECT (CASE WHEN strpos(body, '\u0000') = 0 THEN body
           ELSE regexp_replace(body, '(?<!\\)((\\\\)*)\\u0000', '\1\\ufffd', 'g') END)::json AS event OFFSET 0";

/// Adds ` AND …` for each term.
pub(super) fn push_terms(sql: &mut impl Statement, query: &Query) {
    let (in_body, in_columns): (Vec<&Term>, Vec<&Term>) =
        query.terms.iter().partition(|term| is_in_body(term));
    let (texts, in_columns): (Vec<&Term>, Vec<&Term>) = in_columns
        .into_iter()
        .partition(|term| matches!(term.condition, Condition::Text(_)));
    for term in in_columns.into_iter().chain(texts) {
        push_term(sql, term);
    }
    if in_body.is_empty() {
        return;
    }
    sql.sql(" AND EXISTS (SELECT 1 FROM (");
    sql.sql(BODY);
    sql.sql(") AS parsed WHERE true");
    for term in in_body {
        push_term(sql, term);
    }
    sql.sql(")");
}

/// What reading an event's body costs, where grouping the event by its columns costs 1; 0 if it is not read.
pub(super) fn body_cost(filter: &Filter) -> u64 {
    let terms = filter.query.iter().flat_map(|query| &query.query().terms);
    let (mut texts, mut places) = (u64::from(filter.q.is_some()), 0);
    for term in terms {
        match term.condition {
            Condition::Text(_) => texts += 1,
            Condition::Field(..) => places += u64::from(is_in_body(term)),
        }
    }
    let json = if places > 0 { JSON_COST } else { 0 };
    texts * TEXT_COST + json + places * PLACE_COST
}

fn is_in_body(term: &Term) -> bool {
    match &term.condition {
        Condition::Text(_) => false,
        Condition::Field(path, _) => {
            let name = path.field.name;
            !COLUMNS.contains(&name) && !matches!(name, "occurred_at" | "received_at")
        }
    }
}

fn push_term(sql: &mut impl Statement, term: &Term) {
    if let Some((column, values)) = left_out(term) {
        // An index of what did not go well serves this one.
        sql.sql(&format!(" AND {column} <> ALL("));
        sql.texts(&values);
        sql.sql(")");
        return;
    }
    sql.sql(" AND (");
    push_condition(sql, &term.condition);
    // What is not there is neither equal nor unequal to PostgreSQL.
    sql.sql(if term.is_negated {
        ") IS NOT TRUE"
    } else {
        ") IS TRUE"
    });
}

/// The values that a column must not have, if it is always there.
pub(super) fn left_out(term: &Term) -> Option<(&'static str, Vec<&str>)> {
    match &term.condition {
        Condition::Field(path, tests)
            if term.is_negated && ALWAYS_THERE.contains(&path.field.name) =>
        {
            let values: Option<Vec<&str>> = tests.iter().map(whole).collect();
            Some((path.field.name, values?))
        }
        _ => None,
    }
}

fn whole(test: &Test) -> Option<&str> {
    match test {
        Test::Is(Value::Text(text)) => Some(text),
        _ => None,
    }
}

fn push_condition(sql: &mut impl Statement, condition: &Condition) {
    match condition {
        Condition::Text(text) => {
            // In the collation "C" only ASCII letters have a lower case.
            sql.sql("position(");
            sql.text(&text.to_ascii_lowercase());
            sql.sql(" IN lower(body COLLATE \"C\")) > 0");
        }
        Condition::Field(path, tests) => match path.field.name {
            "occurred_at" => push_times(sql, tests, |sql, sign, at| push_id(sql, sign, at)),
            "received_at" => push_times(sql, tests, |sql, sign, at| {
                sql.sql(&format!("received_at {sign} "));
                sql.text(&at.max(YEAR_ONE).to_string());
                sql.sql("::timestamptz");
            }),
            "source" => push_source(sql, tests),
            _ if path.is_in_metadata() => push_metadata(sql, path, tests),
            name if COLUMNS.contains(&name) => push_text_tests(sql, name, tests),
            name => push_text_tests(sql, &format!("(event ->> '{name}')"), tests),
        },
    }
}

fn push_source(sql: &mut impl Statement, tests: &[Test]) {
    let any_key = Test::Is(Value::Text("key".to_owned()));
    if tests.contains(&any_key) {
        sql.sql("source ^@ ");
        sql.text(SourcePattern::KEYS_START);
        sql.sql(" OR ");
    }
    push_text_tests(sql, "source", tests);
}

/// One value, or one of the first elements of a list, passes one of the tests.
fn push_metadata(sql: &mut impl Statement, path: &Path, tests: &[Test]) {
    if path.is_of_decisions() {
        sql.sql("event ->> 'event_type' = ");
        sql.text(reserved::DECISION);
        sql.sql(" AND event ->> 'source' = 'server' AND ");
    }
    if tests.contains(&Test::Exists) {
        push_place(sql, path);
        sql.sql(" IS NOT NULL");
        return;
    }
    sql.sql("EXISTS (SELECT 1 FROM (SELECT ");
    push_place(sql, path);
    sql.sql(
        " AS place OFFSET 0) AS there, LATERAL (
           SELECT json_typeof(element) AS kind, element #>> '{}' AS text
           FROM json_array_elements(CASE json_typeof(place) WHEN 'array' THEN place ELSE json_build_array(place) END)
                WITH ORDINALITY AS elements (element, number)
           WHERE number <= ",
    );
    sql.sql(&ELEMENTS_MAX.to_string());
    sql.sql(" OFFSET 0) AS scalar WHERE place IS NOT NULL AND (false");
    for test in tests {
        sql.sql(" OR (");
        push_scalar_test(sql, test);
        sql.sql(")");
    }
    sql.sql("))");
}

/// Keys lead through objects only. A path is found in one pass, but a key in it that looks like a number would lead
/// into a list.
fn push_place(sql: &mut impl Statement, path: &Path) {
    let keys: Vec<&str> = ["metadata"]
        .into_iter()
        .chain(path.keys_in_metadata())
        .collect();
    let could_be_number = |key: &&str| !key.starts_with(|letter: char| letter.is_alphabetic());
    if !keys.iter().any(could_be_number) {
        sql.sql("(event #> ");
        sql.texts(&keys);
        sql.sql(")");
        return;
    }
    sql.sql("(event");
    for key in keys {
        sql.sql(" -> ");
        sql.text(key);
        sql.sql("::text");
    }
    sql.sql(")");
}

fn push_scalar_test(sql: &mut impl Statement, test: &Test) {
    let number = || number("text");
    match test {
        Test::Exists => sql.sql("true"),
        Test::Is(Value::Text(value)) => push_is(sql, "string", value),
        Test::Is(Value::Word(word)) => {
            push_is(sql, "string", word);
            match word.as_str() {
                "true" | "false" => {
                    sql.sql(" OR ");
                    push_is(sql, "boolean", word);
                }
                "null" => sql.sql(" OR kind = 'null'"),
                word => {
                    // One that is too small to be told from 0 is 0.
                    let value = word.parse().unwrap_or(0.0);
                    sql.sql(" OR kind = 'number' AND ");
                    push_range(sql, &number(), Range::Within(value, value));
                }
            }
        }
        Test::Like(wildcard) => {
            sql.sql("kind = 'string' AND ");
            push_like(sql, "text", wildcard);
        }
        Test::Number(range) => {
            sql.sql("kind = 'number' AND ");
            push_range(sql, &number(), *range);
        }
        Test::Time(_) => sql.sql("false"),
    }
}

fn push_is(sql: &mut impl Statement, kind: &str, text: &str) {
    sql.sql(&format!("kind = '{kind}' AND text = "));
    sql.text(text);
}
