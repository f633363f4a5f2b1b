//! Makes the patterns of an alert rule that matches what a query finds.
//!
//! Terms become `match`. A term with a `-` becomes a pattern in `except`, which leaves out exactly what the
//! term would find; `anything-but` would not, as it needs the field.

use serde_json::{Map, Value as Json, json};

use super::{
    ast::{Condition, Path, Query, Range, Term, Test, Value},
    error::{Error, Span},
    fields::{Kind, List},
    value,
};
use crate::{
    event::{reserved, source::SourcePattern},
    rule::{Pattern, definition::EXCEPT_MAX},
};

/// What a rule says in `match` and `except`.
#[derive(Clone, Debug, PartialEq)]
pub struct RulePatterns {
    pub pattern: Pattern,
    pub except: Vec<Pattern>,
}

/// What tells the decisions of the server from all other events.
const OF_DECISIONS: [(&str, &str); 2] = [("event_type", reserved::DECISION), ("source", "server")];

/// The patterns that match what the query finds, or every term that no rule can say.
pub fn rule_patterns(query: &Query) -> Result<RulePatterns, Vec<Error>> {
    let end = query.terms.last().map_or(0, |term| term.span.end);
    let whole = Span::new(0, end);
    let mut fields = match query.list {
        List::Events => Map::new(),
        List::Decisions => OF_DECISIONS
            .map(|(name, value)| (name.to_owned(), json!([value])))
            .into_iter()
            .collect(),
        List::Deliveries => {
            let detail = "Rules are about events, and this query is about deliveries.";
            return Err(vec![Error::new(whole, detail)]);
        }
    };
    let mut except = Vec::new();
    let mut refused = Vec::new();
    for term in &query.terms {
        let added = if term.is_negated {
            exception(term, except.len()).map(|pattern| except.push(pattern))
        } else {
            add(&mut fields, term)
        };
        refused.extend(added.err());
    }
    if !refused.is_empty() {
        return Err(refused);
    }
    let pattern = parse(Json::Object(fields), whole).map_err(|error| vec![error])?;
    Ok(RulePatterns { pattern, except })
}

fn exception(term: &Term, others: usize) -> Result<Pattern, Error> {
    if others == EXCEPT_MAX {
        let detail = format!("A rule can leave out at most {EXCEPT_MAX} things.");
        return Err(Error::new(term.span, detail));
    }
    let mut fields = Map::new();
    add(&mut fields, term)?;
    parse(Json::Object(fields), term.span)
}

fn add(fields: &mut Map<String, Json>, term: &Term) -> Result<(), Error> {
    let refusal = |detail: &str| Err(Error::new(term.span, detail));
    match &term.condition {
        Condition::Text(_) => {
            refusal("A rule cannot search for text in the whole event; name a field.")
        }
        Condition::Field(path, _) if path.field.kind == Kind::Time => {
            refusal("A rule is about events to come; remove this time.")
        }
        Condition::Field(path, tests) => {
            let kind = path.field.kind;
            let entries: Vec<Json> = tests.iter().flat_map(|test| entries(kind, test)).collect();
            let of_decisions = if path.is_of_decisions() {
                &OF_DECISIONS[..]
            } else {
                &[]
            };
            let are_decisions = of_decisions
                .iter()
                .all(|(name, value)| insert(fields, &[name], json!([value])));
            if are_decisions && insert(fields, &keys(path), Json::Array(entries)) {
                Ok(())
            } else {
                refusal("A rule can have one condition for each field, and this is the second.")
            }
        }
    }
}

fn keys(path: &Path) -> Vec<&str> {
    if !path.is_in_metadata() {
        return vec![path.field.name];
    }
    let keys = path.keys_in_metadata();
    ["metadata"].into_iter().chain(keys).collect()
}

/// Puts a list where the keys lead; false if something else is there, or on the way.
fn insert(fields: &mut Map<String, Json>, keys: &[&str], list: Json) -> bool {
    match keys {
        [] => false,
        [last] => {
            let there = fields.entry(*last).or_insert_with(|| list.clone());
            *there == list
        }
        [first, rest @ ..] => {
            let inside = fields.entry(*first).or_insert_with(|| json!({}));
            inside
                .as_object_mut()
                .is_some_and(|inside| insert(inside, rest, list))
        }
    }
}

