//! Events are counted over the whole time that is asked for, for choosing filters.

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

    let (from, to) = (at("09:59:50.000"), at("10:01:20.000"));
    let range = format!("from={from}&to={to}");
    let facets = customer.get_json(&format!("{FACETS}?{range}")).await;
    assert_eq!(facets["counted"], 4, "{facets}");
    assert_eq!(facets["estimate"], 4);
    assert_eq!(facets["complete"], true);
    assert_eq!(facets["exact"], true);
    assert_eq!(facets["fresh"], true);
    assert_eq!(facets["from"], from);
    assert_eq!(facets["counted_from"], from);
    assert_eq!(facets["to"], to);
    let fields = &facets["fields"];
    assert_eq!(
        fields["agent_id"],
        json!([{"value": "ag-2", "count": 2}, {"value": "ag-1", "count": 1}, {"value": "ag-3", "count": 1}])
    );
    assert_eq!(
        fields["result"],
        json!([
            {"value": "success", "count": 3}, {"value": "denied", "count": 1}, {"value": "error", "count": 0}
        ])
    );
    let severities = fields["severity"].as_array().expect("values");
    assert_eq!(severities[0], json!({"value": "high", "count": 1}));
    assert_eq!(severities.len(), 5, "those that no event has are there too");
    assert_eq!(
        fields["event_type"],
        json!([{"value": "tool_call", "count": 4}])
    );
    let histogram = &facets["histogram"];
    assert_eq!(histogram["interval_ms"], 1000);
    let buckets = histogram["buckets"].as_array().expect("buckets");
    assert_eq!(buckets.len(), 90, "every second of the time is there");
    assert_eq!(buckets[0]["at"], from);
    assert_eq!(
        buckets[40],
        json!({"at": at("10:00:30.000"), "total": 1, "counts": {"denied": 1}})
    );
    assert_eq!(buckets[41]["total"], 0);

    let to = at("10:01:00.000");
    let some = format!("{FACETS}?agent_id=ag-2&result=denied&result=success&q=FILES&to={to}");
    let some = customer.get_json(&some).await;
    assert_eq!(some["counted"], 1, "{some}");
    let none = customer
        .get_json(&format!("{FACETS}?agent_id=nobody"))
        .await;
    assert_eq!(
        (&none["counted"], &none["exact"]),
        (&json!(0), &json!(true))
    );
    assert_eq!(none["from"], at("10:00:00.000"), "the oldest event of all");
    let buckets = none["histogram"]["buckets"].as_array().expect("buckets");
    assert!(buckets.len() > 20, "the axis is there: {none}");
}

#[tokio::test]
async fn a_trail_without_events_has_no_time() {
    let running = Running::start(Deployment::new());
    let none = running.customer.get_json(FACETS).await;
    assert_eq!(none["counted"], 0, "{none}");
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
