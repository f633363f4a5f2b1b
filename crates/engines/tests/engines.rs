//! Private engines as their users meet them: they start, serve, stop, and leave nothing behind.

#![allow(clippy::disallowed_methods, reason = "a test may read PATH and HOME")]
#![allow(
    clippy::print_stderr,
    reason = "how long a start took is worth a line in the output"
)]

use std::collections::HashMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use engines::{
    Binaries, Durability, Engine, Engines, Error, NatsCluster, NatsOptions, Options, Postgres,
    PostgresOptions, Redis, Search, install, leftover,
};

const DEADLINE: Duration = Duration::from_secs(20);

#[test]
fn engines_start_serve_and_stop_without_a_trace() {
    let folder = Folder::new();
    let started = Instant::now();
    let mut engines =
        Engines::start_with(&folder.0, binaries(), &Options::default()).expect("engines start");
    eprintln!("all engines were ready after {:?}", started.elapsed());

    assert_eq!(
        engines
            .postgres
            .query("SELECT 6 * 7")
            .expect("PostgreSQL answers"),
        "42"
    );
    assert_eq!(
        engines
            .postgres
            .query("SHOW fsync")
            .expect("PostgreSQL answers"),
        "on"
    );
    assert_eq!(
        engines
            .postgres
            .query("SHOW max_connections")
            .expect("an answer"),
        "200"
    );
    let url = engines
        .postgres
        .ensure_database("watchbell")
        .expect("a database is made");
    assert_eq!(
        engines
            .postgres
            .ensure_database("watchbell")
            .expect("it is there"),
        url
    );
    assert!(ask(&engines.nats.url(), b"").starts_with("INFO {"));
    assert_eq!(
        ask(&redis(&engines).url(), b"CONFIG GET maxmemory-policy\r\n"),
        "*2\r\n"
    );

    let again = Engines::start_with(&folder.0, binaries(), &Options::default());
    assert!(matches!(again, Err(Error::FolderInUse { .. })), "{again:?}");

    let pids = [
        &engines.postgres.pid(),
        &engines.nats.pid(),
        &redis(&engines).pid(),
    ]
    .map(|pid| *pid.as_ref().expect("it runs"));
    engines.stop_all();
    assert_none_runs(&pids);
}

#[test]
fn who_does_not_know_the_password_is_let_in_nowhere() {
    let folder = Folder::new();
    let password = engines::password::of(&folder.0).expect("a password");
    assert_eq!(
        engines::password::of(&folder.0).expect("the same"),
        password
    );
    let options = Options::default().with_password(&password);
    let engines = Engines::start_with(&folder.0, binaries(), &options).expect("engines start");

    let query = |url: &str| engines::postgres::query(&binaries().postgres, url, "SELECT 1");
    let url = engines.postgres.url();
    assert_eq!(query(&url).expect("an answer"), "1");
    let other = url.replace(&password, "guessed");
    let refused = query(&other).expect_err("another password").to_string();
    assert!(
        refused.contains("password authentication failed"),
        "{refused}"
    );
    assert!(!refused.contains(&password), "{refused}");

    let nats = format!("nats://127.0.0.1:{}", engines.nats.port());
    let info = ask(&nats, b"");
    assert!(info.contains("\"auth_required\":true"), "{info}");
    let redis = format!("redis://127.0.0.1:{}", redis(&engines).port());
    assert_eq!(
        ask(&redis, b"PING\r\n"),
        "-NOAUTH Authentication required.\r\n"
    );
    let greeting = format!("AUTH {password}\r\n");
    assert_eq!(ask(&redis, greeting.as_bytes()), "+OK\r\n");

    for file in ["password", "nats/nats.conf", "redis/redis.conf"] {
        let mode = fs::metadata(folder.0.join(file))
            .expect("a file")
            .permissions()
            .mode();
        assert_eq!(mode & 0o077, 0, "{file}");
    }
}

