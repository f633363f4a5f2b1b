//! `watchbell dev`: from nothing to a verified webhook, and nothing left behind.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use reqwest::{StatusCode, Url};
use serde_json::{Value, json};
use testkit::folder::TestFolder;
use testkit::{Signal, Watchbell, eventually, eventually_blocking};

use crate::deployment::{BINARY, Customer, DEADLINE, event, http};
use crate::processes::{descendants, wait_until_gone};

/// One `watchbell dev`, with a folder for its temporary files that nobody else uses.
pub(crate) struct Dev {
    pub(crate) process: Watchbell,
    temporary: PathBuf,
    _folder: TestFolder,
    started: Instant,
}

impl Dev {
    fn start(arguments: &[&str]) -> Self {
        Self::start_with(arguments, &[])
    }

    pub(crate) fn start_with(arguments: &[&str], variables: &[(&str, &str)]) -> Self {
        let folder = TestFolder::create().expect("a folder");
        let temporary = folder.path().join("tmp");
        fs::create_dir(&temporary).expect("a folder");
        // As `/tmp`: PostgreSQL may run as another user.
        fs::set_permissions(&temporary, fs::Permissions::from_mode(0o755)).expect("chmod");
        let arguments: Vec<&str> = ["dev"].iter().chain(arguments).copied().collect();
        let variables = variables.iter().copied();
        let variables = variables.chain([("TMPDIR", temporary.to_str().expect("UTF-8"))]);
        let started = Instant::now();
        let process = Watchbell::spawn(Path::new(BINARY), &arguments, variables);
        Self {
            process: process.expect("watchbell starts"),
            temporary,
            _folder: folder,
            started,
        }
    }

    /// What it says when it is ready, if it was started with `--json`.
    pub(crate) fn ready(&mut self) -> Value {
        self.ready_within(DEADLINE)
    }

    fn ready_within(&mut self, deadline: Duration) -> Value {
        let line = self
            .process
            .wait_for_line(deadline, |line| line.contains("base_url"));
        serde_json::from_str(&line).expect("JSON")
    }

    fn temporary_files(&self) -> usize {
        fs::read_dir(&self.temporary).expect("a folder").count()
    }
}

pub(crate) fn customer(said: &Value) -> Customer {
    let text = |name: &str| said[name].as_str().expect("a text").to_owned();
    Customer {
        http: http(),
        base_url: text("base_url"),
        api_key: text("api_key"),
    }
}

pub(crate) fn wait_for_verified(dev: &mut Dev, agent: &str) {
    dev.process.wait_for_line(DEADLINE, |line| {
        line.contains("  verified  ") && line.contains(agent)
    });
}

/// The ports that it said it listens on.
fn wait_until_closed(said: &Value) {
    for name in [
        "base_url",
        "receiver_url",
        "postgres_url",
        "nats_url",
        "redis_url",
    ] {
        let url = Url::parse(said[name].as_str().expect("a text")).expect("a URL");
        let (host, port) = (url.host_str().expect("a host"), url.port().expect("a port"));
        let address = (host, port).to_socket_addrs().expect("an address").next();
        let address = address.expect("an address");
        eventually_blocking(DEADLINE, &format!("{name} is closed"), || {
            TcpStream::connect(address).is_err()
        });
    }
}

#[tokio::test]
async fn dev_shows_a_verified_webhook_within_ten_seconds_of_its_start() {
    let mut dev = Dev::start(&["--json"]);
    let said = dev.ready();
    let ready_after = dev.started.elapsed();
    customer(&said).ingest(&event("first-agent")).await;
    wait_for_verified(&mut dev, "first-agent");
    let took = dev.started.elapsed();
    println!("ready after {ready_after:?}, the first verified webhook after {took:?}");
    assert!(took < Duration::from_secs(10), "{took:?}");
}

