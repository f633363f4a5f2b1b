//! `/v1/endpoints`: the receivers that are or were in trouble, and a switch for each.
//!
//! An endpoint is one URL of the organization, whichever rules name it; its id follows from the URL, and every
//! delivery shows it. One that was never in trouble is not listed, but shown and paused like any other as long as
//! a rule names its URL.

use std::slice;

use axum::{Json, extract::State};
use deliver::endpoints::notice::Notices;
use domain::{
    EndpointId, OrgId, Timestamp,
    delivery::endpoint::{Endpoint, Notice, Status, Why},
    error_code::ErrorCode,
};
use journal::{
    frames::Frames,
    record::{EndpointNoticed, OutcomeRecord},
    streams::Log,
};
use runtime::error_chain::chain;
use serde::Serialize;
use store::{
    deliveries::recent_failures::RecentFailures,
    endpoints::{EndpointRow, NoticeRow},
};
use utoipa::ToSchema;

use super::verify::{self, OwnershipBody};
use crate::{
    edge::{
        Caller, Problem,
        caller::{DeliveriesRead, RulesWrite},
        enums::{EndpointDisabledWhy, EndpointNoticeWord, EndpointStatus},
        extract::{IdInPath, PageParams, PageQuery, cursor},
    },
    planes::ControlPlane,
};

/// How often a change is tried against those of workers; each time another one went through.
const TRIES_MAX: usize = 16;

/// An endpoint and its health.
#[derive(Serialize, ToSchema)]
#[schema(as = Endpoint)]
pub struct EndpointBody {
    #[schema(value_type = String, example = "end_01jcq3k5m8e9ratvw2x4y6z8ab")]
    id: EndpointId,
    url: String,
    /// `active`, `paused` or `disabled`.
    #[schema(value_type = EndpointStatus)]
    status: &'static str,
    /// When it was paused or disabled.
    #[schema(value_type = Option<String>, format = DateTime)]
    status_since: Option<Timestamp>,
    /// Why it is disabled: `gone` if it said so, or `failing`.
    #[schema(value_type = Option<EndpointDisabledWhy>)]
    disabled_why: Option<&'static str>,
    /// Null if the breaker is closed and everything is sent.
    breaker: Option<BreakerBody>,
    /// The receiver asked for a pause until then.
    #[schema(value_type = Option<String>, format = DateTime)]
    quiet_until: Option<Timestamp>,
    /// Null if the last attempt succeeded.
    failing: Option<FailingBody>,
    recent_failures: FailuresBody,
    /// The last thing that went wrong, in plain words.
    last_error: Option<String>,
}

/// An open breaker: nothing is sent except one probe at a time.
#[derive(Serialize, ToSchema)]
#[schema(as = EndpointBreaker)]
pub struct BreakerBody {
    #[schema(value_type = String, format = DateTime)]
    open_since: Timestamp,
    probes: u32,
    /// When the next probe may be sent.
    #[schema(value_type = String, format = DateTime)]
    probe_at: Timestamp,
}

/// A run of failures without a single success.
#[derive(Serialize, ToSchema)]
#[schema(as = EndpointFailing)]
pub struct FailingBody {
    #[schema(value_type = String, format = DateTime)]
    since: Timestamp,
    attempts: u32,
}

/// How many attempts failed lately. Attempts that never left Watchbell are not counted.
#[derive(Serialize, ToSchema)]
#[schema(as = EndpointFailures)]
pub struct FailuresBody {
    last_hour: u64,
    /// In the last 24 hours.
    last_day: u64,
    /// When the last one failed; null if none did in the last 24 hours.
    #[schema(value_type = Option<String>, format = DateTime)]
    last_at: Option<Timestamp>,
    /// False if only the newest 1,000 were counted.
    complete: bool,
}

/// An endpoint and its notices, newest first.
#[derive(Serialize, ToSchema)]
pub struct EndpointDetail {
    #[serde(flatten)]
    endpoint: EndpointBody,
    /// Whether it has answered its challenge; null where no challenges are sent (`delivery.endpoint_ownership`).
    ownership: Option<OwnershipBody>,
    notices: Vec<NoticeBody>,
}

/// Something about an endpoint that its owner should know.
#[derive(Serialize, ToSchema)]
#[schema(as = EndpointNotice)]
pub struct NoticeBody {
    /// `breaker_opened`, `breaker_closed`, `failing_15_minutes`, `failing_1_hour`, `failing_1_day`, `rejecting`,
    /// `redirecting`, `disabled`, `paused`, `resumed`, `unverified` or `verified`.
    #[schema(value_type = EndpointNoticeWord)]
    notice: String,
    #[schema(value_type = String, format = DateTime)]
    at: Timestamp,
    error: Option<String>,
    /// When owners and admins were mailed about it.
    #[schema(value_type = Option<String>, format = DateTime)]
    mailed_at: Option<Timestamp>,
}

