//! `watchbell serve`: runs the server in any set of roles.

use std::{net::SocketAddr, time::Duration};

use anyhow::{Context as _, ensure};
use clap::Args;
use runtime::error_chain::chain;
use store::Store;
use tokio::net::TcpListener;

use super::{WithConfig, durability};
use crate::{
    config::{Config, Role},
    lifecycle::{Signals, Tasks},
    node::{self, Node},
    roles::{self, Listeners},
    service_manager, system_clock,
    telemetry::{logs, metrics},
};

#[derive(Debug, Args)]
pub(super) struct Serve {
    #[command(flatten)]
    with: WithConfig,
    /// What this process does; defaults to everything.
    #[arg(long = "role", value_enum, value_delimiter = ',', default_values_t = Role::ALL)]
    roles: Vec<Role>,
}

impl Serve {
    pub(super) async fn run(self) -> anyhow::Result<()> {
        let config = self.with.load()?;
        let _telemetry = logs::start(&config.log)?;
        let outcome = serve(&config, &self.roles).await;
        if let Err(error) = &outcome {
            tracing::error!(
                error = chain(error.as_ref()),
                "the server stopped with an error"
            );
        }
        outcome
    }
}

async fn serve(config: &Config, roles: &[Role]) -> anyhow::Result<()> {
    let (mut signals, tasks) = (Signals::listen()?, Tasks::default());
    tokio::select! {
        started = start(config, roles, &tasks) => started?,
        () = signals.next() => {
            tracing::info!("stopped before startup was complete");
            return Ok(());
        }
    }
    service_manager::ready();
    let drain = Duration::from_secs(config.http.drain_s);
    tasks.run_to_the_end(signals, drain).await
}

async fn start(config: &Config, roles: &[Role], tasks: &Tasks) -> anyhow::Result<()> {
    let metrics = metrics::start()?;
    check_schema(&node::open_store(config)?).await?;
    let mut node = Node::connect(config, system_clock::SYSTEM).await?;
    if roles.contains(&Role::Index) {
        node.keep_transparency_log().await;
    }
    durability::report(config).await;
    if roles.contains(&Role::Api) {
        warn_about_people(config);
    }
    let listeners = Listeners {
        public: listen(config.http.listen).await?,
        admin: match config.http.admin_listen {
            Some(address) => Some(listen(address).await?),
            None => None,
        },
    };
    roles::start(roles, &node, listeners, metrics, tasks)?;
    Ok(())
}

async fn listen(address: SocketAddr) -> anyhow::Result<TcpListener> {
    let listener = TcpListener::bind(address).await;
    listener.with_context(|| format!("listen on {address}"))
}

/// An old schema stops the start; a database that is down does not.
async fn check_schema(store: &Store) -> anyhow::Result<()> {
    let newest = Store::newest_schema_version();
    match store.schema_version().await {
        Ok(version) => ensure!(
            version.unwrap_or(0) >= newest,
            "the database schema is at version {}, but this binary needs {newest}; run `watchbell migrate` first",
            version.unwrap_or(0),
        ),
        Err(error @ store::Error::Unavailable(_)) => {
            tracing::warn!(error = chain(&error), "starting without the database");
        }
        Err(error) => return Err(error).context("read the database's schema version"),
    }
    Ok(())
}

/// What people who log in should not have to find out by themselves.
fn warn_about_people(config: &Config) {
    if config.mail.smtp_url.is_none() {
        tracing::warn!(
            "no mail is sent: registering creates an account immediately, without checking the address, and \
             `watchbell admin reset-link` takes the place of password reset mail; set mail.smtp_url to change that"
        );
    }
    let url = &config.http.public_url;
    if !url.is_https() && !url.is_loopback() {
        tracing::warn!(
            "http.public_url is plain http, so passwords and session cookies can be read in transit; \
             put TLS in front and set it to https"
        );
    }
}
