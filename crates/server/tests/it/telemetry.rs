//! What an operator sees: counters that add up, logs without secrets, traces where asked for.

use std::path::Path;
use std::time::Duration;

use reqwest::{Method, StatusCode, header};
use serde_json::{Value, json};
use testkit::{Receiver, Stopwatch, Watchbell, eventually};

use crate::commands::{run, stdout};
use crate::deployment::{BINARY, Customer, DEADLINE, Deployment, Running, SECRET, event, http, ok};

/// The samples of `/metrics` whose name and labels start like this, added up.
pub(crate) async fn counted(customer: &Customer, name: &str) -> f64 {
    let response = http()
        .get(format!("{}/metrics", customer.base_url))
        .send()
        .await;
    let response = response.expect("an answer");
    assert_eq!(
        response.headers()[header::CONTENT_TYPE],
        "text/plain; version=0.0.4"
    );
    let text = response.text().await.expect("a text");
    text.lines()
        .filter(|line| {
            let rest = line.strip_prefix(name);
            rest.is_some_and(|rest| name.ends_with('}') || rest.starts_with([' ', '{']))
        })
        .map(|line| {
            line.rsplit_once(' ')
                .expect("a value")
                .1
                .parse::<f64>()
                .expect("a number")
        })
        .sum()
}

