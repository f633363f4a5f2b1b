//! The outermost layer: every request gets an id, every error a problem body or a page, every answer a count.

use std::{sync::Arc, time::Instant};

use axum::{
    body::{Body, to_bytes},
    extract::{MatchedPath, Request, State},
    http::{HeaderMap, HeaderValue, Method, header},
    middleware::Next,
    response::Response,
};
use runtime::random;
use tracing::Instrument as _;
use uuid::Uuid;

use super::{Problem, html, rate_limit::RateLimitHeaders};
use crate::telemetry::{
    answered::Answered,
    in_request::{Facts, about, name_of},
};

pub const REQUEST_ID: &str = "x-request-id";
/// A client's own id is kept if it is no longer than this and plain.
const REQUEST_ID_MAX: usize = 64;
/// What is kept of the text with which the web framework refused a request.
const REFUSAL_BYTES_MAX: usize = 4 * 1024;

/// What all answers of a listener have in common. Cheap to clone.
#[derive(Clone)]
pub struct Envelope {
    /// Whether somebody collects spans.
    is_traced: bool,
    answered: Arc<Answered>,
}

impl Envelope {
    pub fn new(is_traced: bool) -> Self {
        Self {
            is_traced,
            answered: Arc::default(),
        }
    }
}

pub async fn envelope(
    State(envelope): State<Envelope>,
    mut request: Request,
    next: Next,
) -> Response {
    let started = Instant::now();
    let id = request_id(request.headers());
    let method = request.method().clone();
    let route = request.extensions().get::<MatchedPath>().cloned();

    let limit = RateLimitHeaders::default();
    request.extensions_mut().insert(limit.clone());
    let is_for_a_person = is_page_view(&request);
    let answering = async {
        let response = next.run(request).await;
        let response = finished(response, &id, is_for_a_person).await;
        tracing::debug!(
            http.status = response.status().as_u16(),
            duration_ms = started.elapsed().as_secs_f64() * 1e3,
            "answered"
        );
        response
    };
    let mut response = if envelope.is_traced {
        let route = name_of(route.as_ref());
        let span = tracing::info_span!("request", request.id = id, http.method = %method, http.route = route);
        answering.instrument(span).await
    } else {
        let facts = Facts {
            id: id.clone(),
            method: method.clone(),
            route: route.clone(),
        };
        about(facts, answering).await
    };
    limit.write(response.headers_mut());
    let value = HeaderValue::from_str(&id).expect("a request id is plain ASCII");
    // One that is there is the client's own, where it must come back whatever is in it.
    response.headers_mut().entry(REQUEST_ID).or_insert(value);
    let (route, status) = (name_of(route.as_ref()), response.status());
    let took = started.elapsed();
    envelope
        .answered
        .count(route, known(&method), status.as_u16(), took);
    response
}

/// Whether a person opens the address in a browser. Some clients of the API name `text/html` without being asked to
/// (Java's `HttpURLConnection`); but they send things, or a key.
fn is_page_view(request: &Request) -> bool {
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
    let has_key = request.headers().contains_key(header::AUTHORIZATION);
    is_read && !has_key && html::is_wanted(request.headers())
}

/// Writes the problem a handler left, or makes one of a bare refusal. An answer in JSON is left as
/// its handler made it: readiness says no in its own words.
async fn finished(mut response: Response, id: &str, is_for_a_person: bool) -> Response {
    let status = response.status();
    let problem = if let Some(problem) = response.extensions_mut().remove::<Problem>() {
        problem
    } else if (status.is_client_error() || status.is_server_error()) && !is_json(&response) {
        let body = std::mem::replace(response.body_mut(), Body::empty());
        let text = to_bytes(body, REFUSAL_BYTES_MAX).await.unwrap_or_default();
        Problem::of_status(status, &String::from_utf8_lossy(&text))
    } else {
        return response;
    };
    if is_for_a_person {
        problem.write_page(id, &mut response);
    } else {
        problem.write(id, &mut response);
    }
    response
}

/// A client may invent methods; the labels of a metric must stay few.
fn known(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}

fn is_json(response: &Response) -> bool {
    let json = HeaderValue::from_static("application/json");
    response.headers().get(header::CONTENT_TYPE) == Some(&json)
}

fn request_id(headers: &HeaderMap) -> String {
    let plain = |id: &&str| {
        (1..=REQUEST_ID_MAX).contains(&id.len())
            && id
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
    };
    let given = headers
        .get(REQUEST_ID)
        .and_then(|value| value.to_str().ok())
        .filter(plain);
    given.map_or_else(
        || Uuid::from_bytes(random::id_bytes()).simple().to_string(),
        str::to_owned,
    )
}
