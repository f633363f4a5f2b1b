//! What is in the trail can be taken out of it, as a file that proves that it is whole.

use std::collections::BTreeSet;
use std::time::Duration;

use domain::Timestamp;
use reqwest::StatusCode;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use crate::deployment::{Customer, DEADLINE, Deployment, Running, event};
use crate::errors::problem;
use crate::people::Person;

/// Ingests events of so many agents, `each` of each, and returns what is listed.
async fn fill(customer: &Customer, agents: u32, each: u32) -> Vec<Value> {
    let batch: Vec<Value> = (0..agents)
        .map(|one| event(&format!("agent-{one}")))
        .collect();
    for _ in 0..each {
        let answer = customer
            .post("/v1/audit/events", &json!({"events": batch}))
            .await;
        assert_eq!(answer.status(), StatusCode::ACCEPTED);
    }
    customer.all_events().await
}

async fn export(customer: &Customer, body: &Value) -> Vec<u8> {
    let answer = customer.post("/v1/audit/export", body).await;
    assert_eq!(answer.status(), StatusCode::OK, "{body}");
    answer.bytes().await.expect("a body").to_vec()
}

/// The events of an NDJSON file, whose last line must be right.
pub(crate) fn lines(file: &[u8]) -> Vec<Value> {
    let text = std::str::from_utf8(file).expect("UTF-8");
    let body = text.strip_suffix('\n').expect("it ends with a line end");
    let (events, last) = match body.rsplit_once('\n') {
        Some((events, last)) => (format!("{events}\n"), last),
        None => (String::new(), body),
    };
    let last: Value = serde_json::from_str(last).expect("JSON");
    assert_eq!(
        last["export"]["sha256"],
        hex::encode(Sha256::digest(&events))
    );
    let events: Vec<Value> = events
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(last["export"]["events"], events.len());
    events
}

#[tokio::test]
async fn an_export_has_every_event_once_in_every_format_and_its_end_proves_it() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let listed = fill(customer, 700, 3).await;
    assert_eq!(listed.len(), 2_100);
    let answer = customer.post("/v1/audit/export", &json!({})).await;
    assert_eq!(answer.headers()["content-type"], "application/x-ndjson");
    let disposition = &answer.headers()["content-disposition"];
    assert_eq!(disposition, "attachment; filename=\"audit-events.ndjson\"");
    let plain = answer.bytes().await.expect("a body");
    assert_eq!(lines(&plain), listed);

    // The export is an event of its own, which later exports have.
    let trail = customer.all_events().await;
    assert_eq!(trail.len(), listed.len() + 1);
    let own = trail.iter().find(|event| event["event_type"] == "export");
    let own = own.expect("the export is recorded");
    assert_eq!(own["action"], "audit.export");
    assert_eq!(own["metadata"]["format"], "ndjson");
    assert!(
        own["agent_id"]
            .as_str()
            .expect("a text")
            .starts_with("key_")
    );
    assert_eq!(lines(&export(customer, &json!({})).await), trail);

    let only = json!({"event_type": "tool_call"});
    let with = |more: Value| {
        let mut body = only.clone();
        let fields = more.as_object().expect("fields").clone();
        body.as_object_mut().expect("an object").extend(fields);
        body
    };
    let gzip = export(customer, &with(json!({"compression": "gzip"}))).await;
    let zstd = export(customer, &with(json!({"compression": "zstd"}))).await;
    let mut unpacked = Vec::new();
    let mut decoder = flate2::read::GzDecoder::new(gzip.as_slice());
    std::io::Read::read_to_end(&mut decoder, &mut unpacked).expect("whole");
    assert_eq!(lines(&unpacked), listed);
    assert_eq!(
        lines(&zstd::decode_all(zstd.as_slice()).expect("whole")),
        listed
    );

    let document = export(customer, &with(json!({"format": "json"}))).await;
    let document: Value = serde_json::from_slice(&document).expect("JSON");
    assert_eq!(document["events"], Value::from(listed.clone()));
    assert_eq!(document["export"]["events"], 2_100);

    let csv = export(customer, &with(json!({"format": "csv"}))).await;
    let csv = String::from_utf8(csv).expect("UTF-8");
    let ids = csv
        .lines()
        .skip(1)
        .map(|line| line.split(',').next().expect("an id"));
    let ids: BTreeSet<&str> = ids.collect();
    let expected = listed
        .iter()
        .map(|event| event["id"].as_str().expect("an id"))
        .collect();
    assert_eq!(ids, expected);

    let parquet = export(customer, &with(json!({"format": "parquet"}))).await;
    assert!(parquet.starts_with(b"PAR1") && parquet.ends_with(b"PAR1"));
}

