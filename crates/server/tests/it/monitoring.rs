//! What the alerts and the dashboard in `deploy/` ask for is what a server says at `/metrics`. That each metric exists is
//! checked by `cargo xtask tidy`; this is about their labels.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;
use testkit::{Receiver, eventually, folder::TestFolder, shared};

use crate::deployment::{DEADLINE, Deployment, Running, event, http, ok};
use crate::transparency::kept_in;

const ALERTS: &str = include_str!("../../../../deploy/prometheus/alerts.yaml");
const DASHBOARD: &str = include_str!("../../../../deploy/grafana/watchbell.json");
/// One that is away.
const WITNESS: &str =
    "http://127.0.0.1:9 witness.example/w1+861e6e1b+BPQP7LbPJuMfnMYFb+GFeYGnD/6a3onLf+Wgy2rr//Cn";
/// Prometheus adds these itself, or they say which bucket of a histogram it is.
const ADDED: [&str; 3] = ["instance", "job", "le"];

/// The words of a line of `/metrics`, or of a query, that are metrics with braces behind, and the labels in those.
fn selectors(text: &str) -> impl Iterator<Item = (&str, Vec<&str>)> {
    text.match_indices("watchbell_").filter_map(|(at, _)| {
        let rest = &text[at..];
        let end = rest.find(|c: char| !c.is_ascii_lowercase() && c != '_')?;
        let inside = rest[end..].strip_prefix('{')?.split_once('}')?.0;
        let labels = inside
            .split(", ")
            .flat_map(|part| part.split("\","))
            .filter_map(|part| Some(part.split_once(['=', '!'])?.0.trim()));
        Some((&rest[..end], labels.collect()))
    })
}

/// What a query adds up by.
fn grouped_by(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices(" by (").flat_map(|(at, by)| {
        let inside = text[at + by.len()..].split_once(')').map_or("", |it| it.0);
        inside.split(", ")
    })
}

async fn metrics(base_url: &str) -> String {
    let answer = http().get(format!("{base_url}/metrics")).send().await;
    answer.expect("an answer").text().await.expect("a text")
}

#[tokio::test]
async fn the_alerts_and_the_dashboard_ask_for_labels_that_there_are() {
    let folder = TestFolder::create().expect("a folder");
    let deployment = kept_in(&folder).with("TRANSPARENCY__WITNESSES", WITNESS);
    let running = Running::start(deployment);
    let customer = &running.customer;
    let receiver = Receiver::start().expect("a receiver");
    customer.rule(json!({}), &receiver.url()).await;
    customer.ingest(&event("agent")).await;
    let question = json!({"agent_id": "agent", "action": "files.delete"});
    ok(customer.post("/v1/runtime/decisions", &question).await).await;
    receiver.wait_for(1, DEADLINE).await;

    let labels = eventually(DEADLINE, "all of it was counted", async || {
        let metrics = metrics(&customer.base_url).await;
        let mut labels: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (metric, with) in selectors(&metrics) {
            let known = labels.entry(metric.to_owned()).or_default();
            known.extend(with.into_iter().map(str::to_owned));
        }
        let counted = [
            "watchbell_delivery_attempts_total",
            "watchbell_decisions_total",
            "watchbell_transparency_cosignatures_total",
        ];
        let is_counted = counted.iter().all(|metric| labels.contains_key(*metric));
        is_counted.then_some(labels)
    })
    .await;

    let anywhere: BTreeSet<&str> = labels.values().flatten().map(String::as_str).collect();
    let mut compared = BTreeSet::new();
    for text in [ALERTS, &DASHBOARD.replace("\\\"", "\"")] {
        for (metric, wanted) in selectors(text) {
            // Some are not counted before something happens that did not.
            let Some(known) = labels.get(metric) else {
                continue;
            };
            compared.insert(metric.to_owned());
            for label in wanted {
                let is_there = known.contains(label) || ADDED.contains(&label);
                assert!(is_there, "{metric} has no label {label}, but {known:?}");
            }
        }
        for label in grouped_by(text) {
            // Of logs and states that had no trouble nobody has spoken yet.
            let is_there = anywhere.contains(label)
                || [&ADDED[..], &["log", "state"]].concat().contains(&label);
            assert!(is_there, "no metric has the label {label}");
        }
    }
    assert!(compared.len() >= 6, "too little was compared: {compared:?}");
}

#[tokio::test]
async fn only_a_process_that_limits_says_whether_limits_are_shared() {
    let deployment = Deployment::new().with("REDIS__URL", &shared().redis_url);
    let mut api = deployment.serve("api");
    let url = api.url(DEADLINE);
    eventually(DEADLINE, "limits are shared", async || {
        metrics(&url).await.contains("\nwatchbell_limits_shared 1")
    })
    .await;
    // Each has the address of Redis as well.
    for role in ["index", "match", "deliver"] {
        let mut worker = deployment.serve(role);
        let said = metrics(&worker.url(DEADLINE)).await;
        assert!(!said.contains("\nwatchbell_limits_shared "), "{role}");
    }
}
