//! `/v1/audit/erasures`: an owner has events erased, and everybody who may read events sees which were, and how far it is.

use axum::{
    Json,
    extract::State,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse as _, Response},
};
use domain::{
    ErasureId, EventId, OrgId, Timestamp, error_code::ErrorCode, event::Filter, fault::Fault,
};
use journal::streams::{KEEP, Log};
use runtime::random;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, value::RawValue};
use store::erasures::{ErasureRow, NewErasure, What};
use utoipa::ToSchema;

use super::trail_event::REASON_CHARS_MAX;
use crate::{
    edge::{
        Caller, Problem,
        caller::{EventsRead, Member, Owner},
        enums::ErasureState,
        extract::{IdInPath, PageParams, PageQuery, cursor},
        strict_json::RuleJson,
    },
    events::query::FilterParams,
    exports::{plan::Plan, request::filter},
    planes::ControlPlane,
};

/// Erasures of one organization at a time. They are done one after the other, so more would not be faster.
const RUNNING_MAX: u32 = 5;
/// Ids in one request; more is for another, or for a filter. Their list is answered if they are not found.
const IDS_MAX: usize = 1_000;

/// What to erase, and why: `ids` or `filter`, one of the two.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ErasureWanted)]
pub struct NewErasureBody {
    /// The events, at most 1,000.
    #[schema(example = json!(["evt_01jcq3k5m8e9ratvw2x4y6z8ab"]))]
    ids: Option<Vec<String>>,
    /// Which events, as for exports, with at least one condition: those that match when you ask.
    #[schema(value_type = Option<FilterParams>)]
    filter: Option<Map<String, Value>>,
    /// Why, in at most 500 characters. It is kept in the trail, so do not repeat what is to be erased.
    #[schema(example = "Art. 17 GDPR, case 2041")]
    reason: String,
}

/// An erasure.
#[derive(Serialize, ToSchema)]
#[schema(as = Erasure)]
pub struct ErasureBody {
    #[schema(value_type = String, example = "era_01jcq3k5m8e9ratvw2x4y6z8ab")]
    id: ErasureId,
    /// `running`, `done` or `failed`.
    #[schema(value_type = ErasureState)]
    state: String,
    /// Which events; null if they were named.
    #[schema(value_type = Option<FilterParams>)]
    filter: Option<Box<RawValue>>,
    reason: String,
    /// The person who asked for it.
    asked_by: String,
    /// How many events were erased by it.
    erased: u64,
    /// How many had been erased before.
    already_erased: u64,
    /// How many are erasures themselves, which are never erased.
    kept: u64,
    /// The ids that none of your organization's events has.
    #[schema(value_type = Vec<String>)]
    not_found: Vec<EventId>,
    /// Why it failed, or why it is tried again.
    error: Option<String>,
    #[schema(value_type = String, format = DateTime)]
    started_at: Timestamp,
    #[schema(value_type = Option<String>, format = DateTime)]
    finished_at: Option<Timestamp>,
    /// When the last copy in the journal is gone. It is read by nobody but the server, which does not bring it back.
    #[schema(value_type = String, format = DateTime)]
    journal_until: Timestamp,
}

/// One page of erasures, newest first.
#[derive(Serialize, ToSchema)]
pub struct ErasurePage {
    data: Vec<ErasureBody>,
    next_cursor: Option<String>,
}

/// Erases events: their bytes and salts are deleted from the database and from the archive; for owners.
///
/// It runs in the background: `GET /v1/audit/erasures/{id}` returns its progress. It cannot be undone or stopped. For every
/// 300 events the trail gets an event of type `erasure` with who asked, why, and the ids. Every proof stays valid: of an
/// erased event its leaf remains in the transparency log, and an export of format `bundle` names its erasure.
///
/// Not erased are what left Watchbell (deliveries that were sent, exports that were made), records of delivery attempts,
/// which hold no event, and erasures themselves. The journal has a copy until `journal_until`.
#[utoipa::path(
    post, path = "/v1/audit/erasures", tag = "events", security(("session" = [])),
    request_body = NewErasureBody,
    responses((status = 202, description = "Begun; `Location` says where to look", body = ErasureBody)),
)]
pub async fn create(
    State(plane): State<ControlPlane>,
    member: Member<Owner>,
    RuleJson(body): RuleJson<NewErasureBody>,
) -> Result<Response, Problem> {
    let wanted = body.read()?;
    let what = match wanted.what {
        Which::Ids(ids) => What::Ids(ids),
        Which::Filter(filter) => matching(&plane, member.org, *filter).await?,
    };
    let now = plane.clock.now();
    let id = ErasureId::new(now, random::bytes());
    let erasure = NewErasure {
        org: member.org,
        id,
        asked_by: member.user.to_string(),
        reason: wanted.reason,
        what,
        created_at: now,
    };
    if !plane.store.insert_erasure(&erasure, RUNNING_MAX).await? {
        let detail = format!(
            "Your organization already has {RUNNING_MAX} erasures running. Wait for one to finish."
        );
        return Err(Problem::new(ErrorCode::LimitReached, detail));
    }
    let made = found(&plane, member.org, id).await?;
    let location = HeaderValue::from_str(&format!("/v1/audit/erasures/{id}"));
    let location = location.expect("an id is plain ASCII");
    let answer = Json(ErasureBody::from(made));
    Ok((StatusCode::ACCEPTED, [(header::LOCATION, location)], answer).into_response())
}

