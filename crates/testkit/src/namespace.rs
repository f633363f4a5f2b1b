//! Names that no other test uses.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

/// A name of `[a-z0-9]` that starts with a letter, for the streams and keys of one test.
pub fn namespace() -> String {
    // The standard library seeds each `RandomState` anew; 64 bits of that do not meet by chance.
    let chance = RandomState::new().build_hasher().finish();
    format!("t{chance:016x}")
}

#[cfg(test)]
mod tests {
    #[test]
    fn namespaces_differ_and_need_no_quoting() {
        let names: std::collections::HashSet<String> =
            (0..1_000).map(|_| super::namespace()).collect();
        assert_eq!(names.len(), 1_000);
        for name in names {
            assert!(name.starts_with('t'));
            assert!(
                name.chars()
                    .all(|one| one.is_ascii_lowercase() || one.is_ascii_digit())
            );
        }
    }
}
