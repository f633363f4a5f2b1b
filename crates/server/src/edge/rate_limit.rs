//! Request limits, as a layer around a route: who is asking is told first, then the request is counted,
//! and the answer to one that was counted says what is left.

use std::sync::{Arc, OnceLock};

use axum::{
    extract::{Request, State},
    http::{HeaderMap, HeaderValue},
    middleware::{Next, from_fn_with_state},
    response::{IntoResponse as _, Response},
    routing::MethodRouter,
};
use domain::limit::{Operation, Quota, retry_after_s};
use limits::{Answer, Limits};

use super::{
    Problem,
    client_address::ClientAddress,
    identity::{Authority, identify},
};
use crate::config;

/// From the draft `draft-ietf-httpapi-ratelimit-headers`.
const POLICY: &str = "ratelimit-policy";
const STATE: &str = "ratelimit";

/// What each operation's limit is, and the count of what was used. Cheap to clone.
#[derive(Clone)]
pub struct Quotas {
    pub used: Limits,
    pub of: Arc<config::Limits>,
}

impl Quotas {
    /// Whether a client may present a key or session that is not known yet: not if it presented too
    /// many that nobody knows. Who has one that works is counted for nothing.
    pub fn may_guess(&self, client: &ClientAddress) -> Result<(), Problem> {
        let operation = Operation::KeyLookup;
        let quota = self.of.quota(operation);
        let answer = self.used.look(operation, quota, &client.to_string());
        if answer.remaining > 0 {
            return Ok(());
        }
        Err(refused(operation, quota, &answer))
    }

    /// Counts one more by `subject`, or says how long to wait. For what is counted only after the
    /// request was looked at; elsewhere a layer does it.
    pub async fn admit(&self, operation: Operation, subject: &str) -> Result<(), Problem> {
        let quota = self.of.quota(operation);
        let answer = self.used.check(operation, quota, subject).await;
        if answer.admitted {
            return Ok(());
        }
        Err(refused(operation, quota, &answer))
    }

    /// Counts a key or session that nobody knows.
    pub async fn note_guess(&self, client: &ClientAddress) {
        // Full or not: `may_guess` says so to the next one.
        let _ = self.admit(Operation::KeyLookup, &client.to_string()).await;
    }
}

/// What a counted request's answer says about its limit. The envelope makes one for each request and
/// writes it into whatever answer there is in the end, also one that a timeout or a panic made.
#[derive(Clone, Default)]
pub struct Told(Arc<OnceLock<[(&'static str, HeaderValue); 2]>>);

impl Told {
    pub(super) fn write(&self, headers: &mut HeaderMap) {
        for (name, value) in self.0.get().into_iter().flatten() {
            headers.insert(*name, value.clone());
        }
    }
}

/// What a layer needs to know of its route.
#[derive(Clone)]
struct Limited<A> {
    plane: A,
    operation: Operation,
}

/// Limits a route per API key, or per person where people may ask.
pub fn per_key<A, S>(plane: &A, operation: Operation, route: MethodRouter<S>) -> MethodRouter<S>
where
    A: Authority,
    S: Clone + Send + Sync + 'static,
{
    let limited = Limited::new(plane, operation);
    route.route_layer(from_fn_with_state(limited, count_by_identity::<A>))
}

/// Limits a route per client address.
pub fn per_address<A, S>(plane: &A, operation: Operation, route: MethodRouter<S>) -> MethodRouter<S>
where
    A: Authority,
    S: Clone + Send + Sync + 'static,
{
    let limited = Limited::new(plane, operation);
    route.route_layer(from_fn_with_state(limited, count_by_address::<A>))
}

async fn count_by_identity<A: Authority>(
    State(limited): State<Limited<A>>,
    request: Request,
    next: Next,
) -> Response {
    let (mut parts, body) = request.into_parts();
    let identity = match identify(&mut parts, &limited.plane).await {
        Ok(identity) => identity,
        Err(problem) => return problem.into_response(),
    };
    let request = Request::from_parts(parts, body);
    limited.count(&identity.counted_as(), request, next).await
}

async fn count_by_address<A: Authority>(
    State(limited): State<Limited<A>>,
    request: Request,
    next: Next,
) -> Response {
    let door = limited.plane.door();
    let client = door
        .proxies
        .client_of(request.extensions(), request.headers());
    limited.count(&client.to_string(), request, next).await
}

impl<A: Authority> Limited<A> {
    fn new(plane: &A, operation: Operation) -> Self {
        Self {
            plane: plane.clone(),
            operation,
        }
    }

    async fn count(&self, subject: &str, request: Request, next: Next) -> Response {
        let quotas = &self.plane.door().quotas;
        let quota = quotas.of.quota(self.operation);
        let answer = quotas.used.check(self.operation, quota, subject).await;
        if let Some(Told(told)) = request.extensions().get() {
            // A request is counted once.
            let _ = told.set(headers(self.operation, quota, &answer));
        }
        if answer.admitted {
            next.run(request).await
        } else {
            refused(self.operation, quota, &answer).into_response()
        }
    }
}

fn refused(operation: Operation, quota: Quota, answer: &Answer) -> Problem {
    Problem::rate_limited(operation, quota, retry_after_s(answer.frees_in))
}

/// `RateLimit-Policy: "ingest";q=600;w=60` and `RateLimit: "ingest";r=599;t=59`.
fn headers(
    operation: Operation,
    quota: Quota,
    answer: &Answer,
) -> [(&'static str, HeaderValue); 2] {
    let name = operation.as_str();
    let (count, window) = (quota.count, retry_after_s(quota.window));
    let (remaining, time) = (answer.remaining, retry_after_s(answer.frees_in));
    [
        (POLICY, format!("\"{name}\";q={count};w={window}")),
        (STATE, format!("\"{name}\";r={remaining};t={time}")),
    ]
    .map(|(header, text)| {
        let value = HeaderValue::try_from(text).expect("names and numbers are plain ASCII");
        (header, value)
    })
}
