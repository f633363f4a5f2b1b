//! Redis: where it is, what our keys are called, and the three scripts that run in it.
//!
//! The name of every caller's key has the epoch of the data in it. An epoch begins when the process of
//! Redis does, whatever it starts from, and when its data was lost: so what was saved in another life
//! is never read, and goes when its window has passed.
//!
//! Every time in Redis is the time of Redis (`TIME`): nodes send and receive durations only, so
//! their clocks need not agree.

use std::{sync::Arc, time::Duration};

use ::redis::{
    AsyncConnectionConfig, Cmd, ErrorKind, FromRedisValue, IntoConnectionInfo as _, RedisError,
    ServerErrorKind, aio::MultiplexedConnection, cmd, io::tcp::TcpSettings, pipe,
};
use domain::limit::{Operation, Quota, Verdict};
use futures::{FutureExt as _, future::BoxFuture};
use tokio::time::timeout;

use crate::{Error, restore_batch::RestoreBatch};

/// A node that was not heard of for so long is gone: it misses five beats.
pub(crate) const NODE_GONE_AFTER: Duration = Duration::from_secs(5);
/// How long connecting and loading the scripts may take. Nobody waits for it.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);
/// How long one pipeline of restored admissions may take. Nobody waits for it.
const RESTORE_TIMEOUT: Duration = Duration::from_secs(1);
/// Room for one call with a usual caller's name: it is written without growing.
const CALL_BYTES: usize = 180;
/// Commands that may wait to be written; the library's default of 50 makes callers take turns.
const COMMANDS_WAITING_MAX: usize = 4_096;

/// The scripts, as sent to the server.
#[derive(Clone, Debug)]
pub(crate) struct Scripts {
    pub(crate) exact: String,
    pub(crate) restore: String,
    pub(crate) heartbeat: String,
}

impl Default for Scripts {
    fn default() -> Self {
        Self {
            exact: include_str!("exact.lua").to_owned(),
            restore: include_str!("restore.lua").to_owned(),
            heartbeat: include_str!("heartbeat.lua").to_owned(),
        }
    }
}

/// Where Redis is and what we call things there.
pub(crate) struct Server {
    address: Address,
    scripts: Arc<Scripts>,
    namespace: String,
    /// A name for this node that no other has.
    node: String,
}

/// How to come to Redis.
pub(crate) enum Address {
    Url(Box<::redis::Client>),
    /// For the simulation: a wire to a Redis in the same process.
    #[cfg(test)]
    Wire(crate::simulation::Plug),
}

/// A connection that many calls share; each is answered in its turn. When it breaks it stays
/// broken: a server that was started again begins a new epoch, and that must be noticed.
#[derive(Clone)]
pub(crate) struct Connection {
    multiplexed: MultiplexedConnection,
    scripts: Arc<Scripts>,
    hashes: Arc<Hashes>,
    /// The life of the data that this is about; empty until the first beat has told.
    pub(crate) epoch: Arc<str>,
}

/// By which the server knows each script.
struct Hashes {
    exact: String,
    restore: String,
    heartbeat: String,
}

/// A decision on its way.
pub(crate) type Deciding = BoxFuture<'static, Result<Verdict, Failure>>;

/// Why a call has no answer.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The connection is gone.
    Broken(RedisError),
    /// No answer within the budget; whether the call counted is not known.
    Late,
    /// The server said no.
    Refused(RedisError),
}

/// Whether a Redis answers at this address.
pub async fn ping(url: &str) -> Result<(), Error> {
    let client = client(url)?;
    let unreachable = |doing| move |source| Error::Unreachable { doing, source };
    let mut connection = client
        .get_multiplexed_async_connection()
        .await
        .map_err(unreachable("connect"))?;
    cmd("PING")
        .query_async::<String>(&mut connection)
        .await
        .map_err(unreachable("PING"))?;
    Ok(())
}

fn client(url: &str) -> Result<::redis::Client, Error> {
    let info = url.into_connection_info().map_err(Error::Address)?;
    // The library leaves Nagle's algorithm on, so that a call behind another would wait for it.
    let info = info.set_tcp_settings(TcpSettings::default().set_nodelay(true));
    ::redis::Client::open(info).map_err(Error::Address)
}

impl Server {
    pub(crate) fn new(
        url: &str,
        namespace: &str,
        node: String,
        scripts: Scripts,
    ) -> Result<Self, Error> {
        let address = Address::Url(Box::new(client(url)?));
        Ok(Self::at(address, namespace, node, scripts))
    }

    pub(crate) fn at(address: Address, namespace: &str, node: String, scripts: Scripts) -> Self {
        Self {
            address,
            scripts: Arc::new(scripts),
            namespace: namespace.to_owned(),
            node,
        }
    }