#[test]
fn a_database_that_let_everybody_in_asks_for_the_password_and_keeps_its_data() {
    let folder = Folder::new();
    let start = |password: Option<&str>| {
        let options = PostgresOptions {
            password: password.map(str::to_owned),
            ..Default::default()
        };
        Postgres::start(&folder.0, &binaries().postgres, &options).expect("PostgreSQL starts")
    };
    let mut open = start(None);
    open.query("CREATE TABLE kept AS SELECT 1 AS value")
        .expect("a table is made");
    // What it had not written yet is written first, once nobody is left who is busy with it.
    let url = open.url();
    let busy = thread::spawn(move || {
        let counting = "SELECT count(*) FROM generate_series(1, 5000000) AS busy";
        engines::postgres::query(&binaries().postgres, &url, counting)
    });
    let is_busy =
        "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%AS busy' AND state = 'active'";
    while open.query(is_busy).expect("an answer") != "1" {
        assert!(!busy.is_finished(), "it was not seen to be busy");
    }
    open.kill();
    drop(open);

    for _ in 0..2 {
        let closed = start(Some("secret"));
        let kept = closed.query("SELECT value FROM kept");
        assert_eq!(kept.expect("an answer"), "1");
        let stranger = closed.url().replace("secret", "guessed");
        engines::postgres::query(&binaries().postgres, &stranger, "SELECT 1")
            .expect_err("another password");
    }
}

#[test]
fn postgres_keeps_its_data_and_port_when_stopped_killed_and_started_again() {
    let folder = Folder::new();
    let options = PostgresOptions {
        durability: Durability::ThrowAway,
        ..Default::default()
    };
    let mut postgres =
        Postgres::start(&folder.0, &binaries().postgres, &options).expect("PostgreSQL starts");
    assert_eq!(postgres.query("SHOW fsync").expect("an answer"), "off");
    postgres
        .query("CREATE TABLE kept AS SELECT 1 AS value")
        .expect("a table is made");
    let url = postgres.url();

    postgres.stop();
    assert!(postgres.query("SELECT 1").is_err());
    postgres.restart().expect("it starts again");
    assert_eq!(
        postgres.query("SELECT value FROM kept").expect("an answer"),
        "1"
    );

    // A session is open when it is killed: its backend must be gone before the next start.
    let mut session = Command::new(binaries().postgres.join("psql"))
        .args(["-X", "-d", &url, "-c", "SELECT pg_sleep(60)"])
        .stderr(Stdio::null())
        .spawn()
        .expect("psql starts");
    wait_until("the session is there", || {
        let asked = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(60)'";
        postgres.query(asked).is_ok_and(|count| count == "1")
    });
    postgres.kill();
    session.wait().expect("psql ends when its server does");
    postgres.restart().expect("it starts after a kill");
    assert_eq!(
        postgres.query("SELECT value FROM kept").expect("an answer"),
        "1"
    );
    assert_eq!(postgres.url(), url);
    drop(postgres);

    let postgres =
        Postgres::start(&folder.0, &binaries().postgres, &options).expect("it starts anew");
    assert_eq!(
        postgres.query("SELECT value FROM kept").expect("an answer"),
        "1"
    );
}

#[test]
fn who_cannot_read_a_database_says_which_version_made_it() {
    let folder = Folder::new();
    let start = || Postgres::start(&folder.0, &binaries().postgres, &PostgresOptions::default());
    drop(start().expect("PostgreSQL starts"));
    fs::write(folder.0.join("data/PG_VERSION"), "14\n").expect("written");
    let refused = start().expect_err("another version made it").to_string();
    assert!(refused.contains("made by PostgreSQL 14,"), "{refused}");
    assert!(refused.contains("WATCHBELL_ENGINES"), "{refused}");
}

#[test]
fn a_stale_process_id_of_a_stranger_does_not_stop_postgres() {
    let folder = Folder::new();
    let options = PostgresOptions::default();
    let start = || Postgres::start(&folder.0, &binaries().postgres, &options);
    let mut postgres = start().expect("PostgreSQL starts");
    postgres.kill();
    drop(postgres);
    let pid_file = folder.0.join("data/postmaster.pid");
    let text = fs::read_to_string(&pid_file).expect("a killed server leaves its file");
    let (_, rest) = text.split_once('\n').expect("several lines");
    fs::write(&pid_file, format!("{}\n{rest}", std::process::id())).expect("written");
    start().expect("it starts all the same");
}

