//! Every route on one page.

use axum::{
    Router,
    http::StatusCode,
    middleware,
    routing::{delete, get, patch, post, put},
};
use domain::limit::Operation::{
    Confirm, Decide, Evaluate, Export, HookDecide, HookIngest, Ingest, KeyWrite, List, Login,
    PasswordChange, PasswordReset, PolicyTry, PolicyWrite, Public, Read, Register, RulePreview,
    RuleTry, RuleWrite, Stats, Stream, Write,
};
use tower_http::timeout::TimeoutLayer;

use crate::{
    about,
    accounts::{
        Accounts, api_keys, deletion::request as deletion, invitations, log_access, login, members,
        organization, own_password, password_reset, register, sessions,
    },
    alerts::{
        backtest::request as backtest, preview, rules, suggest, test_rule, trigger, versions,
    },
    approvals::{queue, resolve, show as decision, stream as approval_stream},
    decisions::{authzen, decide, hook},
    deliveries::{
        endpoints::{manage as endpoints, verify},
        log::{balance, conditions, list as deliveries, rebuild, show},
        replay::{cancel, recover::request as recover, resend},
        secrets::{initial, manage as secrets},
    },
    edge::{
        compress::compressed,
        cross_site::{self, CrossSite},
        no_store::no_store,
        rate_limit,
    },
    erasures::request as erasures,
    events::{
        facets, ingest, list as events, stats,
        stream::{self, Live},
    },
    exports::{create, jobs, links},
    health::{self, Health},
    openapi, overview,
    planes::{ControlPlane, DataPlane},
    policies::{
        active_version, backtest as policy_backtest, diff, shadow, templates,
        test_question as policy_trial, validate, versions as policy_versions,
    },
    queries,
    system::show as system,
    transparency::{doors as log, public as public_log, witnesses::list as log_witnesses},
    views::manage as views,
};

/// What the handlers of each part of the product may touch.
pub struct Parts {
    pub data: DataPlane,
    pub control: ControlPlane,
    pub accounts: Accounts,
    pub live: Live,
}

