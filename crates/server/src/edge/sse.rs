//! Server-sent events (the HTML standard, section 9.2): as bytes, and as an answer that goes on until the client, its
//! key or session, or we go.

use std::{convert::Infallible, time::Duration};

use axum::{
    body::Body,
    http::header,
    response::{IntoResponse as _, Response},
};
use bytes::Bytes;
use domain::EventId;
use futures::stream;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::{
    caller::Permission,
    recheck_auth::{ASK_EVERY, AuthRecheck},
};

/// A quiet stream says that it is alive; proxies close one that says nothing for 30 s or more.
const KEEP_ALIVE_EVERY: Duration = Duration::from_secs(15);
/// A comment, so that proxies do not take a quiet stream for a dead one.
const KEEP_ALIVE: &[u8] = b": keep-alive\n\n";
/// From here on every event that is accepted is told; and how soon to come back when the stream ends.
pub const READY: &[u8] = b"retry: 2000\nevent: ready\ndata: {}\n\n";

/// An audit event.
pub fn event(id: EventId, json: &str) -> Bytes {
    message("event", id.text().as_str(), json)
}

/// A message of any kind. Its JSON may have line ends between its tokens: each line goes into a field of its
/// own, and the reader joins them.
pub fn message(kind: &str, id: &str, json: &str) -> Bytes {
    const NAMES_BYTES: usize = 64;
    let mut frame = String::with_capacity(json.len() + NAMES_BYTES);
    frame.push_str("id: ");
    frame.push_str(id);
    frame.push_str("\nevent: ");
    frame.push_str(kind);
    frame.push('\n');
    for line in json.split(['\r', '\n']) {
        frame.push_str("data: ");
        frame.push_str(line);
        frame.push('\n');
    }
    frame.push('\n');
    Bytes::from(frame)
}

/// So many events were left out, because the reader is slower than they come.
pub fn skipped(events: u64) -> Bytes {
    Bytes::from(format!(
        "event: skipped\ndata: {{\"skipped\": {events}}}\n\n"
    ))
}

/// What a stream tells.
pub trait Source: Send + 'static {
    /// The next message; `None` if there will be no more. Nothing is lost if the wait is given up.
    fn next(&mut self) -> impl Future<Output = Option<Bytes>> + Send;
}

/// A stream under way.
struct Streaming<P: Permission, S> {
    source: S,
    standing: AuthRecheck<P>,
    stopping: CancellationToken,
    ask_at: Instant,
    keep_alive_at: Instant,
}

/// Answers with what the source tells. It ends when that does, when who asked may no longer be there, and when the
/// process stops.
pub fn streamed<P: Permission + 'static>(
    source: impl Source,
    standing: AuthRecheck<P>,
    stopping: CancellationToken,
) -> Response {
    let now = Instant::now();
    let streaming = Streaming {
        source,
        standing,
        stopping,
        ask_at: now + ASK_EVERY,
        keep_alive_at: now + KEEP_ALIVE_EVERY,
    };
    let body = stream::unfold(streaming, async |mut streaming| {
        let bytes = streaming.next().await?;
        Some((Ok::<_, Infallible>(bytes), streaming))
    });
    let headers = [
        (header::CONTENT_TYPE.as_str(), "text/event-stream"),
        ("x-accel-buffering", "no"),
    ];
    (headers, Body::from_stream(body)).into_response()
}

impl<P: Permission, S: Source> Streaming<P, S> {
    /// The next bytes, or `None` at the end. A client that does not read does not get here; the listener
    /// lets go of it.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if self.ask_at <= Instant::now() {
                if !self.standing.still_holds().await {
                    return None;
                }
                self.ask_at = Instant::now() + ASK_EVERY;
            }
            let bytes = tokio::select! {
                biased;
                () = self.stopping.cancelled() => return None,
                told = self.source.next() => told?,
                () = sleep_until(self.keep_alive_at) => Bytes::from_static(KEEP_ALIVE),
                () = sleep_until(self.ask_at) => continue,
            };
            self.keep_alive_at = Instant::now() + KEEP_ALIVE_EVERY;
            return Some(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use domain::Timestamp;
    use serde_json::Value;

    use super::*;

    #[test]
    fn json_with_line_ends_between_its_tokens_reads_back() {
        let id = EventId::new(Timestamp::from_unix_millis(1), [1; 10]);
        let json = "{\"a\":\r\n 1,\n\n\"b\":\r\"x\\ny\"}";
        let frame = event(id, json);
        let text = std::str::from_utf8(&frame).expect("UTF-8");
        assert!(text.ends_with("\n\n") && !text.trim_end().contains("\n\n"));
        let data: Vec<&str> = text
            .lines()
            .filter_map(|line| line.strip_prefix("data: "))
            .collect();
        let read: Value = serde_json::from_str(&data.join("\n")).expect("JSON");
        let sent: Value = serde_json::from_str(json).expect("JSON");
        assert_eq!(read, sent);
    }
}
