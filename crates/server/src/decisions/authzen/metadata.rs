//! `GET /.well-known/authzen-configuration`: where an enforcement point finds what, from the address it knows.

use std::sync::Arc;

use axum::{
    Json,
    extract::State,
    http::header,
    response::{IntoResponse, Response},
};
use serde::Serialize;
use utoipa::ToSchema;

use crate::config::PublicUrl;

/// How long it may be kept: it changes when the deployment moves.
const KEPT: &str = "public, max-age=3600";

#[derive(Serialize, ToSchema)]
pub struct Configuration {
    /// `http.public_url` of the deployment.
    #[schema(example = "https://watchbell.example.com")]
    policy_decision_point: String,
    #[schema(example = "https://watchbell.example.com/access/v1/evaluation")]
    access_evaluation_endpoint: String,
    #[schema(example = "https://watchbell.example.com/access/v1/evaluations")]
    access_evaluations_endpoint: String,
}

/// Lists the AuthZEN endpoints. Search is not supported.
#[utoipa::path(
    get, path = "/.well-known/authzen-configuration", tag = "authzen",
    responses((status = 200, description = "The same for everyone", body = Configuration)),
)]
pub async fn show(State(public_url): State<Arc<PublicUrl>>) -> Response {
    let configuration = Configuration {
        policy_decision_point: public_url.to(""),
        access_evaluation_endpoint: public_url.to("/access/v1/evaluation"),
        access_evaluations_endpoint: public_url.to("/access/v1/evaluations"),
    };
    ([(header::CACHE_CONTROL, KEPT)], Json(configuration)).into_response()
}
