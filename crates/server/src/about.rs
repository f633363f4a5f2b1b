//! `GET /v1/about`: what a browser must know of this server before anybody logs in.

use axum::{Json, extract::State};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{config::Registration, planes::ControlPlane};

/// A description of this server.
#[derive(Serialize, ToSchema)]
pub struct About {
    #[schema(example = "0.1.0")]
    version: &'static str,
    /// `http.public_url` of the deployment.
    #[schema(example = "https://watchbell.example.com")]
    public_url: String,
    /// Whether this server sends email. If not, registering creates the account immediately, and people cannot reset
    /// their own passwords.
    sends_mail: bool,
    /// `open`: anyone may register an organization. `closed`: people join by invitation (`accounts.registration`).
    registration: Registration,
    /// A receiver for trying things out (`console.receiver_url`); `null` if there is none.
    #[schema(required)]
    receiver_url: Option<String>,
}

/// Describes this server.
#[utoipa::path(
    get, path = "/v1/about", tag = "health",
    responses((status = 200, description = "The same for everyone", body = About)),
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
