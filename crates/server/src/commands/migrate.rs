//! `watchbell migrate`: brings the schema up to date. Safe to repeat and to run on several nodes.

use anyhow::Context as _;
use store::Store;

use super::say;
use crate::{config::Config, node};

pub(super) async fn run(config: &Config) -> anyhow::Result<()> {
    let store = node::open_store(config)?;
    match store.migrate().await {
        // It says by itself what to do.
        Err(error @ store::Error::NotReleased) => return Err(error.into()),
        outcome => outcome
            .context("migrate the database; is PostgreSQL running, and is postgres.url correct?")?,
    }
    say(format_args!(
        "The database schema is at version {}.",
        Store::newest_schema_version()
    ));
    Ok(())
}
