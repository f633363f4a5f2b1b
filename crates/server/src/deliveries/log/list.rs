//! `GET /v1/deliveries`: what is on its way, by filters.

use std::{fmt, str::FromStr};

use axum::{
    Json,
    extract::{FromRequestParts, State},
    http::request::Parts,
};
use domain::{
    DeliveryId, Timestamp,
    delivery::{self, Cause, Reason},
    query::{self, List, Query},
};
use journal::streams::Log;
use serde::Serialize;
use sha2::{Digest as _, Sha256};
use store::deliveries::list::DeliveryFilter;
use utoipa::ToSchema;

use super::show::DeliveryBody;
use crate::{
    edge::{
        Caller, Problem,
        caller::DeliveriesRead,
        enums::{DeliveryCause, DeliveryReason, DeliveryState},
        extract::{self, cursor, read_cursor, read_limit},
    },
    planes::ControlPlane,
};

/// The parameters, for whoever misspells one.
const KNOWN: [&str; 12] = [
    "from",
    "to",
    "rule_id",
    "event_id",
    "state",
    "reason",
    "event_type",
    "url",
    "cause",
    "filter",
    "limit",
    "cursor",
];

/// Which deliveries: all that is given must hold.
#[derive(Debug, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "describes parameters that are read one by one")]
pub struct DeliveryParams {
    /// Deliveries of events that occurred at or after this time (RFC 3339).
    #[param(format = DateTime)]
    from: Option<String>,
    /// Deliveries of events that occurred before this time (RFC 3339).
    #[param(format = DateTime)]
    to: Option<String>,
    /// Deliveries of this rule.
    rule_id: Option<String>,
    /// Deliveries of this event.
    event_id: Option<String>,
    /// Deliveries in this state; repeat the parameter to allow several states.
    #[param(value_type = Option<Vec<DeliveryState>>)]
    state: Option<Vec<String>>,
    /// Deliveries held, failed or canceled for this reason.
    #[param(value_type = Option<DeliveryReason>)]
    reason: Option<String>,
    /// Deliveries of events of this type.
    event_type: Option<String>,
    /// Deliveries to this URL, as it was when the event matched.
    url: Option<String>,
    /// `match`, `summary` or `test`.
    #[param(value_type = Option<DeliveryCause>)]
    cause: Option<String>,
    /// A query, such as `state:(failed,held) -reason:breaker`; deliveries must match it as well as the other parameters.
    /// If it cannot be read, `errors` says which part of it is wrong.
    #[param(example = "state:(failed,held) -reason:breaker")]
    filter: Option<String>,
    /// How many to return, 1 to 1,000 (default 100).
    #[param(value_type = Option<u32>, minimum = 1, maximum = 1000)]
    limit: Option<String>,
    /// The `next_cursor` of the previous page; send it with the same filters.
    cursor: Option<String>,
}

/// One page of deliveries.
#[derive(Serialize, ToSchema)]
pub struct DeliveryPage {
    data: Vec<DeliveryBody>,
    next_cursor: Option<String>,
    /// False if the latest changes may be missing because the record is behind.
    fresh: bool,
}

/// Lists deliveries that match the filters, newest event first.
///
/// Filtering by `rule_id`, `event_id` or `state` (except `delivered`) is fast, also in `filter`; with the other filters, narrow the
/// search with `from` and `to` if it is refused as too expensive.
#[utoipa::path(
    get, path = "/v1/deliveries", tag = "deliveries", security(("api_key" = ["deliveries:read"]), ("session" = [])),
    params(DeliveryParams),
    responses(
        (status = 200, description = "One page", body = DeliveryPage),
    ),
)]
pub async fn list(
    State(plane): State<ControlPlane>,
    caller: Caller<DeliveriesRead>,
    wanted: DeliveriesQuery,
) -> Result<Json<DeliveryPage>, Problem> {
    let fresh = plane.wait_until_fresh(caller.org, Log::Outcomes).await?;
    let list = digest(&wanted.filter, wanted.query.as_ref());
    let store = plane.store.clone();
    let query = async move {
        store
            .list_deliveries(
                caller.org,
                &wanted.filter,
                wanted.query.as_ref(),
                wanted.before,
                wanted.limit,
            )
            .await
    };
    let page = plane.searches.run(caller.org, query).await?;
    let next = page.next.map(|after| DeliveryCursor { list, after });
    Ok(Json(DeliveryPage {
        data: page.rows.into_iter().map(DeliveryBody::from).collect(),
        next_cursor: next.as_ref().map(cursor),
        fresh,
    }))
}

/// The page, already checked.
#[derive(Debug)]
pub struct DeliveriesQuery {
    filter: DeliveryFilter,
    query: Option<Query>,
    before: Option<DeliveryId>,
    limit: u32,
}

