//! Work that keeps a core busy, few at a time and one at a time for each organization.

use std::{sync::Arc, thread};

use domain::OrgId;
use runtime::semaphores::KeyedSemaphores;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Whose turn it is. Cheap to clone.
#[derive(Clone)]
pub struct CpuLimiter {
    turns: Arc<Semaphore>,
    /// One turn for each organization.
    own: KeyedSemaphores<OrgId>,
}

/// An organization's turn, until dropped.
pub struct CpuSlot {
    _own: OwnedSemaphorePermit,
    _shared: OwnedSemaphorePermit,
}

impl CpuLimiter {
    /// As many at a time as there are cores but one, which is for everything else.
    pub fn new() -> Self {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        Self::at_a_time(cores.saturating_sub(1).max(1))
    }

    fn at_a_time(turns: usize) -> Self {
        Self {
            turns: Arc::new(Semaphore::new(turns)),
            own: KeyedSemaphores::new(1),
        }
    }

    /// First come, first served; but an organization waits for its own before it stands in the line of all, so that
    /// one that asks a lot takes one place.
    pub async fn take(&self, org: OrgId) -> CpuSlot {
        let never = "nobody closes it";
        let own = self.own.of(org).acquire_owned().await.expect(never);
        let shared = Arc::clone(&self.turns).acquire_owned().await.expect(never);
        CpuSlot {
            _own: own,
            _shared: shared,
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::future::join_all;
    use tokio::sync::oneshot;
    use uuid::Uuid;

    use super::*;

    #[tokio::test]
    async fn an_organization_that_asks_a_lot_does_not_keep_another_waiting() {
        let turns = CpuLimiter::at_a_time(2);
        let org = |number| OrgId::from_uuid(Uuid::from_u128(number));
        let (go, wait) = oneshot::channel::<()>();
        let busy = async {
            let turn = turns.take(org(1)).await;
            assert!(wait.await.is_err());
            drop(turn);
        };
        let more = (0..10).map(|_| turns.take(org(1)));
        let more = more.map(|turn| async { drop(turn.await) });
        let other = async {
            drop(turns.take(org(2)).await);
            drop(go);
        };
        tokio::join!(busy, join_all(more), other);
    }
}
