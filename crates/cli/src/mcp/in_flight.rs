//! Calls that are not answered yet, by what their answers are known by.

use std::{collections::HashMap, hash::Hash, time::Instant};

use domain::DecisionId;
use tokio::sync::oneshot;

use super::call::GuardedCall;

#[derive(Debug)]
pub(super) struct InFlight<K> {
    calls: HashMap<K, Stage>,
    most: usize,
}

/// How far a call has come.
#[derive(Debug)]
enum Stage {
    /// Nobody has decided yet. Dropping it says that the client gave the call up.
    Deciding {
        _gives_up: oneshot::Sender<()>,
    },
    Calling(Box<Calling>),
}

/// A call that was passed on.
#[derive(Debug)]
pub(super) struct Calling {
    pub(super) call: GuardedCall,
    pub(super) decision: Option<DecisionId>,
    pub(super) since: Instant,
}

/// Why a call cannot begin.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    SameId,
    TooMany,
}

impl<K: Eq + Hash> InFlight<K> {
    /// At most so many: each waits for a decision, a person or the server. More are refused.
    pub(super) fn new(most: usize) -> Self {
        Self {
            calls: HashMap::new(),
            most,
        }
    }

    /// A call is decided about from now on; what ends when the client gives it up.
    pub(super) fn begin(&mut self, key: K) -> Result<oneshot::Receiver<()>, Refusal> {
        if self.calls.contains_key(&key) {
            return Err(Refusal::SameId);
        }
        if self.calls.len() == self.most {
            return Err(Refusal::TooMany);
        }
        let (gives_up, given_up) = oneshot::channel();
        let stage = Stage::Deciding {
            _gives_up: gives_up,
        };
        self.calls.insert(key, stage);
        Ok(given_up)
    }

    /// It is passed on now. If the client gave it up at the same moment, it is handed back.
    pub(super) fn pass(&mut self, key: &K, calling: Box<Calling>) -> Result<(), Box<Calling>> {
        match self.calls.get_mut(key) {
            Some(stage @ Stage::Deciding { .. }) => {
                *stage = Stage::Calling(calling);
                Ok(())
            }
            _ => Err(calling),
        }
    }

    /// It is over. What was passed on is handed back.
    pub(super) fn end(&mut self, key: &K) -> Option<Box<Calling>> {
        match self.calls.remove(key)? {
            Stage::Calling(calling) => Some(calling),
            Stage::Deciding { .. } => None,
        }
    }

    /// All that are known by something like this are over. What was passed on is handed back.
    pub(super) fn end_all(&mut self, are_over: impl Fn(&K) -> bool) -> Vec<Calling> {
        let over = self.calls.extract_if(|key, _| are_over(key));
        let calling = over.filter_map(|(_, stage)| match stage {
            Stage::Calling(calling) => Some(*calling),
            Stage::Deciding { .. } => None,
        });
        calling.collect()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_names_one_call_and_there_is_an_end_to_them() {
        let mut in_flight = InFlight::new(2);
        let first = in_flight.begin("a").expect("room");
        let second = in_flight.begin("b").expect("room");
        assert_eq!(in_flight.begin("a").err(), Some(Refusal::SameId));
        assert_eq!(in_flight.begin("c").err(), Some(Refusal::TooMany));
        assert!(in_flight.end(&"a").is_none());
        assert!(in_flight.begin("c").is_ok());
        drop((first, second));
    }
}
