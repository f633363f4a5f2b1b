//! The engines that all tests of a run share.

use std::path::PathBuf;
use std::sync::OnceLock;

use anyhow::Context;
use engines::{Binaries, Durability, Engines, Options, PostgresOptions, Redis};

use crate::folder::TestFolder;
use crate::{environment, postgres_version};

/// Where the shared engines are.
#[derive(Clone, Debug)]
pub struct Shared {
    /// The database `postgres`, as superuser; tests use a [`crate::Database`] of their own.
    pub postgres_url: String,
    pub nats_url: String,
    /// Where NATS tells about itself over HTTP.
    pub nats_monitor_url: String,
    pub redis_url: String,
    /// The folder with `psql`.
    pub postgres_binaries: PathBuf,
    /// A folder that lasts as long as the engines, for locks between tests.
    pub folder: PathBuf,
}

/// The engines and the folder they live in. Dropping it stops them and removes everything.
#[derive(Debug)]
pub struct Started {
    // In this order: the servers stop before their folder goes.
    engines: Engines,
    folder: TestFolder,
    postgres_binaries: PathBuf,
}

const POSTGRES_URL: &str = "WATCHBELL_TEST_POSTGRES_URL";
const NATS_URL: &str = "WATCHBELL_TEST_NATS_URL";
const NATS_MONITOR_URL: &str = "WATCHBELL_TEST_NATS_MONITOR_URL";
const REDIS_URL: &str = "WATCHBELL_TEST_REDIS_URL";
const POSTGRES_BINARIES: &str = "WATCHBELL_TEST_POSTGRES_BINARIES";
const FOLDER: &str = "WATCHBELL_TEST_FOLDER";

/// The engines of this test run. Under nextest they are running; elsewhere (`cargo test`, an IDE)
/// they are started for this process.
pub fn shared() -> &'static Shared {
    static SHARED: OnceLock<(Shared, Option<Started>)> = OnceLock::new();
    let (shared, _) = SHARED.get_or_init(|| {
        if let Some(shared) = Shared::from_environment() {
            return (shared, None);
        }
        let started = environment::binaries()
            .and_then(|binaries| Started::start(&binaries))
            .expect("engines for the tests start");
        (started.shared(), Some(started))
    });
    shared
}

impl Shared {
    fn from_environment() -> Option<Self> {
        Some(Self {
            postgres_url: environment::text(POSTGRES_URL)?,
            nats_url: environment::text(NATS_URL)?,
            nats_monitor_url: environment::text(NATS_MONITOR_URL)?,
            redis_url: environment::text(REDIS_URL)?,
            postgres_binaries: environment::path(POSTGRES_BINARIES)?,
            folder: environment::path(FOLDER)?,
        })
    }

    /// As variables that make [`shared`] return this in another process.
    pub fn variables(&self) -> [(&'static str, String); 6] {
        [
            (POSTGRES_URL, self.postgres_url.clone()),
            (NATS_URL, self.nats_url.clone()),
            (NATS_MONITOR_URL, self.nats_monitor_url.clone()),
            (REDIS_URL, self.redis_url.clone()),
            (
                POSTGRES_BINARIES,
                self.postgres_binaries.display().to_string(),
            ),
            (FOLDER, self.folder.display().to_string()),
        ]
    }

    /// The address of another database in the shared PostgreSQL.
    pub fn database_url(&self, database: &str) -> String {
        let (server, _) = self
            .postgres_url
            .rsplit_once('/')
            .expect("an address of PostgreSQL ends with the name of the database");
        format!("{server}/{database}")
    }
}

impl Started {
    pub fn start(binaries: &Binaries) -> anyhow::Result<Self> {
        let folder = TestFolder::create()?;
        let options = Options {
            postgres: PostgresOptions {
                durability: Durability::ThrowAway,
                ..PostgresOptions::default()
            },
            ..Options::default()
        };
        let engines = Engines::start_with(&folder.path().join("engines"), binaries, &options)
            .context("start the engines that tests share")?;
        postgres_version::check(&engines.postgres)?;
        Ok(Self {
            engines,
            folder,
            postgres_binaries: binaries.postgres.clone(),
        })
    }

    pub fn shared(&self) -> Shared {
        let redis = self.engines.redis.as_ref();
        Shared {
            postgres_url: self.engines.postgres.url(),
            nats_url: self.engines.nats.url(),
            nats_monitor_url: self.engines.nats.monitor_url(),
            redis_url: redis
                .map(Redis::url)
                .expect("tests do not start without it"),
            postgres_binaries: self.postgres_binaries.clone(),
            folder: self.folder.path().to_owned(),
        }
    }
}
