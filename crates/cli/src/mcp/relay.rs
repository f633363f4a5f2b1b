//! Requests of clients over Streamable HTTP, passed on to the server, and its answers passed back.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering::Relaxed},
};

use axum::{
    body::Body,
    extract::{Request, State},
    http::{HeaderMap, Method, StatusCode, header, request::Parts},
    response::{IntoResponse as _, Response},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use domain::mcp::{
    FromClient, MESSAGE_BYTES_MAX, RequestId, ToolCall,
    answer::{self, HEADER_MISMATCH, INVALID_REQUEST, UNDECIDED},
    method_of,
};
use http_body_util::{BodyExt as _, Limited};
use reqwest::Client;
use serde_json::Value;
use url::Url;

use super::{
    call::Session,
    calls::{Calls, Ruled},
    guard::Guard,
    watch::{self, Key},
};
use crate::{
    api::{CONNECT_MAX, Unreachable},
    listen::forward::NOT_PASSED_ON,
    output::note,
    server::is_here,
};

/// How many calls all clients together may make at the same time.
const CALLS_MAX: usize = 1024;
/// Names a session, up to 2025-11-25.
const SESSION_ID: &str = "mcp-session-id";
const PROTOCOL_VERSION: &str = "mcp-protocol-version";
/// What a request is, beside its body (since 2026-07-28).
const METHOD: &str = "mcp-method";
const NAME: &str = "mcp-name";
const TOOLS_CALL: &str = "tools/call";
/// Around a name that a header cannot hold as it is (MCP 2026-07-28, value encoding).
const ENCODED: (&str, &str) = ("=?base64?", "?=");

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
        })
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
        // What is compressed cannot be looked at.
        headers.remove(header::ACCEPT_ENCODING);
        let request = self
            .http
            .request(parts.method.clone(), self.upstream.clone());
        let sent = request.headers(headers).body(body).send().await;
        sent.map_err(|error| Unreachable::new(&self.upstream, &error).without_advice())
    }
}

/// One request of a client.
pub(super) async fn relay(State(relay): State<Arc<Relay>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    if relay.is_here && !is_from_here(&parts.headers) {
        let why = "this guard answers programs of its machine only, not pages in a browser\n";
        return (StatusCode::FORBIDDEN, why).into_response();
    }
    if parts.uri.path() != relay.upstream.path() {
        return StatusCode::NOT_FOUND.into_response();
    }
    match parts.method {
        Method::POST => match Limited::new(body, MESSAGE_BYTES_MAX).collect().await {
            Ok(body) => post(relay, parts, body.to_bytes()).await,
            Err(_) => StatusCode::PAYLOAD_TOO_LARGE.into_response(),
        },
        Method::GET => pass(&relay, &parts, Bytes::new(), None).await,
        Method::DELETE => {
            let response = pass(&relay, &parts, Bytes::new(), None).await;
            if let Some(session) = text(&parts.headers, SESSION_ID) {
                relay.calls.close(|(scope, _)| &**scope == session);
            }
            response
        }
        _ => StatusCode::METHOD_NOT_ALLOWED.into_response(),
    }
}

