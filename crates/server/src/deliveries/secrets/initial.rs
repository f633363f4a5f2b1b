//! `GET /v1/signing-secrets/initial`: the secret that an organization has from its first minute.

use axum::{Json, extract::State};
use domain::error_code::ErrorCode;
use secrecy::ExposeSecret as _;
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    edge::{
        Problem,
        caller::{Admin, Member},
    },
    planes::ControlPlane,
};

/// An organization's initial secret.
#[derive(Serialize, ToSchema)]
pub struct InitialSecret {
    /// The secret that receivers verify with until the organization promotes a secret that it staged.
    #[schema(example = "whsec_...")]
    secret: String,
}

/// Returns the initial signing secret.
///
/// Webhooks are signed with it until the organization promotes a secret that it staged. Unlike those, it can be shown
/// again.
#[utoipa::path(
    get, path = "/v1/signing-secrets/initial", tag = "signing secrets", security(("session" = [])),
    responses(
        (status = 200, description = "The secret", body = InitialSecret),
    ),
)]
pub async fn show(
    State(plane): State<ControlPlane>,
    member: Member<Admin>,
) -> Result<Json<InitialSecret>, Problem> {
    let initial = plane.deployment_keys.initial(member.org);
    let initial = initial.ok_or_else(|| {
        let detail = "Webhooks are not signed: the operator has to set `delivery.signing_secret`. A secret that you \
                      stage and promote signs them all the same.";
        Problem::new(ErrorCode::NotConfigured, detail)
    })?;
    Ok(Json(InitialSecret {
        secret: initial.expose_secret().to_owned(),
    }))
}
