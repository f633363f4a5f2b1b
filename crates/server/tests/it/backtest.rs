//! What a rule would have done is told before it is trusted, from the trail as it is.

use std::time::Duration;

use reqwest::StatusCode;
use serde_json::{Value, json};
use testkit::{eventually, folder::TestFolder};
use tokio::time::sleep;

use crate::archive::{archive, day, ingest};
use crate::deployment::{Customer, DEADLINE, Deployment, Running, event};
use crate::errors::problem;
use crate::telemetry::counted;

/// Runs a backtest to its end; every line but the last, and the last.
async fn backtest(customer: &Customer, path: &str, body: &Value) -> (Vec<Value>, Value) {
    let answer = customer.post(path, body).await;
    assert_eq!(answer.status(), StatusCode::OK, "{body}");
    assert_eq!(answer.headers()["content-type"], "application/x-ndjson");
    let text = answer.text().await.expect("a body");
    let mut lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let last = lines.pop().expect("a last line");
    assert_eq!(last["done"], true, "{last}");
    (lines, last)
}

/// The result for a rule that is not saved.
async fn of_unsaved(customer: &Customer, rule: Value, range: Value) -> Value {
    let mut body = json!({ "rule": rule });
    let fields = range.as_object().expect("fields").clone();
    body.as_object_mut().expect("an object").extend(fields);
    backtest(customer, "/v1/alert-rules/backtest", &body)
        .await
        .1
}

/// The given figures of a result.
fn figures<const N: usize>(result: &Value, names: [&str; N]) -> [u64; N] {
    names.map(|name| {
        result[name]
            .as_u64()
            .unwrap_or_else(|| panic!("{name} of {result}"))
    })
}

#[tokio::test]
async fn a_backtest_counts_by_day_what_matched_in_the_database_and_in_archived_days() {
    let folder = TestFolder::create().expect("a folder");
    let url = format!("file://{}", folder.path().join("files").display());
    let mut running = Running::start(Deployment::new().with("FILES__URL", &url));
    let other = running.deployment.customer(&mut running.server);
    let customer = running.customer.clone();
    let days: Vec<(String, i64)> = (1..=3).map(|ago| day(&running, ago)).collect();
    for (number, (day, _)) in days.iter().enumerate() {
        ingest(
            &customer,
            day,
            "mine",
            100 * (u32::try_from(number).expect("small") + 1),
        )
        .await;
        ingest(&customer, day, "calm", 50).await;
        ingest(&other, day, "mine", 30).await;
    }
    let whole = json!({"from": format!("{}T00:00:00.000Z", days[2].0), "to": format!("{}T23:59:59.000Z", days[0].0)});
    let rule = json!({"match": {"metadata": {"absent": ["x"]}}});
    let nothing = of_unsaved(&customer, rule, whole.clone()).await;
    assert_eq!(
        figures(&nothing, ["scanned", "matched", "alerts"]),
        [750, 0, 0]
    );
    assert_eq!(nothing["by_day"], json!([]));

    archive(&running, &days[1].0);
    running
        .deployment
        .sql(&format!("DROP TABLE audit_events_d{}", days[1].1));
    let saved = customer
        .rule(json!({"agent_id": ["mine"]}), "https://example.com/hook")
        .await;
    let path = format!("/v1/alert-rules/{saved}/backtest");
    let (_, result) = backtest(&customer, &path, &whole).await;
    assert_eq!(
        figures(&result, ["scanned", "matched", "alerts", "suppressed"]),
        [600, 600, 600, 0]
    );
    assert_eq!(result["complete"], true);
    let expected: Vec<Value> = [(2, 300), (1, 200), (0, 100)]
        .into_iter()
        .map(|(ago, count)| json!({"day": days[ago].0, "matched": count, "alerts": count}))
        .collect();
    assert_eq!(result["by_day"], Value::from(expected), "oldest day first");
    let newest: Vec<String> = (90..100)
        .rev()
        .map(|number| format!("mine-{number}"))
        .collect();
    let samples = result["samples"].as_array().expect("samples");
    let shown: Vec<&str> = samples
        .iter()
        .map(|event| event["client_event_id"].as_str().expect("a name"))
        .collect();
    assert_eq!(shown, newest, "the newest that matched, newest first");

    let (_, recent) = backtest(&customer, &path, &json!({})).await;
    let within = figures(&recent, ["matched"])[0];
    assert!(
        within <= 100,
        "only the last 24 hours unless told: {within}"
    );
}

#[tokio::test]
async fn thresholds_and_suppression_say_how_often_the_rule_would_have_alerted() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let (day, _) = day(&running, 1);
    // One a second for a hundred seconds, of each of two agents.
    ingest(customer, &day, "a", 100).await;
    ingest(customer, &day, "b", 100).await;
    let range = json!({"from": format!("{day}T00:00:00Z"), "to": format!("{day}T23:59:00Z")});
    let cases = [
        (
            json!({"threshold": {"count": 10, "window_s": 60, "group_by": []}}),
            [20, 0],
        ),
        (
            json!({"threshold": {"count": 30, "window_s": 60, "group_by": ["agent_id"]}}),
            [6, 0],
        ),
        (
            json!({"threshold": {"count": 30, "window_s": 10, "group_by": ["agent_id"]}}),
            [0, 0],
        ),
        (
            json!({"suppress": {"for_s": 50, "group_by": ["agent_id"]}}),
            [4, 196],
        ),
        (
            json!({"threshold": {"count": 10, "window_s": 60, "group_by": ["agent_id"]},
                   "suppress": {"for_s": 3600, "group_by": []}}),
            [1, 19],
        ),
    ];
    for (pace, expected) in cases {
        let mut rule = json!({"match": {"result": ["denied"]}});
        let fields = pace.as_object().expect("fields").clone();
        rule.as_object_mut().expect("an object").extend(fields);
        let result = of_unsaved(customer, rule, range.clone()).await;
        assert_eq!(
            figures(&result, ["alerts", "suppressed"]),
            expected,
            "{pace}: {result}"
        );
        assert_eq!(figures(&result, ["matched"]), [200], "{pace}");
    }
}

