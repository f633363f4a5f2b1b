//! Which events somebody asks for: the same question for the list, the live tail and the export.
//!
//! Values of one field are alternatives; different fields must all hold. The store turns a filter
//! into SQL, the tail and the archive ask [`Filter::matches`]; both mean the same by every field.

use memchr::memmem;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use super::{EventView, check, source::SourcePattern};
use crate::{
    EventId, Timestamp,
    query::{self, EventQuery, fold::fold},
};

/// How many alternatives one field may have: each may cost the store a search of its own.
pub const VALUES_MAX: usize = 20;
/// The longest text that is searched for.
pub const TEXT_CHARS_MAX: usize = 256;

/// What events must hold to be asked for. The default asks for all.
///
/// As JSON, a field holds one value or several. What is written has the fields in the order of
/// [`Filter::FIELDS`]: its [`digest`](Filter::digest) is in cursors.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Map<String, Value>")]
pub struct Filter {
    /// Events that occurred then or later.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Timestamp>,
    /// Events that occurred before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<Timestamp>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub event_type: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub agent_id: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub action: Vec<ActionPattern>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub result: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub severity: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub session_id: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub trace_id: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub decision_id: Vec<String>,
    /// Who wrote them. Events from before they said so are nobody's.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub source: Vec<SourcePattern>,
    /// Text that the event's bytes contain, whatever the case of ASCII letters; kept in lower case.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub q: Option<String>,
    /// A query, which must hold beside all the others: the parameter `filter`.
    #[serde(rename = "filter", skip_serializing_if = "Option::is_none")]
    pub query: Option<EventQuery>,
}

/// An action, or all that start alike (`payments.*`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ActionPattern {
    Is(String),
    StartsWith(String),
}

/// Why a parameter is not one of a filter.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAFilter {
    /// The name is none of [`Filter::FIELDS`].
    #[error("`{0}` is not a filter.")]
    UnknownField(String),
    /// Only JSON can hold something else.
    #[error("`{0}` takes a string or a list of strings.")]
    NotText(String),
    #[error("{detail}")]
    Invalid { field: &'static str, detail: String },
    /// `filter` is not a query.
    #[error("{error}")]
    Query { text: String, error: query::Error },
}

