//! What every role of a process shares: its connections and its settings.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use anyhow::Context as _;
use archive::Bucket;
use deliver::{
    secrets::seal::Vault,
    send::{signing::DeploymentKeys, target::TargetPolicy},
};
use domain::{Timestamp, clock::Clock};
use journal::{Journal, appenders::Appenders, streams::Log};
use limits::Limits;
use runtime::error_chain::chain;
use secrecy::{ExposeSecret, SecretString};
use store::Store;
use tokio::time::{Instant, sleep};

use crate::{
    accounts::{
        Accounts,
        passwords::Passwords,
        refused_logins::{self, Refusals},
    },
    alerts::backtest::BACKTESTS,
    announce::Announcer,
    approvals::{STREAMS, WAITS},
    clock_watch,
    config::{Config, EndpointOwnership, PublicUrl, Registration, Role, Witness},
    console::Console,
    cpu_limiter::CpuLimiter,
    edge::{
        byte_budget::ByteBudget, client_address::ProxyTrust, identity::Door, operators::Operators,
        quotas::Quotas, session_cookie::SessionCookie, slots::Slots,
    },
    events::{stream::Live, tail::Tail},
    exports::EXPORTS,
    lifecycle::Tasks,
    mail::{self, Post},
    planes::{ControlParts, ControlPlane, DataParts, DataPlane, Process},
    search_limiter::SearchLimiter,
    snapshots::{Approvals, Guards, Keys},
    transparency,
};

/// How long a start waits for NATS, so that the order of starts does not matter.
const JOURNAL_WAIT: Duration = Duration::from_secs(30);
const JOURNAL_PAUSE: Duration = Duration::from_millis(500);
/// One line in the log every five seconds is enough.
const TRIES_PER_LINE: u32 = 10;

/// What every role of a process shares.
pub struct Node {
    pub journal: Journal,
    pub store: Store,
    pub door: Door,
    pub announcer: Announcer,
    pub guards: Guards,
    pub approvals: Approvals,
    pub clock: Clock,
    pub targets: Arc<TargetPolicy>,
    pub nameservers: Vec<SocketAddr>,
    pub deployment_keys: Arc<DeploymentKeys>,
    pub vault: Arc<Vault>,
    pub rules_per_org_max: u32,
    pub policy_versions_max: u32,
    pub delivery_concurrency: usize,
    pub endpoint_concurrency: u32,
    pub concurrency_per_host: u32,
    pub endpoint_ownership: EndpointOwnership,
    pub retention: Duration,
    pub delivery_retention: Duration,
    pub request_timeout: Duration,
    pub budget: ByteBudget,
    /// For whatever keeps a core busy.
    busy: CpuLimiter,
    /// Connections that one address may have.
    pub connections_per_address_max: usize,
    mail: Option<mail::Settings>,
    pub public_url: Arc<PublicUrl>,
    registration: Registration,
    deletion_delay: Duration,
    operators: Operators,
    started_at: Timestamp,
    redis_url: Option<SecretString>,
    receiver_url: Option<String>,
    /// `None`: `console.enabled` is false.
    pub console: Option<Console>,
    /// `None`: `files.url` is not set.
    pub files: Option<Bucket>,
    pub keeps_transparency_log: bool,
    /// Who cosigns transparency logs.
    pub witnesses: Arc<[Witness]>,
    /// Where days go before they are dropped; `None`: nowhere.
    pub archive: Option<Bucket>,
    /// Events after which a file of an export ends.
    pub export_events_max: u64,
}

