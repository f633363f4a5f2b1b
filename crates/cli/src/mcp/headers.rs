//! What the headers of a request say beside its message. Somebody between the client and us may have let the request through by
//! them, and the server may go by them: they must say the same as the message, once.

use axum::http::{HeaderMap, StatusCode, header};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use domain::mcp::{FromClient, method_of};
use url::Url;

use crate::server::is_here;

/// Names a session, up to 2025-11-25.
pub(super) const SESSION_ID: &str = "mcp-session-id";
pub(super) const PROTOCOL_VERSION: &str = "mcp-protocol-version";
/// What a request is, beside its body (since 2026-07-28).
const METHOD: &str = "mcp-method";
const NAME: &str = "mcp-name";
const TOOLS_CALL: &str = "tools/call";
/// Around a name that a header cannot hold as it is (MCP 2026-07-28, value encoding).
const ENCODED: (&str, &str) = ("=?base64?", "?=");

pub(super) fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// What a header says that may have parameters behind that, in small letters.
pub(super) fn kind(headers: &HeaderMap) -> String {
    let kind = text(headers, header::CONTENT_TYPE.as_str()).unwrap_or_default();
    let (kind, _) = kind.split_once(';').unwrap_or((kind, ""));
    kind.trim().to_ascii_lowercase()
}

/// Whether the body is what it is: compressed ones cannot be looked at.
pub(super) fn is_plain(headers: &HeaderMap) -> bool {
    let mut encodings = headers.get_all(header::CONTENT_ENCODING).iter();
    encodings.all(|encoding| encoding.as_bytes().eq_ignore_ascii_case(b"identity"))
}

/// Why a message is not even looked at: the server might read it as something else than JSON in UTF-8, and we would not.
pub(super) fn unreadable(headers: &HeaderMap) -> Option<(StatusCode, &'static str)> {
    let mut kinds = headers.get_all(header::CONTENT_TYPE).iter();
    let is_json = |kind: &str| {
        let kind = kind.to_ascii_lowercase().replace([' ', '"'], "");
        matches!(
            &*kind,
            "application/json" | "application/json;charset=utf-8"
        )
    };
    let first = kinds.next().and_then(|kind| kind.to_str().ok());
    if !first.is_some_and(is_json) || kinds.next().is_some() || !is_plain(headers) {
        let why =
            "a message is sent with Content-Type: application/json, in UTF-8 and not compressed";
        return Some((StatusCode::UNSUPPORTED_MEDIA_TYPE, why));
    }
    let once = [SESSION_ID, PROTOCOL_VERSION, METHOD, NAME];
    let is_twice = |name: &&str| headers.get_all(*name).iter().count() > 1;
    let twice = once.iter().any(is_twice);
    twice.then_some((StatusCode::BAD_REQUEST, "a header of MCP is there twice"))
}

/// In what the headers say something else than the message.
pub(super) fn disagreement(
    headers: &HeaderMap,
    read: &FromClient,
    message: &[u8],
) -> Option<&'static str> {
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

/// Whether a request comes from a program of this machine. A page of another site says where it is from, and one whose name
/// was made to lead here asks for that name.
pub(super) fn is_from_here(headers: &HeaderMap) -> bool {
    let is_local = |url: String| Url::parse(&url).is_ok_and(|url| is_here(&url));
    let origin = headers.get(header::ORIGIN);
    let host = headers.get(header::HOST);
    origin.is_none_or(|origin| origin.to_str().is_ok_and(|text| is_local(text.to_owned())))
        && host.is_none_or(|host| {
            host.to_str()
                .is_ok_and(|text| is_local(format!("http://{text}")))
        })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

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

    #[test]
    fn a_message_that_the_server_may_read_differently_is_not_looked_at() {
        let kind = |kind| ("content-type", kind);
        for (lines, expected) in [
            (&[kind("application/json")][..], true),
            (&[kind("Application/JSON; charset=\"UTF-8\"")], true),
            (&[kind("application/json; charset=utf-7")], false),
            (&[kind("application/json; charset=utf-16le")], false),
            (&[kind("text/plain")], false),
            (&[], false),
            (
                &[kind("application/json"), ("content-encoding", "gzip")],
                false,
            ),
            (
                &[kind("application/json"), ("content-encoding", "identity")],
                true,
            ),
        ] {
            assert_eq!(unreadable(&headers(lines)).is_none(), expected, "{lines:?}");
        }
        for name in [
            "content-type",
            "mcp-name",
            "mcp-method",
            "mcp-session-id",
            "mcp-protocol-version",
        ] {
            let mut twice = headers(&[kind("application/json")]);
            for value in ["application/json", "a"] {
                let name = header::HeaderName::from_static(name);
                twice.append(name, value.parse().expect("a value"));
            }
            assert!(unreadable(&twice).is_some(), "{name}");
        }
    }
}
