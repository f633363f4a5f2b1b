//! What a handler may touch, as a type.
//!
//! The data plane has no database field, so nobody has to remember that ingest must not query: it
//! would not compile. It goes on while PostgreSQL is down. The control plane answers 503 then,
//! but for the live tail.

use std::{ops::Deref, sync::Arc, time::Duration};

use archive::Bucket;
use axum::extract::FromRef;
use deliver::{
    secrets::seal::Vault,
    send::{signing::DeploymentKeys, target::TargetPolicy},
};
use domain::{
    EventId, OrgId, Timestamp,
    account::{TokenHash, session_lifetime::SEEN_EVERY},
    clock::Clock,
    error_code::ErrorCode,
    partition::Partition,
};
use journal::{Journal, appenders::Appenders, frames::Frames, streams::Log};
use runtime::error_chain::chain;
use secrecy::SecretString;
use store::{Store, events::StoredEvent, sessions::SessionRow};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::{
    announce::Announcer,
    config::{EndpointOwnership, PublicUrl, Registration, Role, Witness},
    cpu_limiter::CpuLimiter,
    edge::{
        Problem,
        byte_budget::ByteBudget,
        client_address::ProxyTrust,
        identity::{Authority, Door},
        operators::Operators,
        slots::Slots,
    },
    fresh_reads,
    mail::Post,
    search_limiter::SearchLimiter,
    snapshots::{Approvals, Guards},
};

/// How long a client waits until its change is known. Announcements are made one after the other, and
/// each may have to wait for the journal; a client that waits 10 s learns that its change is saved.
const ANNOUNCE_TIMEOUT: Duration = Duration::from_secs(8);

/// What ingest and decisions may touch. Cheap to clone, because every request has one and so has every layer
/// that it passes.
#[derive(Clone)]
pub struct DataPlane(Arc<DataParts>);

pub struct DataParts {
    pub door: Door,
    pub events: Appenders,
    pub journal: Journal,
    pub guards: Guards,
    /// How much may be sent.
    pub budget: ByteBudget,
    /// For questions that take long.
    pub evaluations: CpuLimiter,
    pub approvals: Approvals,
    pub clock: Clock,
    pub retention: Duration,
    /// The process ends: whoever waits is answered.
    pub stopping: CancellationToken,
    /// After how long a request is given up.
    pub request_timeout: Duration,
}

/// What accounts, rules, policies, approvals, lists, the live tail, exports and the delivery log may touch. Cheap
/// to clone.
#[derive(Clone)]
pub struct ControlPlane(Arc<ControlParts>);

pub struct ControlParts {
    pub door: Door,
    pub store: Store,
    pub journal: Journal,
    pub announcer: Announcer,
    pub clock: Clock,
    pub targets: Arc<TargetPolicy>,
    pub deployment_keys: Arc<DeploymentKeys>,
    pub vault: Arc<Vault>,
    pub rules_per_org_max: u32,
    pub policy_versions_max: u32,
    /// For whatever keeps a core busy.
    pub busy: CpuLimiter,
    /// `None`: there is no mail server.
    pub post: Option<Post>,
    pub public_url: Arc<PublicUrl>,
    pub registration: Registration,
    /// Between the request to delete an organization and its deletion.
    pub deletion_delay: Duration,
    pub endpoint_ownership: EndpointOwnership,
    pub operators: Operators,
    pub process: Process,
    /// A receiver for trying out, which the console offers.
    pub receiver_url: Option<String>,
    /// The process ends: whoever waits is answered, and streams end.
    pub stopping: CancellationToken,
    /// For what we record ourselves.
    pub events: Appenders,
    /// For deliveries that somebody asks for.
    pub outcomes: Appenders,
    pub retention: Duration,
    pub delivery_retention: Duration,
    /// `None`: `files.url` is not set.
    pub files: Option<Bucket>,
    /// Who cosigns transparency logs.
    pub witnesses: Arc<[Witness]>,
    pub exports: Slots,
    pub backtests: Slots,
    pub searches: SearchLimiter,
    pub approvals: Approvals,
    /// Requests that wait for the end of a decision.
    pub approval_waits: Slots,
    pub approval_streams: Slots,
}

/// What only this process knows of itself.
pub struct Process {
    pub started_at: Timestamp,
    pub roles: Vec<Role>,
    /// `None`: `redis.url` is not set.
    pub redis_url: Option<SecretString>,
}

/// A part of the product whose handlers touch the control plane and something that nobody else does. It is declared
/// where they are, and put together where the node is.
pub trait Part: Deref<Target = ControlPlane> + Clone + Send + Sync + 'static {}

impl Deref for DataPlane {
    type Target = DataParts;

    fn deref(&self) -> &DataParts {
        &self.0
    }
}

