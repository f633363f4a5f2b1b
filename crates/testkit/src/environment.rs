//! The one place in the test kit that reads environment variables.
#![expect(
    clippy::disallowed_methods,
    reason = "tests are told about their run this way"
)]

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::Context;
use engines::{Binaries, Search, install};

/// Where nextest collects the variables that a setup script has for the tests.
pub const NEXTEST_ENV: &str = "NEXTEST_ENV";

/// Folders to look for engines in first, as `watchbell dev` knows it too.
const ENGINES: &str = "WATCHBELL_ENGINES";

/// Finds the engines' programs, and installs those that are missing.
pub fn binaries() -> anyhow::Result<Binaries> {
    let search = Search {
        named: env::var_os(ENGINES).unwrap_or_default(),
        path: env::var_os("PATH").context("PATH is not set")?,
        home: env::var_os("HOME").context("HOME is not set")?.into(),
        cache: env::var_os("XDG_CACHE_HOME").map(PathBuf::from),
        needs_redis: true,
        ..Search::default()
    };
    #[expect(
        clippy::print_stderr,
        reason = "an installation takes a while; say why"
    )]
    let say = |missing: &str| eprintln!("{missing}; installing");
    Ok(install::ensure(&search, say)?)
}

/// Where the mail server that tests use is installed.
pub(crate) fn mail_sink_folder() -> anyhow::Result<PathBuf> {
    Ok(cache()?.join("watchbell/mail-sink"))
}

/// Where the S3 server that tests use is installed.
pub(crate) fn s3_server_folder() -> anyhow::Result<PathBuf> {
    Ok(cache()?.join("watchbell/s3-server"))
}

/// Where the MCP servers and clients that tests use are installed.
pub(crate) fn mcp_servers_folder() -> anyhow::Result<PathBuf> {
    Ok(cache()?.join("watchbell/mcp-servers"))
}

/// Where the coding agents that tests guard are installed.
pub(crate) fn agents_folder() -> anyhow::Result<PathBuf> {
    Ok(cache()?.join("watchbell/agents"))
}

fn cache() -> anyhow::Result<PathBuf> {
    let home = || Some(PathBuf::from(env::var_os("HOME")?).join(".cache"));
    let cache = env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .or_else(home);
    cache.context("neither XDG_CACHE_HOME nor HOME is set")
}

/// The major version of PostgreSQL that this run is about, if `scripts/test-postgres` started it.
pub(crate) fn postgres_major() -> anyhow::Result<Option<u32>> {
    let major = text("WATCHBELL_TEST_POSTGRES_MAJOR").map(|major| major.parse());
    major
        .transpose()
        .context("read WATCHBELL_TEST_POSTGRES_MAJOR")
}

/// Whether scenarios last as long as they did for others, and not only as long as CI has time.
pub fn is_full_length() -> bool {
    text("WATCHBELL_TEST_FULL").is_some()
}

/// The one seed that simulations walk through, if somebody wants to see it again.
pub fn seed() -> Option<u64> {
    text("WATCHBELL_TEST_SEED")?.parse().ok()
}

pub(crate) fn text(name: &str) -> Option<String> {
    env::var(name).ok()
}

pub fn path(name: &str) -> Option<PathBuf> {
    env::var_os(name).map(PathBuf::from)
}

/// Where a Watchbell notes the error codes that it answers, for `cargo xtask errors-seen`.
const ERRORS_SEEN: &str = "WATCHBELL_TEST_ERRORS_SEEN";

/// The names of all variables that would configure a Watchbell started from here.
pub(crate) fn watchbell_names() -> Vec<OsString> {
    env::vars_os()
        .map(|(name, _)| name)
        .filter(|name| name.to_string_lossy().starts_with("WATCHBELL_"))
        .filter(|name| name != ENGINES && name != ERRORS_SEEN)
        .collect()
}
