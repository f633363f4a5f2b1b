//! The OpenAPI document: generated from the handlers, committed, and checked in CI.

use axum::{http::header, response::IntoResponse};
use serde::Serialize;
use serde_json::Value;
use utoipa::{
    Modify, OpenApi, ToSchema,
    openapi::{
        PathsBuilder,
        security::{ApiKey, ApiKeyValue, Http, HttpAuthScheme, SecurityScheme},
    },
};

use crate::{
    about,
    accounts::{
        api_keys, deletion::request as deletion, invitations, login, members, organization,
        own_password, password_reset, register, sessions,
    },
    alerts::{backtest, preview, rules, suggest, test_rule, trigger, versions},
    approvals,
    decisions::{authzen, decide, hook},
    deliveries::{
        endpoints::{manage as endpoints, verify},
        log::{balance, list as deliveries, rebuild, show},
        replay::{cancel, recover::request as recover, resend},
        secrets::{initial, manage as secrets},
    },
    edge::problem::{FaultBody, ProblemBody},
    events, exports, health, overview, policies, system,
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
        events::facets::facets, overview::overview,
        exports::create::export, exports::jobs::list, exports::jobs::show, exports::jobs::cancel, exports::links::download,
        decide::decide,
        approvals::show::show, approvals::show::show_to_people, approvals::queue::list, approvals::resolve::resolve,
        approvals::stream::all, approvals::stream::one,
        authzen::evaluate::evaluate, authzen::batch::evaluate, authzen::metadata::show,
        hook::before::before, hook::after::after,
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
        deliveries::list, show::show, resend::resend, cancel::cancel, balance::balance,
        recover::recover, recover::list, recover::show, recover::cancel,
        endpoints::list, endpoints::show, endpoints::pause, endpoints::resume, verify::verify,
        rebuild::rebuild,
        secrets::stage, secrets::list, secrets::promote, secrets::drop, initial::show,
        policies::active_version::show, policies::active_version::update, policies::active_version::activate,
        policies::active_version::roll_back, policies::versions::create, policies::versions::list,
        policies::versions::show, policies::diff::diff, policies::shadow::start, policies::shadow::stop,
        policies::shadow::report, policies::backtest::backtest, policies::validate::validate,
        policies::test_question::test, policies::templates::list,
        about::show, system::show::show, health::live, health::ready, health::metrics,
        serve,
        alert, challenge,
    ),
    components(schemas(FaultBody, ProblemBody, backtest::progress::ProgressLine, backtest::progress::BacktestDay)),
    modifiers(&Credentials, &Webhooks, &OperationIds),
)]
struct Document;

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

/// The body sent to a rule's endpoint (spec 2.1).
#[derive(Serialize, ToSchema)]
struct Webhook {
    #[schema(example = "rul_01jcq3k5m8e9ratvw2x4y6z8ab")]
    rule_id: String,
    rule_name: String,
    /// The event as recorded: the one that matched; for a summary, the last one suppressed; for a test, the one
    /// requested, which may not be recorded.
    #[schema(value_type = events::schema::Event)]
    event: Value,
    /// When the body was signed; equals `X-Service-Timestamp`.
    #[schema(format = DateTime)]
    timestamp: String,
}

/// An alert: an event matched a rule, a rule's alerts were suppressed, or someone is testing the rule's endpoint.
///
/// Answer 2xx quickly and do the work afterwards; any other status except 413 is retried. The same delivery may arrive
/// twice: recognize it by `X-Service-Delivery-Id`.
#[utoipa::path(
    post, path = "alert", tag = "webhooks", request_body = Webhook,
    params(
        ("X-Service-Event" = String, Header, description = "The event's `event_type`"),
        ("X-Service-Timestamp" = String, Header, description = "When the body was signed"),
        ("X-Service-Signature" = Option<String>, Header, description = "`sha256=` followed by the hex HMAC-SHA-256 of the timestamp, a dot and the raw body; absent if there is no signing secret"),
        ("X-Service-Signature-Previous" = Option<String>, Header, description = "The same, made with the previous secret, while it still signs alongside the current one"),
        ("X-Service-Signature-Next" = Option<String>, Header, description = "The same, made with the staged secret"),
        ("X-Service-Delivery-Id" = String, Header, description = "The same for every attempt"),
        ("X-Service-Attempt" = u32, Header, description = "The number of this attempt, starting at \
                                                           1"),
        ("X-Service-Trigger" = String, Header, description = "On the first attempt, why the delivery exists: `match`, `summary` or `test`. On later attempts, `retry`, or `resend` or `recover` if someone asked for it to be sent again"),
        ("X-Service-Suppressed" = Option<u32>, Header, description = "For a summary, on every attempt: how many alerts were suppressed"),
    ),
    responses((status = "2XX", description = "Received; it is not sent again")),
)]
#[expect(
    dead_code,
    reason = "carries the documentation of what we send; nobody calls it here"
)]
fn alert() {}

