//! A map of which copies share their parts: changing one entry copies one part, not the map.

use std::{
    collections::HashMap,
    hash::{BuildHasher as _, BuildHasherDefault, Hash, Hasher},
    sync::Arc,
};

/// How full a part may be: half of that is copied for a change, on average.
const PART_ENTRIES_MAX: usize = 256;

/// Keys here are fingerprints, and ids that we make: nobody can choose those that collide.
pub(super) type Fold = BuildHasherDefault<FoldHasher>;

#[derive(Clone, Debug)]
pub(super) struct Shards<K, V> {
    /// A power of two of them, or none.
    parts: Vec<Arc<HashMap<K, V, Fold>>>,
    len: usize,
}

impl<K, V> Default for Shards<K, V> {
    fn default() -> Self {
        Self {
            parts: Vec::new(),
            len: 0,
        }
    }
}

impl<K: Clone + Eq + Hash, V: Clone> Shards<K, V> {
    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(super) fn get(&self, key: &K) -> Option<&V> {
        self.parts.get(self.part(key))?.get(key)
    }

    pub(super) fn values(&self) -> impl Iterator<Item = &V> {
        self.parts.iter().flat_map(|part| part.values())
    }

    pub(super) fn insert(&mut self, key: K, value: V) {
        self.make_room();
        let part = self.part(&key);
        let old = Arc::make_mut(&mut self.parts[part]).insert(key, value);
        self.len += usize::from(old.is_none());
    }

    pub(super) fn remove(&mut self, key: &K) -> Option<V> {
        self.get(key)?;
        let part = self.part(key);
        self.len -= 1;
        Arc::make_mut(&mut self.parts[part]).remove(key)
    }

    /// The value under the key, made if there is none.
    pub(super) fn at(&mut self, key: K) -> &mut V
    where
        V: Default,
    {
        if self.get(&key).is_none() {
            self.make_room();
            self.len += 1;
        }
        let part = self.part(&key);
        Arc::make_mut(&mut self.parts[part]).entry(key).or_default()
    }

    fn part(&self, key: &K) -> usize {
        // The maps go by the first and the last bits.
        let middle = Fold::default().hash_one(key) >> 24;
        #[expect(clippy::cast_possible_truncation, reason = "only the last bits count")]
        let middle = middle as usize;
        middle & self.parts.len().wrapping_sub(1)
    }

    /// Doubles the parts when they are full, so that one more entry has room.
    fn make_room(&mut self) {
        if self.len < self.parts.len() * PART_ENTRIES_MAX {
            return;
        }
        let parts = (self.parts.len() * 2).max(1);
        let old = std::mem::take(&mut self.parts);
        self.parts.resize_with(parts, Arc::default);
        for (key, value) in old.into_iter().flat_map(Arc::unwrap_or_clone) {
            let part = self.part(&key);
            Arc::make_mut(&mut self.parts[part]).insert(key, value);
        }
    }
}

/// Folds what it is given into 64 bits.
#[derive(Default)]
pub(super) struct FoldHasher(u64);

impl Hasher for FoldHasher {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut eight = [0; 8];
            eight[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(eight));
        }
    }

    fn write_u64(&mut self, bits: u64) {
        self.0 = self.0.rotate_left(26) ^ bits;
    }

    #[expect(clippy::cast_possible_truncation, reason = "both halves are taken")]
    fn finish(&self) -> u64 {
        // Ids that differ in a few bits only, as in tests, are spread too.
        let spread = u128::from(self.0) * 0x9E37_79B9_7F4A_7C15;
        (spread >> 64) as u64 ^ spread as u64
    }
}
