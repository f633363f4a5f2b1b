//! One text asks the list, the counts, exports, the live tail and the deliveries, and a mistake in it is pointed at.

use reqwest::Url;
use serde_json::{Value, json};
use testkit::{Receiver, eventually};

use crate::deliveries::delivered;
use crate::deployment::{Customer, DEADLINE, Deployment, Running, ok};
use crate::errors::problem;
use crate::exports::lines;
use crate::tail::Stream;

const EVENTS: &str = "/v1/audit/events";
const CHECK: &str = "/v1/queries/check";

/// A path with `filter` and what else there is.
fn asking(path: &str, text: &str, others: &[(&str, &str)]) -> String {
    let filter = [("filter", text)];
    let url = Url::parse_with_params("http://x/", filter.iter().chain(others)).expect("a URL");
    format!("{path}?{}", url.query().expect("parameters"))
}

fn agents(events: &[Value]) -> Vec<&str> {
    let mut agents: Vec<&str> = events
        .iter()
        .filter_map(|event| event["agent_id"].as_str())
        .collect();
    agents.sort_unstable();
    agents
}

async fn fill(customer: &Customer) {
    let refund = |agent: &str, result: &str, metadata: Value| {
        json!({
            "event_type": "tool_call", "agent_id": agent, "action": "payments.refund", "result": result,
            "resource": format!("invoice:{agent}"), "metadata": metadata,
        })
    };
    let mut grave = refund("a", "denied", json!({"amount": 750, "tags": ["vip", "eu"]}));
    grave["severity"] = json!("high");
    let sent = json!({"events": [
        grave,
        refund("b", "success", json!({"amount": "750"})),
        refund("c", "error", json!({"amount": 20, "order": {"id": "o'7"}})),
        {"event_type": "sign_in", "agent_id": "d", "action": "session.start", "result": "success"},
    ]});
    ok(customer.post(EVENTS, &sent).await).await;
}

#[tokio::test]
async fn one_text_finds_the_same_in_the_list_the_counts_an_export_and_the_tail() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let watched = asking(&format!("{EVENTS}/stream"), "metadata.amount:>500", &[]);
    let watching = customer.request(reqwest::Method::GET, &watched);
    let mut stream = Stream::from(watching).await;
    fill(customer).await;
    let seen = stream.next().await.expect("an event").json();
    assert_eq!(seen["agent_id"], "a", "and not what was sent before it");

    // Each export is on record, too, as an event of the server.
    let by_key = ("source", "key");
    let cases = [
        ("result:(denied,error)", vec![by_key], vec!["a", "c"]),
        ("-result:success", vec![by_key], vec!["a", "c"]),
        ("metadata.amount:750", vec![], vec!["a", "b"]),
        ("metadata.amount:>500", vec![], vec!["a"]),
        ("-metadata.amount:>500", vec![by_key], vec!["b", "c", "d"]),
        ("metadata.tags:vip -severity:low", vec![], vec!["a"]),
        (
            "metadata.order.id:\"o'7\" resource:invoice:*",
            vec![],
            vec!["c"],
        ),
        ("resource:*", vec![("result", "success"), by_key], vec!["b"]),
        (
            "invoice -error",
            vec![("agent_id", "a"), ("agent_id", "c")],
            vec!["a"],
        ),
        ("result:denied", vec![("result", "success")], vec![]),
        ("", vec![("event_type", "sign_in")], vec!["d"]),
    ];
    for (text, others, expected) in cases {
        let listed = customer.get_json(&asking(EVENTS, text, &others)).await;
        let data = listed["data"].as_array().expect("events");
        assert_eq!(agents(data), expected, "{text}");
        let counted = customer
            .get_json(&asking("/v1/audit/facets", text, &others))
            .await;
        assert_eq!(counted["counted"], expected.len(), "{text}");
        assert_eq!(counted["exact"], true, "{text}");
        let mut body = json!({"filter": text});
        for (name, _) in &others {
            let values = others.iter().filter(|(other, _)| other == name);
            body[name] = values.map(|(_, value)| json!(value)).collect();
        }
        let exported = customer.post("/v1/audit/export", &body).await;
        let exported = lines(&exported.bytes().await.expect("a file"));
        assert_eq!(agents(&exported), expected, "{text}");
    }

    let first = asking(EVENTS, "-result:(success)", &[("limit", "1")]);
    let first = customer.get_json(&first).await;
    let cursor = first["next_cursor"].as_str().expect("a cursor");
    let next = [("cursor", cursor)];
    let again = customer
        .get_json(&asking(EVENTS, "-result:success", &next))
        .await;
    let both = [&first["data"][0], &again["data"][0]].map(Value::clone);
    assert_eq!(agents(&both), ["a", "c"]);
    let other = customer.get(&asking(EVENTS, "result:error", &next)).await;
    assert_eq!(problem(other, 400).await["errors"][0]["pointer"], "?cursor");
}