impl Deref for ControlPlane {
    type Target = ControlParts;

    fn deref(&self) -> &ControlParts {
        &self.0
    }
}

impl From<DataParts> for DataPlane {
    fn from(parts: DataParts) -> Self {
        Self(Arc::new(parts))
    }
}

impl From<ControlParts> for ControlPlane {
    fn from(parts: ControlParts) -> Self {
        Self(Arc::new(parts))
    }
}

impl DataPlane {
    /// Makes events durable.
    pub async fn append(&self, org: OrgId, frames: Frames) -> Result<(), Problem> {
        Ok(self.events.append_events(org, frames).await?)
    }

    /// The same, unless the log is nearly full and the organization has had its share: to it, the log is full then.
    pub async fn append_in_its_share(
        &self,
        org: OrgId,
        frames: Frames,
    ) -> Result<(), journal::Error> {
        if self.budget.has_had_its_share(org, self.clock.now()) {
            return Err(journal::Error::NoRoom);
        }
        self.events.append_events(org, frames).await
    }
}

impl ControlPlane {
    /// How long it may take. Its waits for the journal are bounded (8 s for a key, 8 s for an announcement, 2 s for the
    /// trail), so what runs out here is a database that does not answer, as when its machine hangs.
    pub const TIMEOUT: Duration = Duration::from_secs(20);

    /// Waits until the organization's log has been applied to the store; `false` if it is behind.
    pub async fn wait_until_fresh(
        &self,
        org: OrgId,
        log: fn(Partition) -> Log,
    ) -> Result<bool, store::Error> {
        let log = log(self.journal.partitions().of(org));
        fresh_reads::wait(&self.journal, &self.store, log).await
    }

    /// A stored event. One that is not there may have been acknowledged a moment ago, so its log is applied first.
    pub async fn event(
        &self,
        org: OrgId,
        id: EventId,
    ) -> Result<Option<StoredEvent>, store::Error> {
        let found = self.store.event(org, id).await?;
        if found.is_some() {
            return Ok(found);
        }
        self.wait_until_fresh(org, Log::Events).await?;
        self.store.event(org, id).await
    }

    /// Makes what was just saved known to every node. If that takes too long it is made known later,
    /// and the client is told so: `saved` says what is saved and must not be sent again.
    pub async fn announce(&self, saved: impl FnOnce() -> String) -> Result<(), Problem> {
        let error = match timeout(ANNOUNCE_TIMEOUT, self.announcer.announce()).await {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(error)) => chain(&error),
            Err(_) => "other changes are waiting for the journal too".to_owned(),
        };
        let saved = saved();
        tracing::warn!(error, "saved, but not announced yet: {saved}");
        Err(Problem::new(ErrorCode::NotInEffectYet, saved))
    }
}

impl Authority for DataPlane {
    const TAKES_SESSIONS: bool = false;

    fn door(&self) -> &Door {
        &self.door
    }

    async fn session(&self, _: &TokenHash) -> Result<Option<SessionRow>, Problem> {
        Ok(None)
    }

    async fn look_at_session(&self, _: &TokenHash) -> Result<Option<SessionRow>, store::Error> {
        Ok(None)
    }
}

impl Authority for ControlPlane {
    const TAKES_SESSIONS: bool = true;

    fn door(&self) -> &Door {
        &self.door
    }

    async fn session(&self, token: &TokenHash) -> Result<Option<SessionRow>, Problem> {
        let now = self.clock.now();
        let session = self.store.session(token, now).await?;
        if let Some(found) = &session
            && now.since(found.last_seen_at) >= SEEN_EVERY
            && let Err(error) = self.store.session_seen(found.org, found.session, now).await
        {
            // The session ends a little earlier than it might; the request goes on.
            tracing::warn!(
                error = chain(&error),
                "could not record that a session was used"
            );
        }
        Ok(session)
    }

    async fn look_at_session(&self, token: &TokenHash) -> Result<Option<SessionRow>, store::Error> {
        self.store.session(token, self.clock.now()).await
    }
}

impl<P: Part> Authority for P {
    const TAKES_SESSIONS: bool = ControlPlane::TAKES_SESSIONS;

    fn door(&self) -> &Door {
        &self.deref().door
    }

    async fn session(&self, token: &TokenHash) -> Result<Option<SessionRow>, Problem> {
        self.deref().session(token).await
    }

    async fn look_at_session(&self, token: &TokenHash) -> Result<Option<SessionRow>, store::Error> {
        self.deref().look_at_session(token).await
    }
}

impl FromRef<ControlPlane> for ProxyTrust {
    fn from_ref(plane: &ControlPlane) -> Self {
        plane.door.proxies.clone()
    }
}
