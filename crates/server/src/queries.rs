//! `POST /v1/queries/check`: reads a query without asking it, for whoever is writing one.
//!
//! The console has no parser of its own: it asks here what is wrong, how the text could go on, and which rule would
//! match the same. That touches no data.

use axum::Json as JsonAnswer;
use domain::query::{
    self, Error, List, Span, TEXT_BYTES_MAX, complete,
    completion::{Completion, Lookup},
    rule_patterns::{RulePatterns, rule_patterns},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::edge::{Caller, Problem, caller::EventsRead, enums::QueryList, extract::Json};

/// A query that someone is writing.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = QueryWritten)]
pub struct CheckBody {
    #[schema(value_type = QueryList)]
    list: List,
    /// The query so far.
    #[schema(example = "results:denied")]
    text: String,
    /// Where the cursor is, in characters from the start, to be offered what could stand there.
    cursor: Option<usize>,
}

/// What is to be said about a query.
#[derive(Serialize, ToSchema)]
pub struct QueryChecked {
    /// The query in its standard form; null if it cannot be read.
    #[schema(example = "result:denied")]
    query: Option<String>,
    /// What is wrong with it.
    error: Option<QueryFault>,
    /// What could stand at the cursor.
    completion: Option<QueryCompletion>,
    /// The patterns of an alert rule that matches the same events; null if no rule can say it.
    rule: Option<QueryRule>,
    /// The terms that no rule can say.
    not_in_rules: Vec<QueryFault>,
}

/// A part of a query, and what is wrong with it.
#[derive(Serialize, ToSchema)]
pub struct QueryFault {
    /// The first character, counted from 0.
    start: usize,
    /// Exclusive; equal to `start` where something is missing.
    end: usize,
    detail: String,
    /// What to write there instead, if that is known.
    instead: Option<String>,
}

/// What could stand at the cursor.
#[derive(Serialize, ToSchema)]
pub struct QueryCompletion {
    /// The characters that an offer replaces.
    start: usize,
    end: usize,
    offers: Vec<QueryOffer>,
    /// The field whose values fit here and are only known from the data, such as `agent_id`.
    values_of: Option<String>,
}

/// Something that could be written.
#[derive(Serialize, ToSchema)]
pub struct QueryOffer {
    #[schema(example = "severity:")]
    text: String,
    /// What it means.
    about: &'static str,
}

/// What an alert rule would say.
#[derive(Serialize, ToSchema)]
pub struct QueryRule {
    #[schema(value_type = Object)]
    r#match: Value,
    #[schema(value_type = Vec<Object>)]
    except: Vec<Value>,
}

/// Checks a query without running it.
///
/// Says what is wrong with it and where, what could be written at the cursor, and which alert rule would match the same
/// events.
#[utoipa::path(
    post, path = "/v1/queries/check", tag = "events", security(("api_key" = ["events:read"]), ("session" = [])),
    request_body = CheckBody,
    responses((status = 200, description = "What is to be said about it", body = QueryChecked)),
)]
pub async fn check(
    _caller: Caller<EventsRead>,
    Json(body): Json<CheckBody>,
) -> Result<JsonAnswer<QueryChecked>, Problem> {
    let CheckBody { list, text, cursor } = body;
    // What is too long to be a query is refused below, and not worth completing.
    let cursor = cursor.filter(|_| text.len() <= TEXT_BYTES_MAX);
    let completion = cursor.map(|cursor| QueryCompletion::at(list, &text, cursor));
    let mut checked = QueryChecked {
        query: None,
        error: None,
        completion,
        rule: None,
        not_in_rules: Vec::new(),
    };
    match query::parse(list, &text) {
        Err(error) => checked.error = Some(QueryFault::new(&text, &error)),
        Ok(query) => {
            checked.query = Some(query.to_string());
            match rule_patterns(&query) {
                Ok(patterns) => checked.rule = Some(patterns.into()),
                Err(errors) => {
                    let faults = errors.iter().map(|error| QueryFault::new(&text, error));
                    checked.not_in_rules = faults.collect();
                }
            }
        }
    }
    Ok(JsonAnswer(checked))
}

impl QueryFault {
    fn new(text: &str, error: &Error) -> Self {
        let start = error.position(text) - 1;
        Self {
            start,
            end: start + error.length(text),
            detail: error.detail.clone(),
            instead: error.instead.clone(),
        }
    }
}

impl QueryCompletion {
    fn at(list: List, text: &str, cursor: usize) -> Self {
        let bytes = text.char_indices().nth(cursor);
        let cursor = bytes.map_or(text.len(), |(place, _)| place);
        let Completion {
            replaces,
            offers,
            lookup,
        } = complete(list, text, cursor);
        let (start, end) = chars(text, replaces);
        let offer = |offer: query::completion::Offer| QueryOffer {
            text: offer.text,
            about: offer.about,
        };
        Self {
            start,
            end,
            offers: offers.into_iter().map(offer).collect(),
            values_of: match lookup {
                Some(Lookup::Values { path, .. }) => Some(path),
                Some(Lookup::Keys { .. }) | None => None,
            },
        }
    }
}

/// A part of a text in characters.
fn chars(text: &str, span: Span) -> (usize, usize) {
    let count = |end: usize| text[..end].chars().count();
    (count(span.start), count(span.end))
}

impl From<RulePatterns> for QueryRule {
    fn from(patterns: RulePatterns) -> Self {
        Self {
            r#match: patterns.pattern.into(),
            except: patterns.except.into_iter().map(Value::from).collect(),
        }
    }
}
