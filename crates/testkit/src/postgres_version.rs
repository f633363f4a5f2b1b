//! Whether a run has the PostgreSQL that it is about.

use anyhow::ensure;
use engines::Postgres;

use crate::environment;

/// Fails unless the server has the major version that was asked for, if one was: tests of a version that ran on another
/// would show nothing.
pub(crate) fn check(postgres: &Postgres) -> anyhow::Result<()> {
    let Some(asked) = environment::postgres_major()? else {
        return Ok(());
    };
    // 170010 is 17.10.
    let number: u32 = postgres.query("SHOW server_version_num")?.parse()?;
    ensure!(
        number / 10_000 == asked,
        "this run is about PostgreSQL {asked}, and the server is {number}"
    );
    Ok(())
}
