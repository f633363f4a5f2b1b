//! `GET /v1/me` and `/v1/org`: who one is, and where one belongs.

use axum::{Json as JsonAnswer, extract::State};
use domain::account::organization_name;
use serde::Deserialize;
use store::members::Organization;
use utoipa::ToSchema;

use super::{
    members::refusal,
    schema::{OrganizationBody, WhoBody},
    security_log::tell,
};
use crate::{
    edge::{
        Problem,
        caller::{Admin, Anybody, AtLeast, Member},
        extract::Json,
    },
    planes::ControlPlane,
};

/// A change to an organization.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct OrganizationChange {
    /// 1 to 100 characters, and no web address, because the name appears in emails.
    name: String,
}

/// Returns who is logged in.
#[utoipa::path(
    get, path = "/v1/me", tag = "accounts", security(("session" = [])),
    responses(
        (status = 200, description = "You", body = WhoBody),
    ),
)]
pub async fn me(
    State(plane): State<ControlPlane>,
    member: Member<Anybody>,
) -> Result<JsonAnswer<WhoBody>, Problem> {
    let person = plane
        .store
        .member(member.org, member.user)
        .await?
        .ok_or_else(|| Problem::not_found("member"))?;
    let organization = found(&plane, &member).await?;
    let who = WhoBody::new(person, organization, &plane.operators);
    Ok(JsonAnswer(who))
}

/// Returns your organization.
#[utoipa::path(
    get, path = "/v1/org", tag = "accounts", security(("session" = [])),
    responses(
        (status = 200, description = "The organization", body = OrganizationBody),
    ),
)]
pub async fn show(
    State(plane): State<ControlPlane>,
    member: Member<Anybody>,
) -> Result<JsonAnswer<OrganizationBody>, Problem> {
    let organization = found(&plane, &member).await?;
    Ok(JsonAnswer(OrganizationBody::from(organization)))
}

/// Renames your organization; for admins and owners.
#[utoipa::path(
    patch, path = "/v1/org", tag = "accounts", security(("session" = [])),
    request_body = OrganizationChange,
    responses(
        (status = 200, description = "The organization after the change", body = OrganizationBody),
    ),
)]
pub async fn rename(
    State(plane): State<ControlPlane>,
    member: Member<Admin>,
    Json(change): Json<OrganizationChange>,
) -> Result<JsonAnswer<OrganizationBody>, Problem> {
    let name = organization_name::parse(&change.name, "/name")
        .map_err(|fault| Problem::invalid(vec![fault]))?;
    plane
        .store
        .rename_organization(member.hand(plane.clock.now()), &name)
        .await?
        .map_err(|refused| refusal(refused, "organization"))?;
    tell(&plane, member.org).await;
    let organization = found(&plane, &member).await?;
    Ok(JsonAnswer(OrganizationBody::from(organization)))
}

/// The organization of who asks.
pub(super) async fn found<R: AtLeast>(
    plane: &ControlPlane,
    member: &Member<R>,
) -> Result<Organization, Problem> {
    let organization = plane.store.organization(member.org).await?;
    organization.ok_or_else(|| Problem::not_found("organization"))
}
