//! The console: a single page and its files, served by the binary itself.
//!
//! It answers what no route of the API does: [`files`] are what npm built, packed as the client likes it
//! best; the [`page`] is for every other path that a browser asks for, because the page itself knows what is at
//! `/events` or `/reset-password`. Whoever does not ask for a page is told that there is no such path.

mod files;
mod page;

use axum::{
    http::{HeaderMap, Method, Uri},
    response::Response,
};

use domain::error_code::ErrorCode;

use self::page::Page;
use crate::edge::{error_page, html};

/// First parts of paths that are never a place in the console: what is not found there is a client's mistake, which
/// a page would hide from it.
const NOT_PAGES: [&str; 7] = [
    "v1",
    "access",
    "healthz",
    "metrics",
    "openapi.json",
    ".well-known",
    "assets",
];

/// What answers paths that are not the API's. Cheap to clone.
#[derive(Clone)]
pub struct Console {
    page: Page,
}

impl Console {
    pub fn new(is_https: bool) -> Self {
        Self {
            page: Page::new(is_https),
        }
    }

    /// The answer, if it is the console's to give.
    pub fn answer(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> Option<Response> {
        if method != Method::GET && method != Method::HEAD {
            return None;
        }
        let path = uri.path().strip_prefix('/')?;
        if let Some(answer) = files::answer(path, headers) {
            return Some(answer);
        }
        if let Some(code) = path.strip_prefix("errors/").and_then(ErrorCode::named) {
            return Some(error_page::about(code));
        }
        let first = path.split('/').next().unwrap_or_default();
        let is_place = !NOT_PAGES.contains(&first);
        (is_place && html::is_wanted(headers)).then(|| self.page.answer(headers))
    }
}
