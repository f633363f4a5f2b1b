//! Judges events by a query, in memory: what the live tail and the archive need, and what the store
//! must mean too.

use std::cell::LazyCell;

use memchr::memmem::Finder;
use serde_json::Value as Json;

use super::{
    ast::{Condition, Path, Query, Range, Term, Test, Value},
    fields::{Kind, List},
    value,
};
use crate::{
    EventId, Timestamp,
    event::{EventView, reserved, source::SourcePattern, view},
    rule::pattern::{
        glob::Glob,
        scalar::{Scalar, Seen},
    },
};

/// A query, made ready for many events.
#[derive(Debug)]
pub struct Matcher {
    /// The cheapest first.
    checks: Vec<Check>,
}

#[derive(Debug)]
struct Check {
    is_negated: bool,
    /// Only the server's decisions have the field.
    is_of_decisions: bool,
    what: What,
}

#[derive(Debug)]
enum What {
    /// The event contains this, which is in lower case.
    Text(Box<Finder<'static>>),
    /// When the event occurred, as its id has it, lies within one of these.
    OccurredAt(Vec<Probe>),
    Field(&'static str, Vec<Probe>),
    Metadata(Vec<String>, Vec<Probe>),
}

/// A [`Test`], made ready.
#[derive(Debug)]
enum Probe {
    Exists,
    Is(Scalar<'static>),
    Like(Glob),
    Number(Range<f64>),
    /// From the first time on, and before the second.
    Time(Option<Timestamp>, Option<Timestamp>),
    Source(SourcePattern),
}

impl Matcher {
    /// `None` if the query is about deliveries, which are in no trail.
    pub fn new(query: &Query) -> Option<Self> {
        let mut checks = match query.list {
            List::Events => Vec::new(),
            List::Decisions => vec![
                Check::field("event_type", reserved::DECISION),
                Check::field("source", "server"),
            ],
            List::Deliveries => return None,
        };
        let mut terms: Vec<&Term> = query.terms.iter().collect();
        terms.sort_by_key(|term| term.cost());
        checks.extend(terms.into_iter().map(Check::of));
        Some(Self { checks })
    }

    /// Whether an event, as stored, is asked for.
    pub fn matches(&self, id: EventId, json: &str, event: &EventView<'_>) -> bool {
        // Most events are ruled out by what comes first, and need neither.
        let lowered = LazyCell::new(|| json.to_ascii_lowercase());
        let metadata = LazyCell::new(|| {
            let raw = event.metadata?;
            serde_json::from_str::<Json>(raw.get()).ok()
        });
        let is_decision = LazyCell::new(|| {
            let is = |name: &str, value: &str| event.text(name).is_some_and(|text| text == value);
            is("event_type", reserved::DECISION) && is("source", "server")
        });
        self.checks.iter().all(|check| {
            let holds = (!check.is_of_decisions || *is_decision)
                && match &check.what {
                    What::Text(finder) => finder.find(lowered.as_bytes()).is_some(),
                    What::OccurredAt(probes) => {
                        probes.iter().any(|probe| probe.holds_at(id.time()))
                    }
                    What::Field(name, probes) => passes(probes, field(event, name).as_ref()),
                    What::Metadata(keys, probes) => {
                        let inside = metadata.as_ref().and_then(|json| look(json, keys));
                        passes(probes, inside.map(Seen::of).as_ref())
                    }
                };
            holds != check.is_negated
        })
    }
}

fn passes(probes: &[Probe], seen: Option<&Seen<'_>>) -> bool {
    let Some(seen) = seen else { return false };
    probes.iter().any(|probe| match probe {
        Probe::Exists => true,
        probe => seen.scalars().iter().any(|scalar| probe.holds(scalar)),
    })
}

/// What an event holds in a field at the top.
fn field<'e>(event: &EventView<'e>, name: &str) -> Option<Seen<'e>> {
    let raw = event.field(name)?;
    let number = || serde_json::from_str(raw.get()).ok().map(Scalar::number);
    let scalar = view::text(raw).map(Scalar::Text).or_else(number)?;
    Some(Seen::One(scalar))
}

fn look<'j>(json: &'j Json, keys: &[String]) -> Option<&'j Json> {
    keys.iter()
        .try_fold(json, |json, key| json.as_object()?.get(key))
}

impl Check {
    fn field(name: &'static str, value: &str) -> Self {
        let is = Probe::Is(Scalar::Text(value.to_owned().into()));
        Self {
            is_negated: false,
            is_of_decisions: false,
            what: What::Field(name, vec![is]),
        }
    }

