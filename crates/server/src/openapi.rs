//! The OpenAPI document: generated from the handlers, committed, and checked in CI.

use axum::{http::header, response::IntoResponse};
use utoipa::{
    Modify, OpenApi,
    openapi::security::{Http, HttpAuthScheme, SecurityScheme},
};

use crate::{alerts::rules, deliveries::show, edge::problem::FaultBody, events, health};

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Watchbell",
        description = "The audit trail, the guard and the alarm bell for AI agents. Every error is \
                       `application/problem+json` with a stable `code`; every answer carries `X-Request-Id`.",
        license(name = "Apache-2.0", identifier = "Apache-2.0"),
    ),
    paths(
        events::ingest::ingest, events::list::list, events::list::show,
        rules::create, rules::list, rules::show,
        show::list, show::show,
        health::live, health::ready, health::metrics,
    ),
    components(schemas(FaultBody)),
    modifiers(&ApiKeySecurity),
)]
struct Document;

struct ApiKeySecurity;

impl Modify for ApiKeySecurity {
    fn modify(&self, openapi: &mut utoipa::openapi::OpenApi) {
        let components = openapi.components.get_or_insert_with(Default::default);
        let mut scheme = Http::new(HttpAuthScheme::Bearer);
        scheme.description = Some("An API key: `Authorization: Bearer wb_live_...`".to_owned());
        components.add_security_scheme("api_key", SecurityScheme::Http(scheme));
    }
}

/// The document as text.
pub fn document() -> String {
    let mut text = Document::openapi()
        .to_pretty_json()
        .expect("the document always encodes");
    text.push('\n');
    text
}

/// `GET /openapi.json`.
pub async fn serve() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], document())
}