#[tokio::test]
async fn an_export_of_an_empty_trail_is_its_last_line_and_nonsense_is_refused() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    assert!(lines(&export(customer, &json!({})).await).is_empty());
    let refused = customer
        .post("/v1/audit/export", &json!({"format": "xml"}))
        .await;
    problem(refused, 400).await;
    let refused = customer
        .post("/v1/audit/export", &json!({"color": "red"}))
        .await;
    problem(refused, 400).await;
    let refused = customer
        .post("/v1/audit/export", &json!({"severity": "urgent"}))
        .await;
    assert_eq!(
        problem(refused, 422).await["errors"][0]["pointer"],
        "/severity"
    );
    let refused = customer
        .post("/v1/audit/export", &json!({"async": true}))
        .await;
    let problem = problem(refused, 422).await;
    assert!(
        problem["detail"]
            .as_str()
            .expect("a text")
            .contains("files.url"),
        "{problem}"
    );
}

#[tokio::test]
async fn an_export_has_what_its_filter_asks_for_and_nothing_else() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let now = time_of(&customer.ingest(&event("clock")).await, customer).await;
    let events = json!({"events": [
        {"event_type": "tool_call", "agent_id": "a", "action": "files.read", "result": "success", "severity": "low"},
        {"event_type": "tool_call", "agent_id": "b", "action": "files.delete", "result": "denied", "session_id": "s1"},
        {"event_type": "handoff", "agent_id": "a", "action": "auth.login", "result": "success", "metadata": {"Note": "ÜBER"}},
        {"event_type": "handoff", "agent_id": "c", "action": "auth.login", "result": "error", "trace_id": "t1", "decision_id": "d1"},
        // Ahead of time, so that the export's own event is older than this.
        {"event_type": "handoff", "agent_id": "d\n'; --", "action": "auth.logout", "result": "success", "occurred_at": later(&now)},
    ]});
    let answer = customer.post("/v1/audit/events", &events).await;
    assert_eq!(answer.status(), StatusCode::ACCEPTED);
    for (filter, agents) in [
        (json!({"agent_id": "a"}), vec!["a", "a"]),
        (
            json!({"agent_id": ["b", "c"], "event_type": "handoff"}),
            vec!["c"],
        ),
        (json!({"action": "files.*"}), vec!["b", "a", "clock"]),
        (
            json!({"action": ["auth.login", "files.read"], "result": "success"}),
            vec!["a", "a"],
        ),
        (json!({"severity": ["low", "high"]}), vec!["a"]),
        (json!({"session_id": "s1"}), vec!["b"]),
        (json!({"trace_id": "t1", "decision_id": "d1"}), vec!["c"]),
        (json!({"q": "note\":\"Ü"}), vec!["a"]),
        (json!({"agent_id": "d\n'; --"}), vec!["d\n'; --"]),
        (json!({"to": "2020-01-01T00:00:00Z"}), vec![]),
        (
            json!({"from": "2020-01-01T00:00:00Z", "result": "error"}),
            vec!["c"],
        ),
    ] {
        let found = lines(&export(customer, &filter).await);
        let mut found: Vec<&str> = found
            .iter()
            .map(|event| event["agent_id"].as_str().expect("a text"))
            .collect();
        found.sort_unstable();
        let mut expected = agents.clone();
        expected.sort_unstable();
        assert_eq!(found, expected, "{filter}");
    }
    let all = lines(&export(customer, &json!({"event_type": "export"})).await);
    assert_eq!(all.len(), 11, "the exports before, and not this one");
}

async fn time_of(id: &str, customer: &Customer) -> String {
    let event = customer.get_json(&format!("/v1/audit/events/{id}")).await;
    event["occurred_at"].as_str().expect("a time").to_owned()
}

/// Two minutes later.
fn later(now: &str) -> String {
    let now = Timestamp::parse(now).expect("a time");
    now.plus(Duration::from_secs(120)).to_string()
}

/// Begins an export over a connection of its own.
async fn begin(customer: &Customer, body: &Value, headers: &str) -> TcpStream {
    let address = customer.base_url.strip_prefix("http://").expect("http");
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    let body = body.to_string();
    let head = format!(
        "POST /v1/audit/export HTTP/1.1\r\nHost: test\r\nConnection: close\r\nAuthorization: Bearer {}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n{headers}\r\n",
        customer.api_key,
        body.len()
    );
    stream.write_all(head.as_bytes()).await.expect("sent");
    stream.write_all(body.as_bytes()).await.expect("sent");
    stream
}

