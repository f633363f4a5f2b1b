//! Nobody reaches into the network that Watchbell runs in, however they spell it or whatever they let
//! their name servers say.

use std::net::{IpAddr, TcpListener};
use std::path::Path;

use domain::rule::definition::URL_MAX;
use futures::future::join_all;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use testkit::{Answer, NameServer, Receiver, Watchbell, eventually};

use crate::canary::Canary;
use crate::deployment::{BINARY, Customer, DEADLINE, Deployment, Running, event, ok};

/// Addresses written as such, with the port of the canary.
const SPELLINGS: [&str; 48] = [
    "http://127.0.0.1:PORT/",
    "http://127.0.0.1:PORT/#@example.com/",
    "http://127.0.0.1:PORT?@example.com/",
    "http://@127.0.0.1:PORT/",
    "HTTP://127.0.0.1:PORT/",
    "http:127.0.0.1:PORT/",
    "http:///127.0.0.1:PORT/",
    "http://127.0.0.1.:PORT/",
    "http://127.1:PORT/",
    "http://127.0.1:PORT/",
    "http://127.255.255.254:PORT/",
    "http://2130706433:PORT/",
    "http://0x7f000001:PORT/",
    "http://0x7f.0x0.0x0.0x1:PORT/",
    "http://0X7F.1:PORT/",
    "http://017700000001:PORT/",
    "http://0177.0.0.1:PORT/",
    "http://00000177.0.0.01:PORT/",
    "http://0:PORT/",
    "http://0.0.0.0:PORT/",
    "http://%31%32%37.0.0.1:PORT/",
    "http://127%2e0%2e0%2e1:PORT/",
    "http://１２７.０.０.１:PORT/",
    "http://127。0。0。1:PORT/",
    "http://①②⑦.⓪.⓪.①:PORT/",
    "http://127.0.0.1\u{ad}:PORT/",
    "http://[::1]:PORT/",
    "http://[::]:PORT/",
    "http://[0:0:0:0:0:0:0:1]:PORT/",
    "http://[::127.0.0.1]:PORT/",
    "http://[::ffff:127.0.0.1]:PORT/",
    "http://[::ffff:7f00:1]:PORT/",
    "http://[::ffff:0:127.0.0.1]:PORT/",
    "http://[64:ff9b::127.0.0.1]:PORT/",
    "http://[64:ff9b:1::7f00:1]:PORT/",
    "http://[2002:7f00:1::]:PORT/",
    "http://[2001:0:7f00:1::]:PORT/",
    "http://[2606:4700::5efe:7f00:1]:PORT/",
    "http://[fd00:ec2::254]/",
    "http://[fe80::1]:PORT/",
    "http://[fec0::1]:PORT/",
    "http://[ff02::1]:PORT/",
    "http://169.254.169.254/latest/meta-data/",
    "http://0xa9fea9fe/latest/meta-data/",
    "http://100.100.100.200/latest/meta-data/",
    "http://168.63.129.16/machine/",
    "http://10.0.0.1:PORT/",
    "http://192.168.0.1:PORT/",
];

/// Names that mean this machine.
const OWN_NAMES: [&str; 7] = [
    "http://localhost:PORT/",
    "http://LocalHost:PORT/",
    "http://localhost.:PORT/",
    "http://anything.localhost:PORT/",
    "http://ｌocalhost:PORT/",
    "http://ip6-localhost:PORT/",
    "http://%6c%6f%63alhost:PORT/",
];

/// What no operator can allow: it is written to be read in two ways, or is no URL for a webhook.
const NEVER: [&str; 12] = [
    "http://example.com@127.0.0.1:PORT/",
    "http://example.com:80@127.0.0.1:PORT/",
    "http://127.0.0.1:PORT\\@example.com/",
    "http://example.com\\@127.0.0.1:PORT/",
    "http://example.com@@127.0.0.1:PORT/",
    "http://127.0.0.1:PORT\t/",
    " http://127.0.0.1:PORT/",
    "http://127.0.0.1 :PORT/",
    "http://[fe80::1%25eth0]:PORT/",
    "http://[::1%25lo]:PORT/",
    "gopher://127.0.0.1:PORT/",
    "file:///etc/passwd",
];

