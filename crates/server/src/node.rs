//! One process: its connections, its roles, its listener.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use anyhow::Context as _;
use domain::clock::Clock;
use journal::{Journal, streams::Log};
use metrics_exporter_prometheus::PrometheusHandle;
use secrecy::ExposeSecret as _;
use store::Store;
use tokio::{net::TcpListener, time::sleep};

use crate::{
    config::Config,
    deliveries::{signing::Signing, target::TargetPolicy},
    health::Health,
    lifecycle::Tasks,
    planes::{Appenders, ControlPlane, DataPlane},
    retry::chain,
    roles::{self, Role},
    routes,
    snapshots::Keys,
};

/// How long a start waits for NATS, so that the order of starts does not matter.
const JOURNAL_WAIT: Duration = Duration::from_secs(30);
const JOURNAL_PAUSE: Duration = Duration::from_millis(500);

/// What every role of a process shares.
pub struct Node {
    pub journal: Journal,
    pub store: Store,
    pub keys: Keys,
    pub clock: Clock,
    pub targets: Arc<TargetPolicy>,
    pub signing: Option<Arc<Signing>>,
    pub delivery_concurrency: usize,
    retention: Duration,
    request_timeout: Duration,
}

impl Node {
    /// Connects to the journal, which must be there; PostgreSQL may be down.
    pub async fn connect(config: &Config, clock: Clock) -> anyhow::Result<Self> {
        let journal = connect_journal(config).await?;
        journal.prepare().await.context("prepare the journal")?;
        Ok(Self {
            keys: Keys::new(journal.clone()),
            journal,
            store: open_store(config)?,
            clock,
            targets: Arc::new(TargetPolicy::new(
                config.delivery.allow_http,
                config.delivery.allow_cidrs.clone(),
            )),
            signing: config
                .delivery
                .signing_secret
                .as_ref()
                .map(|secret| Arc::new(Signing::new(secret))),
            delivery_concurrency: config.delivery.concurrency,
            retention: config.retention(),
            request_timeout: Duration::from_secs(config.http.request_timeout_s),
        })
    }

    /// Starts the roles and serves on `listener`; a node without the `api` role serves its health
    /// and metrics there.
    pub fn start(
        self,
        roles: &[Role],
        listener: TcpListener,
        metrics: PrometheusHandle,
        tasks: &Tasks,
    ) -> anyhow::Result<SocketAddr> {
        let address = listener
            .local_addr()
            .context("read the listening address")?;
        for role in roles {
            roles::start(*role, &self, tasks)?;
        }
        let health = Health::start(&self.journal, &self.store, metrics, tasks);
        let mut app = routes::node(health);
        if roles.contains(&Role::Api) {
            app = app.merge(routes::api(self.data_plane(tasks), self.control_plane()));
        }
        let app = routes::finished(app, self.request_timeout);
        let stopping = tasks.stopping().clone();
        tasks.spawn("http", async move {
            axum::serve(listener, app)
                .with_graceful_shutdown(stopping.cancelled_owned())
                .await
                .context("serve HTTP")
        });
        tracing::info!(%address, roles = ?roles, "listening");
        Ok(address)
    }

    fn data_plane(&self, tasks: &Tasks) -> DataPlane {
        DataPlane {
            events: Appenders::start(&self.journal, Log::Events, tasks),
            keys: self.keys.clone(),
            clock: self.clock,
            retention: self.retention,
        }
    }

    fn control_plane(&self) -> ControlPlane {
        ControlPlane {
            store: self.store.clone(),
            journal: self.journal.clone(),
            keys: self.keys.clone(),
            clock: self.clock,
            targets: Arc::clone(&self.targets),
        }
    }
}

pub fn open_store(config: &Config) -> anyhow::Result<Store> {
    Ok(Store::new(
        config.postgres.url.expose_secret(),
        config.postgres.connections_max,
    )?)
}

pub fn journal_options(config: &Config) -> anyhow::Result<journal::Options> {
    Ok(journal::Options {
        url: config.journal.url.expose_secret().to_owned(),
        namespace: config.journal.namespace.clone(),
        partitions: config.partitions()?,
        replicas: config.journal.replicas,
    })
}

async fn connect_journal(config: &Config) -> anyhow::Result<Journal> {
    let options = journal_options(config)?;
    let deadline = tokio::time::Instant::now() + JOURNAL_WAIT;
    loop {
        match Journal::connect(&options).await {
            Ok(journal) => return Ok(journal),
            Err(error) if tokio::time::Instant::now() > deadline => {
                return Err(error)
                    .context("connect to the journal; is NATS running, and is journal.url right?");
            }
            Err(error) => {
                tracing::warn!(error = chain(&error), "waiting for the journal");
                sleep(JOURNAL_PAUSE).await;
            }
        }
    }
}