#[tokio::test]
async fn a_mistake_is_pointed_at_wherever_a_query_is_taken() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let text = "\"größe\" results:denied";
    for path in [EVENTS, "/v1/audit/facets", "/v1/audit/events/stream"] {
        let refused = problem(customer.get(&asking(path, text, &[])).await, 400).await;
        assert_eq!(refused["code"], "INVALID_PARAMETER", "{path}");
        assert_eq!(
            refused["errors"],
            json!([{
                "code": "FIELD_INVALID", "pointer": "?filter", "start": 8, "end": 15, "instead": "result",
                "detail": "`results` is not a field of an event; did you mean `result`?",
            }]),
            "{path}"
        );
    }
    let export = json!({"filter": text});
    let refused = problem(customer.post("/v1/audit/export", &export).await, 422).await;
    let fault = &refused["errors"][0];
    assert_eq!(
        (&fault["pointer"], &fault["start"]),
        (&json!("/filter"), &json!(8))
    );
    let deliveries = asking("/v1/deliveries", "state:failed refund", &[]);
    let refused = problem(customer.get(&deliveries).await, 400).await;
    let fault = &refused["errors"][0];
    assert_eq!(
        (&fault["pointer"], &fault["start"]),
        (&json!("?filter"), &json!(13))
    );

    let check = async |body: Value| ok(customer.post(CHECK, &body).await).await;
    let checked = check(json!({"list": "events", "text": text, "cursor": 10})).await;
    assert_eq!(checked["query"], Value::Null);
    assert_eq!(checked["error"]["instead"], "result");
    let completion = &checked["completion"];
    assert_eq!(
        (&completion["start"], &completion["end"]),
        (&json!(8), &json!(10))
    );
    assert_eq!(completion["offers"][0]["text"], "result:");
    let text = "severity:>=high -metadata.amount:<5";
    let checked = check(json!({"list": "decisions", "text": "-decision:allow"})).await;
    assert_eq!(
        checked["rule"],
        json!({
            "match": {"event_type": ["decision"], "source": ["server"]},
            "except": [{"event_type": ["decision"], "source": ["server"], "metadata": {"decision": ["allow"]}}],
        })
    );
    let checked = check(json!({"list": "events", "text": text})).await;
    assert_eq!(
        checked["query"],
        "severity:(high,critical) -metadata.amount:<5"
    );
    let checked = check(json!({"list": "events", "text": "result:denied refund"})).await;
    assert_eq!(checked["rule"], Value::Null);
    assert_eq!(checked["not_in_rules"][0]["start"], 14);
    let long = "a ".repeat(3_000);
    let checked = check(json!({"list": "events", "text": long, "cursor": 5})).await;
    assert!(checked["error"].is_object() && checked["completion"].is_null());
}

#[tokio::test]
async fn decisions_and_deliveries_are_found_by_their_own_fields() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let posing = json!({
        "event_type": "tool_call", "agent_id": "liar", "action": "files.read", "result": "denied",
        "metadata": {"decision": "deny", "took_us": 1},
    });
    customer.ingest(&posing).await;
    let question = json!({"agent_id": "billing", "action": "files.delete"});
    let decided = ok(customer.post("/v1/runtime/decisions", &question).await).await;
    let decision = decided["decision"].as_str().expect("a decision");
    let text = format!("decision:{decision} took_us:>=0");
    let found = customer.get_json(&asking(EVENTS, &text, &[])).await;
    assert_eq!(
        agents(found["data"].as_array().expect("events")),
        ["billing"]
    );

    let (well, refusing) = (
        Receiver::start().expect("one"),
        Receiver::start().expect("two"),
    );
    refusing.answer_with(413);
    let only = json!({"event_type": ["tool_call"], "agent_id": [{"prefix": "agent-"}]});
    let first = customer.rule(only.clone(), &well.url()).await;
    let second = customer.rule(only, &refusing.url()).await;
    let fine = delivered(customer, &first, "agent-1", "delivered").await;
    let failed = delivered(customer, &second, "agent-2", "failed").await;
    let event = failed["event_id"].as_str().expect("an id");
    let fine = fine["rule_id"].as_str().expect("an id");
    let count = async |text: &str| {
        let page = customer
            .get_json(&asking("/v1/deliveries", text, &[]))
            .await;
        page["data"].as_array().expect("deliveries").len()
    };
    // Each of the two events matched both rules.
    eventually(DEADLINE, "all are done", async || {
        (count("state:(delivered,failed)").await == 4).then_some(())
    })
    .await;
    for (text, expected) in [
        ("", 4),
        ("state:failed", 2),
        ("-state:failed", 2),
        ("reason:permanent", 2),
        ("-reason:*", 2),
        ("attempts:1 cause:match event_type:tool_*", 4),
        ("attempts:>1", 0),
        ("url:*127.0.0.1*", 4),
        ("occurred_at:<2020-01-01", 0),
        (&format!("rule_id:{first}"), 2),
        (&format!("-rule_id:{fine} state:failed"), 2),
        (&format!("event_id:{event}"), 2),
        (&format!("event_id:{event} rule_id:{second}"), 1),
    ] {
        assert_eq!(count(text).await, expected, "{text}");
    }
}
