//! The requests of a client from their begin to their end, however messages travel. Calls are decided and recorded.

use std::{
    collections::HashSet,
    hash::Hash,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use bytes::Bytes;
use domain::mcp::{
    Answered, FromServer, Outcome, RequestId, ToolCall,
    answer::{self, INVALID_REQUEST, UNDECIDED},
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
    in_flight::{Calling, InFlight, Kind, Over, Refusal, Serial},
    listing::Listed,
};

/// Requests, each known by a key: whatever tells its answer from others.
pub(super) struct Calls<K> {
    guard: Guard,
    in_flight: Mutex<InFlight<K>>,
    /// Wakes whoever waits until nothing is in flight.
    ended: Notify,
}

/// A call that nobody has decided yet. Dropping it gives it up.
pub(super) struct Deciding<K: Clone + Eq + Hash> {
    calls: Arc<Calls<K>>,
    key: K,
    serial: Serial,
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

/// A message of the server on its way back.
pub(super) enum Back {
    Passes(Bytes),
    /// It lists tools, and policies are asked which of them the client may see.
    Lists(Bytes, Listed),
}

/// A message of the server that does not pass.
pub(super) struct LeftOut {
    pub(super) why: String,
    /// What those who wait for it are answered instead.
    pub(super) answer: Option<Bytes>,
}

impl<K: Clone + Eq + Hash> Calls<K> {
    pub(super) fn new(guard: Guard, most: usize) -> Self {
        Self {
            guard,
            in_flight: Mutex::new(InFlight::new(most)),
            ended: Notify::new(),
        }
    }

    /// Requests pass that call no tool; or what the client is answered, if they cannot.
    pub(super) fn ask(
        &self,
        ids: &[RequestId],
        key: impl Fn(&RequestId) -> K,
        kind: Kind,
    ) -> Result<Vec<(K, Serial)>, Value> {
        let mut in_flight = self.in_flight();
        let mut begun = Vec::new();
        for id in ids {
            let key = key(id);
            match in_flight.ask(key.clone(), kind) {
                Ok(serial) => begun.push((key, serial)),
                Err(refusal) => {
                    for (key, serial) in begun {
                        in_flight.end_same(&key, serial);
                    }
                    let why = refused(refusal);
                    return Err(answer_to(ids, why, INVALID_REQUEST).unwrap_or_default());
                }
            }
        }
        Ok(begun)
    }

    /// A call begins; or what the client is answered, if it cannot.
    pub(super) fn begin(
        self: &Arc<Self>,
        key: K,
        id: &RequestId,
        session: &Session,
        call: ToolCall,
    ) -> Result<Deciding<K>, Value> {
        let call = self.guard.begin(session, call);
        if !call.has_action {
            self.guard.record(&call, None, Ending::UNDECIDED, None);
            let why = "Watchbell cannot name this tool: the names of server and tool are too long.";
            return Err(answer::not_called(id, why));
        }
        let begun = self.in_flight().begin(key.clone());
        match begun {
            Ok((serial, given_up)) => Ok(Deciding {
                calls: Arc::clone(self),
                key,
                serial,
                call: Some(call),
                given_up,
            }),
            Err(Refusal::SameId) => {
                self.guard.record(&call, None, Ending::UNDECIDED, None);
                let why = refused(Refusal::SameId);
                Err(answer::error(Some(id), INVALID_REQUEST, why))
            }
            Err(Refusal::TooMany) => {
                self.guard.record(&call, None, Ending::UNDECIDED, None);
                let why = "Too many tools are called at the same time. Try again later.";
                Err(answer::not_called(id, why))
            }
        }
    }

    /// A call is refused before anybody decides about it.
    pub(super) fn refuse(&self, session: &Session, call: &ToolCall) {
        let call = self.guard.begin(session, call.clone());
        self.guard.record(&call, None, Ending::UNDECIDED, None);
    }

    /// A message of the server. `key` says what an answer is known by.
    pub(super) fn take_back(
        &self,
        session: &Session,
        message: Bytes,
        mut key: impl FnMut(&RequestId) -> K,
    ) -> Result<Back, LeftOut> {
        let said = match FromServer::read(&message) {
            Ok(said) => said,
            Err(error) => {
                let id = FromServer::id_of_unreadable(&message);
                let known = id.into_iter().map(|id| (key(&id), id)).collect();
                return Err(self.leave_out(known, error.to_string()));
            }
        };
        let known = said.answers.iter().map(|answered| &answered.id);
        let known: Vec<_> = known.map(|id| (key(id), id.clone())).collect();
        if let Some(why) = self.objection(&known, said.is_batch) {
            return Err(self.leave_out(known, why.to_owned()));
        }
        let mut listed = None;
        for (answered, (key, _)) in said.answers.into_iter().zip(&known) {
            listed = self.answered(session, key, answered).or(listed);
        }
        self.ended.notify_one();
        Ok(match listed {
            None => Back::Passes(message),
            Some(listed) if listed.undecided.is_empty() => {
                Back::Passes(shown(message, &listed.hidden))
            }
            Some(listed) => Back::Lists(message, listed),
        })
    }

    /// A list of tools as the client sees it.
    pub(super) async fn show(&self, session: &Session, message: Bytes, listed: Listed) -> Bytes {
        let hidden = self.guard.hidden(session, listed).await;
        shown(message, &hidden)
    }

    /// Why these answers do not pass.
    fn objection(&self, known: &[(K, RequestId)], is_batch: bool) -> Option<&'static str> {
        let in_flight = self.in_flight();
        let mut keys = HashSet::new();
        for (key, _) in known {
            if !in_flight.awaits(key) || !keys.insert(key) {
                return Some("it answers a request that nobody made");
            }
            if is_batch && in_flight.lists_tools(key) {
                return Some("it lists tools in a batch");
            }
        }
        None
    }

    /// Whoever waits for a message that does not pass is told so.
    fn leave_out(&self, known: Vec<(K, RequestId)>, why: String) -> LeftOut {
        let error = "the MCP server answered what the guard does not let through";
        let mut waiting = Vec::new();
        for (key, id) in known {
            if !self.in_flight().awaits(&key) {
                continue;
            }
            if let Some(Over::Call(calling)) = self.end(&key) {
                let outcome = Outcome::ProtocolError(error.into());
                self.told(&calling, &outcome);
            }
            waiting.push(id);
        }
        self.ended.notify_one();
        let answer = answer_to(&waiting, error, UNDECIDED);
        LeftOut {
            why,
            answer: answer.map(|answer| answer.to_string().into()),
        }
    }

    /// The server answered a request: a call, a list of tools, or another.
    fn answered(&self, session: &Session, key: &K, answered: Answered) -> Option<Listed> {
        match self.end(key)? {
            Over::Call(calling) => {
                self.told(&calling, &answered.outcome());
                None
            }
            Over::Other(Kind::ToolsList { is_first }) => {
                let result = answered.result()?;
                self.guard.listed(session, result, is_first)
            }
            Over::Other(Kind::Other) => None,
        }
    }

    fn told(&self, calling: &Calling, outcome: &Outcome) {
        let took = calling.since.elapsed();
        let (call, decision) = (&calling.call, calling.decision);
        self.guard.ended(call, decision, outcome, took);
    }

    /// The client gives a request up, which may be a call.
    pub(super) fn cancel(&self, key: &K) {
        if let Some(Over::Call(calling)) = self.end(key) {
            self.record(&calling, Ending::CANCELED);
        }
        self.ended.notify_one();
    }

    /// The same, if it is still the same request.
    pub(super) fn cancel_same(&self, key: &K, serial: Serial) {
        self.end_same(key, serial, Ending::CANCELED);
    }

    /// The server will not answer this request any more.
    pub(super) fn close_same(&self, key: &K, serial: Serial) {
        self.end_same(key, serial, Ending::NO_RESPONSE);
    }

    /// It will not answer those that are known like this.
    pub(super) fn close(&self, are_over: impl Fn(&K) -> bool) {
        let over = self.in_flight().end_all(are_over);
        for calling in over {
            self.record(&calling, Ending::NO_RESPONSE);
        }
        self.ended.notify_one();
    }

    /// Waits until nobody waits for a call or a list of tools.
    pub(super) async fn all_ended(&self) {
        while !self.in_flight().is_idle() {
            self.ended.notified().await;
        }
    }

    fn end(&self, key: &K) -> Option<Over> {
        self.in_flight().end(key)
    }

    fn end_same(&self, key: &K, serial: Serial, ending: Ending) {
        let over = self.in_flight().end_same(key, serial);
        if let Some(Over::Call(calling)) = over {
            self.record(&calling, ending);
        }
        self.ended.notify_one();
    }

    fn record(&self, calling: &Calling, ending: Ending) {
        let took = calling.since.elapsed();
        self.guard
            .record(&calling.call, calling.decision, ending, Some(took));
    }

    fn in_flight(&self) -> MutexGuard<'_, InFlight<K>> {
        self.in_flight
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

fn refused(refusal: Refusal) -> &'static str {
    match refusal {
        Refusal::SameId => "a request with this id is not answered yet",
        Refusal::TooMany => "too many requests are not answered yet",
    }
}

/// An error for each of these requests; several came, and are answered, as one message.
fn answer_to(ids: &[RequestId], why: &str, code: i32) -> Option<Value> {
    let error = |id| answer::error(Some(id), code, why);
    match ids {
        [] => None,
        [id] => Some(error(id)),
        ids => Some(ids.iter().map(error).collect()),
    }
}

fn shown(message: Bytes, hidden: &HashSet<usize>) -> Bytes {
    if hidden.is_empty() {
        return message;
    }
    let shown = without_tools(&message, |place| hidden.contains(&place));
    shown.expect("it was read as a list of tools before").into()
}

impl<K: Clone + Eq + Hash> Deciding<K> {
    /// What the call is known by, once it has passed.
    pub(super) fn key(&self) -> (K, Serial) {
        (self.key.clone(), self.serial)
    }

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
                self.over();
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
        let passed = self.calls.in_flight().pass(&self.key, self.serial, calling);
        match passed {
            Ok(()) => Ruled::Passes(message),
            Err(calling) => {
                self.calls.record(&calling, Ending::CANCELED);
                Ruled::GivenUp
            }
        }
    }

    fn over(&self) {
        self.calls.in_flight().end_same(&self.key, self.serial);
        self.calls.ended.notify_one();
    }
}

impl<K: Clone + Eq + Hash> Drop for Deciding<K> {
    fn drop(&mut self) {
        if let Some(call) = self.call.take() {
            self.over();
            let guard = &self.calls.guard;
            guard.record(&call, None, Ending::CANCELED, None);
        }
    }
}
