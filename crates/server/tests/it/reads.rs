//! What is in the trail is found by any filter, page by page, and counted for charts.

use std::collections::BTreeMap;
use std::time::Duration;

use domain::Timestamp;
use serde_json::{Value, json};

use crate::deployment::{Customer, Deployment, Running, ok};
use crate::errors::problem;

const LIST: &str = "/v1/audit/events";
const STATS: &str = "/v1/audit/stats";

/// Some events of three days, told apart by their resource: 0 is the oldest.
async fn trail(customer: &Customer, today: Today) {
    let event = |number: u64, days: u64, fields: Value| {
        let mut event = json!({
            "event_type": "tool_call", "agent_id": "ag-1", "action": "files.read", "result": "success",
            "resource": number.to_string(), "occurred_at": today.ago(days, number),
        });
        for (field, value) in fields.as_object().expect("an object") {
            event[field] = value.clone();
        }
        event
    };
    let events = json!({"events": [
        event(0, 3, json!({"result": "denied", "trace_id": "t-1"})),
        event(1, 3, json!({"agent_id": "ag-2", "severity": "high"})),
        event(2, 2, json!({"action": "payments.refund", "session_id": "s-1"})),
        event(3, 2, json!({"action": "payments.pay", "decision_id": "d-1"})),
        event(4, 1, json!({"event_type": "handoff", "metadata": {"note": "50% Off_now"}})),
        event(5, 1, json!({"agent_id": "ag-2", "result": "denied"})),
    ]});
    let accepted = ok(customer.post(LIST, &events).await).await;
    assert_eq!(accepted["ingested"], 6);
}

/// The start of today, UTC.
#[derive(Clone, Copy)]
struct Today(Timestamp);

impl Today {
    fn of(deployment: &Deployment) -> Self {
        let start = "SELECT extract(epoch FROM date_trunc('day', now(), 'UTC'))::bigint * 1000";
        let millis = deployment.sql(start).trim().parse().expect("a number");
        Self(Timestamp::from_unix_millis(millis))
    }

    /// So many days ago, and so many minutes into that day.
    fn ago(self, days: u64, minutes: u64) -> String {
        let day = self.0.minus(Duration::from_secs(days * 24 * 3600));
        day.plus(Duration::from_secs(minutes * 60)).to_string()
    }
}

fn numbers(page: &Value) -> Vec<u32> {
    let data = page["data"].as_array().expect("data");
    let resource = |event: &Value| event["resource"].as_str().expect("a text").parse();
    data.iter()
        .map(|event| resource(event).expect("a number"))
        .collect()
}

#[tokio::test]
async fn every_filter_finds_what_it_says_in_both_orders() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let today = Today::of(&running.deployment);
    trail(customer, today).await;
    let from = today.ago(2, 0);
    let to = today.ago(1, 0);
    for (query, expected) in [
        (String::new(), vec![5, 4, 3, 2, 1, 0]),
        (format!("from={from}"), vec![5, 4, 3, 2]),
        (format!("from={from}&to={to}"), vec![3, 2]),
        ("event_type=handoff".into(), vec![4]),
        ("agent_id=ag-2".into(), vec![5, 1]),
        ("agent_id=ag-2&agent_id=ag-1".into(), vec![5, 4, 3, 2, 1, 0]),
        ("action=payments.refund".into(), vec![2]),
        ("action=payments.*".into(), vec![3, 2]),
        (
            "action=payments.*&action=files.read&agent_id=ag-1".into(),
            vec![4, 3, 2, 0],
        ),
        ("result=denied".into(), vec![5, 0]),
        ("result=denied&agent_id=ag-2".into(), vec![5]),
        ("severity=high&severity=low".into(), vec![1]),
        ("session_id=s-1".into(), vec![2]),
        ("trace_id=t-1".into(), vec![0]),
        ("decision_id=d-1".into(), vec![3]),
        ("q=50%25%20OFF_N".into(), vec![4]),
        ("q=5_%25".into(), vec![]),
        ("session_id=s-1&trace_id=t-1".into(), vec![]),
    ] {
        let newest = customer.get_json(&format!("{LIST}?{query}")).await;
        assert_eq!(numbers(&newest), expected, "{query}");
        assert_eq!(newest["next_cursor"], Value::Null, "{query}");
        assert!(newest.get("searched_to").is_none(), "{query}");
        let oldest = customer
            .get_json(&format!("{LIST}?{query}&order=asc"))
            .await;
        let mut reversed = numbers(&oldest);
        reversed.reverse();
        assert_eq!(reversed, expected, "{query}");
    }
}

#[tokio::test]
async fn a_cursor_goes_on_in_its_own_list_and_is_refused_in_another() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let today = Today::of(&running.deployment);
    trail(customer, today).await;
    for (order, expected) in [("desc", [5, 4, 3, 2, 1, 0]), ("asc", [0, 1, 2, 3, 4, 5])] {
        let list = format!("{LIST}?order={order}&limit=1&agent_id=ag-1&agent_id=ag-2&q=a");
        let mut seen = Vec::new();
        let mut path = list.clone();
        loop {
            let page = customer.get_json(&path).await;
            seen.extend(numbers(&page));
            match page["next_cursor"].as_str() {
                Some(cursor) => path = format!("{list}&cursor={cursor}"),
                None => break,
            }
        }
        assert_eq!(seen, expected, "{order}");
    }
    let first = customer
        .get_json(&format!("{LIST}?limit=2&result=success"))
        .await;
    let cursor = first["next_cursor"].as_str().expect("more");
    for other in [
        "result=denied",
        "",
        "result=success&order=asc",
        "result=success&q=a",
    ] {
        let answer = customer
            .get(&format!("{LIST}?{other}&cursor={cursor}"))
            .await;
        let problem = problem(answer, 400).await;
        assert_eq!(problem["code"], "INVALID_PARAMETER");
        assert_eq!(problem["errors"][0]["pointer"], "?cursor");
        let detail = problem["detail"].as_str().expect("a text");
        assert!(detail.contains("different filters"), "{detail}");
    }
    // The limit is no part of it.
    let path = format!("{LIST}?limit=1&result=success&cursor={cursor}");
    assert_eq!(numbers(&customer.get_json(&path).await), [2]);
}

