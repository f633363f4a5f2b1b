//! Requests that are not answered yet, by what their answers are known by. What answers none of them does not pass.

use std::{collections::HashMap, hash::Hash, time::Instant};

use domain::DecisionId;
use tokio::sync::oneshot;

use super::call::GuardedCall;

/// How many requests besides calls may wait for an answer.
const OTHERS_MAX: usize = 1_024;

#[derive(Debug)]
pub(super) struct InFlight<K> {
    requests: HashMap<K, Request>,
    calls: usize,
    calls_max: usize,
    last_serial: u64,
}

/// Tells two requests apart that have one id, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Serial(u64);

#[derive(Debug)]
struct Request {
    serial: Serial,
    stage: Stage,
}

#[derive(Debug)]
enum Stage {
    /// It was passed on, and calls no tool.
    Sent(Kind),
    /// A call that nobody has decided yet. Dropping it says that the client gave the call up.
    Deciding {
        _gives_up: oneshot::Sender<()>,
    },
    Calling(Box<Calling>),
}

/// What is asked by a request that calls no tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Which tools there are: from the first one on, or more of them.
    ToolsList {
        is_first: bool,
    },
    Other,
}

/// A call that was passed on.
#[derive(Debug)]
pub(super) struct Calling {
    pub(super) call: GuardedCall,
    pub(super) decision: Option<DecisionId>,
    pub(super) since: Instant,
}

/// A request that was passed on, and is over.
#[derive(Debug)]
pub(super) enum Over {
    Other(Kind),
    Call(Box<Calling>),
}

/// Why a request cannot begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    SameId,
    TooMany,
}

impl<K: Eq + Hash> InFlight<K> {
    /// At most so many calls: each waits for a decision, a person or the server. More are refused.
    pub(super) fn new(calls_max: usize) -> Self {
        Self {
            requests: HashMap::new(),
            calls: 0,
            calls_max,
            last_serial: 0,
        }
    }

    /// A request that calls no tool is passed on now.
    pub(super) fn ask(&mut self, key: K, kind: Kind) -> Result<Serial, Refusal> {
        if self.requests.len() - self.calls == OTHERS_MAX {
            return Err(Refusal::TooMany);
        }
        self.insert(key, Stage::Sent(kind))
    }

    /// A call is decided about from now on; with what ends when the client gives it up.
    pub(super) fn begin(&mut self, key: K) -> Result<(Serial, oneshot::Receiver<()>), Refusal> {
        if self.calls == self.calls_max {
            return Err(Refusal::TooMany);
        }
        let (gives_up, given_up) = oneshot::channel();
        let stage = Stage::Deciding {
            _gives_up: gives_up,
        };
        let serial = self.insert(key, stage)?;
        self.calls += 1;
        Ok((serial, given_up))
    }

    fn insert(&mut self, key: K, stage: Stage) -> Result<Serial, Refusal> {
        if self.requests.contains_key(&key) {
            return Err(Refusal::SameId);
        }
        self.last_serial += 1;
        let serial = Serial(self.last_serial);
        self.requests.insert(key, Request { serial, stage });
        Ok(serial)
    }

    /// A call is passed on now. If the client gave it up at the same moment, it is handed back.
    pub(super) fn pass(
        &mut self,
        key: &K,
        serial: Serial,
        calling: Box<Calling>,
    ) -> Result<(), Box<Calling>> {
        match self.requests.get_mut(key) {
            Some(request) if request.serial == serial => {
                request.stage = Stage::Calling(calling);
                Ok(())
            }
            _ => Err(calling),
        }
    }

    /// Whether the server was asked this, and has not answered.
    pub(super) fn awaits(&self, key: &K) -> bool {
        let request = self.requests.get(key);
        request.is_some_and(|request| !matches!(request.stage, Stage::Deciding { .. }))
    }

    /// Whether it asks which tools there are.
    pub(super) fn lists_tools(&self, key: &K) -> bool {
        let request = self.requests.get(key);
        request.is_some_and(|request| matches!(request.stage, Stage::Sent(Kind::ToolsList { .. })))
    }

    /// Whatever is known by this is over. What was passed on is handed back.
    pub(super) fn end(&mut self, key: &K) -> Option<Over> {
        let request = self.requests.remove(key)?;
        self.over(request.stage)
    }

    /// The same, if it is still the same request.
    pub(super) fn end_same(&mut self, key: &K, serial: Serial) -> Option<Over> {
        let request = self.requests.get(key)?;
        (request.serial == serial).then(|| self.end(key))?
    }

    /// All that are known by something like this are over. Calls that were passed on are handed back.
    pub(super) fn end_all(&mut self, are_over: impl Fn(&K) -> bool) -> Vec<Calling> {
        let over = self.requests.extract_if(|key, _| are_over(key));
        let over: Vec<Request> = over.map(|(_, request)| request).collect();
        let over = over.into_iter();
        over.filter_map(|request| match self.over(request.stage)? {
            Over::Call(calling) => Some(*calling),
            Over::Other(_) => None,
        })
        .collect()
    }

    fn over(&mut self, stage: Stage) -> Option<Over> {
        match stage {
            Stage::Sent(kind) => Some(Over::Other(kind)),
            Stage::Calling(calling) => {
                self.calls -= 1;
                Some(Over::Call(calling))
            }
            Stage::Deciding { .. } => {
                self.calls -= 1;
                None
            }
        }
    }

    /// Whether nobody waits for a call or a list of tools. Some other requests are answered only when a session ends.
    pub(super) fn is_idle(&self) -> bool {
        let mut requests = self.requests.values();
        requests.all(|request| matches!(request.stage, Stage::Sent(Kind::Other)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_names_one_request_and_there_is_an_end_to_them() {
        let mut in_flight = InFlight::new(2);
        let first = in_flight.begin("a").expect("room");
        let second = in_flight.begin("b").expect("room");
        assert_eq!(in_flight.begin("c").err(), Some(Refusal::TooMany));
        assert_eq!(in_flight.ask("a", Kind::Other), Err(Refusal::SameId));
        assert!(in_flight.ask("c", Kind::Other).is_ok());
        assert!(!in_flight.awaits(&"a"), "the server was not asked yet");
        assert!(in_flight.awaits(&"c"));
        assert!(in_flight.end(&"a").is_none());
        assert!(in_flight.begin("a").is_ok());
        assert!(!in_flight.is_idle());
        assert!(in_flight.end_all(|_| true).is_empty());
        assert!(in_flight.is_idle());
        drop((first, second));
    }

    #[test]
    fn a_request_that_is_given_up_does_not_end_the_next_one_with_its_id() {
        let mut in_flight = InFlight::new(1);
        let (first, mut given_up) = in_flight.begin(1).expect("room");
        in_flight.end(&1);
        assert!(
            given_up
                .try_recv()
                .is_err_and(|error| error == oneshot::error::TryRecvError::Closed)
        );
        let (second, _given_up) = in_flight.begin(1).expect("room");
        assert_ne!(first, second);
        assert!(in_flight.end_same(&1, first).is_none());
        assert_eq!(in_flight.begin(1).err(), Some(Refusal::TooMany));
        in_flight.end_same(&1, second);
        assert!(in_flight.begin(1).is_ok());
    }
}
