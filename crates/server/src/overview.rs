//! `GET /v1/overview`: what people look at first: how much comes in, what was delivered, what was decided and how
//! soon.
//!
//! Nothing here costs more because there is more of it: events are counted as they are indexed, and of deliveries
//! and decisions the newest are read, as many as `store` bounds.

use std::{collections::BTreeMap, time::Duration};

use axum::{
    Json,
    extract::{FromRequestParts, State},
    http::request::Parts,
};
use domain::{
    DeliveryId, OrgId, Timestamp,
    account::security_log::What,
    delivery,
    event::{EventView, Filter},
};
use journal::streams::Log;
use policy::Verdict;
use serde::Serialize;
use store::{
    Store,
    deliveries::overview::DeliveriesOverTime,
    events::{DecisionMade, EventsQuery, Newest, Order, StoredEvent, TypeCounts},
};
use utoipa::ToSchema;

use crate::{
    decisions::audit_event,
    edge::{
        Problem,
        caller::{Anybody, Member},
        enums::Interval,
        extract,
    },
    events::stats_range::{self, StatsRange},
    planes::ControlPlane,
};

/// Among how many the newest that is not about accounts is looked for: people log in less often than agents act.
const LOOKED_AT: u32 = 50;

/// A delivery that is under way for longer was tried several times: retries begin after seconds.
const OVERDUE_AFTER: Duration = Duration::from_mins(5);

const PARAMETERS: [&str; 3] = ["interval", "from", "to"];

/// Over which time.
#[derive(Debug, Default, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub struct OverviewParams {
    /// `minute` (kept for 7 days), `hour` (the default) or `day`, in UTC.
    #[param(value_type = Option<Interval>)]
    interval: Option<String>,
    /// RFC 3339; by default an hour, a day or 30 days before `to`, by the interval.
    #[param(format = DateTime)]
    from: Option<String>,
    /// RFC 3339; now unless given.
    #[param(format = DateTime)]
    to: Option<String>,
}

/// Activity over a period of time. Every interval is included, oldest first, even if nothing happened in it.
#[derive(Serialize, ToSchema)]
pub struct Overview {
    /// The start of the first interval.
    #[schema(value_type = String, format = DateTime)]
    from: Timestamp,
    /// The end of the last one.
    #[schema(value_type = String, format = DateTime)]
    to: Timestamp,
    #[schema(value_type = Interval)]
    interval: &'static str,
    events: EventsOverview,
    deliveries: DeliveriesOverview,
    decisions: DecisionsOverview,
    /// False if the latest activity may be missing because the index or the record is behind.
    fresh: bool,
}

/// Events, by the time they occurred.
#[derive(Serialize, ToSchema)]
pub struct EventsOverview {
    total: u64,
    /// When the newest event occurred, regardless of the time range and not counting events about accounts, such as
    /// logins; `null` if there is none among the newest 50 events.
    #[schema(value_type = Option<String>, format = DateTime)]
    last_at: Option<Timestamp>,
    buckets: Vec<EventsBucket>,
}

#[derive(Serialize, ToSchema)]
pub struct EventsBucket {
    #[schema(value_type = String, format = DateTime)]
    at: Timestamp,
    total: u64,
}

/// Deliveries, by the time of their event; tests and summaries by their own time. Deliveries that a rule does not send
/// are not included, and those past their retention are gone.
#[derive(Serialize, ToSchema)]
pub struct DeliveriesOverview {
    delivered: u64,
    failed: u64,
    canceled: u64,
    /// In progress: `pending`, `scheduled` or `held`.
    pending: u64,
    /// Those of `pending` that are `held`: nothing is sent to their endpoints now.
    held: u64,
    /// Those of `pending` that are not held and have been in progress for more than 5 minutes.
    overdue: u64,
    /// False if there are so many that only the newest 100,000 were counted.
    complete: bool,
    /// The delivery in progress with the oldest event, regardless of the time range.
    oldest_undelivered: Option<OldestUndelivered>,
    buckets: Vec<DeliveriesBucket>,
}