#[tokio::test]
async fn dev_json_is_one_line_on_standard_output_with_everything_a_program_needs() {
    let mut dev = Dev::start(&["--json"]);
    let said = dev.ready();
    let keys: BTreeSet<&str> = said
        .as_object()
        .expect("an object")
        .keys()
        .map(String::as_str)
        .collect();
    let expected = [
        "base_url",
        "api_key",
        "signing_secret",
        "receiver_url",
        "postgres_url",
        "nats_url",
        "redis_url",
        "user_email",
        "user_password",
    ];
    assert_eq!(keys, BTreeSet::from(expected));
    for key in keys {
        assert!(
            said[key].as_str().is_some_and(|text| !text.is_empty()),
            "{key}"
        );
    }
    customer(&said).ingest(&event("agent-1")).await;
    wait_for_verified(&mut dev, "agent-1");
    assert_eq!(dev.process.terminate(DEADLINE).code(), Some(0));
    assert_eq!(dev.process.stdout().len(), 1, "{:?}", dev.process.stdout());
    // Colors are for terminals, and this is none.
    let colored = dev
        .process
        .lines()
        .into_iter()
        .find(|line| line.contains('\u{1b}'));
    assert_eq!(colored, None);
}

#[tokio::test]
async fn dev_delivers_to_loopback_and_to_no_other_private_address() {
    let mut dev = Dev::start(&["--json"]);
    let customer = customer(&dev.ready());
    let rule = |url: &str| json!({"name": "Mine", "match": {}, "url": url});
    for url in [
        "http://127.0.0.1:9/",
        "http://[::1]:9/",
        "http://localhost:9/",
    ] {
        let answer = customer.post("/v1/alert-rules", &rule(url)).await;
        assert_eq!(answer.status(), StatusCode::CREATED, "{url}");
    }
    for url in [
        "http://10.0.0.1/",
        "http://192.168.1.1/",
        "http://169.254.169.254/latest",
        "http://0.0.0.0/",
        "http://[fd00::1]/",
    ] {
        let answer = customer.post("/v1/alert-rules", &rule(url)).await;
        assert_eq!(answer.status(), StatusCode::UNPROCESSABLE_ENTITY, "{url}");
        let problem: Value = answer.json().await.expect("JSON");
        assert_eq!(problem["errors"][0]["pointer"], "/url");
    }
}

#[tokio::test]
async fn dev_leaves_nothing_behind_when_it_is_asked_to_end() {
    for signal in [Signal::Terminate, Signal::Interrupt] {
        let mut dev = Dev::start(&["--json"]);
        let said = dev.ready();
        let engines = descendants(dev.process.pid());
        assert!(engines.len() >= 3, "{engines:?}");
        assert_eq!(dev.temporary_files(), 1);

        dev.process.signal(signal);
        assert_eq!(dev.process.wait_until_ended(DEADLINE).code(), Some(0));

        wait_until_gone(&engines);
        wait_until_closed(&said);
        assert_eq!(dev.temporary_files(), 0);
    }
}

#[tokio::test]
async fn dev_that_is_killed_takes_its_engines_with_it() {
    let mut dev = Dev::start(&["--json"]);
    let said = dev.ready();
    let engines = descendants(dev.process.pid());
    assert!(engines.len() >= 3, "{engines:?}");

    dev.process.kill();

    wait_until_gone(&engines);
    wait_until_closed(&said);
}

#[tokio::test]
async fn two_devs_at_once_do_not_disturb_each_other() {
    let mut devs = [Dev::start(&["--json"]), Dev::start(&["--json"])];
    let said = devs.each_mut().map(Dev::ready);
    for name in [
        "base_url",
        "api_key",
        "receiver_url",
        "postgres_url",
        "nats_url",
        "redis_url",
    ] {
        assert_ne!(said[0][name], said[1][name], "{name}");
    }
    for (number, dev) in devs.iter_mut().enumerate() {
        let (customer, agent) = (customer(&said[number]), format!("agent-of-{number}"));
        customer.ingest(&event(&agent)).await;
        wait_for_verified(dev, &agent);
        assert_eq!(customer.all_events().await.len(), 1);
    }
}

