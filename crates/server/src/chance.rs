//! Randomness from the operating system: ids, keys and secrets are made of it.

/// `N` random bytes.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the one place that draws randomness"
)]
pub(crate) fn bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the operating system has randomness once it has booted");
    bytes
}