/// Names that look like any other, and the addresses that a name server gives them.
const NAMES: [(&str, &[&str]); 24] = [
    ("loopback.test", &["127.0.0.1"]),
    ("loopback-v6.test", &["::1"]),
    ("private.test", &["10.0.0.1"]),
    ("zero.test", &["0.0.0.0"]),
    ("unspecified.test", &["::"]),
    ("metadata.google.internal", &["169.254.169.254"]),
    ("shared.test", &["100.64.0.1"]),
    ("azure.test", &["168.63.129.16"]),
    ("unique-local.test", &["fd00::1"]),
    ("link-local.test", &["fe80::1"]),
    ("site-local.test", &["fec0::1"]),
    ("multicast.test", &["224.0.0.1"]),
    ("broadcast.test", &["255.255.255.255"]),
    ("mapped.test", &["::ffff:127.0.0.1"]),
    ("compatible.test", &["::127.0.0.1"]),
    ("translated.test", &["64:ff9b::7f00:1"]),
    ("translated-locally.test", &["64:ff9b:1::7f00:1"]),
    ("six-to-four.test", &["2002:7f00:1::1"]),
    ("teredo.test", &["2001:0:7f00:1::1"]),
    ("mixed.test", &["93.184.215.14", "127.0.0.1"]),
    ("mixed-otherwise.test", &["127.0.0.1", "93.184.215.14"]),
    ("public-and-v6-loopback.test", &["93.184.215.14", "::1"]),
    (
        "loopback-and-v6-public.test",
        &["127.0.0.1", "2606:4700::1111"],
    ),
    ("127.0.0.1.nip.test", &["127.0.0.1"]),
];

const ALIASES: [(&str, &str); 4] = [
    ("alias.test", "loopback.test"),
    ("first-alias.test", "second-alias.test"),
    ("second-alias.test", "loopback-v6.test"),
    ("alias-of-metadata.test", "metadata.google.internal"),
];

fn name_server() -> NameServer {
    let server = NameServer::start().expect("a name server");
    for (name, addresses) in NAMES {
        let addresses: Vec<IpAddr> = addresses
            .iter()
            .map(|address| address.parse().expect("an address"))
            .collect();
        server.answer(name, &addresses);
    }
    for (name, target) in ALIASES {
        server.alias(name, target);
    }
    server
}

/// How many requests are made at a time: the tests of other files want the database too.
const AT_ONCE: usize = 8;

/// Does something with each, some at a time.
async fn with_each<R>(items: &[String], act: impl AsyncFn(&str) -> R) -> Vec<R> {
    let mut results = Vec::new();
    for some in items.chunks(AT_ONCE) {
        results.extend(join_all(some.iter().map(|item| act(item))).await);
    }
    results
}

async fn make(customer: &Customer, url: &str) -> (StatusCode, Value) {
    let body = json!({"name": "Hostile", "match": {"result": ["denied"]}, "url": url});
    let request = customer.request(Method::POST, "/v1/alert-rules");
    let response = request.json(&body).send().await.expect("an answer");
    (response.status(), response.json().await.expect("JSON"))
}

async fn assert_refused(customer: &Customer, url: &str) {
    assert!(url.len() < URL_MAX);
    let (status, problem) = make(customer, url).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{url}");
    assert_eq!(problem["errors"][0]["pointer"], "/url", "{url}");
}

