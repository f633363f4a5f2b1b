//! Which events a request asks for: the filters of the list and the live tail, and the list's pages.

use std::{fmt, str::FromStr};

use axum::{extract::FromRequestParts, http::request::Parts};
use domain::{
    EventId,
    event::filter::{Filter, NotAFilter},
};
use store::events::{EventsQuery, Order};
use utoipa::{IntoParams, ToSchema};

use crate::edge::{
    Problem,
    enums::{EventOrder, Severity},
    extract::{self, read_cursor, read_limit},
};

/// Which events: values of one field are alternatives; different fields must all match.
// As the API document describes it, in a query and in the body of an export. A test holds it against
// `Filter::FIELDS`.
#[derive(Debug, IntoParams, ToSchema)]
#[into_params(parameter_in = Query)]
#[schema(as = EventFilter)]
#[expect(
    dead_code,
    reason = "describes what the domain reads; nothing is read into it"
)]
pub struct FilterParams {
    /// Events that occurred at or after this time (RFC 3339).
    #[param(format = DateTime)]
    #[schema(format = DateTime)]
    from: Option<String>,
    /// Events that occurred before this time (RFC 3339).
    #[param(format = DateTime)]
    #[schema(format = DateTime)]
    to: Option<String>,
    /// Events of this type. This and the following parameters, except `q` and `filter`, take up to 20 values, of which
    /// one must match.
    event_type: Option<Vec<String>>,
    /// Events of this agent.
    agent_id: Option<Vec<String>>,
    /// Events with this action; with `*` at the end, with any action that starts with it (`payments.*`).
    action: Option<Vec<String>>,
    /// Events with this result.
    result: Option<Vec<String>>,
    /// `info`, `low`, `medium`, `high` or `critical`.
    #[param(value_type = Option<Vec<Severity>>)]
    #[schema(value_type = Option<Vec<Severity>>)]
    severity: Option<Vec<String>>,
    /// Events of this agent session.
    session_id: Option<Vec<String>>,
    /// Events of this trace.
    trace_id: Option<Vec<String>>,
    /// Events of this decision.
    decision_id: Option<Vec<String>>,
    /// Who wrote the events: `server`, `key` (any API key), or the id of an API key. Older events do not record this
    /// and are not found.
    source: Option<Vec<String>>,
    /// Text that the event contains as it was sent, ignoring the case of ASCII letters.
    q: Option<String>,
    /// A query, such as `-result:success metadata.amount:>500`; events must match it as well as the other parameters.
    /// If it cannot be read, `errors` says which part of it is wrong.
    #[param(example = "-result:success metadata.amount:>500")]
    #[schema(example = "-result:success metadata.amount:>500")]
    filter: Option<String>,
}

/// The order and the pages of the list.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(
    dead_code,
    reason = "describes parameters that are read one by one, beside the filters"
)]
pub struct ListParams {
    /// `desc` (newest first, the default) or `asc`.
    #[param(value_type = Option<EventOrder>, inline)]
    order: Option<String>,
    /// How many to return, 1 to 1,000 (default 100).
    #[param(value_type = Option<u32>, minimum = 1, maximum = 1000)]
    limit: Option<String>,
    /// The `next_cursor` of the previous page; send it with the same filters and order.
    cursor: Option<String>,
}

/// The events that a live tail shows.
#[derive(Debug)]
pub struct TailQuery(pub Filter);

impl<S: Send + Sync> FromRequestParts<S> for TailQuery {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let mut filter = Filter::default();
        for (name, value) in extract::pairs(parts, state).await? {
            add(&mut filter, &name, &value, &[])?;
        }
        Ok(Self(filter))
    }
}

/// The page that a list shows.
#[derive(Debug)]
pub struct PageOfEvents(pub EventsQuery);

impl<S: Send + Sync> FromRequestParts<S> for PageOfEvents {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let mut filter = Filter::default();
        let (mut order, mut limit, mut cursor) = (None, None, None);
        for (name, value) in extract::pairs(parts, state).await? {
            match name.as_str() {
                "order" => extract::once(&name, &mut order, value)?,
                "limit" => extract::once(&name, &mut limit, value)?,
                "cursor" => extract::once(&name, &mut cursor, value)?,
                _ => add(&mut filter, &name, &value, &["order", "limit", "cursor"])?,
            }
        }
        let order = read_order(order.as_deref())?;
        let after = match cursor {
            Some(text) => Some(EventCursor::read(&text, &filter, order)?.after),
            None => None,
        };
        Ok(Self(EventsQuery {
            filter,
            order,
            after,
            limit: read_limit(limit.as_deref())?,
        }))
    }
}

fn add(filter: &mut Filter, name: &str, value: &str, others: &[&str]) -> Result<(), Problem> {
    filter.add(name, value).map_err(|refusal| match refusal {
        NotAFilter::Invalid { field, detail } => Problem::parameter(field, detail),
        NotAFilter::NotText(_) => Problem::parameter(name, refusal.to_string()),
        NotAFilter::Query { text, error } => Problem::query(name, &text, &error),
        NotAFilter::UnknownField(name) => {
            let known = [Filter::FIELDS, others].concat();
            extract::unknown_parameter(&name, &known)
        }
    })
}

fn read_order(text: Option<&str>) -> Result<Order, Problem> {
    match text {
        None | Some("desc") => Ok(Order::NewestFirst),
        Some("asc") => Ok(Order::OldestFirst),
        Some(_) => {
            let detail = "`order` must be `desc` (newest first) or `asc`.";
            Err(Problem::parameter("order", detail))
        }
    }
}

/// Where a page ended, and of which list: with other filters or another order it would leave events out
/// and nobody would notice.
pub struct EventCursor {
    list: String,
    after: EventId,
}

impl EventCursor {
    pub fn new(wanted: &EventsQuery, after: EventId) -> Self {
        Self {
            list: list_of(&wanted.filter, wanted.order),
            after,
        }
    }

    fn read(text: &str, filter: &Filter, order: Order) -> Result<Self, Problem> {
        let cursor: Self = read_cursor(text)?;
        if cursor.list != list_of(filter, order) {
            let detail = "This `cursor` belongs to a list with different filters or a different `order`. Send it with \
                          the ones it was created with, or leave it out to start a new list.";
            return Err(Problem::parameter("cursor", detail));
        }
        Ok(cursor)
    }
}

fn list_of(filter: &Filter, order: Order) -> String {
    let order = match order {
        Order::NewestFirst => "desc",
        Order::OldestFirst => "asc",
    };
    format!("{order}-{}", hex::encode(filter.digest()))
}

impl fmt::Display for EventCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.list, self.after)
    }
}

impl FromStr for EventCursor {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (list, after) = text.split_once('/').ok_or(())?;
        Ok(Self {
            list: list.to_owned(),
            after: after.parse().map_err(|_| ())?,
        })
    }
}

#[cfg(test)]
mod tests {
    use utoipa::PartialSchema as _;

    use super::*;

    #[test]
    fn the_document_names_every_filter() {
        let in_query: Vec<String> = FilterParams::into_params(|| None)
            .into_iter()
            .map(|parameter| parameter.name)
            .collect();
        assert_eq!(in_query, Filter::FIELDS);
        let body = serde_json::to_value(FilterParams::schema()).expect("JSON");
        let properties = body["properties"].as_object().expect("properties");
        let mut in_body: Vec<&str> = properties.keys().map(String::as_str).collect();
        let mut fields = Filter::FIELDS.to_vec();
        in_body.sort_unstable();
        fields.sort_unstable();
        assert_eq!(in_body, fields);
    }
}
