//! Calls that people may still approve. A client may give up before anybody has; when the agent makes the same call again, it is
//! about the same approval, and nobody is asked twice.

use std::collections::HashMap;

use domain::DecisionId;

/// How many are remembered: more than one key may have pending (100). Beyond that all are forgotten, and people are asked again.
const REMEMBERED_MAX: usize = 256;

#[derive(Debug, Default)]
pub(super) struct Pending(HashMap<String, DecisionId>);

impl Pending {
    /// What is pending about this question. Whoever takes it puts it back if it still is.
    pub(super) fn take(&mut self, request_digest: &str) -> Option<DecisionId> {
        self.0.remove(request_digest)
    }

    pub(super) fn remember(&mut self, request_digest: &str, id: DecisionId) {
        if self.0.len() == REMEMBERED_MAX {
            self.0.clear();
        }
        self.0.insert(request_digest.to_owned(), id);
    }
}
