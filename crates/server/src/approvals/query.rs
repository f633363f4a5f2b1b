//! What clients ask of decisions and approvals in the query.

use std::time::Duration;

use axum::{extract::FromRequestParts, http::request::Parts};
use domain::DecisionId;
use utoipa::IntoParams;

use crate::edge::{
    Problem,
    enums::ApprovalStatus,
    extract::{once, pairs, read_cursor, read_limit, unknown_parameter},
};

/// The longest wait, in seconds: shorter than proxies wait for the next byte (60 s).
pub const WAIT_S_MAX: u64 = 30;

/// How long a client likes to wait.
#[derive(Debug, Default, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct WaitParams {
    /// Wait up to this many seconds for an escalated decision to be resolved, 0 to 30 (default 0).
    #[param(value_type = Option<u32>, maximum = 30)]
    wait: Option<String>,
}

/// How long a client likes to wait, already checked.
#[derive(Debug)]
pub struct Wait(pub Duration);

impl<S: Send + Sync> FromRequestParts<S> for Wait {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let mut params = WaitParams::default();
        for (name, value) in pairs(parts, state).await? {
            match name.as_str() {
                "wait" => once(&name, &mut params.wait, value)?,
                _ => return Err(unknown_parameter(&name, &["wait"])),
            }
        }
        let seconds = params.wait.map_or(Some(0), |text| text.parse().ok());
        let seconds = seconds.filter(|seconds| *seconds <= WAIT_S_MAX);
        let detail = || format!("`wait` must be a number of seconds from 0 to {WAIT_S_MAX}.");
        let seconds = seconds.ok_or_else(|| Problem::parameter("wait", detail()))?;
        Ok(Self(Duration::from_secs(seconds)))
    }
}

/// Which page is wanted.
#[derive(Debug, Default, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct QueueParams {
    /// `pending`, the default and the only value: the trail has the outcome of the others (`event_type` `approval`).
    #[param(value_type = Option<ApprovalStatus>, inline)]
    status: Option<String>,
    /// How many to return, 1 to 1,000 (default 100).
    #[param(value_type = Option<u32>, minimum = 1, maximum = 1000)]
    limit: Option<String>,
    /// The `next_cursor` of the previous page.
    cursor: Option<String>,
}

/// Which page is wanted, already checked.
#[derive(Debug)]
pub struct ApprovalsQuery {
    pub after: Option<DecisionId>,
    pub limit: usize,
}

impl<S: Send + Sync> FromRequestParts<S> for ApprovalsQuery {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let mut params = QueueParams::default();
        for (name, value) in pairs(parts, state).await? {
            match name.as_str() {
                "status" => once(&name, &mut params.status, value)?,
                "limit" => once(&name, &mut params.limit, value)?,
                "cursor" => once(&name, &mut params.cursor, value)?,
                _ => return Err(unknown_parameter(&name, &["status", "limit", "cursor"])),
            }
        }
        if params.status.is_some_and(|status| status != "pending") {
            let detail = "`status` must be `pending`; the trail has the outcome of the others (GET /v1/audit/events?event_type=approval).";
            return Err(Problem::parameter("status", detail));
        }
        let after = params.cursor.as_deref().map(read_cursor);
        Ok(Self {
            after: after.transpose()?,
            limit: read_limit(params.limit.as_deref())? as usize,
        })
    }
}
