//! The journal: the one durable log, and the only crate that speaks to NATS.
//!
//! What is acknowledged here may be late downstream but is never lost. The cast:
//!
//! - [`streams`]: which streams exist, how they are named, made and compared.
//! - [`record`]: what the messages hold; versioned, with an example of each version in `golden/`.
//! - [`frames`]: packs records into messages.
//! - [`append`]: group commit. While one message is in flight, arriving requests gather into the
//!   next. [`appenders`]: those of all partitions; [`system_events`]: appends events of our own.
//! - [`follow`]: reads a stream in order from a position the reader keeps itself.
//!   [`wake`]: tells whoever applies a log that somebody waits for it.
//! - [`match_log`]: what the matcher has judged, and how far it is.
//! - [`queue`]: deliveries to be sent: due, for [`schedule`], or in the lane of an endpoint that cannot take
//!   them now; [`requeue`]: those that may be queued already; [`redelivery`]: those that somebody delivered before they died.
//! - [`work_queue`]: messages that are each handed to one worker until it settles them: those of the queue, and
//!   whose turn it is to judge.
//! - [`endpoints`]: endpoints in trouble, as every worker sees them, and deliveries that were canceled;
//!   [`ownership`]: whose they are.
//! - [`dead_letters`]: records that could not be applied, until a person has seen to them.
//! - [`kv`]: keys and rules as last values, so that the data plane runs without PostgreSQL.
//! - [`clock`]: what time it is for the server, which hands out what was scheduled.
//! - [`mirror`]: keeps last values in memory.
//! - [`secrets`]: signing secrets as last values, sealed.
//! - [`guards`]: policies as last values; [`approvals`]: what people were asked to approve.
//! - `forget`: what is left of an organization that was deleted.
//! - [`salt`]: what hides a record from whoever has only its hash.
//! - [`dedup`]: marks that only the first writer makes: requests with a name, alerts that went out.
//!
//! Every read and write here may happen twice; ids derived from causes make that harmless.

pub mod append;
pub mod appenders;
pub mod approvals;
pub mod cancellations;
pub mod clock;
pub mod dead_letters;
pub mod dedup;
pub mod endpoints;
mod error;
pub mod follow;
pub mod frames;
pub mod guards;
pub mod kv;
mod kv_value;
pub mod log_state;
pub mod match_log;
pub mod metrics;
pub mod mirror;
mod nats_auth;
pub mod ownership;
mod purge;
pub mod queue;
pub mod record;
pub mod redelivery;
pub mod requeue;
mod retry;
pub mod salt;
pub mod schedule;
pub mod secrets;
pub mod streams;
pub mod system_events;
pub mod wake;
pub mod work_queue;

use std::{sync::atomic::Ordering, time::Duration};

use async_nats::{
    ServerAddr, connection,
    jetstream::{self, context::ContextBuilder},
};
use domain::partition::Partitions;

pub use error::Error;
use streams::Names;

/// How long one request to the server may take before it is counted as failed and tried again.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(2);

/// A server that hangs, or whose machine lost its power, says nothing and hangs up on nobody: it is
/// given up after three of these without an answer.
const PING_EVERY: Duration = Duration::from_secs(1);

/// Where the journal is and how it was installed. Not printable: the address may hold a password.
#[derive(Clone)]
pub struct Options {
    /// One or more server addresses, separated by commas; `nats://name:password@host` if it asks who we are.
    pub url: String,
    /// Prefix of every stream and subject, so that deployments can share a server.
    pub namespace: String,
    pub partitions: Partitions,
    /// Copies of each stream: 1, or 3 or 5 on a cluster.
    pub replicas: usize,
    /// What the logs of events may hold together. Beyond it nothing more is taken, and nothing is dropped.
    pub events_bytes_max: Option<u64>,
}

/// One of the connections to the server that were made one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connection(pub u64);

/// The journal. Cheap to clone.
#[derive(Clone)]
pub struct Journal {
    context: jetstream::Context,
    names: Names,
    replicas: usize,
    events_bytes_max: Option<u64>,
}

impl Journal {
    /// Connects, or says why not. Streams are made by [`Journal::prepare`].
    pub async fn connect(options: &Options) -> Result<Self, Error> {
        let servers: Vec<ServerAddr> = options
            .url
            .split(',')
            .map(|one| one.trim().parse())
            .collect::<Result<_, _>>()
            .map_err(|source| Error::unavailable("connect to NATS", source))?;
        let client = nats_auth::options(&servers)
            .name("watchbell")
            .connection_timeout(REQUEST_TIMEOUT)
            .ping_interval(PING_EVERY)
            .max_reconnects(None)
            .reconnect_delay_callback(|tries| Duration::from_millis(50 * (tries as u64).min(20)))
            .connect(servers)
            .await
            .map_err(|source| Error::unavailable("connect to NATS", source))?;
        let context = ContextBuilder::new()
            .timeout(REQUEST_TIMEOUT)
            .ack_timeout(REQUEST_TIMEOUT)
            .build(client);
        let names = Names::new(&options.namespace, options.partitions);
        Ok(Self {
            context,
            names,
            replicas: options.replicas,
            events_bytes_max: options.events_bytes_max,
        })
    }

    pub fn partitions(&self) -> Partitions {
        self.names.partitions
    }

    /// Whether the connection is up right now.
    pub fn is_connected(&self) -> bool {
        self.context.client().connection_state() == connection::State::Connected
    }

    /// The connection that we have right now, if any.
    pub fn connection(&self) -> Option<Connection> {
        let connects = &self.context.client().statistics().connects;
        let connection = Connection(connects.load(Ordering::Relaxed));
        self.is_connected().then_some(connection)
    }

    /// The server's version, for people.
    pub fn server_version(&self) -> String {
        self.context.client().server_info().version
    }
}

impl std::fmt::Debug for Journal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Journal")
            .field("namespace", &self.names.namespace)
            .finish_non_exhaustive()
    }
}
