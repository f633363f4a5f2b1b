//! Calls that people may still approve. A client may give up before anybody has; when the agent makes the same call again, it is
//! about the same approval, and nobody is asked twice.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use domain::DecisionId;

/// How many are remembered: more than one key may have pending (100). Beyond that all are forgotten, and people are asked again.
const REMEMBERED_MAX: usize = 256;

#[derive(Debug, Default)]
pub(super) struct Pending(Mutex<HashMap<String, DecisionId>>);

/// An approval that is waited for. Until it is settled it is remembered by whoever stops to wait, whyever they do.
pub(super) struct Waiting<'a> {
    pending: &'a Pending,
    request_digest: &'a str,
    pub(super) id: DecisionId,
    is_settled: bool,
}

impl Pending {
    /// What is pending about this question, if nobody else waits for it.
    pub(super) fn take(&self, request_digest: &str) -> Option<DecisionId> {
        self.remembered().remove(request_digest)
    }

    pub(super) fn wait<'a>(&'a self, request_digest: &'a str, id: DecisionId) -> Waiting<'a> {
        Waiting {
            pending: self,
            request_digest,
            id,
            is_settled: false,
        }
    }

    fn remember(&self, request_digest: &str, id: DecisionId) {
        let mut remembered = self.remembered();
        if remembered.len() >= REMEMBERED_MAX {
            remembered.clear();
        }
        remembered.insert(request_digest.to_owned(), id);
    }

    fn remembered(&self) -> MutexGuard<'_, HashMap<String, DecisionId>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting<'_> {
    /// It was used, or denied, or is none any more.
    pub(super) fn settle(mut self) {
        self.is_settled = true;
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if !self.is_settled {
            self.pending.remember(self.request_digest, self.id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_approval_is_remembered_until_it_is_settled() {
        let pending = Pending::default();
        let id = "dec_01jcq3k5m8e9ratvw2x4y6z8ab".parse().expect("an id");
        drop(pending.wait("a", id));
        assert_eq!(pending.take("a"), Some(id));
        assert_eq!(pending.take("a"), None, "somebody waits for it");
        pending.wait("a", id).settle();
        assert_eq!(pending.take("a"), None);
    }
}
