//! Quotas: what each operation's limit is, and how much of it each caller has used.

use std::sync::Arc;

use domain::limit::{Operation, Quota, retry_after_s};
use limits::{Admission, Limits};

use super::{Problem, client_address::ClientAddress};
use crate::config;

/// What each operation's limit is, and the count of what was used. Cheap to clone.
#[derive(Clone)]
pub struct Quotas {
    pub used: Limits,
    pub of: Arc<config::Limits>,
}

impl Quotas {
    /// Whether a client may present a key or session that is not known yet: not if it presented too
    /// many that nobody knows. Who has one that works is counted for nothing.
    pub fn may_guess(&self, client: &ClientAddress) -> Result<(), Problem> {
        let operation = Operation::KeyLookup;
        let quota = self.of.quota(operation);
        let answer = self.used.look(operation, quota, &client.to_string());
        if answer.remaining > 0 {
            return Ok(());
        }
        Err(refused(operation, quota, &answer))
    }

    /// Counts one more by `subject`, or says how long to wait. For what is counted only after the
    /// request was looked at; elsewhere a layer does it.
    pub async fn admit(&self, operation: Operation, subject: &str) -> Result<(), Problem> {
        let quota = self.of.quota(operation);
        let answer = self.used.check(operation, quota, subject).await;
        if answer.admitted {
            return Ok(());
        }
        Err(refused(operation, quota, &answer))
    }

    /// Counts a key or session that nobody knows.
    pub async fn note_guess(&self, client: &ClientAddress) {
        // Full or not: `may_guess` says so to the next one.
        let _ = self.admit(Operation::KeyLookup, &client.to_string()).await;
    }
}

pub(super) fn refused(operation: Operation, quota: Quota, answer: &Admission) -> Problem {
    Problem::rate_limited(operation, quota, retry_after_s(answer.frees_in))
}