async fn post(relay: Arc<Relay>, parts: Parts, message: Bytes) -> Response {
    let read = FromClient::read(&message);
    if let Some(why) = disagreement(&parts.headers, &read, &message) {
        let id = match &read {
            FromClient::Calls { id, .. } | FromClient::Lists { id, .. } => Some(id),
            _ => None,
        };
        let answer = answer::error(id, HEADER_MISMATCH, why);
        return said(StatusCode::BAD_REQUEST, &answer);
    }
    match read {
        FromClient::Passes | FromClient::Begins { .. } => pass(&relay, &parts, message, None).await,
        FromClient::Lists { id, is_first } => {
            let key = (relay.scope(&parts.headers), id);
            if relay.calls.lists(key.clone(), is_first) {
                return pass(&relay, &parts, message, Some(key)).await;
            }
            let why = "too many lists of tools are not answered yet";
            said(StatusCode::OK, &answer::error(Some(&key.1), UNDECIDED, why))
        }
        FromClient::Cancels { id } => {
            relay.calls.cancel(&(relay.scope(&parts.headers), id));
            pass(&relay, &parts, message, None).await
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

async fn call_tool(
    relay: &Arc<Relay>,
    parts: &Parts,
    message: Bytes,
    id: RequestId,
    call: ToolCall,
) -> Response {
    let key = (relay.scope(&parts.headers), id.clone());
    let session = relay.session(&parts.headers);
    let deciding = match relay.calls.begin(key.clone(), &id, &session, call) {
        Ok(deciding) => deciding,
        Err(refusal) => return said(StatusCode::OK, &refusal),
    };
    match deciding.ruled(&id, message).await {
        Ruled::Passes(message) => pass(relay, parts, message, Some(key)).await,
        Ruled::Answered(answer) => said(StatusCode::OK, &answer),
        Ruled::GivenUp => {
            let answer = answer::error(Some(&id), INVALID_REQUEST, "the request was canceled");
            said(StatusCode::OK, &answer)
        }
    }
}

/// Passes a request on, and the answer back; `key` is what that is known by, if it is a call or a list of tools.
async fn pass(relay: &Arc<Relay>, parts: &Parts, body: Bytes, key: Option<Key>) -> Response {
    // Whatever becomes of this request, also that the client does not wait: the call ends with it.
    let awaited = watch::Awaited::new(relay, relay.session(&parts.headers), key);
    let id = awaited.id();
    let answered = match relay.ask(parts, body).await {
        Ok(answered) => answered,
        Err(unreachable) => {
            awaited.unanswered();
            let why = unreachable.in_short();
            note(format_args!("watchbell: {why}"));
            return said(
                StatusCode::BAD_GATEWAY,
                &answer::error(id.as_ref(), UNDECIDED, &why),
            );
        }
    };
    let status = answered.status();
    let mut headers = answered.headers().clone();
    for name in NOT_PASSED_ON {
        headers.remove(name);
    }
    let scope = text(&parts.headers, SESSION_ID).map(Arc::from);
    let body = match watch::body(awaited, scope, answered).await {
        Ok(body) => body,
        Err(why) => {
            note(format_args!("watchbell: an answer is left out: {why}"));
            let why = "the MCP server's answer could not be read";
            return said(
                StatusCode::BAD_GATEWAY,
                &answer::error(id.as_ref(), UNDECIDED, why),
            );
        }
    };
    (status, headers, body).into_response()
}

/// A message in the server's place.
fn said(status: StatusCode, message: &Value) -> Response {
    let kind = [(header::CONTENT_TYPE, "application/json")];
    (status, kind, Body::from(message.to_string())).into_response()
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// Whether a request comes from a program of this machine. A page of another site says where it is from, and one whose name
/// was made to lead here asks for that name.
fn is_from_here(headers: &HeaderMap) -> bool {
    let is_local = |url: String| Url::parse(&url).is_ok_and(|url| is_here(&url));
    let origin = headers.get(header::ORIGIN);
    let host = headers.get(header::HOST);
    origin.is_none_or(|origin| origin.to_str().is_ok_and(|text| is_local(text.to_owned())))
        && host.is_none_or(|host| {
            host.to_str()
                .is_ok_and(|text| is_local(format!("http://{text}")))
        })
}

/// In what the headers say something else than the message, by which somebody may have let it through.
fn disagreement(headers: &HeaderMap, read: &FromClient, message: &[u8]) -> Option<&'static str> {
    if let Some(said) = headers.get(METHOD) {
        let said = said.to_str().ok();
        let method = match read {
            FromClient::Calls { .. } => Some(TOOLS_CALL.to_owned()),
            _ => method_of(message),
        };
        if said != method.as_deref() {
            return Some("the header Mcp-Method says something else than the message");
        }
    }
    if let (Some(said), FromClient::Calls { call, .. }) = (headers.get(NAME), read)
        && said.to_str().ok().and_then(decoded).as_deref() != Some(&*call.tool)
    {
        return Some("the header Mcp-Name says something else than the message");
    }
    None
}

/// The name that a header holds.
fn decoded(text: &str) -> Option<String> {
    let (before, behind) = ENCODED;
    let inside = text.strip_prefix(before);
    match inside.and_then(|text| text.strip_suffix(behind)) {
        Some(encoded) => String::from_utf8(STANDARD.decode(encoded).ok()?).ok(),
        None => Some(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn headers(lines: &[(&'static str, &str)]) -> HeaderMap {
        let lines = lines.iter().map(|(name, value)| {
            let value = value.parse().expect("a value");
            (header::HeaderName::from_static(name), value)
        });
        lines.collect()
    }

    #[test]
    fn headers_agree_with_the_message_or_it_does_not_pass() {
        let call =
            json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "größe"}});
        let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
        let agree = |message: &Value, lines: &[(&'static str, &str)]| {
            let message = message.to_string().into_bytes();
            let read = FromClient::read(&message);
            disagreement(&headers(lines), &read, &message).is_none()
        };
        let name = (NAME, "=?base64?Z3LDtsOfZQ==?=");
        for (message, lines, expected) in [
            (&call, &[][..], true),
            (&call, &[(METHOD, "tools/call"), name], true),
            (&call, &[(METHOD, "tools/list"), name], false),
            (&call, &[(METHOD, "tools/call"), (NAME, "other")], false),
            (
                &call,
                &[(METHOD, "tools/call"), (NAME, "=?base64?!?=")],
                false,
            ),
            (&ping, &[(METHOD, "ping")], true),
            (&ping, &[(METHOD, "tools/call")], false),
        ] {
            assert_eq!(agree(message, lines), expected, "{lines:?}");
        }
    }

    #[test]
    fn a_page_in_a_browser_is_not_from_here() {
        for (lines, expected) in [
            (&[("host", "127.0.0.1:8808")][..], true),
            (
                &[
                    ("host", "localhost:8808"),
                    ("origin", "http://localhost:6274"),
                ],
                true,
            ),
            (&[("host", "[::1]:8808")], true),
            (&[("host", "evil.example:8808")], false),
            (
                &[
                    ("host", "127.0.0.1:8808"),
                    ("origin", "https://evil.example"),
                ],
                false,
            ),
            (&[("host", "127.0.0.1:8808"), ("origin", "null")], false),
        ] {
            assert_eq!(is_from_here(&headers(lines)), expected, "{lines:?}");
        }
    }
}
