//! A thousand bodies that mean harm, by the real binary: each is answered in order, nothing breaks and
//! nothing grows.

use std::fmt::Write as _;

use futures::{StreamExt, stream};
use reqwest::{Method, header};
use serde_json::{Value, json};

use crate::deployment::{Customer, Deployment, Running, event};
use crate::ingest::{gzip, zstd};
use crate::load::wait_until_fresh;

const BODIES: usize = 1_000;
/// How many bombs come after them.
const BARRAGE: usize = 64;
/// How many are on their way at once.
const AT_ONCE: usize = 8;
/// A body is at most 5 MiB as it travels, 5 unpacked, 8 for what zstd refers to, and as much again in
/// the message and the answer; eight of them at once beside a debug build's own 100 MiB.
const MEMORY_KIB_MAX: u64 = 256 * 1024;
/// No answer repeats much more than what it was asked.
const ANSWER_BYTES_MAX: usize = 8 * 1024 * 1024;

struct Hostile {
    what: &'static str,
    media_type: &'static str,
    encoding: Option<&'static str>,
    body: Vec<u8>,
}

const FORMS: [&str; 4] = [
    "application/json",
    "application/x-ndjson",
    "application/cloudevents+json",
    "application/cloudevents-batch+json",
];

/// An event in the form's own dress.
fn dressed(media_type: &str, event: &str) -> String {
    let cloud = format!(
        r#"{{"specversion":"1.0","id":"1","source":"s","type":"t","time":"2026-11-15T08:00:00Z","data":{event}}}"#
    );
    match media_type {
        "application/cloudevents+json" => cloud,
        "application/cloudevents-batch+json" => format!("[{cloud},{cloud}]"),
        "application/x-ndjson" => format!("{event}\n{event}"),
        _ => format!(r#"{{"events":[{event},{event}]}}"#),
    }
}

fn with(field: &str, value: &str) -> String {
    let mut event = event("hostile").to_string();
    event.pop();
    write!(event, ",\"{field}\":{value}}}").expect("written");
    event
}

/// Events that mean harm, each in words and in JSON.
fn events(number: usize) -> Vec<(&'static str, String)> {
    let digits = "9".repeat(1 + number * 37 % 5_000);
    let nest = |open: &str, close: &str, depth: usize| {
        format!("{}1{}", open.repeat(depth), close.repeat(depth))
    };
    let depth = 100 + number * 13 % 4_000;
    let long = "x".repeat(1_000 + number * 997 % 60_000);
    let keys: Vec<String> = (0..1_500)
        .map(|key| format!("\"k{}\":1", key % 1_400))
        .collect();
    let keys = keys.join(",");
    vec![
        (
            "a huge exponent",
            with("metadata", &format!("{{\"n\":1e{digits}}}")),
        ),
        (
            "a huge number",
            with("metadata", &format!("{{\"n\":{digits}}}")),
        ),
        (
            "a tiny number",
            with("metadata", &format!("{{\"n\":-0.{digits}e-{digits}}}")),
        ),
        ("a huge latency", with("latency_ms", &digits)),
        ("a latency beyond", with("latency_ms", "1e400")),
        ("deep arrays", with("metadata", &nest("[", "]", depth))),
        (
            "deep objects",
            with("metadata", &nest("{\"a\":", "}", depth)),
        ),
        (
            "deep where a text belongs",
            with("resource", &nest("[", "]", depth)),
        ),
        (
            "deep and never closed",
            with("metadata", &"[".repeat(depth)),
        ),
        ("a field twice", with("result", "\"ok\"")),
        ("a field twice in disguise", with("\\u0072esult", "\"ok\"")),
        (
            "keys twice far apart",
            with("metadata", &format!("{{{keys}}}")),
        ),
        ("NUL in a text", with("resource", "\"a\\u0000b\"")),
        ("NUL in a key", with("metadata", "{\"a\\u0000\":1}")),
        ("a raw NUL", with("resource", "\"a\0b\"")),
        ("half a character", with("resource", "\"\\ud800\"")),
        (
            "the other half",
            with("metadata", "{\"a\":\"\\udc00\\ud800\"}"),
        ),
        (
            "half a character as a key",
            with("metadata", "{\"\\ud800\":1}"),
        ),
        ("a giant text", with("resource", &format!("\"{long}\""))),
        ("a giant key", with(&long, "1")),
        (
            "a giant name",
            with("client_event_id", &format!("\"{long}\"")),
        ),
        (
            "a wrong time",
            with("occurred_at", "\"0000-01-01T00:00:00+23:59\""),
        ),
        (
            "a far time",
            with("occurred_at", "\"9999-12-31T23:59:59.999999999Z\""),
        ),
        ("a time of another kind", with("occurred_at", "1763200000")),
        (
            "the server's fields",
            with("id", "\"evt_01jcq3k5m8e9ratvw2x4y6z8ab\""),
        ),
        ("what no event is", nest("[", "]", depth)),
        ("nothing", String::new()),
        (
            "escapes without end",
            with("resource", &format!("\"{}\"", "\\\"".repeat(depth))),
        ),
        (
            "a script",
            with("metadata", "{\"a\":\"<script>'; DROP TABLE--\"}"),
        ),
    ]
}

/// Bodies that mean harm whatever is in them.
fn bodies(number: usize) -> Vec<(&'static str, &'static str, Vec<u8>)> {
    let one = event("hostile").to_string();
    let (json, ndjson) = (FORMS[0], FORMS[1]);
    let large = 200_000 + number * 40_099 % 800_000;
    let mut mutated = dressed(json, &one).into_bytes();
    let place = number * 31 % mutated.len();
    mutated[place] ^= 1 << (number % 8);
    let cut = dressed(json, &one).into_bytes()[..place].to_vec();
    let noise: Vec<u8> = (0..large / 10)
        .map(|at| u8::try_from((at * 7_919 + number * 104_729) >> 3 & 255).expect("a byte"))
        .collect();
    vec![
        ("a flipped bit", json, mutated),
        ("a cut body", json, cut),
        ("noise", FORMS[number % 4], noise),
        (
            "not UTF-8",
            FORMS[number % 4],
            b"{\"events\":[\"\xff\xfe\xc0\x80\"]}".to_vec(),
        ),
        (
            "1,001 events",
            json,
            format!("{{\"events\":[{}1]}}", "1,".repeat(1_000)).into_bytes(),
        ),
        (
            "millions of elements",
            json,
            format!("{{\"events\":[{}1]}}", "1,".repeat(large / 2)).into_bytes(),
        ),
        (
            "millions of lines",
            ndjson,
            "1\n".repeat(large / 2).into_bytes(),
        ),
        ("blank lines", ndjson, "\n".repeat(large).into_bytes()),
        (
            "one line of a megabyte",
            ndjson,
            format!(
                "{}\n{one}",
                with("resource", &format!("\"{}\"", "x".repeat(1 << 20)))
            )
            .into_bytes(),
        ),
        (
            "one text",
            json,
            format!("{{\"events\":\"{}\"}}", "x".repeat(large)).into_bytes(),
        ),
        ("too large", json, vec![b' '; 6 * 1024 * 1024]),
        ("a bottomless body", FORMS[number % 4], vec![b'['; large]),
        (
            "a bottomless event",
            json,
            format!("{{\"events\":[{}", "{\"a\":".repeat(large / 5)).into_bytes(),
        ),
        (
            "a thousand bad events",
            json,
            json!({"events": vec![json!({"color": number}); 1_000]})
                .to_string()
                .into_bytes(),
        ),
        (
            "extensions",
            FORMS[2],
            format!("{{\"x\":{}1{}}}", "[".repeat(5_000), "]".repeat(5_000)).into_bytes(),
        ),
        (
            "envelopes without end",
            FORMS[3],
            format!("[{}{{}}]", "{},".repeat(large / 3)).into_bytes(),
        ),
    ]
}

/// Two gigabytes in two megabytes, and one in some dozen kilobytes.
fn bombs() -> Vec<(&'static str, Vec<u8>)> {
    let member = gzip(&vec![b' '; 1 << 20]);
    let giga = std::io::Read::take(std::io::repeat(b' '), 1 << 30);
    vec![
        ("gzip", member.repeat(2_000)),
        ("zstd", zstd::encode_all(giga, 1).expect("packed")),
        ("gzip", gzip(&member.repeat(100))),
        ("zstd", zstd(&zstd(&vec![0; 1 << 24]))),
    ]
}

/// One of each kind, a little different each time.
fn round(number: usize, bombs: &[(&'static str, Vec<u8>)]) -> Vec<Hostile> {
    let mut round = Vec::new();
    let mut add = |what, media_type, encoding, body| {
        round.push(Hostile {
            what,
            media_type,
            encoding,
            body,
        });
    };
    let media_type = FORMS[number % 4];
    for (what, event) in events(number) {
        let body = dressed(media_type, &event).into_bytes();
        match number % 5 {
            3 => add(what, media_type, Some("gzip"), gzip(&body)),
            4 => add(what, media_type, Some("zstd"), zstd(&body)),
            _ => add(what, media_type, None, body),
        }
    }
    for (what, media_type, body) in bodies(number) {
        add(what, media_type, None, body);
    }
    let good = dressed(FORMS[0], &event("hostile").to_string()).into_bytes();
    for (encoding, whole) in [("gzip", gzip(&good)), ("zstd", zstd(&good))] {
        let cut = whole[..number * 7 % whole.len()].to_vec();
        add("a cut stream", FORMS[0], Some(encoding), cut);
        let mut broken = whole;
        let place = number * 17 % broken.len();
        broken[place] = !broken[place];
        add("a broken stream", FORMS[0], Some(encoding), broken);
    }
    let unread = ["text/html", "application/xml", "multipart/form-data", "*/*"];
    add("another type", unread[number % 4], None, good.clone());
    add("packed otherwise", FORMS[0], Some("br"), good);
    round.push(bomb(number, bombs));
    round
}

fn bomb(number: usize, bombs: &[(&'static str, Vec<u8>)]) -> Hostile {
    let (encoding, body) = &bombs[number % bombs.len()];
    Hostile {
        what: "a bomb",
        media_type: FORMS[number / bombs.len() % 4],
        encoding: Some(encoding),
        body: body.clone(),
    }
}

/// Sends one; how many events of it were accepted.
async fn send(customer: &Customer, hostile: Hostile) -> u64 {
    let what = hostile.what;
    let mut request = customer
        .request(Method::POST, "/v1/audit/events")
        .header(header::CONTENT_TYPE, hostile.media_type)
        .body(hostile.body);
    if let Some(encoding) = hostile.encoding {
        request = request.header(header::CONTENT_ENCODING, encoding);
    }
    let answer = request
        .send()
        .await
        .unwrap_or_else(|error| panic!("{what}: {error:?}"));
    let status = answer.status().as_u16();
    let body = answer.bytes().await.expect("a body");
    assert!(
        body.len() < ANSWER_BYTES_MAX,
        "{what}: {} bytes",
        body.len()
    );
    let body: Value = serde_json::from_slice(&body).expect("JSON");
    assert!(
        [202, 400, 413, 415, 422].contains(&status),
        "{what}: {status} {body}"
    );
    body["ingested"].as_u64().unwrap_or(0)
}

/// The most memory that a process has had, in KiB.
fn memory_kib(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let figure = line.and_then(|line| line.split_whitespace().nth(1));
    figure.expect("a figure").parse().expect("a number")
}

#[tokio::test]
async fn a_thousand_hostile_bodies_are_answered_and_nothing_breaks_or_grows() {
    let mut running = Running::start(Deployment::new());
    let customer = &running.customer;
    let before = memory_kib(running.server.pid());
    let bombs = bombs();
    let hostile = (0..).flat_map(|number| round(number, &bombs)).take(BODIES);
    // At the end nothing but bombs, so that many are unpacked at the same time.
    let barrage = (0..BARRAGE).map(|number| bomb(number, &bombs));
    let accepted: u64 = stream::iter(hostile.chain(barrage))
        .map(|hostile| send(customer, hostile))
        .buffer_unordered(AT_ONCE)
        .fold(0, async |sum, accepted| sum + accepted)
        .await;
    let after = memory_kib(running.server.pid());
    println!(
        "{BODIES} bodies, {accepted} events accepted; memory {before} KiB before, at most {after} KiB"
    );
    assert!(after < MEMORY_KIB_MAX, "{after} KiB");
    assert!(accepted > 0, "some mean harm and are events all the same");
    assert!(running.server.ended().is_none());
    let panicked: Vec<String> = running
        .server
        .lines()
        .into_iter()
        .filter(|line| line.contains("panic"))
        .collect();
    assert!(panicked.is_empty(), "{panicked:?}");
    customer.ingest(&event("still-there")).await;
    wait_until_fresh(customer, "/v1/audit/events").await;
    let newest = customer.get_json("/v1/audit/events?limit=1000").await;
    assert!(
        newest["data"]
            .as_array()
            .is_some_and(|events| !events.is_empty())
    );
}