async fn read_to_end(stream: &mut TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    // A connection that breaks has ended too.
    let _ = timeout(DEADLINE, stream.read_to_end(&mut bytes))
        .await
        .expect("it ends");
    bytes
}

/// The body of a chunked answer and what follows its last chunk.
fn unchunked(answer: &[u8]) -> (Vec<u8>, String) {
    let end = answer
        .windows(4)
        .position(|four| four == b"\r\n\r\n")
        .expect("a head");
    let (mut rest, mut body) = (&answer[end + 4..], Vec::new());
    loop {
        let line = rest
            .windows(2)
            .position(|two| two == b"\r\n")
            .expect("a chunk");
        let size = std::str::from_utf8(&rest[..line]).expect("plain");
        let size = usize::from_str_radix(size, 16).expect("a size");
        rest = &rest[line + 2..];
        if size == 0 {
            return (body, String::from_utf8_lossy(rest).into_owned());
        }
        body.extend_from_slice(&rest[..size]);
        rest = &rest[size + 2..];
    }
}

#[tokio::test]
async fn trailers_say_how_many_events_and_the_checksum_of_the_file() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    fill(customer, 300, 1).await;
    let body = json!({"format": "csv", "compression": "gzip", "event_type": "tool_call"});
    let mut asked = begin(customer, &body, "TE: trailers\r\n").await;
    let (file, trailers) = unchunked(&read_to_end(&mut asked).await);
    let sha256 = hex::encode(Sha256::digest(&file));
    let trailers = trailers.to_lowercase();
    assert!(
        trailers.contains("watchbell-export-events: 300\r\n"),
        "{trailers}"
    );
    assert!(
        trailers.contains(&format!("watchbell-export-sha256: {sha256}\r\n")),
        "{trailers}"
    );
    let mut unasked = begin(customer, &body, "").await;
    let (again, trailers) = unchunked(&read_to_end(&mut unasked).await);
    assert_eq!((again, trailers.as_str()), (file, "\r\n"));
}

#[tokio::test]
async fn an_export_is_cut_off_noticeably_when_its_key_is_revoked_and_few_run_at_a_time() {
    let deployment = Deployment::new();
    let mut server = deployment.serve("api,index");
    let person = Person::founder(&server.url(DEADLINE)).await;
    let made = json!({"name": "Test", "scopes": ["events:write", "events:read", "events:export"]});
    let made = crate::deployment::ok(person.post("/v1/api-keys", &made).await).await;
    let customer = Customer {
        http: crate::deployment::http(),
        base_url: person.base_url.clone(),
        api_key: made["api_key"].as_str().expect("a key").to_owned(),
    };
    // More than the sockets between us hold.
    let padding = "x".repeat(4_000);
    let large = json!({"event_type": "tool_call", "agent_id": "a", "action": "a.b", "result": "ok", "metadata": {"x": padding}});
    let batch = json!({"events": vec![large; 1_000]});
    for _ in 0..12 {
        let answer = customer.post("/v1/audit/events", &batch).await;
        assert_eq!(answer.status(), StatusCode::ACCEPTED);
    }
    customer.all_events().await;
    let mut first = begin(&customer, &json!({}), "").await;
    let mut second = begin(&customer, &json!({}), "").await;
    for stream in [&mut first, &mut second] {
        let mut start = [0; 15];
        stream.read_exact(&mut start).await.expect("an answer");
        assert_eq!(&start, b"HTTP/1.1 200 OK");
    }
    let third = customer.post("/v1/audit/export", &json!({})).await;
    let third = problem(third, 409).await;
    assert!(
        third["detail"].as_str().expect("a text").contains("async"),
        "{third}"
    );

    let key = made["id"].as_str().expect("an id");
    let revoked = person.request(reqwest::Method::DELETE, &format!("/v1/api-keys/{key}"));
    assert!(
        revoked
            .send()
            .await
            .expect("an answer")
            .status()
            .is_success()
    );
    // waits for: the next look at the key, at most three seconds after the last
    sleep(Duration::from_secs(4)).await;
    let sent = read_to_end(&mut first).await;
    assert!(!sent.ends_with(b"0\r\n\r\n"), "it has no clean end");
    assert!(sent.len() < 48_000_000, "{} bytes", sent.len());
}
