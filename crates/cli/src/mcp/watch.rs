//! The answers of a server over HTTP, looked at as they pass: one message, or a stream of events.

use std::sync::Arc;

use axum::body::Body;
use bytes::Bytes;
use domain::mcp::{
    MESSAGE_BYTES_MAX, RequestId, Unreadable,
    sse::{Event, Events},
};
use futures::stream;
use reqwest::{Response, header::CONTENT_TYPE};

use super::{call::Session, relay::Relay};
use crate::output::note;

/// The session of a request, or the request itself, and its id.
pub(super) type Key = (Arc<str>, RequestId);

/// A request whose answer is awaited. When nobody waits any more, its call is given up.
pub(super) struct Awaited {
    relay: Arc<Relay>,
    session: Session,
    /// What the answer is known by, until it has come, if the request is a call or a list of tools.
    key: Option<Key>,
}

impl Awaited {
    pub(super) fn new(relay: &Arc<Relay>, session: Session, key: Option<Key>) -> Self {
        Self {
            relay: Arc::clone(relay),
            session,
            key,
        }
    }

    pub(super) fn id(&self) -> Option<RequestId> {
        self.key.as_ref().map(|(_, id)| id.clone())
    }

    /// The server will not answer here.
    pub(super) fn unanswered(mut self) {
        if let Some(own) = self.key.take() {
            self.relay.calls.close(|key| *key == own);
        }
    }

    /// The answer may come elsewhere: on a stream that resumes this one.
    fn resumable(mut self) {
        self.key = None;
    }

    /// A message of the server, in an answer to this request or of this session; as it passes, if it does.
    async fn look(
        &mut self,
        scope: Option<&Arc<str>>,
        message: Bytes,
    ) -> Result<Option<Bytes>, Unreadable> {
        // Nothing is known by an empty scope.
        let scope = scope.map_or_else(|| Arc::from(""), Arc::clone);
        let own = &mut self.key;
        let key = |id: &RequestId| {
            let own = own.take_if(|(_, own)| *own == *id);
            own.unwrap_or_else(|| (Arc::clone(&scope), id.clone()))
        };
        let calls = &self.relay.calls;
        calls.pass_back(&self.session, message, key).await
    }
}

impl Drop for Awaited {
    fn drop(&mut self) {
        if let Some(key) = self.key.take() {
            self.relay.calls.cancel(&key);
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
    if !is_message {
        // Why the server does not know the client, for instance.
        awaited.unanswered();
        return Ok(message.into());
    }
    let mut awaited = awaited;
    let looked = awaited.look(scope.as_ref(), message.clone()).await;
    // What answers no call passes as what it is.
    let is_awaited = awaited.key.is_some();
    awaited.unanswered();
    match looked {
        Ok(passes) => Ok(passes.unwrap_or_default().into()),
        Err(_) if !is_awaited => Ok(message.into()),
        Err(error) => Err(error.to_string()),
    }
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
                if let Some(event) = self.look(event).await {
                    passed.extend_from_slice(event.bytes());
                }
            }
            if !passed.is_empty() {
                return Some(passed.into());
            }
        }
    }

    /// An event as it passes, if it does.
    async fn look(&mut self, event: Event) -> Option<Event> {
        self.is_resumable |= event.has_id();
        let Some(message) = event.data().filter(|message| !message.is_empty()) else {
            return Some(event);
        };
        let message = Bytes::from(message);
        match self
            .awaited
            .look(self.scope.as_ref(), message.clone())
            .await
        {
            Ok(Some(passes)) if passes == message => Some(event),
            Ok(Some(passes)) => Some(event.with_data(&passes)),
            Ok(None) => None,
            Err(error) => {
                note(format_args!("watchbell: an event is left out: {error}"));
                None
            }
        }
    }

    fn end(self) {
        if self.is_resumable && self.scope.is_some() {
            self.awaited.resumable();
        } else {
            self.awaited.unanswered();
        }
    }
}
