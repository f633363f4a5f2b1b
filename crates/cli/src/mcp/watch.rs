//! The answers of a server over HTTP, looked at as they pass: one message, or a stream of events.

use std::sync::Arc;

use axum::body::Body;
use bytes::Bytes;
use domain::mcp::{
    FromServer, MESSAGE_BYTES_MAX, RequestId,
    sse::{Event, Events},
};
use futures::stream;
use reqwest::{Response, header::CONTENT_TYPE};

use super::relay::Relay;
use crate::output::note;

/// The session of a request, or the request itself, and its id.
pub(super) type Key = (Arc<str>, RequestId);

/// A request whose answer is awaited. When nobody waits any more, its call is given up.
pub(super) struct Awaited {
    relay: Arc<Relay>,
    call: Option<Key>,
}

impl Awaited {
    pub(super) fn new(relay: &Arc<Relay>, call: Option<Key>) -> Self {
        Self {
            relay: Arc::clone(relay),
            call,
        }
    }

    pub(super) fn id(&self) -> Option<RequestId> {
        self.call.as_ref().map(|(_, id)| id.clone())
    }

    /// The server will not answer here.
    pub(super) fn unanswered(mut self) {
        if let Some(call) = self.call.take() {
            self.relay.calls.close(|key| *key == call);
        }
    }

    /// The answer may come elsewhere: on a stream that resumes this one.
    fn resumable(mut self) {
        self.call = None;
    }

    /// A message of the server, in an answer to this request or of this session.
    fn look(&mut self, scope: Option<&Arc<str>>, message: &[u8]) -> Result<(), String> {
        let said = FromServer::read(message).map_err(|error| error.to_string())?;
        for answered in said.answers {
            let own = self.call.take_if(|(_, id)| *id == answered.id);
            let key = own.or_else(|| Some((Arc::clone(scope?), answered.id.clone())));
            if let Some(key) = key {
                self.relay.calls.answered(&key, answered);
            }
        }
        Ok(())
    }
}

impl Drop for Awaited {
    fn drop(&mut self) {
        if let Some(call) = self.call.take() {
            self.relay.calls.cancel(&call);
        }
    }
}

/// The body of an answer as the client gets it. `scope` is the session that it belongs to.
pub(super) async fn body(
    awaited: Awaited,
    scope: Option<Arc<str>>,
    answer: Response,
) -> Result<Body, String> {
    let kind = answer.headers().get(CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    if kind.eq_ignore_ascii_case("text/event-stream") {
        return Ok(streamed(awaited, scope, answer));
    }
    let is_message = kind.eq_ignore_ascii_case("application/json");
    let message = match whole(answer).await {
        Ok(message) => message,
        Err(why) => {
            awaited.unanswered();
            return Err(why);
        }
    };
    let mut awaited = awaited;
    // What is no message of MCP, such as why the server does not know the client, passes as what it is.
    if is_message && awaited.look(scope.as_ref(), &message).is_err() && awaited.call.is_some() {
        awaited.unanswered();
        return Err("it is no message that has one meaning".to_owned());
    }
    awaited.unanswered();
    Ok(message.into())
}

async fn whole(mut answer: Response) -> Result<Bytes, String> {
    let mut bytes = Vec::new();
    while let Some(piece) = answer.chunk().await.map_err(|error| error.to_string())? {
        bytes.extend_from_slice(&piece);
        if bytes.len() > MESSAGE_BYTES_MAX {
            return Err("it has more than 16 MiB".to_owned());
        }
    }
    Ok(bytes.into())
}

/// A stream while it lasts.
struct Streaming {
    awaited: Awaited,
    scope: Option<Arc<str>>,
    answer: Response,
    events: Events,
    is_resumable: bool,
}

fn streamed(awaited: Awaited, scope: Option<Arc<str>>, answer: Response) -> Body {
    let streaming = Streaming {
        awaited,
        scope,
        answer,
        events: Events::default(),
        is_resumable: false,
    };
    let pieces = stream::unfold(streaming, async |mut streaming| {
        let piece = streaming.next().await;
        match piece {
            Some(bytes) => Some((Ok::<_, std::io::Error>(bytes), streaming)),
            None => {
                streaming.end();
                None
            }
        }
    });
    Body::from_stream(pieces)
}

impl Streaming {
    /// The next events. A stream that breaks, or has an event without an end, ends.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            let bytes = self.answer.chunk().await.ok()??;
            let events = match self.events.push(&bytes) {
                Ok(events) => events,
                Err(error) => {
                    note(format_args!("watchbell: a stream is ended: {error}"));
                    return None;
                }
            };
            let mut passed = Vec::new();
            for event in events {
                if self.look(&event) {
                    passed.extend_from_slice(event.bytes());
                }
            }
            if !passed.is_empty() {
                return Some(passed.into());
            }
        }
    }

    /// Whether an event passes.
    fn look(&mut self, event: &Event) -> bool {
        self.is_resumable |= event.has_id();
        let message = event.data().filter(|message| !message.is_empty());
        let looked = message.map(|message| self.awaited.look(self.scope.as_ref(), &message));
        if let Some(Err(why)) = looked {
            note(format_args!("watchbell: an event is left out: {why}"));
            return false;
        }
        true
    }

    fn end(self) {
        if self.is_resumable && self.scope.is_some() {
            self.awaited.resumable();
        } else {
            self.awaited.unanswered();
        }
    }
}
