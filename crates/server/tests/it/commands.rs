//! The commands of the binary, as an operator runs them.

use std::fs;
use std::net::TcpListener;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use reqwest::StatusCode;
use testkit::folder::TestFolder;
use testkit::{Database, Signal, Watchbell, own, shared};

use crate::deployment::{BINARY, DEADLINE, Deployment, Running, SECRET, event, migrate};

/// Runs a command to its end.
pub(crate) fn run<'a>(
    arguments: &[&str],
    variables: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Output {
    Command::new(BINARY)
        .args(arguments)
        .envs(variables)
        .stdin(Stdio::null())
        .output()
        .expect("watchbell starts")
}

pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// An address that nobody listens on.
fn nobody() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").to_string()
}

#[test]
fn the_version_is_said() {
    let said = stdout(&run(&["--version"], []));
    let version = concat!("watchbell ", env!("CARGO_PKG_VERSION"));
    // A build that knows its commit says it behind.
    assert!(
        said.trim_end() == version || said.starts_with(&format!("{version} (")),
        "{said}"
    );
}

#[test]
fn migrate_can_be_repeated_and_run_on_several_nodes_at_once() {
    let database = Database::create().expect("a database");
    let variables = [("WATCHBELL__POSTGRES__URL", database.url())];
    let at_once: Vec<Output> = thread::scope(|scope| {
        let start = || scope.spawn(|| run(&["migrate"], variables));
        let started = [start(), start(), start()];
        started.map(|thread| thread.join().expect("it ran")).into()
    });
    let again = run(&["migrate"], variables);
    for output in at_once.iter().chain([&again]) {
        assert_eq!(output.status.code(), Some(0), "{}", stderr(output));
        assert!(stdout(output).starts_with("The database schema is at version "));
    }
}

#[test]
fn migrate_without_a_database_says_what_to_look_at() {
    let url = format!("postgres://nobody@{}/none", nobody());
    let output = run(&["migrate"], [("WATCHBELL__POSTGRES__URL", url.as_str())]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("is PostgreSQL running, and is postgres.url correct?"));
}

#[test]
fn serve_refuses_an_old_schema_and_says_to_migrate() {
    let database = Database::create().expect("a database");
    let deployment = Deployment::on(database.url(), &shared().nats_url);
    let mut process = deployment.command(&["serve"]);
    assert_eq!(process.wait_until_ended(DEADLINE).code(), Some(1));
    process.wait_for_line(DEADLINE, |line| {
        line.starts_with("watchbell: ") && line.contains("run `watchbell migrate` first")
    });
    migrate(database.url()).expect("migrated");
    let _serves = deployment.serve_all();
}

#[test]
fn a_database_from_before_the_first_release_is_refused_with_what_to_do() {
    let database = Database::from_template("watchbell", migrate).expect("a database");
    // Its migrations had the same numbers, other content, and there were more of them.
    let before = "UPDATE _sqlx_migrations SET checksum = decode('00', 'hex') WHERE version = 1;
        INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
        VALUES (22, 'views', true, decode('00', 'hex'), 0)";
    database.query(before).expect("changed");
    let deployment = Deployment::on(database.url(), &shared().nats_url);
    for command in ["migrate", "serve", "doctor"] {
        let output = run(&[command], deployment.variables());
        assert_eq!(output.status.code(), Some(1), "{command}");
        let said = format!("{}{}", stdout(&output), stderr(&output));
        assert!(said.contains("start with an empty database"), "{said}");
        assert!(!said.contains("is PostgreSQL running"), "{said}");
    }
}

#[test]
fn a_database_of_a_newer_version_is_served_and_not_migrated() {
    let database = Database::from_template("watchbell", migrate).expect("a database");
    let newer =
        "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
        VALUES (9999, 'next', true, decode('00', 'hex'), 0)";
    database.query(newer).expect("changed");
    let deployment = Deployment::on(database.url(), &shared().nats_url);
    let _serves = deployment.serve_all();
    let output = run(&["migrate"], deployment.variables());
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("9999"), "{}", stderr(&output));
}

#[test]
fn doctor_is_content_with_a_healthy_deployment() {
    let deployment = Deployment::new()
        .with("JOURNAL__MONITOR_URL", &shared().nats_monitor_url)
        .with("REDIS__URL", &shared().redis_url);
    let output = run(&["doctor"], deployment.variables());
    let said = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{said}{}", stderr(&output));
    let checks = [
        "configuration",
        "postgres",
        "journal",
        "clock",
        "dead letters",
        "durability",
        "redis",
        "signing",
    ];
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines.len(), checks.len(), "{said}");
    for (line, check) in lines.iter().zip(checks) {
        assert!(line.starts_with(&format!("ok    {check} ")), "{line}");
    }
    assert!(!said.contains(SECRET));
}