/// What a pattern lists for a test.
fn entries(kind: Kind, test: &Test) -> Vec<Json> {
    match test {
        Test::Exists => vec![json!({"exists": true})],
        Test::Is(Value::Text(text)) if kind == Kind::Source && text == "key" => {
            vec![json!({"prefix": SourcePattern::KEYS_START})]
        }
        Test::Is(Value::Text(text)) => vec![json!(text)],
        Test::Is(Value::Word(word)) => {
            let scalar = match word.as_str() {
                "true" => json!(true),
                "false" => json!(false),
                "null" => Json::Null,
                word => value::number(word).map_or(Json::Null, Json::from),
            };
            vec![scalar, json!(word)]
        }
        Test::Like(wildcard) => vec![match wildcard.start() {
            Some(start) if !start.is_empty() => json!({"prefix": start}),
            _ => json!({"wildcard": wildcard.as_str()}),
        }],
        Test::Number(range) => vec![json!({"numeric": bounds(*range)})],
        // Refused before.
        Test::Time(_) => Vec::new(),
    }
}

fn bounds(range: Range<f64>) -> Json {
    match range {
        Range::Above(number) => json!([">", number]),
        Range::From(number) => json!([">=", number]),
        Range::Below(number) => json!(["<", number]),
        Range::UpTo(number) => json!(["<=", number]),
        Range::Within(low, high) => json!([">=", low, "<=", high]),
    }
}

fn parse(source: Json, span: Span) -> Result<Pattern, Error> {
    Pattern::parse(source).map_err(|fault| Error::new(span, fault.detail))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        EventId, Timestamp,
        event::EventView,
        query::{Matcher, parse},
        rule::Definition,
    };

    const EVENTS: [&str; 3] = [
        r#"{"source":"server","event_type":"decision","agent_id":"billing-1","action":"payments.refund","result":"denied","severity":"high","latency_ms":12.5,"metadata":{"amount":750,"code":"007","tags":["a",5,true],"gone":null,"deep":{"note":"x"},"decision":"deny","policies":["p1","p2"]}}"#,
        r#"{"source":"key_00000000000000000000000008","event_type":"tool_call","agent_id":"b","action":"files.read","result":"success","metadata":{"amount":"750","tags":[]}}"#,
        r#"{"event_type":"tool_call","agent_id":"b","action":"files.read","result":"error","severity":"low"}"#,
    ];

    #[test]
    fn a_rule_that_is_made_of_a_query_matches_what_it_finds() {
        let queries = [
            "",
            "result:(denied,error)",
            "-result:success agent_id:b*",
            "-severity:low",
            "severity:>=medium -metadata.amount:>800",
            "-severity:*",
            "source:key",
            "-source:server",
            "action:*.refund",
            "latency_ms:12..13",
            "-latency_ms:<13",
            "metadata.amount:750",
            "metadata.amount:\"750\"",
            "-metadata.tags:a",
            "metadata.tags:(z,5)",
            "metadata.code:007",
            "metadata.gone:null",
            "metadata.deep:* -metadata.deep.note:y",
            "-metadata.tags:*",
            "decision:deny",
            "-decision:deny policy:p1",
        ];
        for list in [List::Events, List::Decisions] {
            for text in queries {
                // Decisions lack some of the fields.
                let Ok(query) = parse(list, text) else {
                    continue;
                };
                let patterns = rule_patterns(&query).expect(text);
                let matcher = Matcher::new(&query).expect("about events");
                let rule = Definition {
                    except: patterns.except,
                    ..Definition::plain("r", patterns.pattern, "https://example.com")
                };
                for json in EVENTS {
                    let view = EventView::parse(json).expect("an event");
                    let id = EventId::new(Timestamp::default(), [7; 10]);
                    let expected = matcher.matches(id, json, &view);
                    assert_eq!(rule.matches(&view), expected, "{list:?} {text}: {json}");
                }
            }
        }
    }

    #[test]
    fn every_term_that_no_rule_can_say_is_named() {
        let refused = |text: &str| {
            let query = parse(List::Events, text).expect(text);
            let errors = rule_patterns(&query).expect_err(text);
            let parts = errors
                .iter()
                .map(|error| &text[error.span.start..error.span.end]);
            parts.map(str::to_owned).collect::<Vec<_>>()
        };
        let text = "result:denied \"card declined\" occurred_at:>2026-11-15";
        assert_eq!(
            refused(text),
            ["\"card declined\"", "occurred_at:>2026-11-15"]
        );
        let twice = "metadata.tags:a metadata.tags:b metadata.tags.c:1";
        assert_eq!(refused(twice), ["metadata.tags:b", "metadata.tags.c:1"]);
        let many: Vec<String> = (0..=EXCEPT_MAX)
            .map(|number| format!("-result:r{number}"))
            .collect();
        assert_eq!(refused(&many.join(" ")), ["-result:r8"]);
        let long = format!("resource:{}", "é".repeat(200));
        assert_eq!(refused(&long), [long.as_str()]);
    }
}
