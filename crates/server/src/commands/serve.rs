//! `watchbell serve`: runs the server in any set of roles.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use clap::Args;
use store::Store;
use tokio::net::TcpListener;

use super::{WithConfig, durability};
use crate::{
    config::Config,
    lifecycle::Tasks,
    node::{self, Node},
    retry::chain,
    roles::{self, Role},
    system_clock,
    telemetry::{logs, metrics},
};

#[derive(Debug, Args)]
pub(super) struct Serve {
    #[command(flatten)]
    with: WithConfig,
    /// What this process does; all of it unless said otherwise.
    #[arg(long = "role", value_enum, value_delimiter = ',', default_values_t = Role::ALL)]
    roles: Vec<Role>,
}

impl Serve {
    pub(super) async fn run(self) -> anyhow::Result<()> {
        let config = self.with.load()?;
        let _telemetry = logs::start(&config.log)?;
        let outcome = serve(&config, &self.roles).await;
        if let Err(error) = &outcome {
            tracing::error!(error = format!("{error:#}"), "the server ended");
        }
        outcome
    }
}

async fn serve(config: &Config, roles: &[Role]) -> anyhow::Result<()> {
    let metrics = metrics::start()?;
    check_schema(&node::open_store(config)?).await?;
    let node = Node::connect(config, system_clock::SYSTEM).await?;
    durability::report(config).await;
    let listener = TcpListener::bind(config.http.listen)
        .await
        .with_context(|| format!("listen on {}", config.http.listen))?;
    let tasks = Tasks::default();
    roles::start(roles, &node, listener, metrics, &tasks)?;
    tasks
        .run_to_the_end(Duration::from_secs(config.http.drain_s))
        .await
}

/// An old schema stops the start; a database that is down does not.
async fn check_schema(store: &Store) -> anyhow::Result<()> {
    let newest = Store::newest_schema_version();
    match store.schema_version().await {
        Ok(version) => ensure!(
            version.unwrap_or(0) >= newest,
            "the database schema is at version {} and this binary needs {newest}; run `watchbell migrate` first",
            version.unwrap_or(0),
        ),
        Err(error) => tracing::warn!(error = chain(&error), "starting without the database"),
    }
    Ok(())
}
