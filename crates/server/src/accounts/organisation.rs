//! `GET /v1/me` and `/v1/org`: who one is, and where one belongs.

use axum::{Json as JsonAnswer, extract::State};
use domain::account::organisation_name;
use serde::Deserialize;
use store::members::Organisation;
use utoipa::ToSchema;

use super::{
    members::refusal,
    schema::{OrganisationBody, WhoBody},
    security_log::tell,
};
use crate::{
    edge::{
        Problem,
        caller::{Admin, Anybody, AtLeast, Member},
        extract::Json,
        problem::Refusals,
    },
    planes::ControlPlane,
};

/// A change to an organisation.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct OrganisationChange {
    /// 1 to 100 characters, and no web address, because the name appears in emails.
    name: String,
}

/// Returns who is logged in.
#[utoipa::path(
    get, path = "/v1/me", tag = "accounts", security(("session" = [])),
    responses(
        (status = 200, description = "You", body = WhoBody),
        Refusals,
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
    let organisation = found(&plane, &member).await?;
    let who = WhoBody::new(person, organisation, &plane.operators);
    Ok(JsonAnswer(who))
}

/// Returns your organisation.
#[utoipa::path(
    get, path = "/v1/org", tag = "accounts", security(("session" = [])),
    responses(
        (status = 200, description = "The organisation", body = OrganisationBody),
        Refusals,
    ),
)]
pub async fn show(
    State(plane): State<ControlPlane>,
    member: Member<Anybody>,
) -> Result<JsonAnswer<OrganisationBody>, Problem> {
    let organisation = found(&plane, &member).await?;
    Ok(JsonAnswer(OrganisationBody::from(organisation)))
}

/// Renames your organisation; for admins and owners.
#[utoipa::path(
    patch, path = "/v1/org", tag = "accounts", security(("session" = [])),
    request_body = OrganisationChange,
    responses(
        (status = 200, description = "The organisation after the change", body = OrganisationBody),
        Refusals,
    ),
)]
pub async fn rename(
    State(plane): State<ControlPlane>,
    member: Member<Admin>,
    Json(change): Json<OrganisationChange>,
) -> Result<JsonAnswer<OrganisationBody>, Problem> {
    let name = organisation_name::parse(&change.name, "/name")
        .map_err(|fault| Problem::invalid(vec![fault]))?;
    plane
        .store
        .rename_organisation(member.hand(plane.clock.now()), &name)
        .await?
        .map_err(|refused| refusal(refused, "organisation"))?;
    tell(&plane, member.org).await;
    let organisation = found(&plane, &member).await?;
    Ok(JsonAnswer(OrganisationBody::from(organisation)))
}

/// The organisation of who asks.
pub(super) async fn found<R: AtLeast>(
    plane: &ControlPlane,
    member: &Member<R>,
) -> Result<Organisation, Problem> {
    let organisation = plane.store.organisation(member.org).await?;
    organisation.ok_or_else(|| Problem::not_found("organisation"))
}