impl Node {
    /// Connects to the journal, which must be there; PostgreSQL may be down.
    pub async fn connect(config: &Config, clock: Clock) -> anyhow::Result<Self> {
        let journal = connect_journal(config).await?;
        // Before anything goes by it. Should that fail it is tried again soon.
        clock_watch::compare(&journal).await;
        let files = config.files.open()?;
        let vault = config.secrets.vault()?;
        let store = open_store(config)?;
        Ok(Self {
            door: Door {
                keys: Keys::new(journal.clone()),
                clock,
                proxies: ProxyTrust::new(&config.http.trusted_proxies, config.client_ip_header()?),
                quotas: Quotas {
                    used: Limits::new(&limits::Options {
                        redis_url: config.redis.url.as_ref().map(ExposeSecret::expose_secret),
                        namespace: &config.journal.namespace,
                        call_budget: Duration::from_millis(config.redis.timeout_ms),
                    })?,
                    of: Arc::new(config.limits.clone()),
                },
                cookie: SessionCookie::new(config.http.public_url.is_https()),
            },
            budget: ByteBudget::new(&config.events, journal.partitions()),
            announcer: Announcer::new(store.clone(), journal.clone()),
            guards: Guards::new(journal.clone()),
            approvals: Approvals::new(journal.clone(), clock),
            journal,
            store,
            clock,
            targets: Arc::new(TargetPolicy::new(
                config.delivery.allow_http,
                config.delivery.allow_cidrs.clone(),
            )),
            nameservers: config.delivery.nameservers.clone(),
            deployment_keys: Arc::new(config.delivery.deployment_keys()),
            vault: Arc::new(vault),
            rules_per_org_max: config.alerts.rules_per_org_max,
            policy_versions_max: config.policies.versions_per_org_max,
            delivery_concurrency: config.delivery.concurrency,
            endpoint_concurrency: config.delivery.endpoint_concurrency,
            concurrency_per_host: config.delivery.concurrency_per_host,
            endpoint_ownership: config.delivery.endpoint_ownership,
            busy: CpuLimiter::new(),
            retention: config.retention(),
            delivery_retention: config.delivery_retention(),
            request_timeout: Duration::from_secs(config.http.request_timeout_s),
            connections_per_address_max: config.http.connections_per_address_max,
            mail: mail::Settings::read(&config.mail)?,
            public_url: Arc::new(config.http.public_url.clone()),
            registration: config.accounts.registration,
            deletion_delay: config.deletion_delay(),
            operators: Operators::read(&config.accounts)?,
            started_at: clock.now(),
            redis_url: config.redis.url.clone(),
            receiver_url: config.console.receiver_url.clone(),
            console: config
                .console
                .enabled
                .then(|| Console::new(config.http.public_url.is_https())),
            archive: files.clone().filter(|_| config.files.archive_days),
            files,
            keeps_transparency_log: false,
            witnesses: Arc::from(config.transparency.witnesses.as_slice()),
            export_events_max: config.files.export_events_max,
        })
    }

    /// Has a transparency log kept of what this process writes to the store, if there is somewhere to keep it.
    pub async fn keep_transparency_log(&mut self) {
        let (store, partitions) = (self.store.clone(), self.journal.partitions());
        let kept = transparency::with_log(store, partitions, self.files.as_ref(), &self.vault);
        (self.store, self.keeps_transparency_log) = kept.await;
    }

    pub fn data_plane(&self, events: Appenders, tasks: &Tasks) -> DataPlane {
        DataPlane::from(self.data_parts(events, tasks))
    }

    pub fn data_parts(&self, events: Appenders, tasks: &Tasks) -> DataParts {
        DataParts {
            door: self.door.clone(),
            events,
            journal: self.journal.clone(),
            guards: self.guards.clone(),
            budget: self.budget.clone(),
            evaluations: self.busy.clone(),
            approvals: self.approvals.clone(),
            clock: self.clock,
            retention: self.retention,
            stopping: tasks.stopping().clone(),
            request_timeout: self.request_timeout,
        }
    }