#[test]
fn doctor_names_what_is_wrong_and_what_to_do() {
    let healthy = || {
        Deployment::new()
            .with("JOURNAL__MONITOR_URL", &shared().nats_monitor_url)
            .with("REDIS__URL", &shared().redis_url)
    };
    let nobody = nobody();
    let unmigrated = Database::create().expect("a database");
    let cases = [
        (
            healthy().with("POSTGRES__URL", &format!("postgres://x@{nobody}/x")),
            "postgres",
            "Start PostgreSQL, or correct postgres.url; then run `watchbell migrate`.",
        ),
        (
            healthy().with("POSTGRES__URL", unmigrated.url()),
            "postgres",
            "Start PostgreSQL, or correct postgres.url; then run `watchbell migrate`.",
        ),
        (
            healthy().with("JOURNAL__URL", &format!("nats://{nobody}")),
            "journal",
            "Start NATS 2.12 or later with JetStream, or correct journal.url.",
        ),
        (
            healthy().with("REDIS__URL", &format!("redis://{nobody}")),
            "redis",
            "Start Redis or Valkey, or correct redis.url.",
        ),
        (
            healthy().without("JOURNAL__MONITOR_URL"),
            "durability",
            "Set `sync_interval: always` in the NATS server's jetstream block, and journal.monitor_url here.",
        ),
        (
            healthy()
                .without("DELIVERY__SIGNING_SECRET")
                .without("DELIVERY__SHARED_SIGNING_SECRET"),
            "signing",
            "Set delivery.signing_secret to `whsec_` followed by 32 random bytes in base64; receivers cannot verify unsigned webhooks.",
        ),
    ];
    for (deployment, check, advice) in cases {
        let output = run(&["doctor"], deployment.variables());
        let said = stdout(&output);
        assert_eq!(output.status.code(), Some(1), "{said}");
        let failed: Vec<&str> = said
            .lines()
            .filter(|line| line.starts_with("FAIL"))
            .collect();
        assert_eq!(failed.len(), 1, "only {check} is wrong: {said}");
        assert!(failed[0].starts_with(&format!("FAIL  {check} ")), "{said}");
        assert!(said.contains(&format!("-> {advice}")), "{said}");
        assert!(stderr(&output).contains("1 of the checks failed"));
    }
}

#[test]
fn doctor_reports_a_configuration_that_cannot_be_read() {
    let deployment = Deployment::new().with("HTTP__LISTEN", "somewhere");
    let output = run(&["doctor"], deployment.variables());
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stdout(&output).starts_with("FAIL  configuration"),
        "{}",
        stdout(&output)
    );
}

#[test]
fn healthcheck_is_0_for_a_ready_server_and_1_for_none() {
    let mut running = Running::start(Deployment::new());
    let address = running.server.address(DEADLINE).to_string();
    let url = format!("http://{address}");
    let by_url = run(&["healthcheck", "--url", &url], []);
    assert_eq!(by_url.status.code(), Some(0), "{}", stderr(&by_url));
    let listen = [("WATCHBELL__HTTP__LISTEN", address.as_str())];
    assert_eq!(run(&["healthcheck"], listen).status.code(), Some(0));
    // As in a container, where it listens on every address.
    let everywhere = address.replace("127.0.0.1", "0.0.0.0");
    let listen = [("WATCHBELL__HTTP__LISTEN", everywhere.as_str())];
    assert_eq!(run(&["healthcheck"], listen).status.code(), Some(0));

    assert!(running.server.terminate(DEADLINE).success());
    let output = run(&["healthcheck", "--url", &url], []);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains(&address), "{}", stderr(&output));
}

#[test]
fn a_setting_that_does_not_exist_is_an_error_that_names_it() {
    for command in [["serve"].as_slice(), &["migrate"], &["healthcheck"]] {
        let deployment = Deployment::new().with("HTTP__COLOR", "blue");
        let output = run(command, deployment.variables());
        assert_eq!(output.status.code(), Some(1), "{command:?}");
        let said = stderr(&output);
        assert!(said.contains("color"), "{command:?}: {said}");
    }
}