#[derive(Serialize, ToSchema)]
pub struct OldestUndelivered {
    #[schema(value_type = String, example = "dlv_01jcq3k5m8e9ratvw2x4y6z8ab")]
    id: DeliveryId,
    #[schema(value_type = String, format = DateTime)]
    matched_at: Timestamp,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct DeliveriesBucket {
    #[schema(value_type = String, format = DateTime)]
    at: Timestamp,
    delivered: u64,
    failed: u64,
    pending: u64,
    /// Those of `pending` that are `held`.
    held: u64,
    /// Those of `pending` that are not held and have been in progress for more than 5 minutes.
    overdue: u64,
    #[serde(skip)]
    canceled: u64,
}

/// Decisions, by the time they were asked for.
#[derive(Serialize, ToSchema)]
pub struct DecisionsOverview {
    total: u64,
    allowed: u64,
    denied: u64,
    modified: u64,
    escalated: u64,
    /// Decisions asked for in shadow mode, in which everything is allowed.
    not_enforced: u64,
    /// The median time they took, in microseconds, from the request to the verdict; the time the journal took to record
    /// it is not included.
    p50_us: Option<u32>,
    /// The same for 99 in 100.
    p99_us: Option<u32>,
    /// How many decisions these two numbers cover: the newest ones that record how long they took.
    measured: usize,
    /// False if there are so many that everything except `total` covers only the newest 10,000.
    complete: bool,
    buckets: Vec<DecisionsBucket>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct DecisionsBucket {
    #[schema(value_type = String, format = DateTime)]
    at: Timestamp,
    allowed: u64,
    denied: u64,
    modified: u64,
    escalated: u64,
    not_enforced: u64,
    p99_us: Option<u32>,
}

/// What is read for it.
struct Seen {
    events: Option<TypeCounts>,
    last_at: Option<Timestamp>,
    deliveries: DeliveriesOverTime,
    oldest_undelivered: Option<(DeliveryId, Timestamp)>,
    decisions: Newest<DecisionMade>,
}

/// Returns recent activity: events, deliveries and decisions over time.
#[utoipa::path(
    get, path = "/v1/overview", tag = "overview", security(("session" = [])),
    params(OverviewParams),
    responses((status = 200, description = "What happened", body = Overview)),
)]
pub async fn overview(
    State(plane): State<ControlPlane>,
    member: Member<Anybody>,
    params: OverviewParams,
) -> Result<Json<Overview>, Problem> {
    let texts = [&params.interval, &params.from, &params.to].map(Option::as_deref);
    let now = plane.clock.now();
    let shown = StatsRange::read(texts, now)?;
    let (indexed, recorded) = tokio::join!(
        plane.wait_until_fresh(member.org, Log::Events),
        plane.wait_until_fresh(member.org, Log::Outcomes),
    );
    let fresh = indexed? && recorded?;
    let store = plane.store.clone();
    let query = async move { look(&store, member.org, shown, now).await };
    let seen = plane.searches.run(member.org, query).await?;
    Overview::new(shown, seen, fresh).map(Json)
}

impl<S: Send + Sync> FromRequestParts<S> for OverviewParams {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let mut params = Self::default();
        for (name, value) in extract::pairs(parts, state).await? {
            let slot = match name.as_str() {
                "interval" => &mut params.interval,
                "from" => &mut params.from,
                "to" => &mut params.to,
                _ => return Err(extract::unknown_parameter(&name, &PARAMETERS)),
            };
            extract::once(&name, slot, value)?;
        }
        Ok(params)
    }
}

async fn look(
    store: &Store,
    org: OrgId,
    shown: StatsRange,
    now: Timestamp,
) -> Result<Seen, store::Error> {
    let range = (shown.from, shown.to);
    let starts: Vec<Timestamp> = shown.starts().collect();
    let newest = EventsQuery {
        filter: Filter::default(),
        order: Order::NewestFirst,
        after: None,
        limit: LOOKED_AT,
    };
    let newest = store.list_events(org, &newest).await?.rows;
    let newest = newest.iter().find(|event| !is_of_accounts(event));
    let decisions = Filter {
        from: Some(shown.from),
        to: Some(shown.to),
        event_type: vec![audit_event::EVENT_TYPE.to_owned()],
        // There is an index of what was not simply a success; a decision never is.
        result: Verdict::ALL
            .map(policy::recorded::result)
            .into_iter()
            .chain([policy::recorded::NOT_ENFORCED])
            .map(str::to_owned)
            .collect(),
        ..Filter::default()
    };
    Ok(Seen {
        events: store
            .event_counts_with(org, shown.grain, range, audit_event::EVENT_TYPE)
            .await?,
        last_at: newest.map(|event| event.id.time()),
        deliveries: store
            .deliveries_over_time(org, &starts, shown.to, now.minus(OVERDUE_AFTER))
            .await?,
        oldest_undelivered: store.oldest_undelivered(org).await?,
        decisions: store.newest_decisions(org, decisions).await?,
    })
}

fn is_of_accounts(event: &StoredEvent) -> bool {
    let event = EventView::parse(&event.json).unwrap_or_default();
    let event_type = event.text("event_type").unwrap_or_default();
    What::ALL.iter().any(|what| what.event_type() == event_type)
}

impl Overview {
    fn new(shown: StatsRange, seen: Seen, fresh: bool) -> Result<Self, Problem> {
        let counts = seen.events.ok_or_else(stats_range::too_many_values)?;
        let decisions_in_all = counts.values().map(|(_, of_type)| of_type).sum();
        Ok(Self {
            from: shown.from,
            to: shown.to,
            interval: shown.grain.as_str(),
            events: EventsOverview::new(shown, &counts, seen.last_at),
            deliveries: DeliveriesOverview::new(shown, seen.deliveries, seen.oldest_undelivered),
            decisions: DecisionsOverview::new(shown, decisions_in_all, &seen.decisions),
            fresh,
        })
    }
}

