//! The page that everything in the console begins with.

use axum::{
    body::Body,
    http::{HeaderMap, HeaderValue, header},
    response::Response,
};

use super::files;
use crate::edge::{html, session_cookie::SessionCookie};

/// Stands in the page for whether the browser sent a session with its question. Without one, the page need not ask the
/// API who is there to learn that nobody is.
const SESSION: &str = "__SESSION__";

/// What is answered by a binary that was built without the console.
const WITHOUT: &str = include_str!("without.html");

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

    pub fn answer(&self, asked: &HeaderMap) -> Response {
        let page = files::index();
        let session = SessionCookie::new(self.is_https).read(asked);
        let said = if session.is_some() { "some" } else { "none" };
        self.write(&page.as_deref().unwrap_or(WITHOUT).replace(SESSION, said))
    }

    fn write(&self, page: &str) -> Response {
        let mut response = Response::new(Body::empty());
        html::write(page, &mut response);
        if self.is_https {
            response
                .headers_mut()
                .insert(header::STRICT_TRANSPORT_SECURITY, TRANSPORT_SECURITY);
        }
        response
    }
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
        let page = String::from_utf8(body.to_vec()).expect("UTF-8");
        assert!(page.contains("scripts/build-console"), "{page}");
        assert!(page.contains(&format!("nonce=\"{nonce}\"")), "{page}");
        assert!(!page.contains(html::NONCE), "{page}");
    }
}
