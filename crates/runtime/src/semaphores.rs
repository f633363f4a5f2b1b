//! A semaphore for each organization, or for whoever else has to wait for itself alone.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Arc, Mutex, PoisonError, Weak},
};

use tokio::sync::Semaphore;

/// The semaphores, all of one size. Cheap to clone; it knows only who holds or waits for a permit.
#[derive(Clone, Debug)]
pub struct KeyedSemaphores<K> {
    permits: usize,
    of: Arc<Mutex<HashMap<K, Weak<Semaphore>>>>,
}

impl<K: Copy + Eq + Hash> KeyedSemaphores<K> {
    pub fn new(permits: usize) -> Self {
        Self {
            permits,
            of: Arc::default(),
        }
    }

    pub fn of(&self, key: K) -> Arc<Semaphore> {
        let mut of = self.of.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = of.get(&key).and_then(Weak::upgrade) {
            return known;
        }
        of.retain(|_, known| known.strong_count() > 0);
        let new = Arc::new(Semaphore::new(self.permits));
        of.insert(key, Arc::downgrade(&new));
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn each_has_its_own_and_who_holds_nothing_is_forgotten() {
        let semaphores = KeyedSemaphores::new(1);
        let held = semaphores.of(1).acquire_owned().await;
        assert!(semaphores.of(1).try_acquire().is_err());
        assert!(semaphores.of(2).try_acquire().is_ok());
        drop(held);
        assert!(semaphores.of(1).try_acquire().is_ok());
        semaphores.of(3);
        let of = semaphores.of.lock().expect("nobody panicked");
        assert_eq!(of.len(), 1);
    }
}
