//! `GET /v1/alert-rules/{id}/balance`: whether every match of a rule is accounted for.

use std::time::Duration;

use axum::{
    Json,
    extract::{FromRequestParts, State},
    http::request::Parts,
};
use domain::{RuleId, Timestamp};
use journal::streams::Log;
use serde::Serialize;
use store::{
    deliveries::balance::{Counts, HOUR, Held},
    rule_counts::start_of_hour,
};
use utoipa::ToSchema;

use super::list::time;
use crate::{
    edge::{
        Caller, Problem,
        caller::DeliveriesRead,
        extract::{self, IdInPath},
    },
    planes::ControlPlane,
};

/// The longest time that is added up in one answer.
const RANGE_MAX: Duration = Duration::from_hours(31 * 24);
/// What is added up unless asked otherwise.
const RANGE_DEFAULT: Duration = Duration::from_hours(24);

/// Which time.
#[derive(Debug, Default, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub struct BalanceParams {
    /// Start with the hour that contains this time (RFC 3339); by default a day ago.
    #[param(format = DateTime)]
    from: Option<String>,
    /// End with the hour that contains this time (RFC 3339); by default now.
    #[param(format = DateTime)]
    to: Option<String>,
}

/// What became of a rule's matches, in whole hours of the events' time.
#[derive(Serialize, ToSchema)]
#[schema(as = RuleBalance)]
pub struct BalanceBody {
    #[schema(value_type = String, format = DateTime)]
    from: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    to: Timestamp,
    /// Matches that were to be sent, as the matcher decided; counted independently of the deliveries.
    matched: u64,
    /// The states of their deliveries; together they add up to `matched`.
    delivered: u64,
    pending: u64,
    scheduled: u64,
    held: u64,
    failed: u64,
    canceled: u64,
    /// Matches that the rule did not send, each counted both ways.
    suppressed: PairBody,
    /// Snoozed, or in shadow mode.
    withheld: PairBody,
    /// Deliveries that summarize what was suppressed.
    summaries: PairBody,
    /// Test deliveries, which are not matches.
    tests: u64,
    /// Whether all of this adds up.
    balanced: bool,
    /// Deliveries that are missing; if negative, deliveries that no decision accounts for.
    difference: i64,
    /// False if the latest changes may be missing because the record is behind; the numbers add up all the same.
    fresh: bool,
}

/// A number that is counted both ways.
#[derive(Serialize, ToSchema)]
#[schema(as = CountedTwice)]
pub struct PairBody {
    decided: u64,
    found: u64,
}

/// Compares what the matcher decided with the deliveries that exist.
///
/// `matched` = `delivered` + `pending` + `scheduled` + `held` + `failed` + `canceled`, always. If that ever fails to
/// hold, `difference` says by how much, and `watchbell_deliveries_unbalanced` raises an alarm.
#[utoipa::path(
    get, path = "/v1/alert-rules/{id}/balance", tag = "deliveries",
    security(("api_key" = ["deliveries:read"]), ("session" = [])),
    params(("id" = String, Path, description = "The rule's id; the rule may have been deleted"), BalanceParams),
    responses((status = 200, description = "The balance", body = BalanceBody)),
)]
pub async fn balance(
    State(plane): State<ControlPlane>,
    caller: Caller<DeliveriesRead>,
    IdInPath(rule): IdInPath<RuleId>,
    wanted: BalanceQuery,
) -> Result<Json<BalanceBody>, Problem> {
    let fresh = plane.wait_until_fresh(caller.org, Log::Outcomes).await?;
    let (from, to) = wanted.hours(plane.clock.now(), plane.delivery_retention)?;
    let store = plane.store.clone();
    let query = async move { store.balance(caller.org, rule, from, to).await };
    let (counts, held) = plane.searches.run(caller.org, query).await?;
    let is_known = counts != Counts::default() || !held.is_empty();
    if !is_known && plane.store.rule(caller.org, rule).await?.is_none() {
        return Err(Problem::not_found("alert rule"));
    }
    Ok(Json(body((from, to), counts, &held, fresh)))
}

fn body(
    (from, to): (Timestamp, Timestamp),
    counts: Counts,
    held: &[Held],
    fresh: bool,
) -> BalanceBody {
    let sum = |cause: &str, states: &[&str]| -> u64 {
        let fits = |one: &&Held| {
            one.cause == cause && (states.is_empty() || states.contains(&one.state.as_str()))
        };
        held.iter().filter(fits).map(|one| one.deliveries).sum()
    };
    let in_state = |state: &str| sum("match", &[state]);
    let suppressed = PairBody {
        decided: counts.suppressed,
        found: in_state("suppressed"),
    };
    let withheld = PairBody {
        decided: counts.withheld,
        found: sum("match", &["snoozed", "shadow"]),
    };
    let summaries = PairBody {
        decided: counts.summaries,
        found: sum("summary", &[]),
    };
    let sent = sum(
        "match",
        &[
            "delivered",
            "pending",
            "scheduled",
            "held",
            "failed",
            "canceled",
        ],
    );
    let missing = |decided: u64, found: u64| decided.cast_signed() - found.cast_signed();
    let pairs = [&suppressed, &withheld, &summaries];
    let missing_pairs = pairs.map(|pair| missing(pair.decided, pair.found));
    let differences = [[missing(counts.alerts, sent)].as_slice(), &missing_pairs].concat();
    BalanceBody {
        from,
        to,
        matched: counts.alerts,
        delivered: in_state("delivered"),
        pending: in_state("pending"),
        scheduled: in_state("scheduled"),
        held: in_state("held"),
        failed: in_state("failed"),
        canceled: in_state("canceled"),
        suppressed,
        withheld,
        summaries,
        tests: sum("test", &[]),
        balanced: differences.iter().all(|difference| *difference == 0),
        difference: differences.iter().sum(),
        fresh,
    }
}

/// The time that is asked for.
#[derive(Debug)]
pub struct BalanceQuery {
    from: Option<Timestamp>,
    to: Option<Timestamp>,
}

impl<S: Send + Sync> FromRequestParts<S> for BalanceQuery {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let mut params = BalanceParams::default();
        for (name, value) in extract::pairs(parts, state).await? {
            match name.as_str() {
                "from" => extract::once(&name, &mut params.from, value)?,
                "to" => extract::once(&name, &mut params.to, value)?,
                _ => return Err(extract::unknown_parameter(&name, &["from", "to"])),
            }
        }
        Ok(Self {
            from: time("from", params.from)?,
            to: time("to", params.to)?,
        })
    }
}

impl BalanceQuery {
    /// Whole hours, none of which has been dropped in part.
    fn hours(&self, now: Timestamp, kept: Duration) -> Result<(Timestamp, Timestamp), Problem> {
        let kept_from = start_of_hour(now.minus(kept)).plus(HOUR);
        let to = self.to.unwrap_or(now);
        let from = self.from.unwrap_or_else(|| to.minus(RANGE_DEFAULT));
        let (from, to) = (
            start_of_hour(from).max(kept_from),
            start_of_hour(to).plus(HOUR),
        );
        if from >= to {
            let detail = "`from` must be before `to`, and within the time that deliveries are \
                          kept.";
            return Err(Problem::parameter("from", detail));
        }
        if to.since(from) > RANGE_MAX + HOUR {
            let detail = format!(
                "The range can be at most {} days.",
                RANGE_MAX.as_secs() / 86_400
            );
            return Err(Problem::parameter("from", detail));
        }
        Ok((from, to))
    }
}