#[tokio::test]
async fn parameters_that_no_list_has_or_no_event_can_hold_are_refused_by_name() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    for (query, pointer) in [
        ("color=red", "?color"),
        ("order=up", "?order"),
        ("order=asc&order=asc", "?order"),
        ("limit=0", "?limit"),
        ("limit=1001", "?limit"),
        ("cursor=x", "?cursor"),
        ("severity=urgent", "?severity"),
        ("action=refund", "?action"),
        ("agent_id=", "?agent_id"),
        ("agent_id=%00", "?agent_id"),
        ("q=%00", "?q"),
        ("from=yesterday", "?from"),
    ] {
        let answer = customer.get(&format!("{LIST}?{query}")).await;
        let problem = problem(answer, 400).await;
        assert_eq!(problem["errors"][0]["pointer"], pointer, "{query}");
    }
    let answer = customer.get(&format!("{LIST}?color=red")).await;
    let detail = problem(answer, 400).await["detail"].to_string();
    for known in ["`decision_id`", "`q`", "`order`", "`limit` and `cursor`"] {
        assert!(detail.contains(known), "{detail}");
    }
}

#[tokio::test]
async fn a_chart_has_every_interval_and_says_what_it_shows() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let today = Today::of(&running.deployment);
    let usual = customer.get_json(STATS).await;
    assert_eq!(
        (&usual["by"], &usual["interval"]),
        (&json!("event_type"), &json!("hour"))
    );
    let hours = usual["buckets"].as_array().expect("buckets").len();
    assert!((24..=25).contains(&hours), "{hours}");
    let path = format!(
        "{STATS}?by=result&interval=day&from={}&to={}",
        today.ago(3, 7),
        today.ago(1, 7)
    );
    let days = customer.get_json(&path).await;
    let starts: Vec<&Value> = days["buckets"]
        .as_array()
        .expect("buckets")
        .iter()
        .map(|one| &one["at"])
        .collect();
    assert_eq!(
        starts,
        [
            &json!(today.ago(3, 0)),
            &json!(today.ago(2, 0)),
            &json!(today.ago(1, 0))
        ]
    );
    assert_eq!(
        (&days["from"], &days["to"]),
        (&json!(today.ago(3, 0)), &json!(today.ago(0, 0)))
    );
    let empty = json!({"at": today.ago(2, 0), "total": 0, "counts": {}});
    assert_eq!(days["buckets"][1], empty);
    assert_eq!(days["totals"], json!({}));
    assert_eq!(days["fresh"], true);

    let long_ago = today.ago(100, 0);
    for (query, pointer) in [
        ("by=color".to_owned(), "?by"),
        ("interval=week".to_owned(), "?interval"),
        ("limit=101".to_owned(), "?limit"),
        ("q=x".to_owned(), "?q"),
        ("from=soon".to_owned(), "?from"),
        ("to=9999-12-31T23:59:59Z".to_owned(), "?to"),
        ("to=9999-12-31T23:59:59-23:59".to_owned(), "?to"),
        (
            format!("to={}&from={}", today.ago(2, 0), today.ago(1, 0)),
            "?to",
        ),
        (format!("interval=hour&from={long_ago}"), "?from"),
        (
            format!(
                "interval=minute&from={}&to={}",
                today.ago(9, 0),
                today.ago(8, 0)
            ),
            "?from",
        ),
    ] {
        let problem = problem(customer.get(&format!("{STATS}?{query}")).await, 400).await;
        assert_eq!(problem["errors"][0]["pointer"], pointer, "{query}");
    }
}

#[tokio::test]
async fn charts_count_what_was_listed() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let today = Today::of(&running.deployment);
    trail(customer, today).await;
    let listed = customer.all_events().await;
    for by in ["event_type", "result", "agent_id", "action", "severity"] {
        let mut expected = BTreeMap::<(String, String), u64>::new();
        for event in &listed {
            if let Some(value) = event[by].as_str() {
                let place = expected.entry((day_of(&event["occurred_at"]), value.to_owned()));
                *place.or_default() += 1;
            }
        }
        // By minute only the oldest day is asked for: three would be too many intervals.
        for (interval, to) in [
            ("minute", today.ago(2, 0)),
            ("hour", today.ago(0, 0)),
            ("day", today.ago(0, 0)),
        ] {
            let path = format!(
                "{STATS}?by={by}&interval={interval}&from={}&to={to}",
                today.ago(3, 0)
            );
            let stats = customer.get_json(&path).await;
            assert_eq!(stats["fresh"], true);
            let mut counted = BTreeMap::<(String, String), u64>::new();
            for bucket in stats["buckets"].as_array().expect("buckets") {
                for (value, events) in bucket["counts"].as_object().expect("counts") {
                    let place = counted.entry((day_of(&bucket["at"]), value.clone()));
                    *place.or_default() += events.as_u64().expect("a number");
                }
            }
            let mut within = expected.clone();
            within.retain(|(day, _), _| day.as_str() < &to[..10]);
            assert_eq!(counted, within, "{by} {interval}");
        }
    }
}

/// The date of a time.
fn day_of(at: &Value) -> String {
    at.as_str().expect("a time")[..10].to_owned()
}