#[tokio::test]
async fn the_counters_add_up_to_what_was_done() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let receiver = Receiver::start().expect("a receiver");
    customer
        .rule(json!({"agent_id": ["agent-0", "agent-1"]}), &receiver.url())
        .await;
    customer
        .rule(json!({"agent_id": ["agent-1"]}), &receiver.url())
        .await;
    receiver.answer_sequence([500]);
    let batch: Vec<Value> = (0..6)
        .map(|number| event(&format!("agent-{number}")))
        .collect();
    let mut with_bad_ones = batch.clone();
    with_bad_ones.extend([json!({}), json!(1)]);
    ok(customer
        .post("/v1/audit/events", &json!({"events": with_bad_ones}))
        .await)
    .await;
    customer.ingest(&event("agent-6")).await;
    // Three deliveries, one of them twice.
    receiver.wait_for(4, DEADLINE).await;

    // That the two rules were made are events too.
    let expected = [
        ("watchbell_events_ingested_total", 9.0),
        ("watchbell_events_rejected_total", 2.0),
        ("watchbell_events_indexed_total", 9.0),
        ("watchbell_events_judged_total", 9.0),
        ("watchbell_deliveries_matched_total", 3.0),
        (
            r#"watchbell_delivery_attempts_total{outcome="delivered"}"#,
            3.0,
        ),
        (
            r#"watchbell_delivery_attempts_total{outcome="transient"}"#,
            1.0,
        ),
        ("watchbell_delivery_attempts_total", 4.0),
        ("watchbell_delivery_attempt_duration_seconds_count", 4.0),
        ("watchbell_delivery_lag_seconds_count", 4.0),
        ("watchbell_deliveries_in_flight", 0.0),
        ("watchbell_records_unreadable_total", 0.0),
        (r#"watchbell_dependency_up{dependency="postgres"}"#, 1.0),
        (r#"watchbell_dependency_up{dependency="journal"}"#, 1.0),
        (
            r#"watchbell_http_requests_total{route="/v1/audit/events",method="POST",status="202"}"#,
            2.0,
        ),
        (
            r#"watchbell_http_requests_total{route="/v1/alert-rules",method="POST",status="201"}"#,
            2.0,
        ),
    ];
    for (name, value) in expected {
        // Counted right after what it counts, so it may take a moment; and then it stays.
        eventually(DEADLINE, &format!("{name} is {value}"), async || {
            let seen = counted(customer, name).await;
            if (seen - value).abs() < 0.5 {
                Ok(())
            } else {
                Err(seen)
            }
        })
        .await;
    }
}

#[tokio::test]
async fn labels_are_bounded_whatever_is_asked_for() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let rule = customer.rule(json!({}), "http://127.0.0.1:9/").await;
    customer.get(&format!("/v1/alert-rules/{rule}")).await;
    for number in 0..10 {
        customer.get(&format!("/secret-{number}")).await;
        let method = Method::from_bytes(format!("METHOD{number}").as_bytes()).expect("a method");
        let request = customer.request(method, "/v1/alert-rules");
        let status = request.send().await.expect("an answer").status();
        assert_eq!(status, StatusCode::METHOD_NOT_ALLOWED);
    }
    let text = customer.get("/metrics").await.text().await.expect("a text");
    assert!(text.contains(r#"route="/v1/alert-rules/{id}""#), "{text}");
    for word in [&rule, "secret-", "METHOD7"] {
        assert!(!text.contains(word), "{word} is a label");
    }
}

/// Everything that could be a slip: a good request, a failing delivery, and several bad ones.
async fn say_secrets_everywhere(customer: &Customer, marker: &str) {
    let receiver = Receiver::start().expect("a receiver");
    receiver.answer_sequence([500]);
    customer.rule(json!({}), &receiver.url()).await;
    let mut event = event(marker);
    event["metadata"] = json!({"note": marker});
    customer.ingest(&event).await;
    receiver.wait_for(2, DEADLINE).await;
    event["color"] = json!(marker);
    let refused = customer.post("/v1/audit/events", &event).await;
    assert_eq!(refused.status(), StatusCode::UNPROCESSABLE_ENTITY);
    let half = customer
        .request(Method::POST, "/v1/audit/events")
        .header(header::CONTENT_TYPE, "application/json")
        .body(format!(r#"{{"note": "{marker}""#));
    assert_eq!(
        half.send().await.expect("an answer").status(),
        StatusCode::BAD_REQUEST
    );
    assert_eq!(customer.all_events().await.len(), 1);
    assert_eq!(customer.all_deliveries().await.len(), 1);
    let mistyped = format!("{}x", customer.api_key);
    let url = format!("{}/v1/audit/events", customer.base_url);
    let refused = http().get(url).bearer_auth(mistyped).send().await;
    assert_eq!(
        refused.expect("an answer").status(),
        StatusCode::UNAUTHORIZED
    );
}

fn assert_silent(running: &Running, words: &[&str]) {
    for line in running.server.lines() {
        for word in words {
            assert!(!line.contains(word), "{word} is in the log: {line}");
        }
    }
}

#[tokio::test]
async fn logs_are_json_lines_that_never_tell_a_key_a_secret_or_an_event() {
    let mut running = Running::start(Deployment::new());
    say_secrets_everywhere(&running.customer, "marker-of-the-event").await;
    assert_eq!(running.server.terminate(DEADLINE).code(), Some(0));
    running
        .server
        .wait_for_line(DEADLINE, |line| line.contains(r#""message":"stopped""#));

    let lines = running.server.lines();
    assert!(lines.len() >= 3, "{lines:?}");
    for line in &lines {
        let entry: Value = serde_json::from_str(line).expect("each line is JSON");
        for field in ["timestamp", "level", "message", "target"] {
            assert!(entry[field].is_string(), "{field}: {line}");
        }
    }
    let key = running.customer.api_key.clone();
    assert_silent(&running, &[&key, SECRET, "marker-of-the-event"]);
    assert!(
        running.server.stdout().is_empty(),
        "logs go to standard error"
    );
}

#[tokio::test]
async fn even_the_most_talkative_log_tells_no_key_and_no_secret() {
    let running = Running::start(Deployment::new().with("LOG__FILTER", "debug"));
    say_secrets_everywhere(&running.customer, "marker-of-the-event").await;
    assert!(running.server.lines().len() > 10);
    let key = running.customer.api_key.clone();
    let (secret, _) = SECRET.trim_start_matches("whsec_").split_at(16);
    assert_silent(&running, &[&key, SECRET, secret]);
}

/// A process in all roles with these standard variables on top.
fn serve_with(deployment: &Deployment, variables: &[(&str, &str)]) -> Watchbell {
    let variables = deployment.variables().chain(variables.iter().copied());
    let process = Watchbell::spawn(Path::new(BINARY), &["serve"], variables);
    let mut process = process.expect("watchbell starts");
    process.address(DEADLINE);
    process
}

#[tokio::test]
async fn a_line_says_which_request_it_is_about_whether_or_not_spans_are_collected() {
    let nobody = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9");
    for variables in [&[][..], &[nobody]] {
        // Where it listens is said on another level.
        let deployment = Deployment::new().with("LOG__FILTER", "info,server=debug");
        let mut server = serve_with(&deployment, variables);
        let asking = http().get(format!("{}/v1/about", server.url(DEADLINE)));
        let answer = asking.header("x-request-id", "asked-17").send().await;
        assert_eq!(answer.expect("an answer").status(), StatusCode::OK);
        let line = server.wait_for_line(DEADLINE, |line| line.contains("answered"));
        let entry: Value = serde_json::from_str(&line).expect("JSON");
        let request = json!([{
            "name": "request", "request.id": "asked-17", "http.method": "GET", "http.route": "/v1/about",
        }]);
        assert_eq!(entry["spans"], request, "{line}");
        assert_eq!(entry["message"], "answered");
    }
}

#[tokio::test]
async fn traces_are_sent_to_the_collector_that_the_standard_variable_names() {
    let collector = Receiver::start().expect("a collector");
    let endpoint = format!("http://{}", collector.address());
    let variables = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint.as_str()),
        ("OTEL_BSP_SCHEDULE_DELAY", "50"),
    ];
    let deployment = Deployment::new();
    let mut server = serve_with(&deployment, &variables);
    let customer = deployment.customer(&mut server);
    customer.ingest(&event("agent-1")).await;

    let contains = |body: &[u8], word: &str| {
        body.windows(word.len())
            .any(|window| window == word.as_bytes())
    };
    let span = eventually(DEADLINE, "the span of the request", async || {
        let sent = collector.received_where(|sent| contains(&sent.body, "/v1/audit/events"));
        sent.first().cloned()
    })
    .await;
    assert_eq!(span.method, Method::POST);
    assert_eq!(span.uri.path(), "/v1/traces");
    assert_eq!(span.header("content-type"), Some("application/x-protobuf"));
    for word in ["request", "watchbell", "service.name", "POST"] {
        assert!(contains(&span.body, word), "{word}");
    }
    assert_eq!(server.terminate(DEADLINE).code(), Some(0));
    for sent in collector.received() {
        assert!(!contains(&sent.body, &customer.api_key));
        assert!(!contains(&sent.body, SECRET));
    }
}

#[tokio::test]
async fn traces_stay_at_home_when_they_are_switched_off() {
    let collector = Receiver::start().expect("a collector");
    let endpoint = format!("http://{}", collector.address());
    let deployment = Deployment::new();
    for off in [
        ("OTEL_SDK_DISABLED", "true"),
        ("OTEL_TRACES_EXPORTER", "none"),
    ] {
        let variables = [
            ("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint.as_str()),
            ("OTEL_BSP_SCHEDULE_DELAY", "50"),
            off,
        ];
        let mut server = serve_with(&deployment, &variables);
        deployment
            .customer(&mut server)
            .ingest(&event("agent-1"))
            .await;
        // What is not sent by now is not sent: the last spans go out before the end.
        assert_eq!(server.terminate(DEADLINE).code(), Some(0));
    }
    assert_eq!(collector.count(), 0);
}

#[tokio::test]
async fn a_collector_that_is_down_holds_up_nothing() {
    let collector = Receiver::start().expect("a collector");
    let endpoint = format!("http://{}", collector.address());
    drop(collector);
    let deployment = Deployment::new();
    let mut server = serve_with(&deployment, &[("OTEL_EXPORTER_OTLP_ENDPOINT", &endpoint)]);
    let customer = deployment.customer(&mut server);
    customer.ingest(&event("agent-1")).await;
    assert_eq!(customer.all_events().await.len(), 1);
    let asked = Stopwatch::start();
    assert_eq!(server.terminate(DEADLINE).code(), Some(0));
    assert!(
        asked.elapsed() < Duration::from_secs(8),
        "{:?}",
        asked.elapsed()
    );
}

#[tokio::test]
async fn every_metric_is_on_the_page_of_metrics_with_its_kind_labels_and_meaning() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let receiver = Receiver::start().expect("a receiver");
    customer.rule(json!({}), &receiver.url()).await;
    customer.ingest(&event("agent-1")).await;
    let decision = json!({"agent_id": "a", "action": "files.read"});
    ok(customer.post("/v1/runtime/decisions", &decision).await).await;
    receiver.wait_for(1, DEADLINE).await;
    let page = stdout(&run(&["reference", "metrics"], []));
    let row = |name: &str| {
        let start = format!("| `{name}` | ");
        let row = page.lines().find_map(|line| line.strip_prefix(&start));
        row.unwrap_or_else(|| panic!("{name} is not on the page"))
            .to_owned()
    };
    let answer = customer.get("/metrics").await;
    let text = answer.text().await.expect("a text");
    let (mut kinds, mut labels) = (0, 0);
    for line in text.lines() {
        if let Some(described) = line.strip_prefix("# HELP ") {
            let (name, meaning) = described.split_once(' ').expect("a meaning");
            assert!(row(name).ends_with(&format!("| {meaning} |")), "{line}");
        } else if let Some(typed) = line.strip_prefix("# TYPE ") {
            let (name, kind) = typed.split_once(' ').expect("a kind");
            assert!(row(name).starts_with(&format!("{kind} | ")), "{line}");
            kinds += 1;
        } else if let Some((name, rest)) = line.split_once('{') {
            let of_histogram = ["_bucket", "_sum", "_count"];
            let whole = of_histogram.iter().find_map(|end| name.strip_suffix(end));
            let row = row(whole.unwrap_or(name));
            let given = rest.split_once('}').expect("an end").0;
            let names = given.split("\",").filter_map(|one| one.split_once("=\""));
            for (label, _) in names.filter(|(label, _)| *label != "le") {
                assert!(row.contains(&format!("`{label}`")), "{label} of {line}");
                labels += 1;
            }
        }
    }
    assert!(kinds > 10 && labels > 20, "{text}");
}