#[tokio::test]
async fn a_backtest_says_what_is_wrong_with_its_rule_or_its_range_and_saves_nothing() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let refused = [
        (
            json!({"rule": {"match": {"result": "denied"}}}),
            "/rule/match/result",
        ),
        (
            json!({"rule": {"match": {}, "url": "ftp://example.com"}}),
            "/rule/url",
        ),
        (json!({"rule": {"match": {}}, "from": "yesterday"}), "/from"),
        (
            json!({"rule": {"match": {}}, "from": "2026-01-02T00:00:00Z", "to": "2026-01-01T00:00:00Z"}),
            "/from",
        ),
        (
            json!({"rule": {"match": {}}, "from": "2020-01-01T00:00:00Z", "to": "2026-01-01T00:00:00Z"}),
            "/from",
        ),
    ];
    for (body, pointer) in refused {
        let answer = customer.post("/v1/alert-rules/backtest", &body).await;
        let problem = problem(answer, 422).await;
        assert_eq!(problem["errors"][0]["pointer"], pointer, "{problem}");
    }
    customer.ingest(&event("agent-1")).await;
    let rule = json!({"match": {"result": ["denied"]}});
    let result = of_unsaved(customer, rule, json!({})).await;
    assert_eq!(
        figures(&result, ["matched"]),
        [1],
        "what was just accepted is in it"
    );
    let other = json!({"match": {"result": [{"anything-but": ["denied"]}]}});
    let other = of_unsaved(customer, other, json!({})).await;
    assert_eq!(figures(&other, ["scanned", "matched"]), [1, 0]);
    let prefix =
        json!({"match": {"action": [{"prefix": "files."}]}, "except": [{"agent_id": ["agent-1"]}]});
    let prefix = of_unsaved(customer, prefix, json!({})).await;
    assert_eq!(
        figures(&prefix, ["scanned", "matched"]),
        [1, 0],
        "an exception vetoes"
    );
    let rules = customer.get_json("/v1/alert-rules").await;
    assert_eq!(rules["data"], json!([]));
    assert!(customer.all_deliveries().await.is_empty());
}

/// Puts so many events of now into the customer's trail, past the front door.
async fn many_events(running: &Running, count: u32) {
    running.customer.ingest(&event("first")).await;
    running.customer.all_events().await;
    let metadata = json!({"deep": {"list": vec!["some text"; 20]}, "amount": 17});
    let body = format!(
        r#"{{"event_type":"tool_call","agent_id":"a","action":"files.delete","result":"denied","metadata":{metadata}}}"#
    );
    running.deployment.sql(&format!(
        "INSERT INTO audit_events (org_id, id, received_at, event_type, agent_id, action, result, body) \
         SELECT org_id, overlay(gen_random_uuid()::text PLACING substr(id::text, 1, 15) FROM 1 FOR 15)::uuid, \
                received_at, event_type, agent_id, action, result, '{body}' \
         FROM audit_events, generate_series(1, {count}) WHERE agent_id = 'first'"
    ));
}

#[tokio::test]
async fn a_backtest_tells_how_far_it_is_and_stops_when_its_client_goes_away() {
    const EVENTS: u32 = 200_000;
    const LOOKED_AT: &str = "watchbell_events_backtested_total";
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    many_events(&running, EVENTS).await;
    let all = json!({"rule": {"match": {"metadata": {"amount": [18]}}}});
    let begin = async || {
        let answer = customer.post("/v1/alert-rules/backtest", &all).await;
        assert_eq!(answer.status(), StatusCode::OK);
        answer
    };
    let mut first = begin().await;
    let second = begin().await;
    let third = customer.post("/v1/alert-rules/backtest", &all).await;
    let third = problem(third, 409).await;
    assert_eq!(third["code"], "LIMIT_REACHED", "{third}");

    let line = first.chunk().await.expect("a line").expect("a line");
    let line: Value = serde_json::from_slice(&line).expect("JSON");
    let share = line["progress"].as_f64().expect("a number");
    assert!((0.0..=1.0).contains(&share), "{line}");
    drop((first, second));
    let stopped = eventually(DEADLINE, "nothing is looked at any more", async || {
        let before = counted(customer, LOOKED_AT).await;
        // waits for: another piece of the trail, had anybody gone on; one takes some tens of milliseconds
        sleep(Duration::from_millis(500)).await;
        let after = counted(customer, LOOKED_AT).await;
        (after - before < 1.0).then_some(after)
    })
    .await;
    assert!(
        stopped < f64::from(2 * EVENTS),
        "both would have looked at {} in the end, and {stopped} were",
        2 * EVENTS
    );
    eventually(DEADLINE, "the slots are free", async || {
        let answer = customer.post("/v1/alert-rules/backtest", &all).await;
        (answer.status() == StatusCode::OK).then_some(())
    })
    .await;
}
