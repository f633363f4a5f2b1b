//! Finds the engines' programs on this machine.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Error;

/// Scheduled messages and per-message TTL, which the journal needs, came with NATS 2.12.
const NATS_VERSION_MIN: (u32, u32) = (2, 12);

/// Where to look. It comes from the environment, which only the caller may read.
#[derive(Clone, Debug)]
pub struct Search {
    /// `PATH`.
    pub path: OsString,
    /// `HOME`.
    pub home: PathBuf,
    /// `XDG_CACHE_HOME`; without it `.cache` in the home folder.
    pub cache: Option<PathBuf>,
}

/// The programs, each as a full path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binaries {
    /// The folder with `initdb`, `postgres` and `psql`.
    pub postgres: PathBuf,
    /// `nats-server`, 2.12 or newer.
    pub nats: PathBuf,
    /// `redis-server` or `valkey-server`.
    pub redis: PathBuf,
}

/// One engine that is not on this machine, or too old.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    Postgres,
    Nats,
    Redis,
}

impl Search {
    /// Finds all three, or says with [`Error::Missing`] which are not there.
    pub fn find(&self) -> Result<Binaries, Error> {
        match (self.find_postgres(), self.find_nats(), self.find_redis()) {
            (Some(postgres), Some(nats), Some(redis)) => Ok(Binaries {
                postgres,
                nats,
                redis,
            }),
            (postgres, nats, redis) => {
                let missing = [
                    (postgres, Missing::Postgres),
                    (nats, Missing::Nats),
                    (redis, Missing::Redis),
                ];
                let missing = missing.into_iter().filter(|(found, _)| found.is_none());
                Err(Error::Missing(missing.map(|(_, engine)| engine).collect()))
            }
        }
    }

    /// Where `scripts/install-engines` puts what does not come from the system's packages.
    pub fn private_folder(&self) -> PathBuf {
        let cache = self
            .cache
            .clone()
            .unwrap_or_else(|| self.home.join(".cache"));
        cache.join("watchbell/engines")
    }

    fn find_postgres(&self) -> Option<PathBuf> {
        // Distributions put links or wrappers on PATH; the programs that belong together are where
        // `postgres` really is.
        let on_path = self
            .on_path("postgres")
            .filter_map(|found| found.canonicalize().ok()?.parent().map(Path::to_path_buf));
        let versioned = newest_first("/usr/lib/postgresql", "", "bin")
            .chain(newest_first("/usr", "pgsql-", "bin"))
            .chain(newest_first("/opt/homebrew/opt", "postgresql", "bin"))
            .chain(newest_first("/usr/local/opt", "postgresql", "bin"));
        on_path.chain(versioned).find(|folder| {
            ["initdb", "postgres", "psql"]
                .iter()
                .all(|name| folder.join(name).is_file())
        })
    }

    fn find_nats(&self) -> Option<PathBuf> {
        self.on_path("nats-server")
            .chain([self.private_folder().join("bin/nats-server")])
            .filter(|binary| binary.is_file())
            .find(|binary| nats_version(binary).is_some_and(|found| found >= NATS_VERSION_MIN))
    }

    fn find_redis(&self) -> Option<PathBuf> {
        self.on_path("redis-server")
            .chain(self.on_path("valkey-server"))
            .next()
    }

    fn on_path(&self, name: &str) -> impl Iterator<Item = PathBuf> {
        std::env::split_paths(&self.path)
            .map(move |folder| folder.join(name))
            .filter(|candidate| candidate.is_file())
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Postgres => formatter.write_str("PostgreSQL"),
            Self::Nats => {
                let (major, minor) = NATS_VERSION_MIN;
                write!(formatter, "NATS {major}.{minor} or newer")
            }
            Self::Redis => formatter.write_str("Redis or Valkey"),
        }
    }
}

/// `parent/<prefix><version>/child` for every version there is, the newest first.
fn newest_first(parent: &str, prefix: &str, child: &str) -> impl Iterator<Item = PathBuf> {
    let mut found: Vec<(u32, PathBuf)> = std::fs::read_dir(parent)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name();
            let version = name
                .to_str()?
                .strip_prefix(prefix)?
                .trim_start_matches('@')
                .to_owned();
            // Homebrew's unversioned folder is a link to one of the versions: last is fine.
            Some((version.parse().unwrap_or(0), entry.path().join(child)))
        })
        .filter(|(_, folder)| folder.is_dir())
        .collect();
    found.sort_by(|left, right| right.cmp(left));
    found.into_iter().map(|(_, folder)| folder)
}

fn nats_version(binary: &Path) -> Option<(u32, u32)> {
    let output = Command::new(binary).arg("--version").output().ok()?;
    parse_nats_version(&String::from_utf8_lossy(&output.stdout))
}

/// From "nats-server: v2.15.1".
fn parse_nats_version(text: &str) -> Option<(u32, u32)> {
    let (_, version) = text.trim().rsplit_once('v')?;
    let mut parts = version.split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_of_nats_is_read_and_compared_as_numbers() {
        let cases = [
            ("nats-server: v2.15.1\n", Some((2, 15)), true),
            ("nats-server: v2.12.0-RC.1\n", Some((2, 12)), true),
            ("nats-server: v2.9.10\n", Some((2, 9)), false),
            ("nats-server: v3.0.0\n", Some((3, 0)), true),
            ("", None, false),
            ("command not found", None, false),
        ];
        for (text, version, is_enough) in cases {
            assert_eq!(parse_nats_version(text), version, "{text}");
            let enough = parse_nats_version(text).is_some_and(|found| found >= NATS_VERSION_MIN);
            assert_eq!(enough, is_enough, "{text}");
        }
    }

    #[test]
    fn what_is_missing_is_named() {
        let nowhere = tempfile::tempdir().expect("a folder");
        let search = Search {
            path: nowhere.path().into(),
            home: nowhere.path().to_owned(),
            cache: None,
        };
        let Err(Error::Missing(missing)) = search.find() else {
            panic!("nothing is there to be found");
        };
        // PostgreSQL is also looked for outside PATH, so it may be there.
        assert!(
            missing.ends_with(&[Missing::Nats, Missing::Redis]),
            "{missing:?}"
        );
        assert_eq!(
            search.private_folder(),
            nowhere.path().join(".cache/watchbell/engines")
        );
    }
}
