//! Requests of clients over Streamable HTTP, passed on to the server, and its answers passed back.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use axum::{
    body::Body,
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, Method, StatusCode, header, request::Parts},
    response::{IntoResponse as _, Response},
};
use bytes::Bytes;
use domain::mcp::{
    FromClient, MESSAGE_BYTES_MAX, RequestId, ToolCall,
    answer::{self, HEADER_MISMATCH, INVALID_REQUEST, UNDECIDED},
};
use http_body_util::{BodyExt as _, Limited};
use reqwest::Client;
use serde_json::Value;
use tokio::time::timeout;
use url::Url;

use super::{
    call::Session,
    calls::{Calls, Ruled},
    guard::Guard,
    headers::{PROTOCOL_VERSION, SESSION_ID, disagreement, is_from_here, text, unreadable},
    in_flight::Kind,
    watch::{Awaited, Back, Key, Known},
};
use crate::{
    api::{CONNECT_MAX, Unreachable},
    listen::forward::NOT_PASSED_ON,
    output::note,
    server::is_here,
};

/// How many calls all clients together may make at the same time.
const CALLS_MAX: usize = 1024;
/// How long a message may take to arrive.
const MESSAGE_MAX: Duration = Duration::from_secs(30);
/// How long a client may take to resume a stream on which an answer is still to come.
const RESUMED_MAX: Duration = Duration::from_secs(300);
/// How many such streams are remembered: more than there can be requests without an answer.
const LEFT_MAX: usize = 4 * 1024;
const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// Between clients and one server.
pub(super) struct Relay {
    pub(super) calls: Arc<Calls<Key>>,
    http: Client,
    upstream: Url,
    /// Of calls that belong to no session.
    session_id: String,
    /// Only programs of this machine reach us; a page in a browser is none.
    is_here: bool,
    requests: AtomicU64,
    /// Requests whose streams have ended and may be resumed, and until when; the oldest first.
    left: Mutex<VecDeque<(Instant, Vec<Known>)>>,
}

impl Relay {
    pub(super) fn new(
        guard: Guard,
        upstream: &Url,
        session_id: String,
        is_here: bool,
    ) -> anyhow::Result<Self> {
        // Answers may be silent for as long as a tool takes, so there is no other limit than that of the connection.
        let client = Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(CONNECT_MAX);
        let client = if self::is_here(upstream) {
            client.no_proxy()
        } else {
            client
        };
        Ok(Self {
            calls: Arc::new(Calls::new(guard, CALLS_MAX)),
            http: client.build()?,
            upstream: upstream.clone(),
            session_id,
            is_here,
            requests: AtomicU64::new(0),
            left: Mutex::default(),
        })
    }

    /// The stream of these requests has ended, and the client may resume it.
    pub(super) fn leave(&self, known: Vec<Known>) {
        if !known.is_empty() {
            self.left().push_back((Instant::now() + RESUMED_MAX, known));
        }
    }

    /// Requests whose streams nobody has resumed are over.
    fn forget_left(&self) {
        let now = Instant::now();
        let next = || {
            let mut left = self.left();
            let is_full = left.len() > LEFT_MAX;
            left.pop_front_if(|(until, _)| is_full || *until <= now)
        };
        while let Some((_, known)) = next() {
            for (key, serial) in known {
                self.calls.close_same(&key, serial);
            }
        }
    }

    fn left(&self) -> MutexGuard<'_, VecDeque<(Instant, Vec<Known>)>> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What tells the answers of a request from those of other clients' requests with the same id: its session, or itself.
    fn scope(&self, headers: &HeaderMap) -> Arc<str> {
        match text(headers, SESSION_ID) {
            Some(session) => session.into(),
            None => format!("\n{}", self.requests.fetch_add(1, Relaxed)).into(),
        }
    }

    fn session(&self, headers: &HeaderMap) -> Session {
        let id = text(headers, SESSION_ID).filter(|id| id.len() <= 128);
        Session {
            id: id.unwrap_or(&self.session_id).to_owned(),
            protocol_version: text(headers, PROTOCOL_VERSION).map(str::to_owned),
            client_name: None,
        }
    }