/// One page of endpoints.
#[derive(Serialize, ToSchema)]
pub struct EndpointPage {
    data: Vec<EndpointBody>,
    next_cursor: Option<String>,
    /// False if what happened last may be missing, because the record is behind.
    fresh: bool,
}

/// Lists the endpoints that have or had problems, as of the last notice for each.
#[utoipa::path(
    get, path = "/v1/endpoints", tag = "endpoints", security(("api_key" = ["deliveries:read"]), ("session" = [])),
    params(PageParams),
    responses((status = 200, description = "One page", body = EndpointPage)),
)]
pub async fn list(
    State(plane): State<ControlPlane>,
    caller: Caller<DeliveriesRead>,
    wanted: PageQuery<EndpointId>,
) -> Result<Json<EndpointPage>, Problem> {
    let fresh = plane.wait_until_fresh(caller.org, Log::Outcomes).await?;
    let (store, org, now) = (plane.store.clone(), caller.org, plane.clock.now());
    // A page of many endpoints looks into every day for each of them.
    let query = async move {
        let listing = store.list_endpoints(org, wanted.before, wanted.limit);
        let page = listing.await?;
        let urls = page.rows.iter().map(|row| row.endpoint.url.clone());
        let urls: Vec<String> = urls.collect();
        let failures = store.recent_failures(org, &urls, now).await?;
        Ok::<_, store::Error>((page, failures))
    };
    let (page, mut failures) = plane.searches.run(org, query).await?;
    let listed = |row: EndpointRow| {
        let failures = failures.remove(&row.endpoint.url).unwrap_or_default();
        body(row.endpoint, failures, row.error)
    };
    Ok(Json(EndpointPage {
        next_cursor: page.next.as_ref().map(cursor),
        data: page.rows.into_iter().map(listed).collect(),
        fresh,
    }))
}

/// Returns one endpoint as it is now, with its notices.
#[utoipa::path(
    get, path = "/v1/endpoints/{id}", tag = "endpoints",
    security(("api_key" = ["deliveries:read"]), ("session" = [])),
    params(("id" = String, Path, description = "`endpoint_id` of a delivery")),
    responses((status = 200, description = "The endpoint", body = EndpointDetail)),
)]
pub async fn show(
    State(plane): State<ControlPlane>,
    caller: Caller<DeliveriesRead>,
    IdInPath(id): IdInPath<EndpointId>,
) -> Result<Json<EndpointDetail>, Problem> {
    plane.wait_until_fresh(caller.org, Log::Outcomes).await?;
    let (endpoint, _) = found(&plane, caller.org, id).await?;
    detail(&plane, endpoint).await.map(Json)
}

/// Pauses an endpoint: nothing is sent to it until it is resumed.
///
/// Meanwhile, deliveries are `held`; none is lost. After a resume, new deliveries are sent; `POST
/// /v1/alert-rules/{id}/recover` sends what was held.
#[utoipa::path(
    post, path = "/v1/endpoints/{id}/pause", tag = "endpoints",
    security(("api_key" = ["rules:write"]), ("session" = [])),
    params(("id" = String, Path, description = "`endpoint_id` of a delivery")),
    responses((status = 200, description = "Paused", body = EndpointDetail)),
)]
pub async fn pause(
    State(plane): State<ControlPlane>,
    caller: Caller<RulesWrite>,
    IdInPath(id): IdInPath<EndpointId>,
) -> Result<Json<EndpointDetail>, Problem> {
    let now = plane.clock.now();
    let changed = change(&plane, &caller, id, |endpoint| endpoint.pause(now));
    detail(&plane, changed.await?).await.map(Json)
}

/// Resumes a paused endpoint, or enables a disabled one.
///
/// Deliveries are sent to it right away, whatever the state of its breaker. What was held stays held until it is
/// recovered.
#[utoipa::path(
    post, path = "/v1/endpoints/{id}/resume", tag = "endpoints",
    security(("api_key" = ["rules:write"]), ("session" = [])),
    params(("id" = String, Path, description = "`endpoint_id` of a delivery")),
    responses((status = 200, description = "Resumed", body = EndpointDetail)),
)]
pub async fn resume(
    State(plane): State<ControlPlane>,
    caller: Caller<RulesWrite>,
    IdInPath(id): IdInPath<EndpointId>,
) -> Result<Json<EndpointDetail>, Problem> {
    let changed = change(&plane, &caller, id, Endpoint::resume);
    detail(&plane, changed.await?).await.map(Json)
}

