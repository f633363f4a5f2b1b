//! Every route on one page.

use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    http::{HeaderMap, Method, StatusCode, Uri},
    middleware,
    routing::{delete, get, patch, post, put},
};
use domain::{
    error_code::ErrorCode,
    limit::Operation::{
        Confirm, Decide, Export, Ingest, KeyWrite, List, Login, PasswordReset, PolicyTry,
        PolicyWrite, Register, RulePreview, RuleTry, RuleWrite,
    },
};
use tower_http::{catch_panic::CatchPanicLayer, timeout::TimeoutLayer};

use crate::{
    about,
    accounts::{
        api_keys, invitations, login, members, organisation, password_reset, register, sessions,
    },
    alerts::{backtest::ask as backtest, preview, rules, suggest, trial, trigger, versions},
    approvals::{queue, resolve, show as decision, stream as approval_stream},
    console::Console,
    decisions::{authzen, decide, hook},
    deliveries::{
        asked::{cancel, recover::ask as recover, resend},
        endpoints::manage as endpoints,
        log::{balance, list as deliveries, rebuild, show},
        secrets::manage as secrets,
    },
    edge::{
        Problem,
        cross_site::{self, CrossSite},
        envelope::envelope,
        no_store::no_store,
        rate_limit,
    },
    events::{facets, ingest, list as events, stats, stream},
    exports::{ask, jobs, links},
    health::{self, Health},
    openapi, overview,
    planes::{ControlPlane, DataPlane},
    policies::{
        backtest as policy_backtest, diff, shadow, standing, templates, trial as policy_trial,
        validate, versions as policy_versions,
    },
    system::show as system,
};

/// How long the control plane may take. Its waits for the journal are bounded (8 s for a key, 8 s for
/// an announcement, 2 s for the trail), so what runs out here is a database that does not answer, as when its machine
/// hangs.
const CONTROL_TIMEOUT: Duration = Duration::from_secs(20);

