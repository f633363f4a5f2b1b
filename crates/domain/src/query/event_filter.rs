//! Makes the filter that events are listed, tailed and exported by today, where that can say what a
//! query asks.
//!
//! It cannot say, yet: terms with a `-`; more than one text; `*` but at the end of an action; that a
//! field is there; `resource`, `span_id`, `client_event_id`, `error_code`, `latency_ms` and
//! `received_at`; anything in `metadata`, and so what a decision has there; several times as
//! alternatives. docs/adr/0030-one-query.md says what the store needs for each.

use super::{
    ast::{Condition, Path, Query, Range, Term, Test, Value},
    error::{Error, Span},
    fields::List,
    moment::Moment,
};
use crate::event::{Filter, reserved};

/// The filter that finds what the query asks for, or every term that no filter can say.
pub fn event_filter(query: &Query) -> Result<Filter, Vec<Error>> {
    let mut filter = Filter::default();
    let mut refused = Vec::new();
    match query.list {
        List::Events => {}
        List::Decisions => {
            for (name, value) in [("event_type", reserved::DECISION), ("source", "server")] {
                let added = filter.add(name, value);
                added.expect("the server's own events can be filtered by");
            }
        }
        List::Deliveries => {
            let end = query.terms.last().map_or(0, |term| term.span.end);
            let detail = "This query is about deliveries, and not about events.";
            return Err(vec![Error::new(Span::new(0, end), detail)]);
        }
    }
    for term in &query.terms {
        if let Err(error) = add(&mut filter, term) {
            refused.push(error);
        }
    }
    if refused.is_empty() {
        Ok(filter)
    } else {
        Err(refused)
    }
}

fn add(filter: &mut Filter, term: &Term) -> Result<(), Error> {
    let refusal = |detail: String| Err(Error::new(term.span, detail));
    if term.is_negated {
        return refusal("Events cannot be left out yet; remove this term.".to_owned());
    }
    match &term.condition {
        Condition::Text(_) if filter.q.is_some() => {
            refusal("Only one text can be searched for yet; remove this one.".to_owned())
        }
        Condition::Text(text) => add_value(filter, "q", text, term.span),
        Condition::Field(path, tests) if path.field.name == "occurred_at" => {
            match tests.as_slice() {
                [Test::Time(range)] => {
                    narrow(filter, *range);
                    Ok(())
                }
                _ => refusal("`occurred_at` can have one time or range yet.".to_owned()),
            }
        }
        Condition::Field(path, tests) => add_field(filter, path, tests, term.span),
    }
}

fn add_field(filter: &mut Filter, path: &Path, tests: &[Test], span: Span) -> Result<(), Error> {
    let name = path.field.name;
    if path.is_in_metadata() || !Filter::FIELDS.contains(&name) {
        let detail = format!("Events cannot be filtered by `{path}` yet; remove this term.");
        return Err(Error::new(span, detail));
    }
    for test in tests {
        match test {
            Test::Is(Value::Text(text)) => add_value(filter, name, text, span)?,
            Test::Like(wildcard) if name == "action" && wildcard.start().is_some() => {
                add_value(filter, name, wildcard.as_str(), span)?;
            }
            Test::Like(_) => {
                let detail = format!("`{name}` cannot be matched with `*` like this yet.");
                return Err(Error::new(span, detail));
            }
            Test::Exists => {
                let detail = format!("Whether there is a `{name}` cannot be asked yet.");
                return Err(Error::new(span, detail));
            }
            Test::Is(Value::Word(_)) | Test::Number(_) | Test::Time(_) => {
                let detail = format!("Events cannot be filtered by this `{name}` yet.");
                return Err(Error::new(span, detail));
            }
        }
    }
    Ok(())
}

fn add_value(filter: &mut Filter, name: &str, value: &str, span: Span) -> Result<(), Error> {
    let added = filter.add(name, value);
    added.map_err(|refusal| Error::new(span, refusal.to_string()))
}

/// All times that are given must hold.
fn narrow(filter: &mut Filter, range: Range<Moment>) {
    let (from, to) = range.bounds();
    filter.from = filter.from.max(from);
    filter.to = match (filter.to, to) {
        (Some(before), Some(to)) => Some(before.min(to)),
        (before, to) => before.or(to),
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::parse;

    fn filter_of(list: List, text: &str) -> Result<String, Vec<String>> {
        let query = parse(list, text).expect(text);
        match event_filter(&query) {
            Ok(filter) => Ok(serde_json::to_string(&filter).expect("JSON")),
            Err(errors) => Err(errors
                .iter()
                .map(|error| text[error.span.start..error.span.end].to_owned())
                .collect()),
        }
    }

    #[test]
    fn what_a_filter_can_say_becomes_one() {
        for (text, filter) in [
            ("", "{}"),
            (
                "result:(denied,error) severity:>=high agent_id:a action:payments.*",
                r#"{"agent_id":["a"],"action":["payments.*"],"result":["denied","error"],"severity":["high","critical"]}"#,
            ),
            (
                "\"Card Declined\" source:key session_id:s trace_id:t decision_id:d",
                r#"{"session_id":["s"],"trace_id":["t"],"decision_id":["d"],"source":["key"],"q":"card declined"}"#,
            ),
            (
                "occurred_at:2026-11-15",
                r#"{"from":"2026-11-15T00:00:00.000Z","to":"2026-11-16T00:00:00.000Z"}"#,
            ),
            (
                "occurred_at:>=2026-11-15 occurred_at:<=2026-11-17 occurred_at:<2026-11-16T12:00Z",
                r#"{"from":"2026-11-15T00:00:00.000Z","to":"2026-11-16T12:00:00.000Z"}"#,
            ),
        ] {
            assert_eq!(
                filter_of(List::Events, text).as_deref(),
                Ok(filter),
                "{text}"
            );
        }
        assert_eq!(
            filter_of(List::Decisions, "result:denied").as_deref(),
            Ok(r#"{"event_type":["decision"],"result":["denied"],"source":["server"]}"#)
        );
    }

    #[test]
    fn every_term_that_no_filter_can_say_is_named() {
        for terms in [
            ["-severity:low", "metadata.amount:>500"],
            ["agent_id:billing-*", "latency_ms:>5"],
            ["session_id:*", "action:*.delete"],
            ["received_at:>2026-11-15", "resource:x"],
            ["-refund", "occurred_at:(2026-11-15,2026-11-17)"],
        ] {
            let text = format!("result:denied {} {}", terms[0], terms[1]);
            let refused = filter_of(List::Events, &text).expect_err("refused");
            assert_eq!(refused, terms);
        }
        let two = filter_of(List::Events, "one two").expect_err("refused");
        assert_eq!(two, ["two"]);
        let decided = filter_of(List::Decisions, "decision:deny").expect_err("refused");
        assert_eq!(decided, ["decision:deny"]);
        assert!(filter_of(List::Deliveries, "state:failed").is_err());
    }
}
