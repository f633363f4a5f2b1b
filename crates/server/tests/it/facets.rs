//! What the newest events have is counted, for choosing filters.

use serde_json::{Value, json};

use crate::deployment::{Deployment, Running, ok};
use crate::errors::problem;

const FACETS: &str = "/v1/audit/facets";

fn event(agent: &str, result: &str, occurred_at: &str) -> Value {
    json!({
        "event_type": "tool_call", "agent_id": agent, "action": "files.read", "result": result,
        "occurred_at": occurred_at,
    })
}

#[tokio::test]
async fn values_are_counted_the_most_frequent_first_and_events_stand_in_a_histogram() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let day = running
        .deployment
        .sql("SELECT to_char(now() - interval '1 day', 'YYYY-MM-DD')");
    let day = day.trim();
    let at = |time: &str| format!("{day}T{time}Z");
    let mut grave = event("ag-2", "denied", &at("10:00:30.000"));
    grave["severity"] = json!("high");
    let sent = json!({"events": [
        event("ag-1", "success", &at("10:00:00.000")),
        grave,
        event("ag-2", "success", &at("10:01:10.000")),
        event("ag-3", "success", &at("10:01:11.000")),
    ]});
    ok(customer.post("/v1/audit/events", &sent).await).await;

    let facets = customer.get_json(FACETS).await;
    assert_eq!(facets["counted"], 4, "{facets}");
    assert_eq!(facets["complete"], true);
    assert_eq!(facets["fresh"], true);
    assert_eq!(facets["from"], at("10:00:00.000"));
    assert_eq!(facets["to"], at("10:01:11.000"));
    let fields = &facets["fields"];
    assert_eq!(
        fields["agent_id"],
        json!([{"value": "ag-2", "count": 2}, {"value": "ag-1", "count": 1}, {"value": "ag-3", "count": 1}])
    );
    assert_eq!(
        fields["result"],
        json!([{"value": "success", "count": 3}, {"value": "denied", "count": 1}])
    );
    assert_eq!(fields["severity"], json!([{"value": "high", "count": 1}]));
    assert_eq!(
        fields["event_type"],
        json!([{"value": "tool_call", "count": 4}])
    );
    let histogram = &facets["histogram"];
    assert_eq!(histogram["interval_ms"], 1000);
    let buckets = histogram["buckets"].as_array().expect("buckets");
    assert_eq!(buckets.len(), 72, "every second is there");
    assert_eq!(
        buckets[30],
        json!({"at": at("10:00:30.000"), "total": 1, "counts": {"denied": 1}})
    );
    assert_eq!(buckets[31]["total"], 0);

    let to = at("10:01:00.000");
    let some = format!("{FACETS}?agent_id=ag-2&result=denied&result=success&q=FILES&to={to}");
    let some = customer.get_json(&some).await;
    assert_eq!(some["counted"], 1, "{some}");
    let none = customer
        .get_json(&format!("{FACETS}?agent_id=nobody"))
        .await;
    assert_eq!(none["counted"], 0);
    assert_eq!(none["from"], Value::Null);
    assert_eq!(none["histogram"]["buckets"], json!([]));
}

#[tokio::test]
async fn what_is_not_a_filter_is_refused() {
    let running = Running::start(Deployment::new());
    for query in ["order=asc", "limit=5", "resource=x", "severity=dreadful"] {
        let answer = running.customer.get(&format!("{FACETS}?{query}")).await;
        let problem = problem(answer, 400).await;
        assert_eq!(problem["code"], "INVALID_PARAMETER", "{query}");
    }
}
