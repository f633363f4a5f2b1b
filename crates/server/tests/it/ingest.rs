//! Batches as clients write them: every form, packed or not, whole or in part.

use std::io::Write as _;

use reqwest::{Method, RequestBuilder, Response, StatusCode, header};
use serde_json::{Value, json};

use crate::deployment::{Customer, Deployment, Running, event, ok};
use crate::errors::{pointers, problem, refused};

const INGEST: &str = "/v1/audit/events";

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    packed.write_all(bytes).expect("packed");
    packed.finish().expect("packed")
}

pub(crate) fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 3).expect("packed")
}

/// Posts `body` as it is, under this media type.
pub(crate) fn send(
    customer: &Customer,
    path: &str,
    media_type: &str,
    body: impl Into<reqwest::Body>,
) -> RequestBuilder {
    customer
        .request(Method::POST, path)
        .header(header::CONTENT_TYPE, media_type)
        .body(body)
}

async fn answer(request: RequestBuilder) -> Response {
    request.send().await.expect("an answer")
}

fn cloud(id: &str, data: &Value) -> Value {
    json!({"specversion": "1.0", "id": id, "source": "/agents/7", "type": "dev.agent.call", "data": data})
}

fn ids(answer: &Value) -> Vec<String> {
    let events = answer["events"].as_array().expect("events");
    let id = |one: &Value| one["id"].as_str().expect("an id").to_owned();
    events.iter().map(id).collect()
}

#[tokio::test]
async fn every_form_is_read_packed_or_not_and_the_bytes_of_an_event_are_kept() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    // Not how any library would write it.
    let one = r#"{ "event_type":"tool_call","agent_id":"é","action":"a.b" , "result":"ok","metadata":{"n":1.00} }"#;
    let batch = format!(r#"{{"events":[{one}, {one}]}}"#);
    let lines = format!("{one}\n\n{one}\r\n");
    let enveloped = cloud("1", &json!("DATA"))
        .to_string()
        .replace("\"DATA\"", one);
    let many = format!("[{enveloped},\n {enveloped}]");
    let forms = [
        ("application/json", one, 1),
        ("application/json; charset=utf-8", &batch, 2),
        ("application/x-ndjson", &lines, 2),
        ("application/ndjson", &lines, 2),
        ("application/jsonl", &lines, 2),
        ("application/cloudevents+json", &enveloped, 1),
        ("application/cloudevents-batch+json", &many, 2),
    ];
    let mut accepted = Vec::new();
    for (media_type, body, events) in forms {
        let packed = [
            ("identity", body.as_bytes().to_vec()),
            ("gzip", gzip(body.as_bytes())),
            ("zstd", zstd(body.as_bytes())),
        ];
        for (encoding, body) in packed {
            let request =
                send(customer, INGEST, media_type, body).header(header::CONTENT_ENCODING, encoding);
            let answer = ok(answer(request).await).await;
            assert_eq!(answer["ingested"], events, "{media_type} {encoding}");
            assert_eq!(answer["rejected"], json!([]), "{media_type} {encoding}");
            accepted.extend(ids(&answer));
        }
    }
    accepted.sort_unstable();
    assert_eq!(customer.listed_ids().await, accepted);
    for id in &accepted {
        let shown = customer.get(&format!("{INGEST}/{id}")).await;
        let shown = shown.text().await.expect("a body");
        assert!(shown.contains(&one[1..]), "{shown}");
    }
}

#[tokio::test]
async fn a_cloud_event_is_named_and_dated_by_its_envelope() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let mut dated = cloud("call-4711", &event("agent-1"));
    dated["time"] = json!("2026-11-01T08:00:00+01:00");
    dated["traceparent"] = json!("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
    let body = json!([dated, {"specversion": "1.0"}, dated]).to_string();
    let batch = "application/cloudevents-batch+json";
    let answered = ok(answer(send(customer, INGEST, batch, body)).await).await;
    assert_eq!(ids(&answered)[0], ids(&answered)[1], "the same event");
    assert_eq!(answered["rejected"][0]["index"], 1);
    assert_eq!(answered["rejected"][0]["pointer"], "/id");
    let listed = customer.all_events().await;
    assert_eq!(listed.len(), 1, "{listed:?}");
    assert_eq!(listed[0]["occurred_at"], "2026-11-01T08:00:00+01:00");
    assert_eq!(listed[0]["client_event_id"], "/agents/7#call-4711");

    let single = "application/cloudevents+json";
    let mut binary = dated.clone();
    binary["data_base64"] = json!("AAAA");
    let request = send(customer, INGEST, single, binary.to_string());
    let problem = refused(request, 422, "VALIDATION_FAILED").await;
    assert_eq!(pointers(&problem), ["/data_base64"]);
    dated["data"]["severity"] = json!("urgent");
    let request = send(customer, INGEST, single, dated.to_string());
    let problem = refused(request, 422, "VALIDATION_FAILED").await;
    assert_eq!(pointers(&problem), ["/data/severity"]);
}

