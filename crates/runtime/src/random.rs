//! Randomness from the operating system: ids, keys and secrets are made of it.

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