    fn of(term: &Term) -> Self {
        let mut is_of_decisions = false;
        let what = match &term.condition {
            Condition::Text(text) => {
                let finder = Finder::new(&text.to_ascii_lowercase()).into_owned();
                What::Text(Box::new(finder))
            }
            Condition::Field(path, tests) => {
                is_of_decisions = path.is_of_decisions();
                let probes = tests
                    .iter()
                    .flat_map(|test| Probe::of(path.field.kind, test))
                    .collect();
                place(path, probes)
            }
        };
        Self {
            is_negated: term.is_negated,
            is_of_decisions,
            what,
        }
    }
}

fn place(path: &Path, probes: Vec<Probe>) -> What {
    match path.field.name {
        "occurred_at" => What::OccurredAt(probes),
        _ if path.is_in_metadata() => {
            let keys = path.keys_in_metadata().map(str::to_owned);
            What::Metadata(keys.collect(), probes)
        }
        name => What::Field(name, probes),
    }
}

impl Probe {
    /// More than one for a word, which may be a number or a text.
    fn of(kind: Kind, test: &Test) -> Vec<Self> {
        let text = |text: &str| Self::Is(Scalar::Text(text.to_owned().into()));
        vec![match test {
            Test::Exists => Self::Exists,
            Test::Is(Value::Text(written)) => match SourcePattern::parse(written) {
                Ok(pattern) if kind == Kind::Source => Self::Source(pattern),
                _ => text(written),
            },
            Test::Is(Value::Word(word)) => {
                let scalar = match word.as_str() {
                    "true" => Some(Scalar::Bool(true)),
                    "false" => Some(Scalar::Bool(false)),
                    "null" => Some(Scalar::Null),
                    word => value::number(word).map(Scalar::number),
                };
                return scalar
                    .map(Self::Is)
                    .into_iter()
                    .chain([text(word)])
                    .collect();
            }
            Test::Like(wildcard) => Self::Like(Glob::new(wildcard.as_str())),
            Test::Number(range) => Self::Number(*range),
            Test::Time(range) => {
                let (from, to) = range.bounds();
                Self::Time(from, to)
            }
        }]
    }

    fn holds(&self, seen: &Scalar<'_>) -> bool {
        match self {
            Self::Exists => true,
            Self::Is(value) => value == seen,
            Self::Like(glob) => seen.as_text().is_some_and(|text| glob.matches(text)),
            Self::Number(range) => seen.as_number().is_some_and(|number| range.holds(number)),
            Self::Time(..) => {
                let at = seen.as_text().and_then(Timestamp::parse);
                at.is_some_and(|at| self.holds_at(at))
            }
            Self::Source(pattern) => seen.as_text().is_some_and(|text| pattern.matches(text)),
        }
    }