impl EventsOverview {
    fn new(shown: StatsRange, counts: &TypeCounts, last_at: Option<Timestamp>) -> Self {
        let bucket = |at| EventsBucket {
            at,
            total: counts.get(&at).map_or(0, |(all, _)| *all),
        };
        Self {
            total: counts.values().map(|(all, _)| all).sum(),
            last_at,
            buckets: shown.starts().map(bucket).collect(),
        }
    }
}

impl DeliveriesOverview {
    fn new(
        shown: StatsRange,
        found: DeliveriesOverTime,
        oldest: Option<(DeliveryId, Timestamp)>,
    ) -> Self {
        let starts = shown.starts();
        let mut buckets: Vec<DeliveriesBucket> = starts
            .map(|at| DeliveriesBucket {
                at,
                ..DeliveriesBucket::default()
            })
            .collect();
        for one in found.counts {
            let state = delivery::State::named(&one.state);
            let (Some(bucket), Some(state)) = (buckets.get_mut(one.interval), state) else {
                continue;
            };
            match state {
                delivery::State::Held => bucket.held += one.deliveries,
                delivery::State::Pending | delivery::State::Scheduled if one.is_old => {
                    bucket.overdue += one.deliveries;
                }
                _ => {}
            }
            let count = match state {
                delivery::State::Delivered => &mut bucket.delivered,
                delivery::State::Failed => &mut bucket.failed,
                delivery::State::Canceled => &mut bucket.canceled,
                delivery::State::Pending | delivery::State::Scheduled | delivery::State::Held => {
                    &mut bucket.pending
                }
                delivery::State::Suppressed
                | delivery::State::Snoozed
                | delivery::State::Shadow => continue,
            };
            *count += one.deliveries;
        }
        let sum = |count: fn(&DeliveriesBucket) -> u64| buckets.iter().map(count).sum();
        Self {
            delivered: sum(|bucket| bucket.delivered),
            failed: sum(|bucket| bucket.failed),
            canceled: sum(|bucket| bucket.canceled),
            pending: sum(|bucket| bucket.pending),
            held: sum(|bucket| bucket.held),
            overdue: sum(|bucket| bucket.overdue),
            complete: found.is_complete,
            oldest_undelivered: oldest.map(|(id, matched_at)| OldestUndelivered { id, matched_at }),
            buckets,
        }
    }
}

impl DecisionsOverview {
    fn new(shown: StatsRange, total: u64, found: &Newest<DecisionMade>) -> Self {
        let mut by_start: BTreeMap<Timestamp, Vec<&DecisionMade>> = BTreeMap::new();
        for one in &found.events {
            let start = shown.start_of(one.id.time());
            by_start.entry(start).or_default().push(one);
        }
        let none = Vec::new();
        let buckets: Vec<DecisionsBucket> = shown
            .starts()
            .map(|at| DecisionsBucket::new(at, by_start.get(&at).unwrap_or(&none)))
            .collect();
        let sum = |count: fn(&DecisionsBucket) -> u64| buckets.iter().map(count).sum();
        let took = Took::of(found.events.iter());
        Self {
            total,
            allowed: sum(|bucket| bucket.allowed),
            denied: sum(|bucket| bucket.denied),
            modified: sum(|bucket| bucket.modified),
            escalated: sum(|bucket| bucket.escalated),
            not_enforced: sum(|bucket| bucket.not_enforced),
            p50_us: took.percentile(50),
            p99_us: took.percentile(99),
            measured: took.0.len(),
            complete: found.is_complete,
            buckets,
        }
    }
}

impl DecisionsBucket {
    fn new(at: Timestamp, decisions: &[&DecisionMade]) -> Self {
        let with =
            |result: &str| decisions.iter().filter(|one| one.result == result).count() as u64;
        let count = |verdict| with(policy::recorded::result(verdict));
        Self {
            at,
            allowed: count(Verdict::Allow),
            denied: count(Verdict::Deny),
            modified: count(Verdict::Modify),
            escalated: count(Verdict::Escalate),
            not_enforced: with(policy::recorded::NOT_ENFORCED),
            p99_us: Took::of(decisions.iter().copied()).percentile(99),
        }
    }
}

/// How long decisions took, in microseconds, the shortest first.
struct Took(Vec<u32>);

impl Took {
    fn of<'d>(decisions: impl Iterator<Item = &'d DecisionMade>) -> Self {
        let mut took: Vec<u32> = decisions.filter_map(|one| one.took_us).collect();
        took.sort_unstable();
        Self(took)
    }

    /// The shortest time that so many in a hundred did not exceed.
    fn percentile(&self, percent: usize) -> Option<u32> {
        let rank = (self.0.len() * percent).div_ceil(100);
        self.0.get(rank.checked_sub(1)?).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_the_shortest_time_that_so_many_did_not_exceed() {
        let took = |times: std::ops::RangeInclusive<u32>| Took(times.collect());
        assert_eq!(took(1..=100).percentile(99), Some(99));
        assert_eq!(took(1..=100).percentile(50), Some(50));
        assert_eq!(took(1..=3).percentile(50), Some(2));
        assert_eq!(took(7..=7).percentile(99), Some(7));
        assert_eq!(Took(Vec::new()).percentile(99), None);
    }
}