impl<S: Send + Sync> FromRequestParts<S> for DeliveriesQuery {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let mut filter = DeliveryFilter::default();
        let (mut from, mut to, mut rule, mut event) = (None, None, None, None);
        let (mut query, mut limit, mut cursor) = (None, None, None);
        for (name, value) in extract::pairs(parts, state).await? {
            match name.as_str() {
                "from" => extract::once(&name, &mut from, value)?,
                "to" => extract::once(&name, &mut to, value)?,
                "rule_id" => extract::once(&name, &mut rule, value)?,
                "event_id" => extract::once(&name, &mut event, value)?,
                "reason" => extract::once(&name, &mut filter.reason, value)?,
                "event_type" => extract::once(&name, &mut filter.event_type, value)?,
                "url" => extract::once(&name, &mut filter.url, value)?,
                "cause" => extract::once(&name, &mut filter.cause, value)?,
                "filter" => extract::once(&name, &mut query, value)?,
                "limit" => extract::once(&name, &mut limit, value)?,
                "cursor" => extract::once(&name, &mut cursor, value)?,
                "state" => add_state(&mut filter.states, value)?,
                _ => return Err(extract::unknown_parameter(&name, &KNOWN)),
            }
        }
        let texts = [&filter.event_type, &filter.url];
        if texts.into_iter().flatten().any(|text| text.contains('\0')) {
            let detail = "A parameter cannot contain NUL.";
            return Err(Problem::parameter("url", detail));
        }
        one_of(
            "reason",
            filter.reason.as_deref(),
            &Reason::ALL.map(Reason::as_str),
        )?;
        one_of("cause", filter.cause.as_deref(), &Cause::WORDS)?;
        filter.from = time("from", from)?;
        filter.to = time("to", to)?;
        filter.rule = id("rule_id", rule)?;
        filter.event = id("event_id", event)?;
        filter.states.sort_unstable();
        filter.states.dedup();
        let query = query.map(|text| read_query(&text)).transpose()?.flatten();
        let before = match cursor {
            Some(text) => Some(DeliveryCursor::read(&text, &filter, query.as_ref())?.after),
            None => None,
        };
        Ok(Self {
            filter,
            query,
            before,
            limit: read_limit(limit.as_deref())?,
        })
    }
}

/// `None` if it asks for all.
fn read_query(text: &str) -> Result<Option<Query>, Problem> {
    let query = query::parse(List::Deliveries, text)
        .map_err(|error| Problem::query("filter", text, &error))?;
    Ok(Some(query).filter(|query| !query.terms.is_empty()))
}

fn add_state(states: &mut Vec<String>, state: String) -> Result<(), Problem> {
    one_of(
        "state",
        Some(&state),
        &delivery::State::ALL.map(delivery::State::as_str),
    )?;
    states.push(state);
    Ok(())
}

/// A parameter that can be one of these.
fn one_of(name: &str, text: Option<&str>, words: &[&str]) -> Result<(), Problem> {
    if text.is_some_and(|text| !words.contains(&text)) {
        let detail = format!("`{name}` must be one of {}.", words.join(", "));
        return Err(Problem::parameter(name, detail));
    }
    Ok(())
}

/// A time in a parameter.
pub(super) fn time(name: &str, text: Option<String>) -> Result<Option<Timestamp>, Problem> {
    let read = |text: String| {
        let detail = format!("`{name}` must be a time such as 2026-11-15T12:00:00Z.");
        Timestamp::parse(&text).ok_or_else(|| Problem::parameter(name, detail))
    };
    text.map(read).transpose()
}

/// An id in a parameter.
fn id<I: FromStr>(name: &str, text: Option<String>) -> Result<Option<I>, Problem> {
    let read = |text: String| {
        let detail = format!("`{name}` is not an id of the right kind.");
        text.parse().map_err(|_| Problem::parameter(name, detail))
    };
    text.map(read).transpose()
}

/// Where a page ended, and of which list: with other filters it would leave deliveries out and nobody would
/// notice.
struct DeliveryCursor {
    list: String,
    after: DeliveryId,
}

/// Tells lists apart.
fn digest(filter: &DeliveryFilter, query: Option<&Query>) -> String {
    let query = query.map(|query| format!(" {query}")).unwrap_or_default();
    let digest = Sha256::digest(format!("{filter:?}{query}"));
    hex::encode(&digest[..8])
}

impl DeliveryCursor {
    fn read(text: &str, filter: &DeliveryFilter, query: Option<&Query>) -> Result<Self, Problem> {
        let cursor: Self = read_cursor(text)?;
        if cursor.list != digest(filter, query) {
            let detail = "This `cursor` belongs to a list with different filters. Send it with the filters it was \
                          created with, or leave it out to start a new list.";
            return Err(Problem::parameter("cursor", detail));
        }
        Ok(cursor)
    }
}

impl fmt::Display for DeliveryCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.list, self.after)
    }
}

impl FromStr for DeliveryCursor {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (list, after) = text.split_once('/').ok_or(())?;
        Ok(Self {
            list: list.to_owned(),
            after: after.parse().map_err(|_| ())?,
        })
    }
}