#[test]
fn the_command_that_dev_prints_works_exactly_as_printed() {
    let mut dev = Dev::start(&[]);
    dev.process
        .wait_for_line(DEADLINE, |line| line.contains("Webhooks appear below"));
    let said = dev.process.stdout();
    let first = said
        .iter()
        .position(|line| line.trim_start().starts_with("curl "));
    let first = first.expect("a curl command");
    let last = said[first..].iter().position(|line| !line.ends_with('\\'));
    let command = said[first..=first + last.expect("its end")].join("\n");

    // The status is asked for from outside, so that the command stays as printed.
    let home = tempfile::tempdir().expect("a folder");
    fs::write(
        home.path().join(".curlrc"),
        "write-out = \"\\n%{http_code}\"\n",
    )
    .expect("written");
    let output = Command::new("bash")
        .args(["-c", &command])
        .env("CURL_HOME", home.path())
        .output()
        .expect("bash runs");
    let answer = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{answer}");
    let (body, status) = answer.rsplit_once('\n').expect("a status");
    assert_eq!(status, "202", "{body}");
    let body: Value = serde_json::from_str(body).expect("JSON");
    assert_eq!(body["ingested"], 1);

    wait_for_verified(&mut dev, "demo-agent");
    let said = dev.process.stdout();
    assert!(
        said.iter().any(|line| line.contains("  verified  ")),
        "on standard output"
    );

    // And the short one, in a terminal that has the three variables.
    let printed = said.iter().map(|line| line.trim_start());
    let shorter = |line: &&str| line.starts_with("export ") || line.starts_with("watchbell events");
    let script: Vec<&str> = printed.filter(shorter).collect();
    assert_eq!(script.len(), 4, "{script:?}");
    let folder = Path::new(BINARY).parent().expect("a folder").display();
    let script = format!("PATH='{folder}':$PATH\n{}", script.join("\n"));
    let output = Command::new("bash")
        .args(["-c", &script])
        .output()
        .expect("bash runs");
    let answer = String::from_utf8_lossy(&output.stdout);
    assert!(answer.starts_with("1 event accepted: evt_"), "{output:?}");
    eventually_blocking(DEADLINE, "two webhooks are shown", || {
        let said = dev.process.stdout();
        said.iter()
            .filter(|line| line.contains("  verified  "))
            .count()
            == 2
    });
}

#[tokio::test]
async fn dev_with_a_data_dir_keeps_events_and_the_key_over_a_restart() {
    let folder = TestFolder::create().expect("a folder");
    let data = folder
        .path()
        .join("data")
        .to_str()
        .expect("UTF-8")
        .to_owned();
    let arguments = ["--json", "--data-dir", &data];
    let mut dev = Dev::start(&arguments);
    let before = dev.ready();
    let id = customer(&before).ingest(&event("agent-1")).await;
    wait_for_verified(&mut dev, "agent-1");

    let mut second = Dev::start(&arguments);
    assert_eq!(second.process.wait_until_ended(DEADLINE).code(), Some(1));
    second
        .process
        .wait_for_line(DEADLINE, |line| line.contains(&data));
    drop(second);

    assert_eq!(dev.process.terminate(DEADLINE).code(), Some(0));
    assert_eq!(dev.temporary_files(), 0);
    let mut dev = Dev::start(&arguments);
    let after = dev.ready();
    for name in [
        "api_key",
        "signing_secret",
        "receiver_url",
        "user_email",
        "user_password",
    ] {
        assert_eq!(before[name], after[name], "{name}");
    }
    let customer = customer(&after);
    let events = customer.all_events().await;
    assert_eq!(events.len(), 1);
    assert_eq!(events[0]["id"], id);
    // The rule of the first time is still there, and there is only one.
    let rules = customer.get_json("/v1/alert-rules").await;
    assert_eq!(rules["data"].as_array().expect("data").len(), 1);
    customer.ingest(&event("agent-2")).await;
    wait_for_verified(&mut dev, "agent-2");
}

#[tokio::test]
async fn dev_in_a_folder_from_before_passwords_asks_for_one_and_keeps_what_is_there() {
    let folder = TestFolder::create().expect("a folder");
    let data = folder.path().join("data");
    let arguments = ["--json", "--data-dir", data.to_str().expect("UTF-8")];
    let mut dev = Dev::start(&arguments);
    let id = customer(&dev.ready()).ingest(&event("agent-1")).await;
    wait_for_verified(&mut dev, "agent-1");
    assert_eq!(dev.process.terminate(DEADLINE).code(), Some(0));
    // As it was then: no password, and a database that asks for none.
    fs::remove_file(data.join("password")).expect("it has a password");
    let rules = data.join("postgres/data/pg_hba.conf");
    let asking = fs::read_to_string(&rules).expect("rules");
    let open = asking.replace(" password\n", " trust\n");
    assert_ne!(open, asking);
    fs::write(&rules, open).expect("written");

    let mut dev = Dev::start(&arguments);
    let said = dev.ready();
    assert_eq!(asked_for(&said), PASSWORD_WANTED);
    let events = customer(&said).all_events().await;
    assert_eq!(events.len(), 1);
    assert_eq!(events[0]["id"], id);
    assert_eq!(dev.process.terminate(DEADLINE).code(), Some(0));
    // Once is enough.
    let mut dev = Dev::start(&arguments);
    assert_eq!(
        dev.ready()["postgres_url"].as_str().map(password),
        said["postgres_url"].as_str().map(password)
    );
}

