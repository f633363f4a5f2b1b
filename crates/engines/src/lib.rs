//! Starts private PostgreSQL, NATS and Redis servers in a folder.
//!
//! `watchbell dev` runs on them, and so do the tests. The servers listen on 127.0.0.1 only, keep
//! everything they write in the folder, and cannot outlive the process that started them (see
//! [`tether`]). Each is started once, with its log in `<folder>/<engine>/server.log`; when a start
//! fails, the error shows the end of that log.
//!
//! | file | what it does |
//! |---|---|
//! | `locate`, `places`, `install` | find the programs, in every place where packages put them, and get those that are missing |
//! | `postgres`, `nats`, `cluster`, `redis` | one server each, or several NATS servers |
//! | `trusting` | closes a PostgreSQL that let everybody in |
//! | `server` | what starting a server has in common: the log, readiness, the way it ends |
//! | `tether` | a child process that ends when we do |
//! | `leftover` | servers that an earlier run left behind |
//! | `folder`, `password`, `port`, `wire` | who may use the folder and the engines; free ports; is there an answer? |
//!
//! Nothing here is asynchronous: the caller is a command that has nothing else to do yet, or a test.

pub mod cluster;
pub mod folder;
pub mod install;
pub mod leftover;
pub mod locate;
pub mod nats;
pub mod password;
mod places;
mod port;
pub mod postgres;
pub mod redis;
mod server;
pub mod tether;
mod trusting;
mod wire;

use std::path::{Path, PathBuf};
use std::thread;

pub use cluster::NatsCluster;
pub use folder::FolderLock;
pub use locate::{Binaries, Engine, Found, Search};
pub use nats::{Nats, NatsOptions};
pub use places::PlaceKind;
pub use postgres::{Postgres, PostgresOptions};
pub use redis::{Redis, RedisOptions};
pub use tether::{Signal, Tethered};

/// One of each, in one folder; Redis if it was found. Dropping it stops them all.
#[derive(Debug)]
pub struct Engines {
    pub postgres: Postgres,
    pub nats: Nats,
    pub redis: Option<Redis>,
    /// Released after the servers have stopped, because fields are dropped in this order.
    _lock: FolderLock,
}

#[derive(Clone, Debug, Default)]
pub struct Options {
    pub postgres: PostgresOptions,
    pub nats: NatsOptions,
    pub redis: RedisOptions,
}

impl Options {
    /// Engines that only who knows the password may use, so that other users of the machine may not.
    #[must_use]
    pub fn with_password(mut self, password: &str) -> Self {
        self.postgres.password = Some(password.to_owned());
        self.nats.password = Some(password.to_owned());
        self.redis.password = Some(password.to_owned());
        self
    }
}

/// Whether PostgreSQL's data has to survive a power cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    #[default]
    Durable,
    /// Faster, for data that is deleted after the test anyway.
    ThrowAway,
}

/// What can stop engines from starting, as far as a caller can do something about it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{} is in use by another process{}", .folder.display(), named(*.holder))]
    FolderInUse {
        folder: PathBuf,
        holder: Option<u32>,
    },
    #[error("not installed: {}", list(.0))]
    Missing(Vec<Engine>),
    #[error(transparent)]
    Other(#[from] anyhow::Error),
}

impl Engines {
    /// Starts all that are found at once, and returns when all of them serve. Data that is already in the
    /// folder is used. Nothing is installed; [`install::ensure`] does that.
    pub fn start_all(folder: &Path, search: &Search, options: &Options) -> Result<Self, Error> {
        let binaries = search.find()?;
        Self::start_with(folder, &binaries, options)
    }

    /// Like [`Self::start_all`], for who has already looked for the programs.
    pub fn start_with(folder: &Path, found: &Binaries, options: &Options) -> Result<Self, Error> {
        let lock = FolderLock::acquire(folder)?;
        thread::scope(|scope| {
            let nats =
                scope.spawn(|| Nats::start(&folder.join("nats"), &found.nats, &options.nats));
            let redis = scope.spawn(|| {
                let program = found.redis.as_ref();
                program
                    .map(|program| Redis::start(&folder.join("redis"), program, &options.redis))
                    .transpose()
            });
            let postgres =
                Postgres::start(&folder.join("postgres"), &found.postgres, &options.postgres);
            let nats = nats.join().expect("starting NATS does not panic");
            let redis = redis.join().expect("starting Redis does not panic");
            Ok(Self {
                postgres: postgres?,
                nats: nats?,
                redis: redis?,
                _lock: lock,
            })
        })
    }

    /// Stops all of them at once and waits for them: politely, and after 15 s with SIGKILL.
    pub fn stop_all(&mut self) {
        self.postgres.request_stop();
        self.nats.request_stop();
        if let Some(redis) = &mut self.redis {
            redis.request_stop();
        }
        self.postgres.stop();
        self.nats.stop();
        if let Some(redis) = &mut self.redis {
            redis.stop();
        }
    }
}

impl Drop for Engines {
    fn drop(&mut self) {
        self.stop_all();
    }
}

fn named(holder: Option<u32>) -> String {
    holder
        .map(|pid| format!(" (process {pid})"))
        .unwrap_or_default()
}

fn list(missing: &[Engine]) -> String {
    missing
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(", ")
}