/// The challenge an endpoint must answer before anything else is sent to it.
#[derive(Serialize, ToSchema)]
struct Challenge {
    /// `endpoint.verification`
    #[serde(rename = "type")]
    kind: String,
    /// When the body was signed; equals `X-Service-Timestamp`.
    #[schema(format = DateTime)]
    timestamp: String,
    data: ChallengeData,
}

#[derive(Serialize, ToSchema)]
struct ChallengeData {
    /// Random, and different each time.
    challenge: String,
}

/// The endpoint's answer to the challenge.
#[derive(Serialize, ToSchema)]
struct ChallengeAnswer {
    /// The value that was sent.
    challenge: String,
}

/// A challenge: the operator of this server requires proof of who owns an endpoint (`delivery.endpoint_ownership`).
///
/// Verify the signature as for an alert, then answer 200 with the value. Nothing else is sent until then; alerts that
/// match in the meantime wait.
#[utoipa::path(
    post, path = "challenge", tag = "webhooks", request_body = Challenge,
    params(
        ("X-Service-Event" = String, Header, description = "`endpoint.verification`"),
        ("X-Service-Timestamp" = String, Header, description = "When the body was signed"),
        ("X-Service-Signature" = Option<String>, Header, description = "As for an alert"),
        ("X-Service-Delivery-Id" = String, Header, description = "Different for each challenge"),
        ("X-Service-Attempt" = u32, Header, description = "The number of this challenge, starting \
                                                           at 1"),
        ("X-Service-Trigger" = String, Header, description = "`verification`"),
    ),
    responses((status = "2XX", description = "The endpoint is verified if the value matches the challenge", body = ChallengeAnswer)),
)]
#[expect(
    dead_code,
    reason = "carries the documentation of what we send; nobody calls it here"
)]
fn challenge() {}

/// Moves what we send from the paths, where the macro puts it, to the webhooks.
struct Webhooks;

impl Modify for Webhooks {
    fn modify(&self, openapi: &mut utoipa::openapi::OpenApi) {
        let mut webhooks = PathsBuilder::new();
        for name in ["alert", "challenge"] {
            if let Some(sent) = openapi.paths.paths.remove(name) {
                webhooks = webhooks.path(name, sent);
            }
        }
        openapi.webhooks = Some(webhooks.build());
    }
}

/// Names operations by what they do: `list_audit_events`, `get_alert_rule`, `alert_rule_backtest`. The macro names them by
/// their functions, several of which are called `show` or `list`; generators of clients take those for the same operation.
struct OperationIds;

impl Modify for OperationIds {
    fn modify(&self, openapi: &mut utoipa::openapi::OpenApi) {
        let paths: Vec<String> = openapi.paths.paths.keys().cloned().collect();
        for (path, item) in &mut openapi.paths.paths {
            let of_one = format!("{path}/{{");
            let has_many = paths.iter().any(|other| other.starts_with(&of_one));
            let operations = [
                (if has_many { "list" } else { "get" }, &mut item.get),
                (if has_many { "create" } else { "" }, &mut item.post),
                ("replace", &mut item.put),
                ("update", &mut item.patch),
                ("delete", &mut item.delete),
            ];
            for (verb, operation) in operations {
                if let Some(operation) = operation {
                    operation.operation_id = Some(operation_id(verb, path));
                }
            }
        }
    }
}

/// The verb and the words of the path, each in the singular if one of its kind is meant. What is not to list, get, make
/// or change something has its verb at the end of the path.
fn operation_id(verb: &str, path: &str) -> String {
    let segments: Vec<&str> = path
        .split('/')
        .filter(|one| !matches!(*one, "" | "v1"))
        .collect();
    let mut words = Vec::from_iter((!verb.is_empty()).then(|| verb.to_owned()));
    for (index, segment) in segments.iter().enumerate() {
        let next = segments.get(index + 1);
        let is_one = next.map_or(verb == "create", |next| next.starts_with('{'));
        match segment {
            parameter if parameter.starts_with('{') => {}
            many if is_one => words.push(singular(many)),
            other => words.push((*other).to_owned()),
        }
    }
    let id = words
        .join("_")
        .replace(|letter: char| !letter.is_ascii_alphanumeric(), "_");
    id.replace("__", "_")
}

fn singular(word: &str) -> String {
    match (word.strip_suffix("ies"), word.strip_suffix('s')) {
        (Some(stem), _) => format!("{stem}y"),
        (None, Some(stem)) => stem.to_owned(),
        (None, None) => word.to_owned(),
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