#[tokio::test]
async fn a_line_that_is_not_json_is_rejected_and_the_others_are_accepted() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let mut body = Vec::new();
    for line in [
        event("good-1").to_string().as_bytes(),
        b"{\"event_type\": ",
        b"",
        b"\xff\xfe",
        event("good-2").to_string().as_bytes(),
        b"[]",
    ] {
        body.extend_from_slice(line);
        body.push(b'\n');
    }
    let request = send(customer, INGEST, "application/x-ndjson", body);
    let answered = ok(answer(request).await).await;
    assert_eq!(answered["ingested"], 2);
    let rejected: Vec<u64> = answered["rejected"]
        .as_array()
        .expect("rejected")
        .iter()
        .map(|one| {
            assert_eq!(one["code"], "NOT_AN_OBJECT");
            one["index"].as_u64().expect("an index")
        })
        .collect();
    assert_eq!(rejected, [1, 2, 4], "blank lines do not count");
    assert_eq!(customer.all_events().await.len(), 2);
}

#[tokio::test]
async fn an_atomic_batch_is_accepted_whole_or_not_at_all() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let atomic = "/v1/audit/events?atomic=true";
    let bad = json!({"events": [event("a"), {"color": 1}, event("b"), 7]});
    let request = customer.request(Method::POST, atomic).json(&bad);
    let problem = refused(request, 422, "VALIDATION_FAILED").await;
    assert_eq!(pointers(&problem), ["/events/1/color", "/events/3"]);
    let lines = format!("{}\nnonsense", event("a"));
    let request = send(customer, atomic, "application/x-ndjson", lines);
    let problem = refused(request, 422, "VALIDATION_FAILED").await;
    assert_eq!(pointers(&problem), ["/1"]);
    assert!(
        customer.all_events().await.is_empty(),
        "nothing is recorded"
    );

    let good = json!({"events": [event("a"), event("b")]});
    ok(customer.post(atomic, &good).await).await;
    let path = "/v1/audit/events?atomic=false";
    let answered = ok(customer.post(path, &bad).await).await;
    assert_eq!(answered["ingested"], 2);
    assert_eq!(customer.all_events().await.len(), 4);

    for query in [
        "atomic=yes",
        "atomic=",
        "atom=true",
        "atomic=true&atomic=true",
    ] {
        let request = customer
            .request(Method::POST, &format!("{INGEST}?{query}"))
            .json(&good);
        let problem = refused(request, 400, "INVALID_PARAMETER").await;
        assert!(pointers(&problem)[0].starts_with("?atom"), "{problem}");
    }
    assert_eq!(customer.all_events().await.len(), 4);
}

#[tokio::test]
async fn what_cannot_be_unpacked_is_refused_and_a_bomb_before_it_goes_off() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let body = event("agent-1").to_string();
    let packed = |encoding: &str, body: Vec<u8>| {
        send(customer, INGEST, "application/json", body).header(header::CONTENT_ENCODING, encoding)
    };
    for encoding in ["br", "deflate", "gzip, zstd", "gzip,gzip", "", "nonsense"] {
        let request = packed(encoding, gzip(body.as_bytes()));
        let problem = refused(request, 415, "UNSUPPORTED_MEDIA_TYPE").await;
        assert!(problem["detail"].to_string().contains("zstd"), "{problem}");
    }
    let twice = packed("gzip", gzip(body.as_bytes())).header(header::CONTENT_ENCODING, "gzip");
    refused(twice, 415, "UNSUPPORTED_MEDIA_TYPE").await;
    for (encoding, whole) in [
        ("gzip", gzip(body.as_bytes())),
        ("zstd", zstd(body.as_bytes())),
    ] {
        let cut = whole[..whole.len() - 3].to_vec();
        refused(packed(encoding, cut), 400, "INVALID_BODY").await;
        let not_packed = body.clone().into_bytes();
        refused(packed(encoding, not_packed), 400, "INVALID_BODY").await;
        let spelled = packed(&encoding.to_uppercase(), whole);
        assert_eq!(answer(spelled).await.status(), StatusCode::ACCEPTED);
    }
    let blanks = vec![b' '; 5 * 1024 * 1024 + 1];
    refused(packed("gzip", gzip(&blanks)), 413, "PAYLOAD_TOO_LARGE").await;
    refused(packed("zstd", zstd(&blanks)), 413, "PAYLOAD_TOO_LARGE").await;
    // Other endpoints read what they read before.
    let rule = customer
        .request(Method::POST, "/v1/alert-rules")
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::CONTENT_ENCODING, "gzip")
        .body(gzip(b"{}"));
    problem(answer(rule).await, 415).await;
}