    /// The server's answer, as it begins.
    async fn ask(&self, parts: &Parts, body: Bytes) -> Result<reqwest::Response, Unreachable> {
        let mut headers = parts.headers.clone();
        for name in NOT_PASSED_ON {
            headers.remove(name);
        }
        headers.remove(header::CONTENT_ENCODING);
        if parts.method == Method::POST {
            headers.insert(header::CONTENT_TYPE, JSON);
        }
        // What is compressed cannot be looked at.
        let identity = HeaderValue::from_static("identity");
        headers.insert(header::ACCEPT_ENCODING, identity);
        let request = self
            .http
            .request(parts.method.clone(), self.upstream.clone());
        let sent = request.headers(headers).body(body).send().await;
        sent.map_err(|error| Unreachable::new(&self.upstream, &error).without_advice())
    }
}

/// One request of a client.
pub(super) async fn relay(State(relay): State<Arc<Relay>>, request: Request) -> Response {
    relay.forget_left();
    let (parts, body) = request.into_parts();
    if relay.is_here && !is_from_here(&parts.headers) {
        let why = "this guard answers programs of its machine only, not pages in a browser\n";
        return (StatusCode::FORBIDDEN, why).into_response();
    }
    if parts.uri.path() != relay.upstream.path() {
        return StatusCode::NOT_FOUND.into_response();
    }
    match parts.method {
        Method::POST => {
            let message = Limited::new(body, MESSAGE_BYTES_MAX).collect();
            match timeout(MESSAGE_MAX, message).await {
                Ok(Ok(message)) => post(relay, parts, message.to_bytes()).await,
                Ok(Err(_)) => StatusCode::PAYLOAD_TOO_LARGE.into_response(),
                Err(_) => StatusCode::REQUEST_TIMEOUT.into_response(),
            }
        }
        Method::GET => pass(&relay, &parts, Bytes::new(), Vec::new()).await,
        Method::DELETE => {
            let response = pass(&relay, &parts, Bytes::new(), Vec::new()).await;
            let session = text(&parts.headers, SESSION_ID);
            if let Some(session) = session.filter(|_| response.status().is_success()) {
                relay.calls.close(|(scope, _)| &**scope == session);
            }
            response
        }
        _ => StatusCode::METHOD_NOT_ALLOWED.into_response(),
    }
}

async fn post(relay: Arc<Relay>, parts: Parts, message: Bytes) -> Response {
    if let Some((status, why)) = unreadable(&parts.headers) {
        note(format_args!("watchbell: a message was refused: {why}"));
        return said(status, &answer::error(None, INVALID_REQUEST, why));
    }
    let read = FromClient::read(&message);
    if let Some(why) = disagreement(&parts.headers, &read, &message) {
        let id = match &read {
            FromClient::Calls { id, call } => {
                relay.calls.refuse(&relay.session(&parts.headers), call);
                Some(id)
            }
            FromClient::Lists { id, .. } | FromClient::Begins { id, .. } => Some(id),
            FromClient::Passes { requests } => requests.first(),
            FromClient::Cancels { .. } | FromClient::Refused { .. } => None,
        };
        let answer = answer::error(id, HEADER_MISMATCH, why);
        return said(StatusCode::BAD_REQUEST, &answer);
    }
    match read {
        FromClient::Passes { requests } => {
            ask(&relay, &parts, message, &requests, Kind::Other).await
        }
        FromClient::Begins { id, .. } => ask(&relay, &parts, message, &[id], Kind::Other).await,
        FromClient::Lists { id, is_first } => {
            let kind = Kind::ToolsList { is_first };
            ask(&relay, &parts, message, &[id], kind).await
        }
        FromClient::Cancels { id } => {
            relay.calls.cancel(&(relay.scope(&parts.headers), id));
            pass(&relay, &parts, message, Vec::new()).await
        }
        FromClient::Refused { answer, why } => {
            note(format_args!("watchbell: a message was refused: {why}"));
            let answer = answer.unwrap_or_else(|| answer::error(None, INVALID_REQUEST, why));
            // With an id, somebody waits for the answer and not for the status.
            let is_awaited = answer.is_array() || answer["id"] != Value::Null;
            let status = if is_awaited {
                StatusCode::OK
            } else {
                StatusCode::BAD_REQUEST
            };
            said(status, &answer)
        }
        FromClient::Calls { id, call } => call_tool(&relay, &parts, message, id, call).await,
    }
}

