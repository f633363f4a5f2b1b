//! The files of the console, as npm built them: kept by browsers for as long as they do not change.

use std::borrow::Cow;

use axum::{
    body::Body,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse as _, Response},
};
use rust_embed::{EmbeddedFile, RustEmbed};

use crate::edge::accept_encoding::{Packing, preferred};

/// `console/dist`. A release carries it. A debug build reads the folder whenever it is asked, so that who works on the
/// console need not build the server again; it finds nothing on another machine. What was not built is missing, so
/// that the server can be built without npm.
#[derive(RustEmbed)]
#[folder = "../../console/dist"]
#[allow_missing = true]
struct Dist;

const INDEX: &str = "index.html";

/// What the build leaves beside each file, the smallest first.
const PACKED: [Packing; 2] = [Packing::Brotli, Packing::Gzip];

/// The build names these by what is in them, so that another content is another name.
const NAMED_BY_CONTENT: &str = "assets/";
const KEPT_FOR_EVER: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");
const ASKED_FOR_AGAIN: HeaderValue = HeaderValue::from_static("no-cache");

/// The page that everything begins with; `None` if this binary was built without the console.
pub fn index() -> Option<String> {
    let file = Dist::get(INDEX)?;
    Some(String::from_utf8_lossy(&file.data).into_owned())
}

/// The file at this path, packed as the client likes it best.
pub fn answer(path: &str, headers: &HeaderMap) -> Option<Response> {
    // A debug build reads from the disk: nothing beside the folder is ours to serve.
    if path.split('/').any(|part| part == "..") {
        return None;
    }
    let content_type = content_type(path)?;
    let plain = Dist::get(path)?;
    let packed = |packing: Packing| Dist::get(&format!("{path}.{}", packing.extension()));
    let (packing, file) = match preferred(&PACKED, headers) {
        Some(packing) => packed(packing).map_or((None, plain), |file| (Some(packing), file)),
        None => (None, plain),
    };
    let tag = tag(&file);
    let is_known = is_known(headers, &tag);
    let mut response = if is_known {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        Response::new(body(file))
    };
    let said = response.headers_mut();
    let kept = if path.starts_with(NAMED_BY_CONTENT) {
        KEPT_FOR_EVER
    } else {
        ASKED_FOR_AGAIN
    };
    said.insert(header::CACHE_CONTROL, kept);
    said.insert(header::ETAG, tag);
    let vary = HeaderValue::from_static("accept-encoding");
    said.insert(header::VARY, vary);
    let nosniff = HeaderValue::from_static("nosniff");
    said.insert(header::X_CONTENT_TYPE_OPTIONS, nosniff);
    if !is_known {
        let content_type = HeaderValue::from_static(content_type);
        said.insert(header::CONTENT_TYPE, content_type);
        if let Some(packing) = packing {
            let coding = HeaderValue::from_static(packing.coding());
            said.insert(header::CONTENT_ENCODING, coding);
        }
    }
    Some(response)
}

/// What the build makes, and nothing else: neither packed files by their own name nor the page, which needs a nonce.
fn content_type(path: &str) -> Option<&'static str> {
    let (_, extension) = path.rsplit_once('.')?;
    match extension {
        "js" => Some("text/javascript; charset=utf-8"),
        "css" => Some("text/css; charset=utf-8"),
        "svg" => Some("image/svg+xml"),
        "png" => Some("image/png"),
        "ico" => Some("image/x-icon"),
        "woff2" => Some("font/woff2"),
        "webmanifest" => Some("application/manifest+json"),
        "txt" => Some("text/plain; charset=utf-8"),
        _ => None,
    }
}

/// Another one for each form of a file, because it is of the bytes that are sent.
fn tag(file: &EmbeddedFile) -> HeaderValue {
    let digest = hex::encode(&file.metadata.sha256_hash()[..16]);
    HeaderValue::from_str(&format!("\"{digest}\"")).expect("hex is plain")
}

fn is_known(headers: &HeaderMap, tag: &HeaderValue) -> bool {
    let Ok(tag) = tag.to_str() else {
        return false;
    };
    let is_it = |one: &str| one == "*" || one.strip_prefix("W/").unwrap_or(one) == tag;
    let mut known = headers.get_all(header::IF_NONE_MATCH).iter();
    known.any(|value| {
        let text = value.to_str().unwrap_or_default();
        text.split(',').any(|one| is_it(one.trim()))
    })
}

fn body(file: EmbeddedFile) -> Body {
    match file.data {
        Cow::Borrowed(bytes) => Body::from(bytes),
        Cow::Owned(bytes) => Body::from(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_beside_the_folder_is_not_served() {
        // It is there, and is a file that would be served from within.
        assert!(answer("../public/favicon.svg", &HeaderMap::new()).is_none());
    }
}