/// What customers call. A route inside `per_key` is limited for each API key or person, one inside
/// `per_address` for each client address; docs/reference/limits.md lists them.
pub fn api(data: &DataPlane, control: &ControlPlane) -> anyhow::Result<Router> {
    let cross_site = CrossSite::new(&control.public_url)?;
    let public_url = Arc::clone(&control.public_url);
    let per_key = |operation, route| rate_limit::per_key(data, operation, route);
    let data = Router::new()
        .route("/v1/audit/events", per_key(Ingest, post(ingest::ingest)))
        .route(
            "/v1/runtime/decisions",
            per_key(Decide, post(decide::decide)),
        )
        .route(
            "/v1/hooks/claude-code/pre-tool-use",
            per_key(Decide, post(hook::before::before)).route_layer(
                middleware::from_fn_with_state(data.clone(), hook::on_error::answered),
            ),
        )
        .route(
            "/v1/hooks/claude-code/post-tool-use",
            per_key(Ingest, post(hook::after::after)),
        )
        .merge(authzen_doors(data))
        .with_state(data.clone());

    let per_key = |operation, route| rate_limit::per_key(control, operation, route);
    let control = Router::new()
        .route("/v1/audit/events", per_key(List, get(events::list)))
        .route("/v1/audit/events/{id}", get(events::show))
        .route(
            "/v1/audit/events/stream",
            per_key(List, get(stream::stream)),
        )
        .route("/v1/audit/stats", per_key(List, get(stats::stats)))
        .route("/v1/audit/facets", per_key(List, get(facets::facets)))
        .route("/v1/overview", per_key(List, get(overview::overview)))
        .route("/v1/audit/export", per_key(Export, post(ask::export)))
        .route("/v1/audit/exports", per_key(List, get(jobs::list)))
        .route(
            "/v1/audit/exports/{id}",
            per_key(List, get(jobs::show).delete(jobs::cancel)),
        )
        .route("/v1/audit/exports/{id}/files/{name}", get(links::download))
        .route(
            "/v1/alert-rules",
            per_key(RuleWrite, post(rules::create)).get(rules::list),
        )
        .route(
            "/v1/alert-rules/{id}",
            per_key(RuleWrite, put(rules::replace).patch(rules::update))
                .get(rules::show)
                .delete(rules::delete),
        )
        .route("/v1/alert-rules/test", per_key(RuleTry, post(trial::test)))
        .route(
            "/v1/alert-rules/preview",
            per_key(RulePreview, post(preview::preview)),
        )
        .route(
            "/v1/alert-rules/backtest",
            per_key(RuleTry, post(backtest::unsaved)),
        )
        .route(
            "/v1/alert-rules/{id}/backtest",
            per_key(RuleTry, post(backtest::saved)),
        )
        .route(
            "/v1/alert-rules/suggest",
            per_key(RuleTry, post(suggest::suggest)),
        )
        .route(
            "/v1/alert-rules/{id}/trigger",
            per_key(RuleTry, post(trigger::trigger)),
        )
        .route("/v1/alert-rules/{id}/versions", get(versions::list))
        .route(
            "/v1/alert-rules/{id}/versions/{version}",
            get(versions::show),
        )
        .route("/v1/deliveries", get(deliveries::list))
        .route("/v1/deliveries/{id}", get(show::show))
        .route("/v1/deliveries/{id}/resend", post(resend::resend))
        .route("/v1/deliveries/{id}/cancel", post(cancel::cancel))
        .route("/v1/alert-rules/{id}/recover", post(recover::recover))
        .route("/v1/alert-rules/{id}/balance", get(balance::balance))
        .route("/v1/recoveries", get(recover::list))
        .route("/v1/recoveries/{id}", get(recover::show))
        .route("/v1/recoveries/{id}/cancel", post(recover::cancel))
        .route("/v1/endpoints", get(endpoints::list))
        .route("/v1/endpoints/{id}", get(endpoints::show))
        .route("/v1/endpoints/{id}/pause", post(endpoints::pause))
        .route("/v1/endpoints/{id}/resume", post(endpoints::resume))
        .route(
            "/v1/deliveries/{id}/attempts/{attempt_id}/request",
            get(rebuild::rebuild),
        )
        .route(
            "/v1/signing-secrets",
            per_key(KeyWrite, post(secrets::stage)).get(secrets::list),
        )
        .route("/v1/signing-secrets/{id}", delete(secrets::drop))
        .route(
            "/v1/signing-secrets/{id}/promote",
            per_key(KeyWrite, post(secrets::promote)),
        )
        .route(
            "/v1/api-keys",
            per_key(KeyWrite, post(api_keys::create)).get(api_keys::list),
        )
        .route(
            "/v1/api-keys/{id}",
            get(api_keys::show).delete(api_keys::revoke),
        )
        .route(
            "/v1/api-keys/{id}/rotate",
            per_key(KeyWrite, post(api_keys::rotate)),
        )
        .merge(policies(control))
        .merge(approvals(control))
        .merge(accounts(control))
        .layer(middleware::from_fn_with_state(
            cross_site,
            cross_site::refuse,
        ))
        .layer(TimeoutLayer::with_status_code(
            StatusCode::SERVICE_UNAVAILABLE,
            CONTROL_TIMEOUT,
        ))
        .with_state(control.clone());
    let documents = Router::new()
        .route("/openapi.json", get(openapi::serve))
        .route(
            "/.well-known/authzen-configuration",
            get(authzen::metadata::show),
        )
        .with_state(public_url);
    let private = data
        .merge(control)
        .layer(middleware::map_response(no_store));
    Ok(private.merge(documents))
}

/// Decisions in the words of AuthZEN.
fn authzen_doors(data: &DataPlane) -> Router<DataPlane> {
    let per_key = |operation, route| rate_limit::per_key(data, operation, route);
    Router::new()
        .route(
            "/access/v1/evaluation",
            per_key(Decide, post(authzen::evaluate::evaluate)),
        )
        .route(
            "/access/v1/evaluations",
            per_key(Decide, post(authzen::batch::evaluate)),
        )
        .layer(middleware::from_fn(authzen::request_id::echo))
}