    fn holds_at(&self, at: Timestamp) -> bool {
        match self {
            Self::Exists => true,
            Self::Time(from, to) => {
                from.is_none_or(|from| from <= at) && to.is_none_or(|to| at < to)
            }
            Self::Is(_) | Self::Like(_) | Self::Number(_) | Self::Source(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::{
        collection::vec,
        prelude::*,
        sample::{select, subsequence},
    };

    use super::*;
    use crate::{event::Filter, query::parse};

    const EVENT: &str = r#"{"received_at":"2026-11-15T09:31:00.000Z","source":"server","event_type":"decision","agent_id":"billing-1","action":"payments.refund","result":"denied","severity":"high","latency_ms":12.5,"metadata":{"amount":750,"code":"007","tags":["a",5,true],"gone":null,"deep":{"Note":"Über 9000"},"decision":"deny","policies":["p1","p2"],"took_us":250}}"#;

    fn at() -> EventId {
        let at = Timestamp::parse("2026-11-15T09:30:00Z").expect("a time");
        EventId::new(at, [7; 10])
    }

    fn matches(list: List, text: &str, json: &str) -> bool {
        let query = parse(list, text).expect(text);
        let matcher = Matcher::new(&query).expect("about events");
        matcher.matches(at(), json, &EventView::parse(json).expect("an event"))
    }

    #[test]
    fn an_event_matches_if_every_term_holds() {
        for (text, expected) in [
            ("", true),
            ("result:denied severity:>=medium agent_id:billing-*", true),
            ("result:denied severity:low", false),
            ("result:(success,denied)", true),
            ("-result:(success,denied)", false),
            ("-session_id:s", true),
            ("session_id:*", false),
            ("-session_id:*", true),
            ("action:*.refund -action:files.*", true),
            ("source:server", true),
            ("source:key", false),
            ("latency_ms:12..13 -latency_ms:>12.5", true),
            ("occurred_at:2026-11-15T09:30Z", true),
            ("occurred_at:>2026-11-15T09:30Z", false),
            ("occurred_at:(2026-11-14,2026-11-15)", true),
            ("received_at:>2026-11-15T09:30Z", true),
            ("metadata.amount:750", true),
            ("metadata.amount:\"750\"", false),
            ("metadata.amount:>500 -metadata.amount:>=751", true),
            ("metadata.code:007", true),
            ("metadata.code:7", false),
            ("metadata.tags:(z,5)", true),
            ("metadata.tags:true metadata.tags:a", true),
            ("metadata.gone:* metadata.gone:null", true),
            ("metadata.deep:*", true),
            ("metadata.deep.Note:*9000", true),
            ("metadata.deep.note:*", false),
            ("-metadata.missing:5 metadata.amount.x:*", false),
            ("\"NOTE\\\":\\\"Üb\" -9001", true),
        ] {
            assert_eq!(matches(List::Events, text, EVENT), expected, "{text}");
        }
    }

    #[test]
    fn a_decision_is_what_the_server_wrote() {
        for (text, expected) in [
            ("decision:deny policy:p2 took_us:<500", true),
            ("decision:allow", false),
            ("-policy:p1", false),
            ("metadata.amount:750", true),
        ] {
            assert_eq!(matches(List::Decisions, text, EVENT), expected, "{text}");
        }
        let by_a_client = EVENT.replace(r#""server""#, r#""key_1""#);
        assert!(!matches(List::Decisions, "", &by_a_client));
        assert!(matches(List::Events, "decision:deny", EVENT));
        assert!(!matches(List::Events, "decision:deny", &by_a_client));
        assert!(matches(List::Events, "-decision:deny", &by_a_client));
        assert!(matches(
            List::Events,
            "metadata.decision:deny",
            &by_a_client
        ));
        let deliveries = parse(List::Deliveries, "").expect("a query");
        assert!(Matcher::new(&deliveries).is_none());
    }

    fn terms() -> impl Strategy<Value = String> {
        let term = select(vec![
            "result:denied",
            "result:(success,error)",
            "severity:>=high",
            "severity:<medium",
            "agent_id:(a,b)",
            "agent_id:b",
            "action:payments.*",
            "action:(files.read,payments.refund)",
            "session_id:s",
            "trace_id:t",
            "source:server",
            "source:key",
            "event_type:(tool_call,decision)",
            "occurred_at:2026-11-15",
            "occurred_at:<2026-11-15T09:30Z",
            "occurred_at:>=2026-11-15T09:30Z",
            "\"PAYMENTS\"",
            "note",
            "-result:success",
            "-severity:low",
            "metadata.Note:1",
            "severity:*",
        ]);
        vec(term, 0..5).prop_map(|terms| terms.join(" "))
    }

    fn events() -> impl Strategy<Value = String> {
        let fields = [
            r#""source":"server""#,
            r#""source":"key_00000000000000000000000008""#,
            r#""event_type":"tool_call""#,
            r#""event_type":"decision""#,
            r#""agent_id":"a""#,
            r#""agent_id":"b""#,
            r#""action":"payments.refund""#,
            r#""action":"files.read""#,
            r#""result":"denied""#,
            r#""result":"error""#,
            r#""severity":"low""#,
            r#""severity":"critical""#,
            r#""session_id":"s""#,
            r#""trace_id":"t""#,
            r#""metadata":{"Note":1}"#,
        ];
        subsequence(fields.to_vec(), 0..=fields.len()).prop_map(|fields| {
            let mut names = std::collections::BTreeSet::new();
            let name = |field: &&str| field.split(':').next().unwrap_or_default().to_owned();
            let once: Vec<&str> = fields
                .into_iter()
                .filter(|field| names.insert(name(field)))
                .collect();
            format!("{{{}}}", once.join(","))
        })
    }

    proptest! {
        #[test]
        fn a_filter_with_a_query_means_the_same_folded_or_not(text in terms(), json in events()) {
            let view = EventView::parse(&json).expect("an event");
            let Ok(query) = parse(List::Events, &text) else { return Ok(()) };
            let matcher = Matcher::new(&query).expect("about events");
            let mut filter = Filter::default();
            filter.add("filter", &text).expect("a query");
            let expected = matcher.matches(at(), &json, &view);
            prop_assert_eq!(filter.matches(at(), &json, &view), expected, "{} {}", text, json);
            let folded = filter.folded();
            prop_assert_eq!(folded.matches(at(), &json, &view), expected, "{} {}", text, json);
        }
    }
}
