//! Answers are packed as a client likes them, and only those that hold no secret.

use std::{collections::BTreeSet, io::Read as _};

use reqwest::{Method, Response, header};
use serde_json::json;

use crate::deployment::{Customer, Deployment, Running, http, ok};

/// A browser's, in its own order.
const A_BROWSER: &str = "gzip, deflate, br, zstd";
const LIST: &str = "/v1/audit/events?limit=200";

async fn get(customer: &Customer, path: &str, headers: &[(&str, &str)]) -> Response {
    let mut request = customer.request(Method::GET, path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.send().await.expect("an answer")
}

fn coding(response: &Response) -> &str {
    let coding = response.headers().get(header::CONTENT_ENCODING);
    coding.map_or("", |coding| coding.to_str().expect("plain"))
}

fn unpacked(coding: &str, bytes: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    let read = match coding {
        "gzip" => flate2::read::GzDecoder::new(bytes).read_to_end(&mut plain),
        "br" => brotli::Decompressor::new(bytes, 4_096).read_to_end(&mut plain),
        "zstd" => zstd::Decoder::new(bytes).and_then(|mut packed| packed.read_to_end(&mut plain)),
        _ => bytes.take(u64::MAX).read_to_end(&mut plain),
    };
    read.expect("it unpacks");
    plain
}

#[tokio::test]
async fn a_page_of_events_comes_packed_as_the_client_likes_it_and_is_the_same_page() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let events: Vec<_> = (0..50)
        .map(|number| {
            json!({"event_type": "tool_call", "agent_id": "ag-1", "action": "files.read",
                "result": "success", "resource": format!("file:{number}")})
        })
        .collect();
    ok(customer
        .post("/v1/audit/events", &json!({"events": events}))
        .await)
    .await;
    let plain = get(customer, LIST, &[]).await;
    assert_eq!(coding(&plain), "");
    assert_eq!(plain.headers()[header::VARY], "accept-encoding");
    let plain = plain.bytes().await.expect("a body");

    for (accepted, expected) in [
        (A_BROWSER, "zstd"),
        ("gzip, deflate, br", "br"),
        ("gzip", "gzip"),
        ("zstd;q=0, *", "br"),
        ("identity", ""),
        // Nothing is left to choose: as it is, rather than not at all.
        ("identity;q=0, *;q=0", ""),
    ] {
        let answer = get(customer, LIST, &[("accept-encoding", accepted)]).await;
        assert_eq!(answer.status(), 200, "{accepted}");
        assert_eq!(coding(&answer), expected, "{accepted}");
        assert_eq!(answer.headers()[header::VARY], "accept-encoding");
        assert_eq!(answer.headers()[header::CACHE_CONTROL], "no-store");
        let length = answer.headers()[header::CONTENT_LENGTH].clone();
        let bytes = answer.bytes().await.expect("a body");
        assert_eq!(length, bytes.len().to_string());
        assert_eq!(unpacked(expected, &bytes), plain, "{accepted}");
        if !expected.is_empty() {
            assert!(bytes.len() * 4 < plain.len(), "{accepted}: {}", bytes.len());
        }
    }

    // Small answers and refusals are sent as they are.
    for path in ["/v1/audit/events?limit=1", "/v1/audit/events?limit=0"] {
        let answer = get(customer, path, &[("accept-encoding", A_BROWSER)]).await;
        assert_eq!(coding(&answer), "", "{path}");
    }
    // Another site's page can open a link to us with the person's cookie, and see how large the answer is.
    for (site, expected) in [
        ("same-origin", "zstd"),
        ("none", "zstd"),
        ("same-site", ""),
        ("cross-site", ""),
    ] {
        let headers = [("accept-encoding", A_BROWSER), ("sec-fetch-site", site)];
        let answer = get(customer, LIST, &headers).await;
        assert_eq!(coding(&answer), expected, "{site}");
        let mut varies = answer.headers().get_all(header::VARY).iter();
        assert!(varies.any(|one| one == "sec-fetch-site"), "{site}");
    }
}

/// A route that is packed says so even when it refuses, so that one question to each tells them apart.
#[tokio::test]
async fn no_answer_is_packed_but_those_that_are_known_to_hold_no_secret() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let document = get(customer, "/openapi.json", &[("accept-encoding", A_BROWSER)]).await;
    assert_eq!(coding(&document), "zstd");
    let document = unpacked("zstd", &document.bytes().await.expect("a body"));
    let document: serde_json::Value = serde_json::from_slice(&document).expect("JSON");

    let mut packed = BTreeSet::new();
    for (path, operations) in document["paths"].as_object().expect("paths") {
        for method in operations.as_object().expect("operations").keys() {
            let url = format!("{}{path}", customer.base_url);
            let asked: Method = method.to_uppercase().parse().expect("a method");
            let request = http().request(asked, url).json(&json!({}));
            let request = request.header(header::ACCEPT_ENCODING, A_BROWSER);
            let answer = request.send().await.expect("an answer");
            let varies = answer.headers().get(header::VARY);
            if varies.is_some_and(|varies| varies == "accept-encoding") {
                packed.insert(format!("{method} {path}"));
            } else {
                assert_eq!(coding(&answer), "", "{method} {path}");
            }
        }
    }
    let expected = [
        "get /openapi.json",
        "get /v1/audit/events",
        "get /v1/audit/events/{id}",
        "get /v1/audit/facets",
        "get /v1/audit/stats",
        "get /v1/overview",
        "get /v1/policies/templates",
    ];
    assert_eq!(packed, expected.map(str::to_owned).into());
}