/// What PostgreSQL says to somebody who may not come in without a password; 0 is "you are in".
const PASSWORD_WANTED: i32 = 3;

/// What PostgreSQL asks its superuser for.
fn asked_for(said: &Value) -> i32 {
    let url = Url::parse(said["postgres_url"].as_str().expect("a text")).expect("a URL");
    let port = url.port().expect("a port");
    let mut connection = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
    let mut hello = 196_608_i32.to_be_bytes().to_vec();
    hello.extend_from_slice(b"user\0postgres\0\0");
    let length = i32::try_from(hello.len() + 4).expect("short");
    let hello = [length.to_be_bytes().to_vec(), hello].concat();
    connection.write_all(&hello).expect("it reads");
    let mut answer = [0; 9];
    connection.read_exact(&mut answer).expect("an answer");
    assert_eq!(answer[0], b'R', "{answer:?}");
    i32::from_be_bytes(answer[5..].try_into().expect("four bytes"))
}

fn password(url: &str) -> String {
    let url = Url::parse(url).expect("a URL");
    url.password().expect("a password").to_owned()
}

#[tokio::test]
async fn dev_with_a_demo_has_a_day_of_events_approvals_that_wait_and_deliveries_that_fail() {
    const EVENTS: u64 = 5_000;
    let mut dev = Dev::start(&["--json", "--demo", &EVENTS.to_string()]);
    // Some hundred requests more than others make.
    let said = dev.ready_within(4 * DEADLINE);
    let customer = customer(&said);
    let stats = eventually(DEADLINE, "all is applied", async || {
        let stats = customer
            .get_json("/v1/audit/stats?by=event_type&interval=day")
            .await;
        (stats["fresh"] == true).then_some(stats)
    })
    .await;
    let of = |event_type: &str| stats["totals"][event_type].as_u64().unwrap_or(0);
    let sent = of("tool_call") + of("model_call") + of("message");
    assert_eq!(sent, EVENTS, "{stats}");
    // Those that agents asked for by themselves, and one for each call that was denied.
    let denied = "/v1/audit/facets?result=denied&event_type=tool_call&event_type=message";
    let denied = customer.get_json(denied).await;
    let denied = denied["counted"].as_u64().expect("a number");
    assert!(denied > 0, "{stats}");
    assert_eq!(of("decision"), 600 + denied, "{stats}");

    let waiting = customer.get_json("/v1/runtime/approvals").await;
    assert_eq!(waiting["data"].as_array().expect("data").len(), 8);
    let rules = customer.get_json("/v1/alert-rules").await;
    assert_eq!(rules["data"].as_array().expect("data").len(), 6);

    let receiver = said["receiver_url"].as_str().expect("a URL").to_owned();
    let has_delivery = async |filter: String| {
        let page = customer.get_json(&format!("/v1/deliveries?{filter}")).await;
        let page = page["data"].as_array().expect("data").clone();
        let tried = |one: &&Value| one["attempts"].as_u64().is_some_and(|tries| tries > 0);
        page.iter().find(tried).cloned().ok_or(filter)
    };
    let delivered = eventually(DEADLINE, "a delivery that arrived", async || {
        has_delivery(format!("state=delivered&url={receiver}")).await
    })
    .await;
    let path = format!(
        "/v1/deliveries/{}",
        delivered["id"].as_str().expect("an id")
    );
    let detail = customer.get_json(&path).await.to_string();
    assert!(detail.contains("verified"), "{detail}");
    eventually(DEADLINE, "a delivery that fails", async || {
        has_delivery(format!("state=scheduled&state=held&url={receiver}/broken")).await
    })
    .await;
}
