//! Keeps answers out of caches: they carry keys, links, cookies and what people did.

use axum::{
    http::{HeaderValue, header},
    response::Response,
};

/// Says `Cache-Control: no-store`, unless the handler said otherwise.
pub async fn no_store(mut response: Response) -> Response {
    response
        .headers_mut()
        .entry(header::CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-store"));
    response
}
