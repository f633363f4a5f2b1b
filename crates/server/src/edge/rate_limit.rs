//! The limits of spec section 8, as a layer around a route: who is asking is told first, then the
//! request is counted, and every answer says what is left.

use std::sync::Arc;

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
    /// Whether a key that this node does not know may be looked up for this client.
    pub async fn admit_look_up(&self, client: &ClientAddress) -> Result<(), Problem> {
        self.admit(Operation::KeyLookup, &client.to_string()).await
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
    let limited = Limited {
        plane: plane.clone(),
        operation,
    };
    route.route_layer(from_fn_with_state(limited, count_by_identity::<A>))
}

/// Limits a route per client address.
pub fn per_address<A, S>(plane: &A, operation: Operation, route: MethodRouter<S>) -> MethodRouter<S>
where
    A: Authority,
    S: Clone + Send + Sync + 'static,
{
    let limited = Limited {
        plane: plane.clone(),
        operation,
    };
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
    async fn count(&self, subject: &str, request: Request, next: Next) -> Response {
        let quotas = &self.plane.door().quotas;
        let quota = quotas.of.quota(self.operation);
        let answer = quotas.used.check(self.operation, quota, subject).await;
        let mut response = if answer.admitted {
            next.run(request).await
        } else {
            refused(self.operation, quota, &answer).into_response()
        };
        tell(self.operation, quota, &answer, response.headers_mut());
        response
    }
}

fn refused(operation: Operation, quota: Quota, answer: &Answer) -> Problem {
    Problem::rate_limited(operation, quota, retry_after_s(answer.frees_in))
}

/// `RateLimit-Policy: "ingest";q=600;w=60` and `RateLimit: "ingest";r=599;t=59`.
fn tell(operation: Operation, quota: Quota, answer: &Answer, headers: &mut HeaderMap) {
    let name = operation.as_str();
    let policy = format!(
        "\"{name}\";q={};w={}",
        quota.count,
        retry_after_s(quota.window)
    );
    let state = format!(
        "\"{name}\";r={};t={}",
        answer.remaining,
        retry_after_s(answer.frees_in)
    );
    for (header, text) in [(POLICY, policy), (STATE, state)] {
        let value = HeaderValue::try_from(text).expect("names and numbers are plain ASCII");
        headers.insert(header, value);
    }
}
