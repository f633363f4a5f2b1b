//! The page that everything in the console begins with, and what a browser is told to forbid it.

use axum::{
    body::Body,
    http::{HeaderName, HeaderValue, header},
    response::Response,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use runtime::random;

use super::files;

/// Stands in the page for a number that is drawn for each answer. Only styles that carry it are applied, so that text
/// which somebody smuggles into the page cannot bring its own.
const NONCE: &str = "__NONCE__";
/// 128 bits, as the specification asks for.
const NONCE_BYTES: usize = 16;

/// What is answered by a binary that was built without the console.
const WITHOUT: &str = include_str!("without.html");

const PERMISSIONS_POLICY: HeaderName = HeaderName::from_static("permissions-policy");
const OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");

/// The headers that are the same on every answer.
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
/// A year, which is what browsers ask for; the console is all there is on this host.
const TRANSPORT_SECURITY: HeaderValue = HeaderValue::from_static("max-age=31536000");

/// The page. Cheap to clone.
#[derive(Clone)]
pub struct Page {
    is_https: bool,
}

impl Page {
    /// `is_https`: people come by https, and so they should always.
    pub fn new(is_https: bool) -> Self {
        Self { is_https }
    }

    pub fn answer(&self) -> Response {
        let html = files::index();
        self.write(html.as_deref().unwrap_or(WITHOUT))
    }

    fn write(&self, html: &str) -> Response {
        let nonce = STANDARD.encode(random::bytes::<NONCE_BYTES>());
        let mut response = Response::new(Body::from(html.replace(NONCE, &nonce)));
        let headers = response.headers_mut();
        for (name, value) in FIXED {
            headers.insert(name, HeaderValue::from_static(value));
        }
        headers.insert(header::CONTENT_SECURITY_POLICY, content_policy(&nonce));
        if self.is_https {
            headers.insert(header::STRICT_TRANSPORT_SECURITY, TRANSPORT_SECURITY);
        }
        response
    }
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
    use axum::body::to_bytes;

    use super::*;

    #[tokio::test]
    async fn a_binary_without_the_console_says_how_to_get_it() {
        let response = Page::new(true).write(WITHOUT);
        let headers = response.headers();
        assert_eq!(
            headers[header::STRICT_TRANSPORT_SECURITY],
            TRANSPORT_SECURITY
        );
        let policy = headers[header::CONTENT_SECURITY_POLICY].clone();
        let (_, rest) = policy
            .to_str()
            .expect("plain")
            .split_once("'nonce-")
            .expect("one");
        let (nonce, _) = rest.split_once('\'').expect("its end");
        let body = to_bytes(response.into_body(), 16 * 1024)
            .await
            .expect("read");
        let html = String::from_utf8(body.to_vec()).expect("UTF-8");
        assert!(html.contains("scripts/build-console"), "{html}");
        assert!(html.contains(&format!("nonce=\"{nonce}\"")), "{html}");
        assert!(!html.contains(NONCE), "{html}");
    }
}