/// Lists erasures, newest first.
#[utoipa::path(
    get, path = "/v1/audit/erasures", tag = "events",
    security(("api_key" = ["events:read"]), ("session" = [])),
    params(PageParams),
    responses((status = 200, description = "One page", body = ErasurePage)),
)]
pub async fn list(
    State(plane): State<ControlPlane>,
    caller: Caller<EventsRead>,
    wanted: PageQuery<ErasureId>,
) -> Result<Json<ErasurePage>, Problem> {
    let page = plane
        .store
        .list_erasures(caller.org, wanted.before, wanted.limit)
        .await?;
    Ok(Json(ErasurePage {
        next_cursor: page.next.as_ref().map(cursor),
        data: page.rows.into_iter().map(ErasureBody::from).collect(),
    }))
}

/// Returns the progress of an erasure.
#[utoipa::path(
    get, path = "/v1/audit/erasures/{id}", tag = "events",
    security(("api_key" = ["events:read"]), ("session" = [])),
    params(("id" = String, Path, description = "`era_...`")),
    responses((status = 200, description = "The erasure", body = ErasureBody)),
)]
pub async fn show(
    State(plane): State<ControlPlane>,
    caller: Caller<EventsRead>,
    IdInPath(id): IdInPath<ErasureId>,
) -> Result<Json<ErasureBody>, Problem> {
    let row = found(&plane, caller.org, id).await?;
    Ok(Json(ErasureBody::from(row)))
}

async fn found(plane: &ControlPlane, org: OrgId, id: ErasureId) -> Result<ErasureRow, Problem> {
    let row = plane.store.erasure(org, id).await?;
    row.ok_or_else(|| Problem::not_found("erasure"))
}

/// What matches now: everything that was accepted is in the store.
async fn matching(plane: &ControlPlane, org: OrgId, filter: Filter) -> Result<What, Problem> {
    if !plane.wait_until_fresh(org, Log::Events).await? {
        let detail =
            "The index is behind the journal, so some events would not be erased. Try again.";
        return Err(Problem::new(ErrorCode::StoreUnavailable, detail));
    }
    let text = serde_json::to_string(&filter).expect("a filter is plain JSON");
    let plan = Plan::make(&plane.store, org, filter).await?;
    let range = plan.range.map(|range| (range.newest, range.oldest));
    Ok(What::Filter(text, range))
}

/// A request, read.
struct Read {
    what: Which,
    reason: String,
}

enum Which {
    Ids(Vec<EventId>),
    Filter(Box<Filter>),
}

impl NewErasureBody {
    fn read(self) -> Result<Read, Problem> {
        let reason = reason(&self.reason).map_err(|fault| Problem::invalid(vec![fault]))?;
        let what = match (self.ids, self.filter) {
            (Some(ids), None) => Which::Ids(read_ids(&ids).map_err(Problem::invalid)?),
            (None, Some(fields)) => Which::Filter(Box::new(read_filter(&fields)?)),
            _ => {
                let detail = "Give either `ids` or `filter`.";
                return Err(Problem::invalid(vec![Fault::invalid("/ids", detail)]));
            }
        };
        Ok(Read { what, reason })
    }
}

fn reason(given: &str) -> Result<String, Fault> {
    let reason = given.trim();
    let is_text = !reason.chars().any(|one| one.is_control() && one != '\n');
    if reason.is_empty() || reason.chars().count() > REASON_CHARS_MAX || !is_text {
        let detail = format!(
            "`reason` must have 1 to {REASON_CHARS_MAX} characters, and no control characters."
        );
        return Err(Fault::invalid("/reason", detail));
    }
    Ok(reason.to_owned())
}

fn read_ids(given: &[String]) -> Result<Vec<EventId>, Vec<Fault>> {
    if given.is_empty() || given.len() > IDS_MAX {
        let detail = format!("`ids` must have 1 to {IDS_MAX} ids. For more, use `filter`.");
        return Err(vec![Fault::invalid("/ids", detail)]);
    }
    let mut ids = Vec::new();
    for (number, id) in given.iter().enumerate() {
        let id: EventId = id.parse().map_err(|_| {
            let detail = "This is not the id of an event (`evt_...`).";
            vec![Fault::invalid(format!("/ids/{number}"), detail)]
        })?;
        ids.push(id);
    }
    ids.sort_unstable();
    ids.dedup();
    Ok(ids)
}

/// One that asks for everything is taken for a mistake.
fn read_filter(fields: &Map<String, Value>) -> Result<Filter, Problem> {
    let filter = filter(fields)?;
    if filter == Filter::default() {
        let detail = "`filter` must have at least one condition. To erase everything, delete the organization.";
        return Err(Problem::invalid(vec![Fault::invalid("/filter", detail)]));
    }
    Ok(filter)
}

impl From<ErasureRow> for ErasureBody {
    fn from(row: ErasureRow) -> Self {
        Self {
            id: row.id,
            state: row.state,
            filter: row.filter.and_then(|text| RawValue::from_string(text).ok()),
            reason: row.reason,
            asked_by: row.asked_by,
            erased: row.erased,
            already_erased: row.already_erased,
            kept: row.kept,
            not_found: row.not_found,
            error: row.error,
            started_at: row.created_at,
            finished_at: row.finished_at,
            journal_until: row.created_at.plus(KEEP),
        }
    }
}
