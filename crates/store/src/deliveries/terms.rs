//! The terms of a query about deliveries as conditions of SQL.

use domain::{
    EventId, RuleId, Timestamp,
    query::{Condition, Query, Term, Test, Value},
};

use crate::{
    statement::Statement,
    values::{push_id, push_range, push_text_tests, push_times},
};

/// Adds ` AND …` for each term.
pub(super) fn push_terms(sql: &mut impl Statement, query: &Query) {
    for term in &query.terms {
        // One that is not negated is left plain, so that an index can serve it.
        sql.sql(" AND (");
        push_condition(sql, term);
        sql.sql(if term.is_negated {
            ") IS NOT TRUE"
        } else {
            ")"
        });
    }
}

fn push_condition(sql: &mut impl Statement, term: &Term) {
    let Condition::Field(path, tests) = &term.condition else {
        // There is no text to search, and the parser says so.
        return sql.sql("false");
    };
    if tests.contains(&Test::Exists) && path.field.name != "reason" {
        return sql.sql("true");
    }
    match path.field.name {
        "occurred_at" => push_times(sql, tests, |sql, sign, at| push_id(sql, sign, at)),
        "rule_id" => push_rules(sql, tests),
        "event_id" => push_events(sql, tests),
        "attempts" => push_attempts(sql, tests),
        "state" => {
            push_text_tests(sql, "state", tests);
            // Said so that PostgreSQL sees that the index of those that are not delivered has them all.
            if texts(tests).all(|state| state != "delivered") {
                sql.sql(" AND state <> 'delivered'");
            }
        }
        column => push_text_tests(sql, column, tests),
    }
}

fn texts(tests: &[Test]) -> impl Iterator<Item = &str> {
    tests.iter().filter_map(|test| match test {
        Test::Is(Value::Text(text)) => Some(text.as_str()),
        _ => None,
    })
}

fn push_rules(sql: &mut impl Statement, tests: &[Test]) {
    let ids = texts(tests).filter_map(|text| text.parse::<RuleId>().ok());
    let ids: Vec<String> = ids.map(|id| id.uuid().to_string()).collect();
    sql.sql("rule_id = ANY(");
    sql.texts(&ids);
    sql.sql("::uuid[])");
}

fn push_events(sql: &mut impl Statement, tests: &[Test]) {
    sql.sql("false");
    for event in texts(tests).filter_map(|text| text.parse::<EventId>().ok()) {
        sql.sql(" OR (event_id = ");
        sql.text(&event.uuid().to_string());
        // A match has its event's time in its id; the few others have an index.
        sql.sql("::uuid AND (cause <> 'match' OR (");
        let next = Timestamp::from_unix_millis(event.time().unix_millis() + 1);
        push_id(sql, ">=", event.time());
        sql.sql(" AND ");
        push_id(sql, "<", next);
        sql.sql(")))");
    }
}

fn push_attempts(sql: &mut impl Statement, tests: &[Test]) {
    sql.sql("false");
    for test in tests {
        if let Test::Number(range) = test {
            sql.sql(" OR ");
            push_range(sql, "attempts", *range);
        }
    }
}