impl Filter {
    /// The parameters a filter has.
    pub const FIELDS: &'static [&'static str] = &[
        "from",
        "to",
        "event_type",
        "agent_id",
        "action",
        "result",
        "severity",
        "session_id",
        "trace_id",
        "decision_id",
        "source",
        "q",
        "filter",
    ];

    /// Reads one from JSON: each field holds one value or several.
    pub fn from_json(fields: &Map<String, Value>) -> Result<Self, NotAFilter> {
        let mut filter = Self::default();
        for (name, given) in fields {
            // With an empty list, nothing below would refuse it.
            if !Self::FIELDS.contains(&name.as_str()) {
                return Err(NotAFilter::UnknownField(name.clone()));
            }
            let values = match given {
                Value::Array(values) => values.as_slice(),
                one => std::slice::from_ref(one),
            };
            for value in values {
                let text = value.as_str();
                let text = text.ok_or_else(|| NotAFilter::NotText(name.clone()))?;
                filter.add(name, text)?;
            }
        }
        Ok(filter)
    }

    /// Adds one parameter; one given before gets an alternative, if it can have some.
    pub fn add(&mut self, name: &str, value: &str) -> Result<(), NotAFilter> {
        match name {
            "from" => once("from", &mut self.from, moment("from", value)?),
            "to" => once("to", &mut self.to, moment("to", value)?),
            "q" => once("q", &mut self.q, searched(value)?),
            "filter" => self.add_query(value),
            "action" => alternative("action", &mut self.action, ActionPattern::parse(value)?),
            "source" => alternative("source", &mut self.source, SourcePattern::parse(value)?),
            _ => {
                let (field, values) = self
                    .texts_mut()
                    .into_iter()
                    .find(|(field, _)| *field == name)
                    .ok_or_else(|| NotAFilter::UnknownField(name.to_owned()))?;
                alternative(field, values, short(field, value)?)
            }
        }
    }

    fn add_query(&mut self, text: &str) -> Result<(), NotAFilter> {
        let query = EventQuery::parse(text).map_err(|error| NotAFilter::Query {
            text: text.to_owned(),
            error,
        })?;
        match query {
            Some(query) => once("filter", &mut self.query, query),
            None => Ok(()),
        }
    }

    /// The same question, with as little as possible left to its query: what asks an index should ask this.
    #[must_use]
    pub fn folded(&self) -> Self {
        fold(self)
    }

    /// Whether an event, as stored, is asked for.
    pub fn matches(&self, id: EventId, json: &str, event: &EventView<'_>) -> bool {
        let at = id.time();
        let holds = |name: &str, values: &[String]| {
            values.is_empty()
                || event
                    .text(name)
                    .is_some_and(|text| values.iter().any(|value| *value == text))
        };
        let text = |name: &str| event.text(name).unwrap_or_default();
        self.from.is_none_or(|from| from <= at)
            && self.to.is_none_or(|to| at < to)
            && self
                .texts()
                .iter()
                .all(|(field, values)| holds(field, values))
            && (self.action.is_empty() || {
                let action = text("action");
                self.action.iter().any(|pattern| pattern.matches(&action))
            })
            && (self.source.is_empty() || {
                let source = text("source");
                self.source.iter().any(|pattern| pattern.matches(&source))
            })
            && self.q.as_deref().is_none_or(|q| contains(json, q))
            && self
                .query
                .as_ref()
                .is_none_or(|query| query.matches(id, json, event))
    }

    /// The fields that hold plain alternatives.
    pub fn texts(&self) -> [(&'static str, &[String]); 7] {
        [
            ("event_type", &self.event_type),
            ("agent_id", &self.agent_id),
            ("result", &self.result),
            ("severity", &self.severity),
            ("session_id", &self.session_id),
            ("trace_id", &self.trace_id),
            ("decision_id", &self.decision_id),
        ]
    }

    fn texts_mut(&mut self) -> [(&'static str, &mut Vec<String>); 7] {
        [
            ("event_type", &mut self.event_type),
            ("agent_id", &mut self.agent_id),
            ("result", &mut self.result),
            ("severity", &mut self.severity),
            ("session_id", &mut self.session_id),
            ("trace_id", &mut self.trace_id),
            ("decision_id", &mut self.decision_id),
        ]
    }

    /// Tells filters apart, so that a cursor is only taken with the one it was made for.
    pub fn digest(&self) -> [u8; 8] {
        let text = serde_json::to_string(self).expect("a filter is plain JSON");
        let mut digest = [0; 8];
        digest.copy_from_slice(&Sha256::digest(text)[..8]);
        digest
    }
}

impl ActionPattern {
    fn parse(text: &str) -> Result<Self, NotAFilter> {
        let invalid = || NotAFilter::Invalid {
            field: "action",
            detail: "`action` must be a dotted name, or the start of one followed by a `*` \
                     (payments.*)."
                .to_owned(),
        };
        if let Some(start) = text.strip_suffix('*') {
            let is_start = start.len() <= 128
                && start
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte));
            return is_start
                .then(|| Self::StartsWith(start.to_owned()))
                .ok_or_else(invalid);
        }
        check::is_action(text)
            .then(|| Self::Is(text.to_owned()))
            .ok_or_else(invalid)
    }

    pub fn matches(&self, action: &str) -> bool {
        match self {
            Self::Is(whole) => action == whole,
            Self::StartsWith(start) => action.starts_with(start.as_str()),
        }
    }
}

impl std::fmt::Display for ActionPattern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Is(whole) => f.write_str(whole),
            Self::StartsWith(start) => write!(f, "{start}*"),
        }
    }
}

impl Serialize for ActionPattern {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl TryFrom<Map<String, Value>> for Filter {
    type Error = NotAFilter;

