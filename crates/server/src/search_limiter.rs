//! How many searches of one organization the database works on at a time.
//!
//! The pool has few connections for all organizations; one that asks for much waits for itself.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use domain::{OrgId, error_code::ErrorCode};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};

use crate::edge::Problem;

/// A fifth of a node's usual connections (20).
const AT_A_TIME: usize = 4;
/// As long as one waits for a connection.
const PATIENCE: Duration = Duration::from_secs(2);

/// Lets each organization have so many searches. Cheap to clone; it knows only organizations that search or wait.
#[derive(Clone, Default)]
pub struct SearchLimiter {
    of: Arc<Mutex<HashMap<OrgId, Arc<Semaphore>>>>,
}

/// One that searches, or waits for its turn.
struct SearchSlot {
    limiter: SearchLimiter,
    org: OrgId,
    /// `None` while it waits.
    permit: Option<OwnedSemaphorePermit>,
}

impl SearchLimiter {
    /// Runs a query when it is its turn. The turn is held by the query and not by the request: a client
    /// that goes away does not end what PostgreSQL has begun.
    pub async fn run<T: Send + 'static>(
        &self,
        org: OrgId,
        query: impl Future<Output = Result<T, store::Error>> + Send + 'static,
    ) -> Result<T, Problem> {
        let turn = self.take(org).await?;
        #[expect(
            clippy::disallowed_methods,
            reason = "the request waits for it, and its time is bounded"
        )]
        let running = tokio::spawn(async move {
            let found = query.await;
            drop(turn);
            found
        });
        match running.await {
            Ok(Ok(found)) => Ok(found),
            Ok(Err(store::Error::TookTooLong)) => {
                let detail =
                    "This search took too long; narrow it with `from` and `to` or another filter.";
                Err(Problem::new(ErrorCode::TooExpensive, detail))
            }
            Ok(Err(error)) => Err(error.into()),
            Err(error) => {
                tracing::error!(%error, "a search task died");
                Err(Problem::new(
                    ErrorCode::Internal,
                    ErrorCode::Internal.summary(),
                ))
            }
        }
    }

    async fn take(&self, org: OrgId) -> Result<SearchSlot, Problem> {
        let mut turn = SearchSlot {
            limiter: self.clone(),
            org,
            permit: None,
        };
        let free = {
            let mut of = self.lock();
            let free = of
                .entry(org)
                .or_insert_with(|| Arc::new(Semaphore::new(AT_A_TIME)));
            Arc::clone(free)
        };
        match timeout(PATIENCE, free.acquire_owned()).await {
            Ok(Ok(permit)) => {
                turn.permit = Some(permit);
                Ok(turn)
            }
            _ => {
                let detail = format!(
                    "Your organization already has {AT_A_TIME} searches running on this node; try again when one is done."
                );
                Err(Problem::new(ErrorCode::Overloaded, detail))
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<OrgId, Arc<Semaphore>>> {
        self.of.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for SearchSlot {
    fn drop(&mut self) {
        let mut of = self.limiter.lock();
        self.permit = None;
        // Whoever searches or waits has a copy.
        if of
            .get(&self.org)
            .is_some_and(|free| Arc::strong_count(free) == 1)
        {
            of.remove(&self.org);
        }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn org(number: u128) -> OrgId {
        OrgId::from_uuid(Uuid::from_u128(number))
    }

    #[tokio::test]
    async fn an_organization_waits_for_itself_only_and_is_forgotten_when_done() {
        let searches = SearchLimiter::default();
        let mut held = Vec::new();
        for _ in 0..AT_A_TIME {
            held.push(searches.take(org(1)).await.expect("a turn"));
        }
        let refused = searches.take(org(1)).await.err();
        let code = refused.map(|problem| problem.code());
        assert_eq!(code, Some(ErrorCode::Overloaded));
        assert!(searches.take(org(2)).await.is_ok());
        held.pop();
        held.push(searches.take(org(1)).await.expect("it was given back"));
        drop(held);
        assert!(searches.lock().is_empty());
    }

    #[tokio::test]
    async fn a_client_that_goes_away_keeps_its_turn_until_the_query_ends() {
        let searches = SearchLimiter::default();
        let (end, ended) = tokio::sync::oneshot::channel::<()>();
        let query = async move {
            let _ = ended.await;
            Ok(())
        };
        let request = searches.run(org(1), query);
        assert!(timeout(Duration::from_millis(10), request).await.is_err());
        assert!(!searches.lock().is_empty());
        drop(end);
        while !searches.lock().is_empty() {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn what_takes_too_long_is_the_clients_to_narrow() {
        let query = async { Err::<(), _>(store::Error::TookTooLong) };
        let refused = SearchLimiter::default().run(org(1), query).await.err();
        let code = refused.map(|problem| problem.code());
        assert_eq!(code, Some(ErrorCode::TooExpensive));
    }
}