/// The rules are made where everything is allowed and sent where nearly nothing is, so that every target
/// meets the guard of the sender; where nearly nothing is allowed, those that can be seen through are
/// refused at once.
#[tokio::test]
async fn of_a_hundred_hostile_targets_none_is_connected_to() {
    let (canary, names) = (Canary::start(), name_server());
    let deployment = Deployment::new()
        .with("DELIVERY__NAMESERVERS", &names.address().to_string())
        .with("DELIVERY__ALLOW_CIDRS", "0.0.0.0/0, ::/0");
    let mut lenient = deployment.serve("api,index,match");
    let customer = deployment.customer(&mut lenient);
    let variables = deployment.variables();
    let settings = variables.chain([("WATCHBELL__DELIVERY__ALLOW_CIDRS", "127.0.0.2/32")]);
    let roles = ["serve", "--role", "api,deliver"];
    let mut strict = Watchbell::spawn(Path::new(BINARY), &roles, settings).expect("it starts");
    let strict = customer.at(&mut strict);

    let at_canary = |url: &str| url.replace("PORT", &canary.port.to_string());
    let seen_through: Vec<String> = SPELLINGS
        .iter()
        .chain(&OWN_NAMES)
        .map(|url| at_canary(url))
        .collect();
    let names = NAMES
        .iter()
        .map(|(name, _)| name)
        .chain(ALIASES.iter().map(|(name, _)| name));
    let by_name = names.map(|name| at_canary(&format!("http://{name}:PORT/")));
    let never = NEVER.map(at_canary);
    let refused_by = async |customer: &Customer, urls: &[String]| {
        with_each(urls, async |url| assert_refused(customer, url).await).await;
    };
    refused_by(&customer, &never).await;
    refused_by(&strict, &never).await;
    refused_by(&strict, &seen_through).await;
    let targets: Vec<String> = seen_through.iter().cloned().chain(by_name).collect();
    let rules = with_each(&targets, async |url| {
        let (status, rule) = make(&customer, url).await;
        assert_eq!(status, StatusCode::CREATED, "{url}: {rule}");
        rule["id"].as_str().expect("an id").to_owned()
    })
    .await;
    assert!(rules.len() + never.len() >= 90, "{}", rules.len());

    customer.ingest(&event("agent-1")).await;
    with_each(&rules, async |rule| {
        let path = format!("/v1/alert-rules/{rule}/trigger");
        ok(customer.post(&path, &json!({})).await).await;
    })
    .await;
    let held = eventually(DEADLINE, "each is held, matched and tried", async || {
        let deliveries = customer.all_deliveries().await;
        let are_held = deliveries.iter().all(|one| one["state"] == "held");
        (deliveries.len() == 2 * rules.len() && are_held).then_some(deliveries)
    })
    .await;
    let held: Vec<String> = held
        .iter()
        .map(|delivery| delivery["id"].as_str().expect("an id").to_owned())
        .collect();
    with_each(&held, async |id| {
        let delivery = customer.get_json(&format!("/v1/deliveries/{id}")).await;
        let attempts = delivery["attempt_log"].as_array().expect("attempts");
        assert_eq!(attempts.len(), 1, "{delivery}");
        assert_eq!(attempts[0]["outcome"], "blocked", "{delivery}");
        assert_eq!(attempts[0]["remote_address"], Value::Null, "{delivery}");
        let error = attempts[0]["error"].as_str().expect("an error");
        assert!(error.contains("delivery.allow_cidrs"), "{error}");
    })
    .await;
    assert_eq!(canary.connections(), 0);
    canary.assert_hears().await;
}

