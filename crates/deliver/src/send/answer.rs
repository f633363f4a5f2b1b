//! What is kept of a receiver's answer: some of its headers, and the beginning of its body.

use std::time::Duration;

use http_body_util::BodyExt as _;
use hyper::{HeaderMap, body::Incoming, http::header};
use tokio::time::{Instant, timeout_at};

/// How much of an answer is read, and how much of that is kept.
const READ_MAX: usize = 64 * 1024;
const KEPT_MAX: usize = 8 * 1024;
/// How long the body may take once the headers are there: all has been decided by then.
const BODY_TIMEOUT: Duration = Duration::from_secs(2);
/// How much is kept of its headers, names and values together.
const HEADERS_KEPT_MAX: usize = 4 * 1024;

/// The headers worth keeping: not those that log somebody in, and no more than so much.
pub fn kept_headers(headers: &HeaderMap) -> Vec<(String, String)> {
    let mut room = HEADERS_KEPT_MAX;
    headers
        .iter()
        .filter(|(name, _)| *name != header::SET_COOKIE)
        .map(|(name, value)| (name.to_string(), text(value.as_bytes())))
        .take_while(|(name, value)| {
            let fits = name.len() + value.len() <= room;
            room = room.saturating_sub(name.len() + value.len());
            fits
        })
        .collect()
}

/// The beginning of the body, as text. Whatever is left when enough has been read, or when it takes too
/// long, is not waited for: the connection is closed.
pub async fn read(mut body: Incoming, deadline: Instant) -> String {
    let deadline = deadline.min(Instant::now() + BODY_TIMEOUT);
    let (mut kept, mut read) = (Vec::new(), 0);
    while let Ok(Some(Ok(frame))) = timeout_at(deadline, body.frame()).await {
        let Some(data) = frame.data_ref() else {
            continue;
        };
        read += data.len();
        let room = KEPT_MAX - kept.len();
        kept.extend_from_slice(&data[..data.len().min(room)]);
        if read > READ_MAX {
            break;
        }
    }
    text(&kept)
}

/// Any bytes as text. PostgreSQL text cannot hold NUL.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).replace('\0', "\u{fffd}")
}

#[cfg(test)]
mod tests {
    use hyper::http::HeaderValue;

    use super::*;

    #[test]
    fn headers_are_kept_but_for_cookies_and_up_to_a_size() {
        let mut headers = HeaderMap::new();
        headers.insert("server", HeaderValue::from_static("nginx"));
        headers.insert("set-cookie", HeaderValue::from_static("session=secret"));
        let odd = HeaderValue::from_bytes(b"na\xefve").expect("bytes are allowed");
        headers.insert("x-odd", odd);
        let kept = kept_headers(&headers);
        let expected = [("server", "nginx"), ("x-odd", "na\u{fffd}ve")];
        assert_eq!(kept, expected.map(|(a, b)| (a.to_owned(), b.to_owned())));

        for number in 0..100 {
            let name = format!("x-{number}").parse::<header::HeaderName>();
            let value = "v".repeat(100).parse().expect("a value");
            headers.insert(name.expect("a name"), value);
        }
        let kept = kept_headers(&headers);
        let bytes: usize = kept.iter().map(|(a, b)| a.len() + b.len()).sum();
        assert!(bytes <= HEADERS_KEPT_MAX && bytes > 3_000, "{bytes}");
    }
}
