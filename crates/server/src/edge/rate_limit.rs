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
use domain::limit::{Operation, retry_after_s};
use limits::Admission;

use super::{
    identity::{Authority, identify},
    quotas::refused,
};

/// From the draft `draft-ietf-httpapi-ratelimit-headers`.
const POLICY: &str = "ratelimit-policy";
const STATE: &str = "ratelimit";
const PLAIN: &str = "names and numbers are plain ASCII";

/// What a counted request's answer says about its limit. The envelope makes one for each request and
/// writes it into whatever answer there is in the end, also one that a timeout or a panic made.
#[derive(Clone, Default)]
pub struct RateLimitHeaders(Arc<OnceLock<[(&'static str, HeaderValue); 2]>>);

impl RateLimitHeaders {
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
    /// The header that is the same in every answer.
    policy: HeaderValue,
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
        let quota = plane.door().quotas.of.quota(operation);
        let (count, window) = (quota.count, retry_after_s(quota.window));
        let policy = format!("\"{}\";q={count};w={window}", operation.as_str());
        Self {
            plane: plane.clone(),
            operation,
            policy: HeaderValue::try_from(policy).expect(PLAIN),
        }
    }

    /// `RateLimit-Policy: "ingest";q=600;w=60` and `RateLimit: "ingest";r=599;t=59`.
    fn headers(&self, answer: &Admission) -> [(&'static str, HeaderValue); 2] {
        let name = self.operation.as_str();
        let (remaining, time) = (answer.remaining, retry_after_s(answer.frees_in));
        let state = HeaderValue::try_from(format!("\"{name}\";r={remaining};t={time}"));
        [(POLICY, self.policy.clone()), (STATE, state.expect(PLAIN))]
    }

    async fn count(&self, subject: &str, request: Request, next: Next) -> Response {
        let quotas = &self.plane.door().quotas;
        let quota = quotas.of.quota(self.operation);
        let answer = quotas.used.check(self.operation, quota, subject).await;
        if let Some(RateLimitHeaders(told)) = request.extensions().get() {
            // A request is counted once.
            let _ = told.set(self.headers(&answer));
        }
        if answer.admitted {
            next.run(request).await
        } else {
            refused(self.operation, quota, &answer).into_response()
        }
    }
}
