//! The calls of a guard from their begin to their end, however its messages travel.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use bytes::Bytes;
use domain::mcp::{
    Answered, FromServer, RequestId, ToolCall, Unreadable,
    answer::{self, INVALID_REQUEST},
    with_arguments, without_tools,
};
use serde_json::Value;
use tokio::{
    select,
    sync::{Notify, oneshot},
};

use super::{
    call::{Ending, GuardedCall, Session},
    guard::{Guard, Ruling},
    in_flight::{Calling, InFlight, Refusal},
};

/// How many lists of tools may be awaited at the same time.
const LISTS_MAX: usize = 256;

/// Calls, each known by a key: whatever tells its answer from others.
pub(super) struct Calls<K> {
    guard: Guard,
    in_flight: Mutex<InFlight<K>>,
    /// Lists of tools that were asked for, and whether from the first one on.
    lists: Mutex<HashMap<K, bool>>,
    /// Wakes whoever waits until nothing is in flight.
    ended: Notify,
}

/// A call that nobody has decided about yet. Dropping it gives it up.
pub(super) struct Deciding<K: Clone + Eq + Hash> {
    calls: Arc<Calls<K>>,
    key: K,
    call: Option<GuardedCall>,
    given_up: oneshot::Receiver<()>,
}

/// What becomes of the message that a call is.
pub(super) enum Ruled {
    /// The server is sent this.
    Passes(Bytes),
    /// The client is answered this.
    Answered(Value),
    GivenUp,
}

impl<K: Clone + Eq + Hash> Calls<K> {
    pub(super) fn new(guard: Guard, most: usize) -> Self {
        Self {
            guard,
            in_flight: Mutex::new(InFlight::new(most)),
            lists: Mutex::default(),
            ended: Notify::new(),
        }
    }

    /// A call begins; or what the client is answered, if it cannot.
    pub(super) fn begin(
        self: &Arc<Self>,
        key: K,
        id: &RequestId,
        session: &Session,
        call: ToolCall,
    ) -> Result<Deciding<K>, Value> {
        let Some(call) = self.guard.begin(session, call) else {
            let why = "Watchbell cannot name this tool: the names of server and tool are too long.";
            return Err(answer::not_called(id, why));
        };
        let given_up = match self.in_flight().begin(key.clone()) {
            Ok(given_up) => given_up,
            Err(Refusal::SameId) => {
                let why = "a request with this id is not answered yet";
                return Err(answer::error(Some(id), INVALID_REQUEST, why));
            }
            Err(Refusal::TooMany) => {
                self.guard.record(&call, None, Ending::UNDECIDED, None);
                let why = "Too many tools are called at the same time. Try again later.";
                return Err(answer::not_called(id, why));
            }
        };
        Ok(Deciding {
            calls: Arc::clone(self),
            key,
            call: Some(call),
            given_up,
        })
    }

    /// The client asks which tools there are. False if too many such questions are not answered yet.
    pub(super) fn lists(&self, key: K, is_first: bool) -> bool {
        let mut lists = self.awaited_lists();
        let has_room = lists.len() < LISTS_MAX || lists.contains_key(&key);
        if has_room {
            lists.insert(key, is_first);
        }
        has_room
    }

    /// A message of the server as the client gets it. `key` says what an answer is known by. None if it does not pass.
    pub(super) async fn pass_back(
        &self,
        session: &Session,
        message: Bytes,
        mut key: impl FnMut(&RequestId) -> K,
    ) -> Result<Option<Bytes>, Unreadable> {
        let said = FromServer::read(&message)?;
        let mut hidden = Vec::new();
        for answered in said.answers {
            let key = key(&answered.id);
            let list = self.awaited_lists().remove(&key);
            if let (Some(is_first), Some(result)) = (list, answered.result()) {
                hidden = self.guard.listed(session, result, is_first).await;
            }
            self.answered(&key, answered);
        }
        Ok(if hidden.is_empty() {
            Some(message)
        } else if said.is_batch {
            None
        } else {
            without_tools(&message, &hidden).map(Bytes::from)
        })
    }

    /// The server answered a request, which may be a call.
    fn answered(&self, key: &K, answered: Answered) {
        let calling = self.in_flight().end(key);
        if let Some(calling) = calling {
            let took = calling.since.elapsed();
            let (call, outcome) = (&calling.call, answered.outcome());
            self.guard.ended(call, calling.decision, &outcome, took);
        }
        self.ended.notify_one();
    }

    /// The client gives a request up, which may be a call.
    pub(super) fn cancel(&self, key: &K) {
        self.awaited_lists().remove(key);
        let calling = self.in_flight().end(key);
        if let Some(calling) = calling {
            self.end(&calling, Ending::CANCELED);
        }
        self.ended.notify_one();
    }

    /// The server will not answer calls any more that are known like this.
    pub(super) fn close(&self, are_over: impl Fn(&K) -> bool) {
        self.awaited_lists().retain(|key, _| !are_over(key));
        let over = self.in_flight().end_all(are_over);
        for calling in over {
            self.end(&calling, Ending::NO_RESPONSE);
        }
        self.ended.notify_one();
    }

    /// Waits until all that began have ended.
    pub(super) async fn all_ended(&self) {
        while !self.in_flight().is_empty() {
            self.ended.notified().await;
        }
    }

    fn end(&self, calling: &Calling, ending: Ending) {
        let took = calling.since.elapsed();
        self.guard
            .record(&calling.call, calling.decision, ending, Some(took));
    }

    fn awaited_lists(&self) -> MutexGuard<'_, HashMap<K, bool>> {
        self.lists.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn in_flight(&self) -> MutexGuard<'_, InFlight<K>> {
        self.in_flight
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Clone + Eq + Hash> Deciding<K> {
    /// What becomes of the message that called the tool. If it passes, its answer is to be told to the calls.
    pub(super) async fn ruled(mut self, id: &RequestId, message: Bytes) -> Ruled {
        let call = self.call.as_ref().expect("it is taken at the end only");
        let ruling = select! {
            ruling = self.calls.guard.rule(call) => ruling,
            _ = &mut self.given_up => return Ruled::GivenUp,
        };
        let call = self.call.take().expect("it is taken here only");
        let (decision, arguments) = match ruling {
            Ruling::Denied { why } => {
                self.calls.in_flight().end(&self.key);
                self.calls.ended.notify_one();
                return Ruled::Answered(answer::not_called(id, &why));
            }
            Ruling::Passes {
                decision,
                arguments,
            } => (decision, arguments),
        };
        let message = match arguments {
            Some(arguments) => {
                let changed = with_arguments(&message, arguments);
                changed.expect("it was read as a call before").into()
            }
            None => message,
        };
        let calling = Box::new(Calling {
            call,
            decision,
            since: Instant::now(),
        });
        let passed = self.calls.in_flight().pass(&self.key, calling);
        match passed {
            Ok(()) => Ruled::Passes(message),
            Err(calling) => {
                self.calls.end(&calling, Ending::CANCELED);
                Ruled::GivenUp
            }
        }
    }
}

impl<K: Clone + Eq + Hash> Drop for Deciding<K> {
    fn drop(&mut self) {
        if let Some(call) = self.call.take() {
            self.calls.in_flight().end(&self.key);
            let guard = &self.calls.guard;
            guard.record(&call, None, Ending::CANCELED, None);
            self.calls.ended.notify_one();
        }
    }
}
