//! Refuses what a browser sends on behalf of another site's page.
//!
//! A browser adds the session cookie by itself, so a request that changes something must also show
//! that one of our own pages sent it: by `Sec-Fetch-Site` or `Origin`, which pages cannot forge.
//! Programs send neither and pass. An API key is never added by a browser itself, so a request with
//! `Authorization` passes, and the session cookie does not count beside it: whoever reads the cookie
//! must see to that (`identify` does, and logging out).

use std::convert::Infallible;

use axum::{
    extract::{Request, State},
    http::header,
    middleware::Next,
    response::{IntoResponse as _, Response},
};
use domain::error_code::ErrorCode;
use tower::{Layer as _, ServiceExt as _};
use tower_http::csrf::{CsrfLayer, ProtectionError};

use super::Problem;
use crate::config::PublicUrl;

/// Tells our own pages from others. Cheap to clone.
#[derive(Clone)]
pub struct CrossSite(CsrfLayer<fn(ProtectionError) -> Response>);

impl CrossSite {
    /// A proxy may change `Host`, so the address that people use is trusted by name.
    pub fn new(public_url: &PublicUrl) -> anyhow::Result<Self> {
        let layer = CsrfLayer::new().add_trusted_origin(public_url.origin())?;
        Ok(Self(layer.with_rejection_response(refusal)))
    }
}

fn refusal(_: ProtectionError) -> Response {
    Problem::new(ErrorCode::CrossSite, ErrorCode::CrossSite.summary()).into_response()
}

pub async fn refuse(State(guard): State<CrossSite>, request: Request, next: Next) -> Response {
    if request.headers().contains_key(header::AUTHORIZATION) {
        return next.run(request).await;
    }
    let answered: Result<Response, Infallible> = guard.0.layer(next).oneshot(request).await;
    let Ok(response) = answered;
    response
}
