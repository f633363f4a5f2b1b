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
    let accepts = |value: &str| value.split(',').any(is_page);
    let mut accepted = headers.get_all(header::ACCEPT).iter();
    accepted.any(|value| value.to_str().is_ok_and(accepts))
}

/// Whether one of the types in `Accept` is that of a page, and is not there to be ruled out.
fn is_page(accepted: &str) -> bool {
    let mut parts = accepted.split(';').map(str::trim);
    let is_html = parts.next() == Some("text/html");
    let is_ruled_out = |part: &str| {
        let quality = part.strip_prefix("q=").and_then(|text| text.parse().ok());
        quality.is_some_and(|quality: f32| quality <= 0.0)
    };
    is_html && !parts.any(is_ruled_out)
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

/// A text as it may stand in a page. It reads the same if it is the word for the nonce, but is not replaced by it.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace(NONCE, "__NONCE&#95;_")
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_cannot_bring_the_nonce_into_a_page() {
        let text = escaped("<b> & __NONCE__");
        assert_eq!(text, "&lt;b&gt; &amp; __NONCE&#95;_");
        assert!(!text.contains(NONCE));
    }

    #[test]
    fn a_page_is_for_those_who_name_it_and_do_not_rule_it_out() {
        for (accept, expected) in [
            ("text/html,application/xhtml+xml,*/*;q=0.8", true),
            ("application/json, text/html;q=0.5", true),
            ("text/html; charset=utf-8", true),
            ("*/*", false),
            ("application/json", false),
            ("text/html;q=0, */*", false),
            ("text/html; q=0.000", false),
            ("application/json;profile=a;text/html", false),
        ] {
            let headers =
                HeaderMap::from_iter([(header::ACCEPT, HeaderValue::from_static(accept))]);
            assert_eq!(is_wanted(&headers), expected, "{accept}");
        }
    }
}