/// An endpoint as the journal has it now, which it must have for a change to be made (0: it never had any).
pub(super) async fn found(
    plane: &ControlPlane,
    org: OrgId,
    id: EndpointId,
) -> Result<(Endpoint, u64), Problem> {
    let entry = plane.journal.endpoint(org, id).await?;
    let revision = entry.as_ref().map_or(0, |entry| entry.revision);
    if let Some(endpoint) = entry.and_then(|entry| entry.value) {
        return Ok((endpoint, revision));
    }
    let url = match plane.store.endpoint(org, id).await? {
        Some(was_in_trouble) => Some(was_in_trouble.endpoint.url),
        None => {
            let urls = plane.store.rule_urls(org).await?;
            urls.into_iter().find(|url| EndpointId::of(org, url) == id)
        }
    };
    let url = url.ok_or_else(|| Problem::not_found("endpoint"))?;
    Ok((Endpoint::new(org, url), revision))
}

/// Changes an endpoint, against whatever workers make of it meanwhile, and tells of it.
async fn change(
    plane: &ControlPlane,
    caller: &Caller<RulesWrite>,
    id: EndpointId,
    how: impl Fn(&mut Endpoint) -> Option<Notice>,
) -> Result<Endpoint, Problem> {
    for _ in 0..TRIES_MAX {
        let (mut endpoint, revision) = found(plane, caller.org, id).await?;
        let Some(notice) = how(&mut endpoint) else {
            return Ok(endpoint);
        };
        let set = plane.journal.set_endpoint(&endpoint, revision).await?;
        if set.is_some() {
            tell(plane, caller, endpoint.clone(), notice).await?;
            return Ok(endpoint);
        }
    }
    let detail = "The endpoint is changing too quickly right now; send the request again.";
    Err(Problem::new(ErrorCode::Conflict, detail))
}

/// Puts a change on record and into the trail. It stands either way.
async fn tell(
    plane: &ControlPlane,
    caller: &Caller<RulesWrite>,
    endpoint: Endpoint,
    notice: Notice,
) -> Result<(), Problem> {
    let noticed = EndpointNoticed {
        endpoint,
        notice,
        error: None,
        at: plane.clock.now(),
    };
    let notices = Notices::new(plane.events.clone(), plane.retention);
    if let Err(error) = notices
        .tell_of(&noticed, &caller.identity.counted_as())
        .await
    {
        let (id, error) = (noticed.endpoint.id, chain(&error));
        tracing::warn!(error, endpoint.id = %id, "could not record a change of an endpoint in the \
                                                  trail");
    }
    let record = OutcomeRecord::Endpoint(Box::new(noticed));
    let outcomes = plane.outcomes.of(caller.org);
    outcomes.append(Frames::from_iter([record])).await?;
    plane.wait_until_fresh(caller.org, Log::Outcomes).await?;
    Ok(())
}

pub(super) async fn detail(
    plane: &ControlPlane,
    endpoint: Endpoint,
) -> Result<EndpointDetail, Problem> {
    let (org, id) = (endpoint.org_id, endpoint.id);
    let error = plane.store.endpoint(org, id).await?;
    let notices = plane.store.endpoint_notices(org, id).await?;
    let urls = slice::from_ref(&endpoint.url);
    let failures = plane.store.recent_failures(org, urls, plane.clock.now());
    let failures = failures.await?.remove(&endpoint.url).unwrap_or_default();
    let ownership = verify::shown(plane, org, id).await?;
    let notice = |row: NoticeRow| NoticeBody {
        notice: row.notice,
        at: row.at,
        error: row.error,
        mailed_at: row.mailed_at,
    };
    Ok(EndpointDetail {
        endpoint: body(endpoint, failures, error.and_then(|row| row.error)),
        ownership,
        notices: notices.into_iter().map(notice).collect(),
    })
}

impl From<RecentFailures> for FailuresBody {
    fn from(counted: RecentFailures) -> Self {
        Self {
            last_hour: counted.last_hour,
            last_day: counted.last_day,
            last_at: counted.last_at,
            complete: !counted.is_cut,
        }
    }
}

fn body(endpoint: Endpoint, failures: RecentFailures, last_error: Option<String>) -> EndpointBody {
    let (status, status_since, disabled_why) = match endpoint.status {
        Status::Active => ("active", None, None),
        Status::Paused { since } => ("paused", Some(since), None),
        Status::Disabled { since, why } => {
            let why = match why {
                Why::Gone => "gone",
                Why::Failing => "failing",
            };
            ("disabled", Some(since), Some(why))
        }
    };
    EndpointBody {
        id: endpoint.id,
        url: endpoint.url,
        status,
        status_since,
        disabled_why,
        breaker: endpoint.breaker.map(|breaker| BreakerBody {
            open_since: breaker.since,
            probes: breaker.probes,
            probe_at: breaker.probe_at,
        }),
        quiet_until: endpoint.quiet_until,
        failing: endpoint.failing.map(|failing| FailingBody {
            since: failing.since,
            attempts: failing.attempts,
        }),
        recent_failures: FailuresBody::from(failures),
        last_error,
    }
}