/// What agents may do, and which version of that is in force.
fn policies(control: &ControlPlane) -> Router<ControlPlane> {
    let per_key = |operation, route| rate_limit::per_key(control, operation, route);
    Router::new()
        .route(
            "/v1/policies",
            per_key(PolicyWrite, patch(standing::update)).get(standing::show),
        )
        .route(
            "/v1/policies/versions",
            per_key(PolicyWrite, post(policy_versions::create)).get(policy_versions::list),
        )
        .route(
            "/v1/policies/versions/{version}",
            get(policy_versions::show),
        )
        .route("/v1/policies/versions/{version}/diff", get(diff::diff))
        .route(
            "/v1/policies/versions/{version}/activate",
            per_key(PolicyWrite, post(standing::activate)),
        )
        .route(
            "/v1/policies/rollback",
            per_key(PolicyWrite, post(standing::roll_back)),
        )
        .route(
            "/v1/policies/versions/{version}/shadow",
            per_key(PolicyWrite, post(shadow::start)),
        )
        .route(
            "/v1/policies/shadow",
            per_key(PolicyTry, get(shadow::report)).delete(shadow::stop),
        )
        .route(
            "/v1/policies/versions/{version}/backtest",
            per_key(PolicyTry, post(policy_backtest::backtest)),
        )
        .route(
            "/v1/policies/validate",
            per_key(PolicyTry, post(validate::validate)),
        )
        .route(
            "/v1/policies/test",
            per_key(PolicyTry, post(policy_trial::test)),
        )
        .route("/v1/policies/templates", get(templates::list))
}

/// What became of decisions, and what waits for people.
fn approvals(control: &ControlPlane) -> Router<ControlPlane> {
    let per_key = |operation, route| rate_limit::per_key(control, operation, route);
    Router::new()
        .route("/v1/runtime/decisions/{id}", get(decision::show))
        .route(
            "/v1/runtime/decisions/{id}/stream",
            get(approval_stream::one),
        )
        .route("/v1/runtime/decisions/{id}/resolve", post(resolve::resolve))
        .route("/v1/runtime/approvals", per_key(List, get(queue::list)))
        .route(
            "/v1/runtime/approvals/stream",
            per_key(List, get(approval_stream::all)),
        )
        .route("/v1/runtime/approvals/{id}", get(decision::show_to_people))
}

/// How people come in, and how they manage who else does.
fn accounts(control: &ControlPlane) -> Router<ControlPlane> {
    let per_address = |operation, route| rate_limit::per_address(control, operation, route);
    Router::new()
        .route(
            "/v1/auth/register",
            per_address(Register, post(register::register)),
        )
        .route(
            "/v1/auth/verify-email",
            per_address(Confirm, post(register::verify_email)),
        )
        .route("/v1/auth/login", per_address(Login, post(login::login)))
        .route("/v1/auth/logout", post(login::logout))
        .route(
            "/v1/auth/password-reset",
            per_address(PasswordReset, post(password_reset::request)),
        )
        .route(
            "/v1/auth/password-reset/confirm",
            per_address(Confirm, post(password_reset::confirm)),
        )
        .route(
            "/v1/auth/accept-invitation",
            per_address(Confirm, post(invitations::accept)),
        )
        .route("/v1/auth/sessions", get(sessions::list))
        .route("/v1/auth/sessions/{id}", delete(sessions::end))
        .route("/v1/about", get(about::show))
        .route("/v1/system", get(system::show))
        .route("/v1/me", get(organisation::me))
        .route(
            "/v1/org",
            get(organisation::show).patch(organisation::rename),
        )
        .route("/v1/members", get(members::list))
        .route(
            "/v1/members/{id}",
            patch(members::change).delete(members::remove),
        )
        .route(
            "/v1/invitations",
            post(invitations::create).get(invitations::list),
        )
        .route("/v1/invitations/{id}", delete(invitations::revoke))
}

/// What every node answers, whatever its roles.
pub fn node(health: Health) -> Router {
    Router::new()
        .route("/healthz/live", get(health::live))
        .route("/healthz/ready", get(health::ready))
        .route("/metrics", get(health::metrics))
        .with_state(health)
}

/// What answers where no route does, and the layers around all of it, outermost last.
pub fn finished(app: Router, console: Option<Console>, request_timeout: Duration) -> Router {
    let otherwise = async move |method: Method, uri: Uri, headers: HeaderMap| {
        let console = console.as_ref();
        let answer = console.and_then(|console| console.answer(&method, &uri, &headers));
        answer.ok_or_else(|| Problem::new(ErrorCode::NotFound, "There is no such path."))
    };
    app.fallback(otherwise)
        .layer(TimeoutLayer::with_status_code(
            StatusCode::REQUEST_TIMEOUT,
            request_timeout,
        ))
        .layer(CatchPanicLayer::new())
        .layer(middleware::from_fn(envelope))
}
