//! A semaphore for each organisation, or for whatever else has to wait for itself alone.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Arc, Mutex, PoisonError, Weak},
};

use domain::OrgId;
use tokio::sync::Semaphore;

/// The semaphores, all of one size. Cheap to clone; it knows only organisations that hold or wait for a permit.
#[derive(Clone, Debug)]
pub struct OrgSemaphores<K = OrgId> {
    permits: usize,
    of: Arc<Mutex<HashMap<K, Weak<Semaphore>>>>,
}

impl<K: Copy + Eq + Hash> OrgSemaphores<K> {
    pub fn new(permits: usize) -> Self {
        Self {
            permits,
            of: Arc::default(),
        }
    }

    pub fn of(&self, org: K) -> Arc<Semaphore> {
        let mut of = self.of.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = of.get(&org).and_then(Weak::upgrade) {
            return known;
        }
        of.retain(|_, known| known.strong_count() > 0);
        let new = Arc::new(Semaphore::new(self.permits));
        of.insert(org, Arc::downgrade(&new));
        new
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[tokio::test]
    async fn each_has_its_own_and_who_holds_nothing_is_forgotten() {
        let semaphores = OrgSemaphores::new(1);
        let org = |number| OrgId::from_uuid(Uuid::from_u128(number));
        let held = semaphores.of(org(1)).acquire_owned().await;
        assert!(semaphores.of(org(1)).try_acquire().is_err());
        assert!(semaphores.of(org(2)).try_acquire().is_ok());
        drop(held);
        assert!(semaphores.of(org(1)).try_acquire().is_ok());
        semaphores.of(org(3));
        let of = semaphores.of.lock().expect("nobody panicked");
        assert_eq!(of.len(), 1);
    }
}
