//! The answers of a server over HTTP, looked at as they pass: one message, or a stream of events.

use std::{mem::take, sync::Arc};

use axum::body::Body;
use bytes::Bytes;
use domain::mcp::{
    MESSAGE_BYTES_MAX, RequestId,
    sse::{Event, Events},
};
use futures::stream;
use reqwest::Response;

use super::{
    call::Session,
    calls::{self, LeftOut},
    headers::{is_plain, kind},
    in_flight::Serial,
    relay::Relay,
};
use crate::{output::note, table::plain};

/// How much is told of an answer that does not pass.
const TOLD_CHARS_MAX: usize = 500;

/// The session of a request, or the request itself, and its id.
pub(super) type Key = (Arc<str>, RequestId);
/// A request that was passed on.
pub(super) type Known = (Key, Serial);

/// What the client gets of an answer.
pub(super) enum Back {
    Empty,
    Message(Bytes),
    Stream(Body),
    LeftOut { why: String, answer: Option<Bytes> },
}

/// Requests whose answers are awaited. When nobody waits any more, they are given up.
pub(super) struct Awaited {
    relay: Arc<Relay>,
    session: Session,
    /// The session that they belong to, if they do: answers may come elsewhere in it.
    scope: Option<Arc<str>>,
    known: Vec<Known>,
    /// Whether the stream of their answers can be resumed.
    is_resumable: bool,
}

impl Awaited {
    pub(super) fn new(
        relay: &Arc<Relay>,
        session: Session,
        scope: Option<Arc<str>>,
        known: Vec<Known>,
    ) -> Self {
        Self {
            relay: Arc::clone(relay),
            session,
            scope,
            known,
            is_resumable: false,
        }
    }

    /// The server will not answer here.
    pub(super) fn unanswered(mut self) {
        for (key, serial) in take(&mut self.known) {
            self.relay.calls.close_same(&key, serial);
        }
    }

    /// The answer as the client gets it.
    pub(super) async fn back(self, answer: Response) -> Back {
        let status = answer.status();
        if status.is_redirection() {
            let status = status.as_u16();
            return self.leave_out(format!(
                "the MCP server's answer leads elsewhere ({status})"
            ));
        }
        if !is_plain(answer.headers()) {
            return self.leave_out("the MCP server's answer is compressed".to_owned());
        }
        let kind = kind(answer.headers());
        if kind == "text/event-stream" {
            return Back::Stream(streamed(self, answer));
        }
        let message = match whole(answer).await {
            Ok(message) => message,
            Err(why) => {
                let why = format!("the MCP server's answer cannot be read: {why}");
                return self.leave_out(why);
            }
        };
        if message.is_empty() {
            self.unanswered();
            return Back::Empty;
        }
        let told = |message: &[u8]| {
            let text = String::from_utf8_lossy(message);
            let text: String = text.chars().take(TOLD_CHARS_MAX).collect();
            format!(
                "the MCP server answered {}: {}",
                status.as_u16(),
                plain(&text)
            )
        };
        if kind != "application/json" {
            return self.leave_out(told(&message));
        }
        let looked = self.look(message.clone()).await;
        self.unanswered();
        match looked {
            Ok(message) => Back::Message(message),
            Err(LeftOut { why, answer }) => Back::LeftOut {
                why: if status.is_success() {
                    why
                } else {
                    told(&message)
                },
                answer,
            },
        }
    }

    fn leave_out(self, why: String) -> Back {
        self.unanswered();
        Back::LeftOut { why, answer: None }
    }

    /// A message of the server, in an answer to these requests or of their session; as it passes.
    async fn look(&self, message: Bytes) -> Result<Bytes, LeftOut> {
        let key = |id: &RequestId| {
            let mut own = self.known.iter().map(|(key, _)| key);
            let own = own.find(|(_, own)| own == id);
            own.cloned().unwrap_or_else(|| {
                // Nothing is known by an empty scope.
                let scope = self.scope.clone().unwrap_or_else(|| Arc::from(""));
                (scope, id.clone())
            })
        };
        let calls = &self.relay.calls;
        match calls.take_back(&self.session, message, key)? {
            calls::Back::Passes(message) => Ok(message),
            calls::Back::Lists(message, listed) => {
                Ok(calls.show(&self.session, message, listed).await)
            }
        }
    }
}

impl Drop for Awaited {
    fn drop(&mut self) {
        let known = take(&mut self.known);
        if !(self.is_resumable && self.scope.is_some()) {
            for (key, serial) in known {
                self.relay.calls.cancel_same(&key, serial);
            }
            return;
        }
        // The answers may come on a stream that resumes this one.
        self.relay.leave(known);
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
    answer: Response,
    events: Events,
}

fn streamed(awaited: Awaited, answer: Response) -> Body {
    let streaming = Streaming {
        awaited,
        answer,
        events: Events::default(),
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
                passed.extend(self.look(&event).await.unwrap_or_default());
            }
            if !passed.is_empty() {
                return Some(passed.into());
            }
        }
    }

    /// An event as it passes, if it does.
    async fn look(&mut self, event: &Event) -> Option<Vec<u8>> {
        self.awaited.is_resumable |= event.has_id();
        let Some(message) = event.data().filter(|message| !message.is_empty()) else {
            return Some(event.with_data(event.data().as_deref()));
        };
        let passes = match self.awaited.look(message.into()).await {
            Ok(message) => Some(message),
            Err(LeftOut { why, answer }) => {
                note(format_args!("watchbell: an event is left out: {why}"));
                answer
            }
        };
        passes.map(|message| event.with_data(Some(&message)))
    }

    /// The server has ended it.
    fn end(self) {
        if !self.awaited.is_resumable {
            self.awaited.unanswered();
        }
    }
}
