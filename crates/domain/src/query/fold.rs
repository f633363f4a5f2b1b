//! Says what it can of a query by the fields of a filter, which indexes and counts serve.
//!
//! A term is left in the query if it has a `-`, if the filter has a condition of its own on that field, or
//! if no field of a filter can say it: `*` other than at the end of an action, whether a field is there,
//! `received_at`, several times as alternatives, and all that is only in the event's body.

use super::{
    ast::{Condition, Query, Range, Term, Test, Value},
    event_query::EventQuery,
    moment::Moment,
};
use crate::event::Filter;

/// The filter that asks for the same events, with as little as possible left to its query.
pub(crate) fn fold(filter: &Filter) -> Filter {
    let mut folded = filter.clone();
    let Some(query) = folded.query.take() else {
        return folded;
    };
    let Query { list, terms } = query.query();
    let mut left = Vec::new();
    for term in terms {
        match said_by(&folded, term) {
            Some(with_term) => folded = with_term,
            None => left.push(term.clone()),
        }
    }
    folded.query = EventQuery::of(Query {
        list: *list,
        terms: left,
    });
    folded
}

/// The filter with this term, if it can say it.
fn said_by(filter: &Filter, term: &Term) -> Option<Filter> {
    if term.is_negated {
        return None;
    }
    match &term.condition {
        Condition::Text(text) => with(filter, "q", [text.as_str()]),
        Condition::Field(path, tests) => match (path.field.name, tests.as_slice()) {
            ("occurred_at", [Test::Time(range)]) => Some(within(filter, *range)),
            (name, tests) => {
                let values: Option<Vec<&str>> =
                    tests.iter().map(|test| value(name, test)).collect();
                with(filter, name, values?)
            }
        },
    }
}

/// The value of a filter's field that asks for the same.
fn value<'t>(name: &str, test: &'t Test) -> Option<&'t str> {
    match test {
        Test::Is(Value::Text(text)) => Some(text),
        Test::Like(wildcard) if name == "action" && wildcard.start().is_some() => {
            Some(wildcard.as_str())
        }
        _ => None,
    }
}

/// `None` if the field has values already: both must hold, and values of one field are alternatives.
fn with<'v>(
    filter: &Filter,
    name: &str,
    values: impl IntoIterator<Item = &'v str>,
) -> Option<Filter> {
    let is_free = match name {
        "q" => filter.q.is_none(),
        "action" => filter.action.is_empty(),
        "source" => filter.source.is_empty(),
        name => filter
            .texts()
            .iter()
            .any(|(field, values)| *field == name && values.is_empty()),
    };
    let mut with = is_free.then(|| filter.clone())?;
    for value in values {
        with.add(name, value).ok()?;
    }
    Some(with)
}

/// All times that are given must hold.
fn within(filter: &Filter, range: Range<Moment>) -> Filter {
    let (from, to) = range.bounds();
    Filter {
        from: filter.from.max(from),
        to: match (filter.to, to) {
            (Some(before), Some(to)) => Some(before.min(to)),
            (before, to) => before.or(to),
        },
        ..filter.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folded(pairs: &[(&str, &str)]) -> String {
        let mut filter = Filter::default();
        for (name, value) in pairs {
            filter.add(name, value).expect("a filter");
        }
        serde_json::to_string(&fold(&filter)).expect("JSON")
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
                "occurred_at:>2026-11-15 occurred_at:<2026-11-20T12:00Z occurred_at:<2026-11-19",
                r#"{"from":"2026-11-16T00:00:00.000Z","to":"2026-11-19T00:00:00.000Z"}"#,
            ),
        ] {
            assert_eq!(folded(&[("filter", text)]), filter, "{text}");
        }
    }

    #[test]
    fn the_rest_is_left_in_the_query() {
        for text in [
            "-result:success",
            "severity:*",
            "agent_id:(a,b*)",
            "action:*.refund",
            "metadata.amount:>500",
            "decision:deny",
            "latency_ms:5",
            "resource:x",
            "received_at:2026-11-15",
            "occurred_at:(2026-11-15,2026-11-17)",
        ] {
            let left = format!("{{\"filter\":\"{text}\"}}");
            assert_eq!(folded(&[("filter", text)]), left);
        }
        assert_eq!(
            folded(&[("filter", "one two result:denied")]),
            r#"{"result":["denied"],"q":"one","filter":"two"}"#
        );
    }

    #[test]
    fn what_a_filter_says_already_must_hold_as_well() {
        assert_eq!(
            folded(&[("filter", "result:denied agent_id:a"), ("result", "error")]),
            r#"{"agent_id":["a"],"result":["error"],"filter":"result:denied"}"#
        );
        assert_eq!(
            folded(&[
                ("from", "2026-11-15T06:00:00Z"),
                ("filter", "occurred_at:2026-11-15"),
            ]),
            r#"{"from":"2026-11-15T06:00:00.000Z","to":"2026-11-16T00:00:00.000Z"}"#
        );
    }
}