#[tokio::test]
async fn settings_come_from_a_file_then_the_environment_and_secrets_from_files_of_their_own() {
    let database = Database::from_template("watchbell", migrate).expect("a database");
    let folder = TestFolder::create().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    let (config, postgres_url, secret) = (path("watchbell.toml"), path("url"), path("secret"));
    fs::write(&postgres_url, format!("{}\n", database.url())).expect("written");
    fs::write(&secret, SECRET).expect("written");
    let text = format!(
        "[http]\nlisten = \"127.0.0.1:1\"\ndrain_s = 0\n\
         [journal]\nurl = \"{}\"\nnamespace = \"{}\"\npartitions = 2\n\
         [postgres]\nurl = \"postgres://nobody@{}/none\"\n\
         [delivery]\nallow_http = true\nallow_cidrs = [\"127.0.0.0/8\"]\n",
        shared().nats_url,
        testkit::namespace(),
        nobody(),
    );
    fs::write(&config, text).expect("written");
    // The port of the file could not be bound by an ordinary user, and its database is not there:
    // that it works shows who wins.
    let variables = [
        ("WATCHBELL__HTTP__LISTEN", "127.0.0.1:0"),
        ("WATCHBELL__POSTGRES__URL_FILE", postgres_url.as_str()),
        ("WATCHBELL__DELIVERY__SIGNING_SECRET_FILE", &secret),
    ];
    let spawn = |arguments: &[&str]| {
        Watchbell::spawn(BINARY.as_ref(), arguments, variables).expect("watchbell starts")
    };
    let mut server = spawn(&["serve", "--config", &config]);
    let base_url = server.url(DEADLINE);
    assert!(!base_url.ends_with(":1"));
    let arguments = [
        "admin",
        "create-org",
        "--name",
        "A",
        "--email",
        "a@example.com",
        "--config",
        &config,
    ];
    let founded = spawn(&arguments).wait_for_line(DEADLINE, |line| line.contains("api_key"));
    let founded: serde_json::Value = serde_json::from_str(&founded).expect("JSON");
    let customer = crate::deployment::Customer {
        http: crate::deployment::http(),
        base_url,
        api_key: founded["api_key"].as_str().expect("a key").to_owned(),
    };
    let receiver = testkit::Receiver::start().expect("a receiver");
    customer.rule(serde_json::json!({}), &receiver.url()).await;
    customer.ingest(&event("agent-1")).await;
    let received = receiver.wait_for(1, DEADLINE).await;
    let secret = founded["signing_secret"].as_str().expect("a secret");
    let verified = webhook_signature::Verifier::new([secret]).verify(
        received[0].header("x-service-timestamp"),
        received[0].header("x-service-signature"),
        &received[0].body,
        received[0].arrived_at,
    );
    assert_eq!(verified, Ok(()));
    assert_eq!(
        customer.get("/v1/audit/events").await.status(),
        StatusCode::OK
    );

    let both = [("WATCHBELL__POSTGRES__URL", database.url()), variables[1]];
    let output = run(&["migrate"], both);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("WATCHBELL__POSTGRES__URL_FILE are both set"));
    let missing = [("WATCHBELL__POSTGRES__URL_FILE", "/nowhere/url")];
    let output = run(&["migrate"], missing);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).contains("/nowhere/url"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn another_number_of_partitions_than_at_the_installation_is_refused() {
    let deployment = Deployment::new();
    drop(deployment.serve_all());
    let deployment = deployment.with("JOURNAL__PARTITIONS", "3");
    let mut process = deployment.command(&["serve"]);
    assert_eq!(process.wait_until_ended(DEADLINE).code(), Some(1));
    process.wait_for_line(DEADLINE, |line| {
        line.starts_with("watchbell: ")
            && line.contains("installed with 2 partitions and the configuration says 3")
            && line.contains("set journal.partitions back")
    });
    // And nothing was changed: the old number still works.
    drop(deployment.with("JOURNAL__PARTITIONS", "2").serve_all());
}

#[test]
fn create_org_prints_the_key_once_and_refuses_a_second_user_with_the_same_address() {
    let deployment = Deployment::new();
    let arguments = [
        "admin",
        "create-org",
        "--name",
        "A",
        "--email",
        "Some.One@example.com",
    ];
    let output = run(&arguments, deployment.variables());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let founded: serde_json::Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    assert!(
        founded["api_key"]
            .as_str()
            .expect("a key")
            .starts_with("wb_live_")
    );
    assert_eq!(founded["user_email"], "some.one@example.com");
    let again = run(&arguments, deployment.variables());
    assert_eq!(again.status.code(), Some(1));
    assert!(stdout(&again).is_empty());
    assert!(
        stderr(&again).contains("Some.One@example.com"),
        "{}",
        stderr(&again)
    );
}

#[test]
fn a_command_waits_for_a_database_that_takes_its_time() {
    let (mut postgres, deployment) = Deployment::on_own_postgres();
    create_org_while_away(&deployment, |signal| postgres.signal(signal));
}

#[test]
fn a_command_waits_for_a_journal_that_takes_its_time() {
    let mut nats = own::nats().expect("NATS");
    let deployment = Deployment::on_journal(&nats.url());
    create_org_while_away(&deployment, |signal| nats.signal(signal));
}

fn create_org_while_away(deployment: &Deployment, mut signal: impl FnMut(Signal)) {
    signal(Signal::Stop);
    let arguments = [
        "admin",
        "create-org",
        "--name",
        "A",
        "--email",
        "a@example.com",
    ];
    let mut command = deployment.command(&arguments);
    // waits for: longer than a request would wait for a connection
    thread::sleep(Duration::from_secs(4));
    signal(Signal::Continue);
    assert!(command.wait_until_ended(DEADLINE).success());
}