    /// Starts what sends mail, if there is a mail server, and what test deliveries need.
    pub fn control_plane(&self, events: Appenders, roles: &[Role], tasks: &Tasks) -> ControlPlane {
        let post = self.mail.clone().map(|settings| {
            let office = mail::Office {
                store: self.store.clone(),
                clock: self.clock,
                public_url: Arc::clone(&self.public_url),
                quotas: self.door.quotas.clone(),
            };
            Post::start(settings, office, tasks)
        });
        ControlPlane::from(ControlParts {
            door: self.door.clone(),
            store: self.store.clone(),
            journal: self.journal.clone(),
            announcer: self.announcer.clone(),
            clock: self.clock,
            targets: Arc::clone(&self.targets),
            deployment_keys: Arc::clone(&self.deployment_keys),
            vault: Arc::clone(&self.vault),
            rules_per_org_max: self.rules_per_org_max,
            policy_versions_max: self.policy_versions_max,
            busy: self.busy.clone(),
            post,
            public_url: Arc::clone(&self.public_url),
            registration: self.registration,
            deletion_delay: self.deletion_delay,
            endpoint_ownership: self.endpoint_ownership,
            operators: self.operators.clone(),
            process: Process {
                started_at: self.started_at,
                roles: roles.to_vec(),
                redis_url: self.redis_url.clone(),
            },
            receiver_url: self.receiver_url.clone(),
            stopping: tasks.stopping().clone(),
            events,
            outcomes: tasks.appenders(&self.journal, Log::Outcomes),
            retention: self.retention,
            delivery_retention: self.delivery_retention,
            files: self.files.clone(),
            witnesses: Arc::clone(&self.witnesses),
            exports: Slots::new(EXPORTS),
            backtests: Slots::new(BACKTESTS),
            searches: SearchLimiter::default(),
            approvals: self.approvals.clone(),
            approval_waits: Slots::new(WAITS),
            approval_streams: Slots::new(STREAMS),
        })
    }

    /// Starts what notes refused logins.
    pub fn accounts(plane: &ControlPlane, tasks: &Tasks) -> anyhow::Result<Accounts> {
        let (refusals, waiting) = Refusals::new();
        let noting = refused_logins::work(plane.clone(), waiting, tasks.stopping().clone());
        tasks.spawn("record refused logins", noting);
        Ok(Accounts {
            plane: plane.clone(),
            passwords: Passwords::new()?,
            refusals,
        })
    }

    /// Starts what the live tail needs.
    pub fn live(plane: &ControlPlane, tasks: &Tasks) -> Live {
        Live {
            plane: plane.clone(),
            tail: Tail::start(&plane.journal, tasks),
        }
    }
}

pub fn open_store(config: &Config) -> anyhow::Result<Store> {
    Ok(Store::new(
        config.postgres.url.expose_secret(),
        config.postgres.connections_max,
    )?)
}

/// The same for a command that somebody typed.
pub fn open_store_for_command(config: &Config) -> anyhow::Result<Store> {
    Ok(Store::for_command(
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
        events_bytes_max: config.journal.events_bytes_max,
    })
}

/// Waits for a journal that is away or has no leader yet; anything else is said at once.
pub async fn connect_journal(config: &Config) -> anyhow::Result<Journal> {
    let options = journal_options(config)?;
    let deadline = Instant::now() + JOURNAL_WAIT;
    let mut tries = 0u32;
    loop {
        match connect_and_prepare(&options).await {
            Ok(journal) => return Ok(journal),
            Err(error @ journal::Error::Unavailable { .. }) if Instant::now() < deadline => {
                if tries.is_multiple_of(TRIES_PER_LINE) {
                    let wait_s = JOURNAL_WAIT.as_secs();
                    tracing::warn!(error = chain(&error), wait_s, "waiting for the journal");
                }
                tries += 1;
                sleep(JOURNAL_PAUSE).await;
            }
            Err(error @ journal::Error::Unavailable { .. }) => {
                return Err(error)
                    .context("connect to the journal; is NATS running, and is journal.url right?");
            }
            Err(error) => return Err(error).context("prepare the journal"),
        }
    }
}

async fn connect_and_prepare(options: &journal::Options) -> Result<Journal, journal::Error> {
    let journal = Journal::connect(options).await?;
    journal.prepare().await?;
    Ok(journal)
}