/// What customers call. Every route is limited: inside `per_key` for each API key or person, inside
/// `per_address` for each client address; docs/reference/limits.md lists them. What the specification gives a limit
/// shares its window with nothing. What is not `compressed` goes out as it is: answers that hold a secret must
/// (docs/adr/0032-reads-of-the-trail-are-compressed.md).
pub fn api(parts: &Parts) -> anyhow::Result<Router> {
    let Parts {
        data,
        control,
        accounts: people,
        live,
    } = parts;
    let cross_site = CrossSite::new(&control.public_url)?;
    let public = |route| rate_limit::per_address(control, Public, route);
    let public_url = control.public_url.clone();
    let per_key = |operation, route| rate_limit::per_key(data, operation, route);
    let data = Router::new()
        .route("/v1/audit/events", per_key(Ingest, post(ingest::ingest)))
        .route(
            "/v1/runtime/decisions",
            per_key(Decide, post(decide::decide)),
        )
        .route(
            "/v1/hooks/claude-code/pre-tool-use",
            per_key(HookDecide, post(hook::before::before)).route_layer(
                middleware::from_fn_with_state(data.clone(), hook::on_error::answered),
            ),
        )
        .route(
            "/v1/hooks/claude-code/post-tool-use",
            per_key(HookIngest, post(hook::after::after)),
        )
        .route(
            "/v1/hooks/{dialect}/before",
            per_key(HookDecide, post(hook::by_dialect::before)),
        )
        .route(
            "/v1/hooks/{dialect}/after",
            per_key(HookIngest, post(hook::by_dialect::after)),
        )
        .merge(authzen_doors(data))
        .with_state(data.clone());

    let per_key = |operation, route| rate_limit::per_key(control, operation, route);
    let per_address = |operation, route| rate_limit::per_address(control, operation, route);
    let control = Router::new()
        .route(
            "/v1/audit/events",
            compressed(per_key(List, get(events::list))),
        )
        .route(
            "/v1/audit/events/{id}",
            compressed(per_key(Read, get(events::show))),
        )
        .route(
            "/v1/audit/events/{id}/proof",
            per_key(Read, get(log::event_proof)),
        )
        .route(
            "/v1/log",
            per_key(Read, get(log_access::show)).merge(per_key(Write, patch(log_access::update))),
        )
        .route("/v1/log/checkpoint", per_key(Read, get(log::checkpoint)))
        .route("/v1/log/keys", per_key(Read, get(log::keys)))
        .route("/v1/log/tile/{*path}", per_key(Read, get(log::tile)))
        .route("/v1/log/witnesses", per_key(Read, get(log_witnesses::list)))
        .route(
            "/v1/public-logs/{id}/checkpoint",
            per_address(Public, get(public_log::checkpoint)),
        )
        .route(
            "/v1/public-logs/{id}/keys",
            per_address(Public, get(public_log::keys)),
        )
        .route(
            "/v1/public-logs/{id}/tile/{*path}",
            per_address(Public, get(public_log::tile)),
        )
        .route(
            "/v1/deliveries/{id}/proof",
            per_key(Read, get(log::delivery_proof)),
        )
        .route(
            "/v1/audit/events/stream",
            rate_limit::per_key(live, Stream, get(stream::stream)).with_state(live.clone()),
        )
        .route(
            "/v1/audit/stats",
            compressed(per_key(Stats, get(stats::stats))),
        )
        .route(
            "/v1/audit/facets",
            compressed(per_key(Stats, get(facets::facets))),
        )
        .route("/v1/queries/check", per_key(Read, post(queries::check)))
        .route(
            "/v1/views",
            per_key(Write, post(views::create)).merge(per_key(Read, get(views::list))),
        )
        .route(
            "/v1/views/{id}",
            per_key(Write, patch(views::update).delete(views::delete)),
        )
        .route(
            "/v1/overview",
            compressed(per_key(Stats, get(overview::overview))),
        )
        .route("/v1/audit/export", per_key(Export, post(create::export)))
        .route("/v1/audit/exports", per_key(Read, get(jobs::list)))
        .route(
            "/v1/audit/exports/{id}",
            per_key(Read, get(jobs::show)).merge(per_key(Write, delete(jobs::cancel))),
        )
        .route(
            "/v1/audit/erasures",
            per_key(Write, post(erasures::create)).merge(per_key(Read, get(erasures::list))),
        )
        .route(
            "/v1/audit/erasures/{id}",
            per_key(Read, get(erasures::show)),
        )
        .route(
            "/v1/audit/exports/{id}/files/{name}",
            per_address(Public, get(links::download)),
        )
        .route(
            "/v1/alert-rules",
            per_key(RuleWrite, post(rules::create)).merge(per_key(Read, get(rules::list))),
        )
        .route(
            "/v1/alert-rules/{id}",
            per_key(RuleWrite, put(rules::replace).patch(rules::update))
                .merge(per_key(Write, delete(rules::delete)))
                .merge(per_key(Read, get(rules::show))),
        )
        .route(
            "/v1/alert-rules/test",
            per_key(RuleTry, post(test_rule::test)),
        )
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
        .route(
            "/v1/alert-rules/{id}/versions",
            per_key(Read, get(versions::list)),
        )
        .route(
            "/v1/alert-rules/{id}/versions/{version}",
            per_key(Read, get(versions::show)),
        )
        .route("/v1/deliveries", per_key(Read, get(deliveries::list)))
        .route("/v1/deliveries/{id}", per_key(Read, get(show::show)))
        .route(
            "/v1/deliveries/{id}/conditions",
            per_key(Read, get(conditions::show)),
        )
        .route(
            "/v1/deliveries/{id}/resend",
            per_key(Write, post(resend::resend)),
        )
        .route(
            "/v1/deliveries/{id}/cancel",
            per_key(Write, post(cancel::cancel)),
        )
        .route(
            "/v1/alert-rules/{id}/recover",
            per_key(Write, post(recover::recover)),
        )
        .route(
            "/v1/alert-rules/{id}/balance",
            per_key(Read, get(balance::balance)),
        )
        .route("/v1/recoveries", per_key(Read, get(recover::list)))
        .route("/v1/recoveries/{id}", per_key(Read, get(recover::show)))
        .route(
            "/v1/recoveries/{id}/cancel",
            per_key(Write, post(recover::cancel)),
        )
        .route("/v1/endpoints", per_key(Read, get(endpoints::list)))
        .route("/v1/endpoints/{id}", per_key(Read, get(endpoints::show)))
        .route(
            "/v1/endpoints/{id}/pause",
            per_key(Write, post(endpoints::pause)),
        )
        .route(
            "/v1/endpoints/{id}/resume",
            per_key(Write, post(endpoints::resume)),
        )
        .route(
            "/v1/endpoints/{id}/verify",
            per_key(RuleTry, post(verify::verify)),
        )
        .route(
            "/v1/deliveries/{id}/attempts/{attempt_id}/request",
            per_key(Read, get(rebuild::rebuild)),
        )
        .route(
            "/v1/signing-secrets",
            per_key(KeyWrite, post(secrets::stage)).merge(per_key(Read, get(secrets::list))),
        )
        .route(
            "/v1/signing-secrets/initial",
            per_key(Read, get(initial::show)),
        )
        .route(
            "/v1/signing-secrets/{id}",
            per_key(Write, delete(secrets::drop)),
        )
        .route(
            "/v1/signing-secrets/{id}/promote",
            per_key(KeyWrite, post(secrets::promote)),
        )
        .route(
            "/v1/api-keys",
            per_key(KeyWrite, post(api_keys::create)).merge(per_key(Read, get(api_keys::list))),
        )
        .route(
            "/v1/api-keys/{id}",
            per_key(Read, get(api_keys::show)).merge(per_key(Write, delete(api_keys::revoke))),
        )
        .route(
            "/v1/api-keys/{id}/rotate",
            per_key(KeyWrite, post(api_keys::rotate)),
        )
        .merge(policies(control))
        .merge(approvals(control))
        .merge(accounts(people).with_state(people.clone()))
        .layer(middleware::from_fn_with_state(
            cross_site,
            cross_site::refuse,
        ))
        .layer(TimeoutLayer::with_status_code(
            StatusCode::SERVICE_UNAVAILABLE,
            ControlPlane::TIMEOUT,
        ))
        .with_state(control.clone());
    let documents = Router::new()
        .route("/openapi.json", compressed(public(get(openapi::serve))))
        .route(
            "/.well-known/authzen-configuration",
            public(get(authzen::metadata::show)),
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
            per_key(Evaluate, post(authzen::evaluate::evaluate)),
        )
        .route(
            "/access/v1/evaluations",
            per_key(Evaluate, post(authzen::batch::evaluate)),
        )
        .layer(middleware::from_fn(authzen::request_id::echo))
}

