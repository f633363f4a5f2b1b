//! Reads and checks policies on threads that may be busy, few at a time: a thousand policies keep a core busy for
//! the better part of a second.

use std::{sync::Arc, thread, time::Duration};

use domain::error_code::ErrorCode;
use tokio::{sync::Semaphore, task::spawn_blocking, time::timeout};

use crate::edge::Problem;

/// How long one waits for its turn, which leaves a request time for the work itself and for the database.
const PATIENCE: Duration = Duration::from_secs(5);

/// Whose turn it is. Cheap to clone.
#[derive(Clone)]
pub struct Checks {
    turns: Arc<Semaphore>,
}

impl Checks {
    /// As many at a time as there are cores but one, which is for those who ask for decisions.
    pub fn new() -> Self {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let turns = cores.saturating_sub(1).max(1);
        Self {
            turns: Arc::new(Semaphore::new(turns)),
        }
    }

    /// Does what takes its time when it is its turn. The turn is held by the thread and not by the request: a
    /// client that goes away does not end what was begun.
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Problem> {
        let waiting = timeout(PATIENCE, Arc::clone(&self.turns).acquire_owned());
        let Ok(Ok(turn)) = waiting.await else {
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
}