#[test]
fn engines_end_when_the_process_that_started_them_is_killed() {
    let folder = Folder::new();
    let mut parent = Command::new(env!("CARGO_BIN_EXE_run-engines"))
        .arg(&folder.0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("run-engines starts");
    let output = BufReader::new(parent.stdout.take().expect("stdout is piped"));
    let facts: HashMap<String, String> = output
        .lines()
        .map_while(Result::ok)
        .take_while(|line| line != "ready")
        .filter_map(|line| {
            line.split_once('=')
                .map(|(key, value)| (key.into(), value.into()))
        })
        .collect();
    let pids: Vec<u32> = ["POSTGRES_PID", "NATS_PID", "REDIS_PID"]
        .iter()
        .map(|key| facts[*key].parse().expect("a process id"))
        .collect();
    assert!(pids.iter().all(|pid| leftover::is_running(*pid)));

    parent.kill().expect("SIGKILL");
    parent.wait().expect("it is gone");
    // At once: the next start must cope with servers that are still stopping.
    let mut engines = Engines::start_with(&folder.0, binaries(), &Options::default())
        .expect("engines start in the folder of a killed run");
    assert_none_runs(&pids);
    engines.stop_all();
}

#[test]
fn a_nats_cluster_agrees_and_goes_on_without_its_leader() {
    let folder = Folder::new();
    let started = Instant::now();
    let mut cluster = NatsCluster::start(&folder.0, &binaries().nats, 3, &NatsOptions::default())
        .expect("a cluster starts");
    eprintln!("the cluster had agreed after {:?}", started.elapsed());
    assert_eq!(cluster.urls().len(), 3);
    let leader = cluster.leader().expect("it has agreed on a leader");
    cluster.kill(leader);
    wait_until("there is another leader", || {
        cluster.leader().is_some_and(|other| other != leader)
    });
    cluster
        .restart(leader)
        .expect("the old leader starts again");
    cluster
        .wait_until_agreed()
        .expect("all three take part again");
}

#[test]
fn a_start_that_fails_shows_the_log() {
    let folder = Folder::new();
    let options = NatsOptions {
        payload_bytes_max: u32::MAX,
        ..NatsOptions::default()
    };
    let error = engines::Nats::start(&folder.0, &binaries().nats, &options)
        .expect_err("NATS refuses such a limit");
    assert!(error.to_string().contains("max_payload"), "{error}");
}

/// A folder that the PostgreSQL user may enter when the tests run as root.
struct Folder(
    PathBuf,
    #[expect(dead_code, reason = "removes the folder when dropped")] Held,
);
type Held = tempfile::TempDir;

impl Folder {
    fn new() -> Self {
        let held = tempfile::Builder::new()
            .prefix("watchbell-engines-")
            .permissions(fs::Permissions::from_mode(0o755))
            .tempdir()
            .expect("a temporary folder");
        Self(held.path().join("a folder"), held)
    }
}

#[expect(clippy::disallowed_methods, reason = "a test may read PATH and HOME")]
#[expect(
    clippy::print_stderr,
    reason = "an installation takes a while; say why"
)]
fn binaries() -> &'static Binaries {
    static FOUND: std::sync::OnceLock<Binaries> = std::sync::OnceLock::new();
    FOUND.get_or_init(|| {
        let variable = |name: &str| std::env::var_os(name);
        let search = Search {
            named: variable("WATCHBELL_ENGINES").unwrap_or_default(),
            path: variable("PATH").expect("PATH is set"),
            home: variable("HOME").expect("HOME is set").into(),
            cache: variable("XDG_CACHE_HOME").map(PathBuf::from),
            needs_redis: true,
            ..Search::default()
        };
        if let Some(asked) = variable("WATCHBELL_TEST_POSTGRES_MAJOR") {
            let found = search.find_one(Engine::Postgres).expect("PostgreSQL");
            let major = found.version.split('.').next().expect("a number");
            assert_eq!(asked, major, "{}", found.program.display());
        }
        install::ensure(&search, |missing| eprintln!("{missing}")).expect("engines are installed")
    })
}

fn redis(engines: &Engines) -> &Redis {
    engines.redis.as_ref().expect("Redis was found")
}

/// Sends bytes and returns the first line of the answer.
fn ask(url: &str, bytes: &[u8]) -> String {
    let (_, address) = url.split_once("//").expect("a scheme");
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream.set_read_timeout(Some(DEADLINE)).expect("a timeout");
    stream.write_all(bytes).expect("written");
    let mut line = String::new();
    BufReader::new(stream.take(64 * 1024))
        .read_line(&mut line)
        .expect("an answer");
    line
}

fn assert_none_runs(pids: &[u32]) {
    wait_until("all processes have ended", || {
        !pids.iter().any(|pid| leftover::is_running(*pid))
    });
    for pid in pids {
        assert!(!Path::new(&format!("/proc/{pid}")).exists() || !leftover::is_running(*pid));
    }
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + DEADLINE;
    while !is_so() {
        assert!(Instant::now() < deadline, "not within {DEADLINE:?}: {what}");
        // waits for: the next look at a condition that has a deadline.
        thread::sleep(Duration::from_millis(10));
    }
}
