//! The document itself: every operation on one page.

use axum::{http::header, response::IntoResponse};
use serde_json::Value;
use utoipa::{
    Modify, OpenApi,
    openapi::security::{ApiKey, ApiKeyValue, Http, HttpAuthScheme, SecurityScheme},
};

use super::{errors::ErrorResponses, operation_ids::OperationIds, webhooks, webhooks::Webhooks};

use crate::{
    about,
    accounts::{
        api_keys, deletion::request as deletion, invitations, log_access, login, members,
        organization, own_password, password_reset, register, sessions,
    },
    alerts::{backtest, preview, rules, suggest, test_rule, trigger, versions},
    approvals,
    decisions::{authzen, decide, hook},
    deliveries::{
        endpoints::{manage as endpoints, verify},
        log::{balance, conditions, list as deliveries, rebuild, show},
        replay::{cancel, recover::request as recover, resend},
        secrets::{initial, manage as secrets},
    },
    edge::{
        enums,
        problem::{FaultBody, ProblemBody},
    },
    erasures::request as erasures,
    events, exports, health, overview, policies, queries, system,
    transparency::{doors as log, public as public_log, witnesses::list as log_witnesses},
    views::manage as views,
};

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Watchbell",
        description = "The audit trail, the guard and the alarm bell for AI agents. Every operation reports errors as \
                       `application/problem+json` with a stable `code`, and every response carries `X-Request-Id`. \
                       Requests that are not valid HTTP, or whose headers are too large, are refused with neither.",
        license(name = "Apache-2.0", identifier = "Apache-2.0"),
    ),
    paths(
        events::ingest::ingest, events::list::list, events::list::show, events::stream::stream, events::stats::stats,
        events::facets::facets, queries::check, overview::overview,
        exports::create::export, exports::jobs::list, exports::jobs::show, exports::jobs::cancel, exports::links::download,
        erasures::create, erasures::list, erasures::show,
        decide::decide,
        approvals::show::show, approvals::show::show_to_people, approvals::queue::list, approvals::resolve::resolve,
        approvals::stream::all, approvals::stream::one,
        authzen::evaluate::evaluate, authzen::batch::evaluate, authzen::metadata::show,
        hook::before::before, hook::after::after,
        hook::by_dialect::before, hook::by_dialect::after,
        rules::create, rules::list, rules::show, rules::replace, rules::update, rules::delete,
        test_rule::test, preview::preview, backtest::request::saved, backtest::request::unsaved, trigger::trigger, suggest::suggest,
        versions::list, versions::show,
        register::register, register::verify_email, login::login, login::logout,
        password_reset::request, password_reset::confirm, sessions::list, sessions::end,
        organization::me, organization::show, organization::rename, own_password::change,
        deletion::schedule, deletion::cancel,
        members::list, members::change, members::remove,
        invitations::create, invitations::list, invitations::revoke, invitations::accept,
        api_keys::create, api_keys::list, api_keys::show, api_keys::rotate, api_keys::revoke,
        deliveries::list, show::show, conditions::show, resend::resend, cancel::cancel, balance::balance,
        recover::recover, recover::list, recover::show, recover::cancel,
        endpoints::list, endpoints::show, endpoints::pause, endpoints::resume, verify::verify,
        rebuild::rebuild,
        secrets::stage, secrets::list, secrets::promote, secrets::drop, initial::show,
        policies::active_version::show, policies::active_version::update, policies::active_version::activate,
        policies::active_version::roll_back, policies::versions::create, policies::versions::list,
        policies::versions::show, policies::diff::diff, policies::shadow::start, policies::shadow::stop,
        policies::shadow::report, policies::backtest::backtest, policies::validate::validate,
        policies::test_question::test, policies::templates::list,
        views::list, views::create, views::update, views::delete,
        log::checkpoint, log::tile, log::keys, log_witnesses::list, log::event_proof,
        log::delivery_proof, log_access::show, log_access::update, public_log::checkpoint, public_log::tile,
        public_log::keys,
        about::show, system::show::show, health::live, health::ready, health::metrics,
        serve,
        webhooks::alert, webhooks::challenge,
    ),
    components(schemas(
        FaultBody, ProblemBody, backtest::progress::ProgressLine, backtest::progress::BacktestDay,
        enums::BodyEncoding, enums::ChallengeTrigger, enums::DeliveryTrigger,
    )),
    modifiers(&Credentials, &Webhooks, &OperationIds, &ErrorResponses),
)]
pub(super) struct Document;

struct Credentials;

impl Modify for Credentials {
    fn modify(&self, openapi: &mut utoipa::openapi::OpenApi) {
        let components = openapi.components.get_or_insert_with(Default::default);
        let mut scheme = Http::new(HttpAuthScheme::Bearer);
        scheme.description = Some("An API key: `Authorization: Bearer wb_live_...`".to_owned());
        components.add_security_scheme("api_key", SecurityScheme::Http(scheme));
        let cookie = ApiKeyValue::with_description(
            "watchbell_session",
            "A person's session, from `POST /v1/auth/login`; named `__Host-watchbell_session` where people connect \
             over HTTPS",
        );
        let scheme = SecurityScheme::ApiKey(ApiKey::Cookie(cookie));
        components.add_security_scheme("session", scheme);
    }
}

/// The document as text.
pub fn document() -> String {
    let mut document = serde_json::to_value(Document::openapi()).expect("it always encodes");
    open_objects(&mut document);
    let mut text = serde_json::to_string_pretty(&document).expect("it always encodes");
    text.push('\n');
    text
}

/// Says of every object whose members are not listed that it may have any. It may without being told, but generators
/// of clients take it for one that has none.
fn open_objects(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            let is_object = match members.get("type") {
                Some(Value::String(name)) => name == "object",
                Some(Value::Array(names)) => names.iter().any(|name| name == "object"),
                _ => false,
            };
            let is_listed = ["properties", "additionalProperties", "allOf", "oneOf"]
                .iter()
                .any(|member| members.contains_key(*member));
            if is_object && !is_listed {
                members.insert("additionalProperties".to_owned(), Value::Bool(true));
            }
            members.values_mut().for_each(open_objects);
        }
        Value::Array(items) => items.iter_mut().for_each(open_objects),
        _ => {}
    }
}

/// This document.
#[utoipa::path(
    get, path = "/openapi.json", tag = "health",
    responses((status = 200, description = "This document", body = Object)),
)]
pub async fn serve() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], document())
}
