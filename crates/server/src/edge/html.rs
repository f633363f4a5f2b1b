//! A page for a person: who wants one, how it is written, and what a browser is told to forbid it.

use axum::{
    body::Body,
    http::{HeaderMap, HeaderName, HeaderValue, header},
    response::Response,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use runtime::random;

/// Stands in the page for a number that is drawn for each answer. Only styles that carry it are applied, so that text
/// which somebody smuggles into the page cannot bring its own.
pub const NONCE: &str = "__NONCE__";
/// 128 bits, as the specification asks for.
const NONCE_BYTES: usize = 16;

const PERMISSIONS_POLICY: HeaderName = HeaderName::from_static("permissions-policy");
const OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");

/// The headers that are the same on every page.
const FIXED: [(HeaderName, &str); 6] = [
    (header::CONTENT_TYPE, "text/html; charset=utf-8"),
    // It names files by their content, which the next version does not have any more.
    (header::CACHE_CONTROL, "no-store"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (OPENER_POLICY, "same-origin"),
    (
        PERMISSIONS_POLICY,
        "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()",
    ),
];

/// Browsers name `text/html` when somebody opens a page. `*/*` does not count: every client of the API says it.
pub fn is_wanted(headers: &HeaderMap) -> bool {
    let accepts = |value: &str| value.split([',', ';']).any(|one| one.trim() == "text/html");
    let mut accepted = headers.get_all(header::ACCEPT).iter();
    accepted.any(|value| value.to_str().is_ok_and(accepts))
}

/// Puts a page into an answer, whose other headers stay.
pub fn write(html: &str, response: &mut Response) {
    let nonce = STANDARD.encode(random::bytes::<NONCE_BYTES>());
    *response.body_mut() = Body::from(html.replace(NONCE, &nonce));
    let headers = response.headers_mut();
    for (name, value) in FIXED {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.insert(header::CONTENT_SECURITY_POLICY, content_policy(&nonce));
}

/// A text as it may stand in a page.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// Nothing but what this server serves, and nobody puts the page into a frame of theirs.
fn content_policy(nonce: &str) -> HeaderValue {
    let policy = format!(
        "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-{nonce}'; \
         img-src 'self' data:; font-src 'self'; connect-src 'self'; form-action 'self'; \
         base-uri 'none'; frame-ancestors 'none'"
    );
    HeaderValue::from_str(&policy).expect("base64 is plain")
}
