//! `GET /v1/system`.

use axum::{Json, extract::State};
use domain::{Timestamp, error_code::ErrorCode};
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    days::{self, DayBody},
    dependencies::{self, DependencyBody},
    logs::{self, DeadLettersBody, LogBody},
};
use crate::{
    edge::{
        Problem,
        caller::{Anybody, Member},
        enums::NodeRole,
    },
    planes::ControlPlane,
};

/// The state of this deployment, as seen by the node that answered.
#[derive(Serialize, ToSchema)]
pub struct SystemBody {
    #[schema(example = "0.1.0")]
    version: &'static str,
    /// When that node started.
    #[schema(value_type = String, format = DateTime)]
    started_at: Timestamp,
    /// The roles of that node.
    #[schema(value_type = Vec<NodeRole>, example = json!(["api", "index", "match", "deliver"]))]
    roles: Vec<&'static str>,
    dependencies: Vec<DependencyBody>,
    /// The logs that the journal can report on right now.
    logs: Vec<LogBody>,
    /// `null` while the journal does not answer.
    #[schema(required)]
    dead_letters: Option<DeadLettersBody>,
    days: Vec<DayBody>,
    /// Schema changes that this binary knows about and the database does not have yet.
    pending_migrations: usize,
}

/// Returns the state of this deployment; for operators.
///
/// Operators are the people listed in `accounts.operators`. A dependency that does not answer within a second is
/// reported as down.
#[utoipa::path(
    get, path = "/v1/system", tag = "system", security(("session" = [])),
    responses(
        (status = 200, description = "The state of the deployment", body = SystemBody),
    ),
)]
pub async fn show(
    State(plane): State<ControlPlane>,
    member: Member<Anybody>,
) -> Result<Json<SystemBody>, Problem> {
    let person = plane.store.member(member.org, member.user).await?;
    if !person.is_some_and(|person| plane.operators.include(&person.email)) {
        let detail = "This is only for operators of this deployment, who are listed in \
                      `accounts.operators`.";
        return Err(Problem::new(ErrorCode::Forbidden, detail));
    }
    let (dependencies, logs, dead_letters, days, pending_migrations) = tokio::join!(
        dependencies::ask(&plane),
        logs::states(&plane),
        logs::dead_letters(&plane.journal),
        days::of(&plane),
        plane.store.pending_migrations(),
    );
    Ok(Json(SystemBody {
        version: env!("CARGO_PKG_VERSION"),
        started_at: plane.process.started_at,
        roles: plane.process.roles.iter().map(|role| role.name()).collect(),
        dependencies,
        logs,
        dead_letters,
        days: days?,
        pending_migrations: pending_migrations?,
    }))
}
