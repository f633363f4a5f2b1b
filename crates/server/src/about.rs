//! `GET /v1/about`: what a browser must know of this server before anybody logs in.

use axum::{Json, extract::State};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{config::Registration, planes::ControlPlane};

/// What this server is.
#[derive(Serialize, ToSchema)]
pub struct About {
    #[schema(example = "0.1.0")]
    version: &'static str,
    /// `http.public_url` of the deployment.
    #[schema(example = "https://watchbell.example.com")]
    public_url: String,
    /// Whether people get mail: without, registering makes the account at once and no password can be reset by
    /// oneself.
    sends_mail: bool,
    /// `open`: anybody may register an organisation. `closed`: people join by invitation (`accounts.registration`).
    registration: Registration,
    /// A receiver for trying out (`console.receiver_url`); `null` if there is none.
    #[schema(required)]
    receiver_url: Option<String>,
}

/// Says what this server is.
#[utoipa::path(
    get, path = "/v1/about", tag = "health",
    responses((status = 200, description = "The same for everybody", body = About)),
)]
pub async fn show(State(plane): State<ControlPlane>) -> Json<About> {
    Json(About {
        version: env!("CARGO_PKG_VERSION"),
        public_url: plane.public_url.to(""),
        sends_mail: plane.post.is_some(),
        registration: plane.registration,
        receiver_url: plane.receiver_url.clone(),
    })
}
