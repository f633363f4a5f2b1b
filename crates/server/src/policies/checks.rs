//! Reads and checks policies on threads that may be busy, few at a time: a thousand policies keep a core busy for
//! the better part of a second.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, Weak},
    thread,
    time::Duration,
};

use domain::{OrgId, error_code::ErrorCode};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    task::spawn_blocking,
    time::timeout,
};

use crate::edge::Problem;

/// How long one waits for its turn, which leaves a request time for the work itself and for the database.
const PATIENCE: Duration = Duration::from_secs(5);

/// Whose turn it is. Cheap to clone.
#[derive(Clone)]
pub struct Checks {
    turns: Arc<Semaphore>,
    /// One turn for each organisation that has something checked or waits for it.
    of: Arc<Mutex<HashMap<OrgId, Weak<Semaphore>>>>,
}

/// An organisation's turn, until dropped.
struct Turn {
    _own: OwnedSemaphorePermit,
    _shared: OwnedSemaphorePermit,
}

impl Checks {
    /// As many at a time as there are cores but one, which is for those who ask for decisions.
    pub fn new() -> Self {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let turns = cores.saturating_sub(1).max(1);
        Self {
            turns: Arc::new(Semaphore::new(turns)),
            of: Arc::default(),
        }
    }

    /// Does what takes its time when it is the organisation's turn. The turn is held by the thread and not by the
    /// request: a client that goes away does not end what was begun.
    pub async fn run<T: Send + 'static>(
        &self,
        org: OrgId,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Problem> {
        let Ok(Some(turn)) = timeout(PATIENCE, self.turn(org)).await else {
            let detail = "Too many policies wait to be checked; ask again shortly.";
            return Err(Problem::new(ErrorCode::Overloaded, detail));
        };
        let done = spawn_blocking(move || {
            let done = work();
            drop(turn);
            done
        });
        done.await.map_err(|error| {
            tracing::error!(%error, "a check of policies ended before its time");
            Problem::new(ErrorCode::Internal, ErrorCode::Internal.summary())
        })
    }

    /// First come, first served; but an organisation waits for its own before it stands in the line of all, so that
    /// one that asks a lot takes one place.
    async fn turn(&self, org: OrgId) -> Option<Turn> {
        let own = self.line_of(org).acquire_owned().await.ok()?;
        let shared = Arc::clone(&self.turns).acquire_owned().await.ok()?;
        Some(Turn {
            _own: own,
            _shared: shared,
        })
    }

    fn line_of(&self, org: OrgId) -> Arc<Semaphore> {
        let mut of = self.of.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(line) = of.get(&org).and_then(Weak::upgrade) {
            return line;
        }
        of.retain(|_, line| line.strong_count() > 0);
        let line = Arc::new(Semaphore::new(1));
        of.insert(org, Arc::downgrade(&line));
        line
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use futures::future::join_all;
    use uuid::Uuid;

    use super::*;

    #[tokio::test]
    async fn an_organisation_that_asks_a_lot_does_not_keep_another_waiting() {
        let checks = Checks {
            turns: Arc::new(Semaphore::new(2)),
            of: Arc::default(),
        };
        let org = |number| OrgId::from_uuid(Uuid::from_u128(number));
        let (go, wait) = mpsc::sync_channel::<()>(0);
        let busy = checks.run(org(1), move || wait.recv().is_err());
        let more = (0..10).map(|_| checks.run(org(1), || ()));
        let other = async {
            checks.run(org(2), || ()).await.expect("there is a turn");
            drop(go);
        };
        let (first, rest, ()) = tokio::join!(busy, join_all(more), other);
        assert!(first.is_ok() && rest.iter().all(Result::is_ok));
        checks.line_of(org(3));
        let of = checks.of.lock().expect("nobody panicked");
        assert_eq!(of.len(), 1, "who waits for nothing is forgotten");
    }
}
