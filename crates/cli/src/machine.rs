//! What the machine gives the program: the time, chance, and variables of the environment.

use std::{
    env,
    time::{SystemTime, UNIX_EPOCH},
};

use domain::{Timestamp, clock::Clock};

/// The real clock, for whoever starts a command; commands are handed the time.
pub const CLOCK: Clock = Clock::new(now);

#[expect(
    clippy::disallowed_methods,
    reason = "this is the one place of the client that reads the clock"
)]
fn now() -> Timestamp {
    let since_1970 = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    Timestamp::from_unix_millis(i64::try_from(since_1970.as_millis()).unwrap_or(i64::MAX))
}

/// The same moment as the signature library takes it.
pub(crate) fn system_time(at: Timestamp) -> SystemTime {
    UNIX_EPOCH + at.since(Timestamp::default())
}

/// `N` random bytes: names of requests, and ids of deliveries that are made up here.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the one place of the client that draws randomness"
)]
pub(crate) fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the operating system has randomness once it has booted");
    bytes
}

/// The names of the variables that are meant for us: keys and secrets are among them.
#[expect(
    clippy::disallowed_methods,
    reason = "programs that the client starts are not to inherit them"
)]
pub(crate) fn our_variables() -> impl Iterator<Item = String> {
    let names = env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    names.filter(|name| name.starts_with("WATCHBELL_"))
}

/// A variable, if it is set and not empty.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the one place of the client that reads the environment; secrets are no arguments"
)]
pub(crate) fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}