/// What agents may do, and which version of that is in force.
fn policies(control: &ControlPlane) -> Router<ControlPlane> {
    let per_key = |operation, route| rate_limit::per_key(control, operation, route);
    Router::new()
        .route(
            "/v1/policies",
            per_key(PolicyWrite, patch(active_version::update))
                .merge(per_key(Read, get(active_version::show))),
        )
        .route(
            "/v1/policies/versions",
            per_key(PolicyWrite, post(policy_versions::create))
                .merge(per_key(Read, get(policy_versions::list))),
        )
        .route(
            "/v1/policies/versions/{version}",
            per_key(Read, get(policy_versions::show)),
        )
        .route(
            "/v1/policies/versions/{version}/diff",
            per_key(PolicyTry, get(diff::diff)),
        )
        .route(
            "/v1/policies/versions/{version}/activate",
            per_key(PolicyWrite, post(active_version::activate)),
        )
        .route(
            "/v1/policies/rollback",
            per_key(PolicyWrite, post(active_version::roll_back)),
        )
        .route(
            "/v1/policies/versions/{version}/shadow",
            per_key(PolicyWrite, post(shadow::start)),
        )
        .route(
            "/v1/policies/shadow",
            per_key(PolicyTry, get(shadow::report)).merge(per_key(Write, delete(shadow::stop))),
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
        .route(
            "/v1/policies/templates",
            compressed(per_key(Read, get(templates::list))),
        )
}

/// What became of decisions, and what waits for people.
fn approvals(control: &ControlPlane) -> Router<ControlPlane> {
    let per_key = |operation, route| rate_limit::per_key(control, operation, route);
    Router::new()
        .route(
            "/v1/runtime/decisions/{id}",
            per_key(Read, get(decision::show)),
        )
        .route(
            "/v1/runtime/decisions/{id}/stream",
            per_key(Read, get(approval_stream::one)),
        )
        .route(
            "/v1/runtime/decisions/{id}/resolve",
            per_key(Write, post(resolve::resolve)),
        )
        .route("/v1/runtime/approvals", per_key(Read, get(queue::list)))
        .route(
            "/v1/runtime/approvals/stream",
            per_key(Stream, get(approval_stream::all)),
        )
        .route(
            "/v1/runtime/approvals/{id}",
            per_key(Read, get(decision::show_to_people)),
        )
}

/// How people come in, and how they manage who else does.
fn accounts(accounts: &Accounts) -> Router<Accounts> {
    let per_address = |operation, route| rate_limit::per_address(accounts, operation, route);
    let per_key = |operation, route| rate_limit::per_key(accounts, operation, route);
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
        .route("/v1/auth/logout", per_address(Public, post(login::logout)))
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
        .route("/v1/auth/sessions", per_key(Read, get(sessions::list)))
        .route(
            "/v1/auth/sessions/{id}",
            per_key(Write, delete(sessions::end)),
        )
        .route("/v1/about", per_address(Public, get(about::show)))
        .route("/v1/system", per_key(Read, get(system::show)))
        .route("/v1/me", per_key(Read, get(organization::me)))
        .route(
            "/v1/me/password",
            per_key(PasswordChange, post(own_password::change)),
        )
        .route(
            "/v1/org",
            per_key(Read, get(organization::show))
                .merge(per_key(Write, patch(organization::rename))),
        )
        .route(
            "/v1/org/deletion",
            per_key(PasswordChange, post(deletion::schedule))
                .merge(per_key(Write, delete(deletion::cancel))),
        )
        .route("/v1/members", per_key(Read, get(members::list)))
        .route(
            "/v1/members/{id}",
            per_key(Write, patch(members::change).delete(members::remove)),
        )
        .route(
            "/v1/invitations",
            per_key(Write, post(invitations::create)).merge(per_key(Read, get(invitations::list))),
        )
        .route(
            "/v1/invitations/{id}",
            per_key(Write, delete(invitations::revoke)),
        )
}

/// What every node answers, whatever its roles.
pub fn node(health: Health) -> Router {
    Router::new()
        .route("/healthz/live", get(health::live))
        .route("/healthz/ready", get(health::ready))
        .route("/metrics", get(health::metrics))
        .with_state(health)
}