#[tokio::test]
async fn an_address_that_changes_behind_a_name_is_vetted_again_for_a_new_connection() {
    let receiver = Receiver::start_at("127.0.0.2:0".parse().expect("an address"));
    let receiver = receiver.expect("a receiver");
    // So that the next delivery needs a connection of its own.
    receiver.answer_always(Answer::status(200).header("connection", "close"));
    let port = receiver.address().port();
    let listener = TcpListener::bind(("127.0.0.1", port)).expect("the port is free there as well");
    let canary = Canary::on(listener);
    let names = NameServer::start().expect("a name server");
    let (allowed, private): (IpAddr, IpAddr) = ([127, 0, 0, 2].into(), [127, 0, 0, 1].into());
    names.answer_in_turn("rebinding.test", &[&[allowed], &[private]]);
    let deployment = Deployment::new()
        .with("DELIVERY__NAMESERVERS", &names.address().to_string())
        .with("DELIVERY__ALLOW_CIDRS", "127.0.0.2/32");
    let running = Running::start(deployment);
    let customer = &running.customer;
    let url = format!("http://rebinding.test:{port}/");
    customer.rule(json!({}), &url).await;

    customer.ingest(&event("agent-1")).await;
    let received = receiver.wait_for(1, DEADLINE).await;
    let first = received[0].delivery_id().expect("an id").to_owned();
    customer.delivery_in_state(&first, "delivered").await;
    customer.ingest(&event("agent-2")).await;
    let second = eventually(DEADLINE, "the second is on record", async || {
        let deliveries = customer.all_deliveries().await;
        deliveries.into_iter().find(|one| one["id"] != first)
    })
    .await;
    let second = second["id"].as_str().expect("an id");
    let delivery = customer.delivery_in_state(second, "held").await;
    let error = delivery["attempt_log"][0]["error"].as_str();
    let error = error.expect("an error");
    assert!(error.starts_with("The name resolves to an"), "{error}");
    assert!(!error.contains("127.0.0.1"), "{error}");
    assert_eq!(names.asked("rebinding.test"), 2);
    assert_eq!((receiver.count(), canary.connections()), (1, 0));
}

#[tokio::test]
async fn a_redirect_into_the_network_leads_nowhere() {
    let (receiver, canary) = (Receiver::start().expect("a receiver"), Canary::start());
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let statuses = [300, 301, 302, 303, 305, 307, 308];
    for status in statuses {
        let location = format!("http://127.0.0.1:{}/", canary.port);
        let answer = Answer::status(status).header("location", &location);
        receiver.answer_at(&format!("/{status}"), answer);
        let url = receiver.url_of(&format!("/{status}"));
        // Not of what is told of endpoints that redirect.
        customer.rule(json!({"agent_id": ["agent-1"]}), &url).await;
    }
    customer.ingest(&event("agent-1")).await;
    eventually(DEADLINE, "each is to be tried again", async || {
        let deliveries = customer.all_deliveries().await;
        let waiting = deliveries.iter().filter(|one| one["attempts"] != 0);
        (waiting.count() == statuses.len()).then_some(())
    })
    .await;
    assert_eq!(canary.connections(), 0);
}

/// The hosts file is this machine's own business: with it, this name would lead to the receiver.
#[tokio::test]
async fn the_hosts_file_is_not_asked() {
    let hosts = std::fs::read_to_string("/etc/hosts").expect("a hosts file");
    let mut names_in_it = hosts
        .lines()
        .filter(|line| line.starts_with("127."))
        .flat_map(|line| line.split_whitespace().skip(1))
        .filter(|name| !name.contains("localhost"));
    let name = names_in_it.next().expect("it names this machine");
    let names = NameServer::start().expect("a name server");
    let deployment = Deployment::new().with("DELIVERY__NAMESERVERS", &names.address().to_string());
    let running = Running::start(deployment);
    let customer = &running.customer;
    let receiver = Receiver::start().expect("a receiver");
    let url = format!("http://{name}:{}/", receiver.address().port());
    customer.rule(json!({}), &url).await;
    customer.ingest(&event("agent-1")).await;
    let delivery = eventually(DEADLINE, "it was attempted", async || {
        let deliveries = customer.all_deliveries().await;
        deliveries.into_iter().find(|one| one["attempts"] != 0)
    })
    .await;
    let id = delivery["id"].as_str().expect("an id");
    let delivery = customer.get_json(&format!("/v1/deliveries/{id}")).await;
    let error = delivery["attempt_log"][0]["error"].as_str();
    assert!(error.expect("an error").contains(name), "{delivery}");
    assert!(names.asked(name) > 0);
    assert_eq!(receiver.count(), 0);
}