    fn try_from(fields: Map<String, Value>) -> Result<Self, NotAFilter> {
        Self::from_json(&fields)
    }
}

fn moment(field: &'static str, value: &str) -> Result<Timestamp, NotAFilter> {
    Timestamp::parse(value).ok_or_else(|| NotAFilter::Invalid {
        field,
        detail: format!(
            "`{field}` must be an RFC 3339 date-time such as 2026-11-15T09:30:00.000Z."
        ),
    })
}

fn searched(value: &str) -> Result<String, NotAFilter> {
    if !check::is_short(value, TEXT_CHARS_MAX) {
        let detail = format!("`q` must be 1 to {TEXT_CHARS_MAX} characters.");
        return Err(NotAFilter::Invalid { field: "q", detail });
    }
    Ok(value.to_ascii_lowercase())
}

/// What no event can hold is refused: it would silently find nothing.
fn short(field: &'static str, value: &str) -> Result<String, NotAFilter> {
    let (holds, rule) = match field {
        "event_type" => (check::is_name(value, 64), "a name of a-z, 0-9, _"),
        "result" => (check::is_name(value, 32), "a name of a-z, 0-9, _"),
        "severity" => (
            check::is_severity(value),
            "one of info, low, medium, high, critical",
        ),
        _ => (
            check::is_short(value, 128),
            "a string of 1 to 128 characters",
        ),
    };
    holds
        .then(|| value.to_owned())
        .ok_or_else(|| NotAFilter::Invalid {
            field,
            detail: format!("`{field}` must be {rule}."),
        })
}

fn once<T>(field: &'static str, slot: &mut Option<T>, value: T) -> Result<(), NotAFilter> {
    if slot.replace(value).is_some() {
        let detail = format!("`{field}` is given twice.");
        return Err(NotAFilter::Invalid { field, detail });
    }
    Ok(())
}

fn alternative<T: PartialEq>(
    field: &'static str,
    values: &mut Vec<T>,
    value: T,
) -> Result<(), NotAFilter> {
    if values.contains(&value) {
        return Ok(());
    }
    if values.len() == VALUES_MAX {
        let detail =
            format!("`{field}` takes at most {VALUES_MAX} values; send several requests instead.");
        return Err(NotAFilter::Invalid { field, detail });
    }
    values.push(value);
    Ok(())
}

/// Whether `text` contains `lowered`, which has no upper-case ASCII letters. Both are written by
/// strangers, so the time must not grow with the product of their lengths.
fn contains(text: &str, lowered: &str) -> bool {
    memmem::find(text.to_ascii_lowercase().as_bytes(), lowered.as_bytes()).is_some()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const AT: Timestamp = Timestamp::from_unix_millis(1_763_200_000_000);
    const EVENT: &str = r#"{"source":"server","event_type":"tool_call","agent_id":"ag-1","action":"payments.refund","result":"denied","severity":"high","metadata":{"Note":"Über 9000"}}"#;

    fn filter(pairs: &[(&str, &str)]) -> Result<Filter, NotAFilter> {
        let mut filter = Filter::default();
        for (name, value) in pairs {
            filter.add(name, value)?;
        }
        Ok(filter)
    }

    fn matches(pairs: &[(&str, &str)]) -> bool {
        let view = EventView::parse(EVENT).expect("an event");
        let filter = filter(pairs).expect("a filter");
        filter.matches(EventId::new(AT, [7; 10]), EVENT, &view)
    }

    #[test]
    fn values_of_a_field_are_alternatives_and_fields_must_all_hold() {
        assert!(matches(&[]));
        assert!(matches(&[("agent_id", "other"), ("agent_id", "ag-1")]));
        assert!(!matches(&[("agent_id", "ag-1"), ("result", "success")]));
        assert!(!matches(&[("session_id", "absent")]));
        assert!(matches(&[("action", "payments.*"), ("severity", "high")]));
        assert!(!matches(&[("action", "payments.ref")]));
        assert!(matches(&[("source", "key"), ("source", "server")]));
        assert!(!matches(&[("source", "key")]));
        assert!(matches(&[("q", "NOTE\":\"Üb")]));
        assert!(!matches(&[("q", "9001")]));
        assert!(matches(&[(
            "filter",
            "-result:success metadata.Note:*9000"
        )]));
        assert!(!matches(&[
            ("filter", "-result:success"),
            ("agent_id", "other")
        ]));
    }

    #[test]
    fn from_is_within_and_to_is_not() {
        let at = AT.to_string();
        assert!(matches(&[("from", &at)]));
        assert!(!matches(&[("to", &at)]));
    }

    #[test]
    fn what_no_event_can_hold_is_refused() {
        for (name, value) in [
            ("severity", "urgent"),
            ("event_type", "Tool Call"),
            ("action", "delete"),
            ("action", "a b*"),
            ("agent_id", ""),
            ("source", "somebody"),
            ("q", ""),
            ("from", "yesterday"),
        ] {
            assert!(
                matches!(filter(&[(name, value)]), Err(NotAFilter::Invalid { field, .. }) if field == name),
                "{name}={value}"
            );
        }
        assert!(matches!(
            filter(&[("color", "red")]),
            Err(NotAFilter::UnknownField(_))
        ));
        assert!(filter(&[("q", "a"), ("q", "b")]).is_err());
        assert!(filter(&[("filter", "a"), ("filter", "b")]).is_err());
        assert!(matches!(
            filter(&[("filter", "results:denied")]),
            Err(NotAFilter::Query { .. })
        ));
        let many: Vec<String> = (0..=VALUES_MAX).map(|number| number.to_string()).collect();
        let many: Vec<(&str, &str)> = many
            .iter()
            .map(|text| ("agent_id", text.as_str()))
            .collect();
        assert!(filter(&many).is_err());
    }

    #[test]
    fn a_filter_reads_back_from_its_json_with_the_same_digest() {
        let filter = filter(&[
            ("agent_id", "b"),
            ("agent_id", "a"),
            ("action", "x.*"),
            ("q", "T"),
        ])
        .expect("a filter");
        let json = serde_json::to_string(&filter).expect("JSON");
        let again: Filter = serde_json::from_str(&json).expect("a filter");
        assert_eq!(again, filter);
        assert_eq!(again.digest(), filter.digest());
        // Cursors out there hold digests of this text.
        assert_eq!(json, r#"{"agent_id":["b","a"],"action":["x.*"],"q":"t"}"#);
        let one: Filter = serde_json::from_str(r#"{"agent_id":"b"}"#).expect("one value");
        assert_ne!(one.digest(), filter.digest());
        for refused in [r#"{"agent":"b"}"#, r#"{"agent":[]}"#, r#"{"agent_id":7}"#] {
            assert!(
                serde_json::from_str::<Filter>(refused).is_err(),
                "{refused}"
            );
        }
    }

    #[test]
    fn fields_are_written_in_the_order_they_are_listed_in() {
        let at = AT.to_string();
        let value = |name: &str| match name {
            "from" | "to" => at.clone(),
            "action" => "x.*".to_owned(),
            "source" => "server".to_owned(),
            "filter" => "-result:success".to_owned(),
            _ => "high".to_owned(),
        };
        let mut all = Filter::default();
        for name in Filter::FIELDS.iter().rev() {
            all.add(name, &value(name)).expect("a filter");
        }
        let json = serde_json::to_string(&all).expect("JSON");
        let places: Vec<_> = Filter::FIELDS
            .iter()
            .map(|name| json.find(&format!("\"{name}\":")))
            .collect();
        assert!(
            places.iter().all(Option::is_some) && places.is_sorted(),
            "{json}"
        );
    }

    proptest! {
        #[test]
        fn no_parameter_panics(name: String, value: String) {
            let mut filter = Filter::default();
            let _ = filter.add(&name, &value);
            for field in Filter::FIELDS {
                let _ = filter.add(field, &value);
            }
            let view = EventView::parse(EVENT).expect("an event");
            filter.matches(EventId::new(AT, [7; 10]), EVENT, &view);
        }
    }
}