/// Requests that call no tool.
async fn ask(
    relay: &Arc<Relay>,
    parts: &Parts,
    message: Bytes,
    ids: &[RequestId],
    kind: Kind,
) -> Response {
    let scope = relay.scope(&parts.headers);
    let key = |id: &RequestId| (Arc::clone(&scope), id.clone());
    match relay.calls.ask(ids, key, kind) {
        Ok(known) => pass(relay, parts, message, known).await,
        Err(refusal) => said(StatusCode::OK, &refusal),
    }
}

async fn call_tool(
    relay: &Arc<Relay>,
    parts: &Parts,
    message: Bytes,
    id: RequestId,
    call: ToolCall,
) -> Response {
    let key = (relay.scope(&parts.headers), id.clone());
    let session = relay.session(&parts.headers);
    let deciding = match relay.calls.begin(key, &id, &session, call) {
        Ok(deciding) => deciding,
        Err(refusal) => return said(StatusCode::OK, &refusal),
    };
    let known = deciding.key();
    match deciding.ruled(&id, message).await {
        Ruled::Passes(message) => pass(relay, parts, message, vec![known]).await,
        Ruled::Answered(answer) => said(StatusCode::OK, &answer),
        Ruled::GivenUp => {
            let answer = answer::error(Some(&id), INVALID_REQUEST, "the request was canceled");
            said(StatusCode::OK, &answer)
        }
    }
}

/// Passes a message on, and the answer back; `known` is what the requests in it are known by.
async fn pass(relay: &Arc<Relay>, parts: &Parts, body: Bytes, known: Vec<Known>) -> Response {
    let id = known.first().map(|((_, id), _)| id.clone());
    let scope = text(&parts.headers, SESSION_ID).map(Arc::from);
    // Whatever becomes of this request, also that the client does not wait: its requests end with it.
    let awaited = Awaited::new(relay, relay.session(&parts.headers), scope, known);
    let answered = match relay.ask(parts, body).await {
        Ok(answered) => answered,
        Err(unreachable) => {
            awaited.unanswered();
            let why = unreachable.in_short();
            note(format_args!("watchbell: {why}"));
            let answer = answer::error(id.as_ref(), UNDECIDED, &why);
            return said(StatusCode::BAD_GATEWAY, &answer);
        }
    };
    let status = answered.status();
    let mut headers = answered.headers().clone();
    for name in NOT_PASSED_ON {
        headers.remove(name);
    }
    headers.remove(header::CONTENT_TYPE);
    headers.remove(header::CONTENT_ENCODING);
    headers.remove(header::LOCATION);
    match awaited.back(answered).await {
        Back::Empty => (status, headers).into_response(),
        Back::Message(body) => {
            headers.insert(header::CONTENT_TYPE, JSON);
            (status, headers, body).into_response()
        }
        Back::Stream(body) => {
            let stream = HeaderValue::from_static("text/event-stream");
            headers.insert(header::CONTENT_TYPE, stream);
            (status, headers, body).into_response()
        }
        Back::LeftOut { why, answer } => {
            note(format_args!("watchbell: an answer is left out: {why}"));
            let answer = answer.unwrap_or_else(|| {
                let error = answer::error(id.as_ref(), UNDECIDED, &why);
                error.to_string().into()
            });
            // Why a client is refused, and how it may log in, is in the status and in headers.
            let status = if status.is_client_error() || status.is_server_error() {
                status
            } else {
                StatusCode::BAD_GATEWAY
            };
            headers.insert(header::CONTENT_TYPE, JSON);
            (status, headers, answer).into_response()
        }
    }
}

/// A message in the server's place.
fn said(status: StatusCode, message: &Value) -> Response {
    let kind = [(header::CONTENT_TYPE, JSON)];
    (status, kind, Body::from(message.to_string())).into_response()
}