    pub(crate) async fn connect(&self) -> Result<Connection, Failure> {
        // The budgets are ours, one around each call.
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(CONNECT_TIMEOUT))
            .set_response_timeout(None)
            .set_pipeline_buffer_size(COMMANDS_WAITING_MAX);
        let connecting = async {
            let mut multiplexed = match &self.address {
                Address::Url(client) => {
                    client
                        .get_multiplexed_async_connection_with_config(&config)
                        .await?
                }
                #[cfg(test)]
                Address::Wire(plug) => plug.connect(config).await?,
            };
            let hashes = Hashes {
                exact: load(&mut multiplexed, &self.scripts.exact).await?,
                restore: load(&mut multiplexed, &self.scripts.restore).await?,
                heartbeat: load(&mut multiplexed, &self.scripts.heartbeat).await?,
            };
            Ok(Connection {
                multiplexed,
                scripts: Arc::clone(&self.scripts),
                hashes: Arc::new(hashes),
                epoch: Arc::default(),
            })
        };
        // Boxed because it is large, and happens seldom.
        within(CONNECT_TIMEOUT, Box::pin(connecting)).await
    }

    /// Decides on `wanted` requests. The answer stands on its own: who does not wait for it any
    /// longer can look at it later.
    pub(crate) fn decide(
        &self,
        mut connection: Connection,
        (operation, subject): (Operation, &str),
        quota: Quota,
        wanted: u32,
    ) -> Deciding {
        let mut call = Cmd::with_capacity(7, CALL_BYTES);
        call.arg("EVALSHA")
            .arg(&connection.hashes.exact)
            .arg(1)
            .arg(self.key(&connection.epoch, operation, subject))
            .arg(quota.count.get())
            .arg(quota.window_ms())
            .arg(wanted);
        async move {
            let (granted, remaining, frees_in_us) = connection.query(&call).await?;
            Ok(Verdict {
                granted,
                remaining,
                frees_in: Duration::from_micros(frees_in_us),
            })
        }
        .boxed()
    }

    /// Says that this node lives, and notes the epoch on the connection. `new_epoch` becomes its name
    /// if it has none. Returns how many nodes live.
    pub(crate) async fn heartbeat(
        &self,
        connection: &mut Connection,
        budget: Duration,
        new_epoch: &str,
    ) -> Result<u32, Failure> {
        let mut call = cmd("EVALSHA");
        call.arg(&connection.hashes.heartbeat)
            .arg(2)
            .arg(format!("{}:rl:{{nodes}}", self.namespace))
            .arg(format!("{}:rl:{{nodes}}:epoch", self.namespace))
            .arg(&self.node)
            .arg(new_epoch)
            .arg(u64::try_from(NODE_GONE_AFTER.as_millis()).unwrap_or(u64::MAX));
        let (epoch, nodes): (String, u32) = within(budget, connection.query(&call)).await?;
        if *connection.epoch != *epoch {
            connection.epoch = epoch.into();
        }
        Ok(nodes)
    }

    /// Tells of admissions that Redis has not heard of, in one pipeline. Returns what became of each.
    pub(crate) async fn restore(
        &self,
        connection: &mut Connection,
        parcels: &[RestoreBatch],
        now_ms: u64,
    ) -> Result<Vec<Result<(), Failure>>, Failure> {
        let mut calls = pipe();
        calls.ignore_errors();
        for parcel in parcels {
            calls
                .cmd("EVALSHA")
                .arg(&connection.hashes.restore)
                .arg(1)
                .arg(self.key(&connection.epoch, parcel.operation, &parcel.subject))
                .arg(parcel.quota.count.get())
                .arg(parcel.quota.window_ms());
            for at in &parcel.admitted_at {
                calls.arg(now_ms.saturating_sub(*at));
            }
        }
        let telling = calls.query_async(&mut connection.multiplexed);
        let told: Vec<Result<u32, RedisError>> = within(RESTORE_TIMEOUT, telling).await?;
        let each = |one: Result<u32, RedisError>| one.map(|_| ()).map_err(Failure::from);
        Ok(told.into_iter().map(each).collect())
    }

    fn key(&self, epoch: &str, operation: Operation, subject: &str) -> String {
        let operation = operation.as_str();
        format!("{}:rl:{epoch}:{{{subject}}}:{operation}", self.namespace)
    }
}

impl Connection {
    /// Runs a script. A server that was told to forget its scripts is told them again.
    async fn query<T: FromRedisValue>(&mut self, call: &Cmd) -> Result<T, RedisError> {
        match call.query_async(&mut self.multiplexed).await {
            Err(error) if error.kind() == ErrorKind::Server(ServerErrorKind::NoScript) => {
                for script in [
                    &self.scripts.exact,
                    &self.scripts.restore,
                    &self.scripts.heartbeat,
                ] {
                    load(&mut self.multiplexed, script).await?;
                }
                call.query_async(&mut self.multiplexed).await
            }
            answer => answer,
        }
    }
}

async fn load(connection: &mut MultiplexedConnection, script: &str) -> Result<String, RedisError> {
    let mut call = cmd("SCRIPT");
    call.arg("LOAD").arg(script);
    call.query_async(connection).await
}

async fn within<T>(
    budget: Duration,
    call: impl Future<Output = Result<T, RedisError>>,
) -> Result<T, Failure> {
    match timeout(budget, call).await {
        Ok(answer) => answer.map_err(Failure::from),
        Err(_) => Err(Failure::Late),
    }
}

impl Failure {
    /// Whether this is about the key of the call (it is no list, or not one of times), and says nothing
    /// about the server.
    pub(crate) fn is_about_one_key(&self) -> bool {
        match self {
            Self::Refused(error) => matches!(error.code(), Some("WRONGTYPE" | "ERR")),
            Self::Broken(_) | Self::Late => false,
        }
    }
}

impl From<RedisError> for Failure {
    fn from(error: RedisError) -> Self {
        if error.is_unrecoverable_error() || error.is_io_error() {
            Self::Broken(error)
        } else {
            Self::Refused(error)
        }
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Broken(error) | Self::Refused(error) => error.fmt(f),
            Self::Late => f.write_str("timed out"),
        }
    }
}
