//! Randomness from the operating system: ids, keys and secrets are made of it.

use std::cell::RefCell;

/// How much each thread draws at a time for ids.
const DRAWN_BYTES: usize = 512;

/// `N` random bytes.
pub fn bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    fill(&mut bytes);
    bytes
}

/// Random bytes, all at once: each question to the operating system costs more than the bytes do.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the one place that draws randomness"
)]
pub fn fill(bytes: &mut [u8]) {
    getrandom::fill(bytes).expect("the operating system has randomness once it has booted");
}

/// `N` random bytes for what is not secret once it is used, an id: drawn for many of them at once. At most as many as are drawn at a
/// time.
pub fn id_bytes<const N: usize>() -> [u8; N] {
    const { assert!(N <= DRAWN_BYTES) };
    thread_local! {
        static DRAWN: RefCell<Drawn> = const { RefCell::new(Drawn { bytes: [0; DRAWN_BYTES], used: DRAWN_BYTES }) };
    }
    DRAWN.with_borrow_mut(|drawn| {
        if drawn.used + N > DRAWN_BYTES {
            fill(&mut drawn.bytes);
            drawn.used = 0;
        }
        let mut bytes = [0; N];
        bytes.copy_from_slice(&drawn.bytes[drawn.used..drawn.used + N]);
        drawn.used += N;
        bytes
    })
}

/// What a thread has drawn for ids.
struct Drawn {
    bytes: [u8; DRAWN_BYTES],
    /// How many of them are in ids.
    used: usize,
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_two_ids_have_the_same_bytes() {
        let mut seen = HashSet::new();
        for _ in 0..2_000 {
            assert!(seen.insert(id_bytes::<10>()));
            assert!(seen.insert(id_bytes::<16>()[6..].try_into().expect("ten")));
        }
    }
}
