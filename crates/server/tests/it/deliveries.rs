//! The delivery log: found by filters, explained, sent again, canceled.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::{Answer, Receiver, eventually};

use crate::deployment::{Customer, DEADLINE, Deployment, Running, answered, event, http, ok};
use crate::errors::problem;
use crate::people::Person;

/// Sends one event and returns the delivery of this rule once it is in `state`.
pub(crate) async fn delivered(customer: &Customer, rule: &str, agent: &str, state: &str) -> Value {
    let event_id = customer.ingest(&event(agent)).await;
    let list = format!("/v1/deliveries?rule_id={rule}&event_id={event_id}");
    let id = eventually(DEADLINE, "its delivery is on record", async || {
        let page = customer.get_json(&list).await;
        page["data"][0]["id"].as_str().map(str::to_owned)
    })
    .await;
    customer.delivery_in_state(&id, state).await
}

fn id(value: &Value) -> &str {
    value["id"].as_str().expect("an id")
}

async fn listed(customer: &Customer, query: &str) -> Vec<String> {
    let page = customer.get_json(&format!("/v1/deliveries{query}")).await;
    let data = page["data"].as_array().expect("data").iter();
    data.map(|one| id(one).to_owned()).collect()
}

#[tokio::test]
async fn deliveries_are_found_by_rule_state_event_type_url_cause_reason_and_time() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let (well, refusing) = (
        Receiver::start().expect("one"),
        Receiver::start().expect("two"),
    );
    refusing.answer_with(413);
    let first = customer.rule(json!({}), &well.url()).await;
    let second = customer.rule(json!({}), &refusing.url()).await;
    let fine = delivered(customer, &first, "agent-1", "delivered").await;
    let event_id = fine["event_id"].as_str().expect("an id");
    let failed = listed(customer, &format!("?rule_id={second}&event_id={event_id}")).await;
    let failed = customer.delivery_in_state(&failed[0], "failed").await;
    let test = format!("/v1/alert-rules/{first}/trigger");
    let test = ok(customer.post(&test, &json!({"event_id": event_id})).await).await;
    let test = test["delivery_id"].as_str().expect("an id");
    customer.delivery_in_state(test, "delivered").await;

    let (fine, failed) = (id(&fine), id(&failed));
    let url =
        reqwest::Url::parse_with_params("http://x/", [("url", refusing.url())]).expect("a URL");
    let by_url = format!("?{}", url.query().expect("a query"));
    let cases: [(&str, Vec<&str>); 12] = [
        ("", vec![test, fine, failed]),
        (&format!("?rule_id={first}"), vec![test, fine]),
        (&format!("?rule_id={second}&state=failed"), vec![failed]),
        (&format!("?event_id={event_id}"), vec![test, fine, failed]),
        ("?state=failed&state=delivered", vec![test, fine, failed]),
        ("?state=pending&state=held", vec![]),
        ("?reason=permanent", vec![failed]),
        ("?event_type=tool_call&cause=match", vec![fine, failed]),
        ("?cause=test", vec![test]),
        (&by_url, vec![failed]),
        ("?from=2020-01-01T00:00:00Z&state=failed", vec![failed]),
        ("?to=2020-01-01T00:00:00Z", vec![]),
    ];
    for (query, mut expected) in cases {
        let mut found = listed(customer, query).await;
        expected.sort_unstable();
        found.sort_unstable();
        assert_eq!(found, expected, "{query}");
    }

    let page = customer
        .get_json("/v1/deliveries?limit=1&state=delivered")
        .await;
    let cursor = page["next_cursor"].as_str().expect("a cursor");
    let next = listed(
        customer,
        &format!("?limit=1&state=delivered&cursor={cursor}"),
    )
    .await;
    assert_eq!(next.len(), 1);
    assert_ne!(next[0], id(&page["data"][0]));
    for query in [
        format!("?limit=1&state=failed&cursor={cursor}"),
        "?state=lost".to_owned(),
        "?rule_id=x".to_owned(),
        "?from=yesterday".to_owned(),
        "?stat=failed".to_owned(),
        "?url=%00".to_owned(),
    ] {
        let refused = customer.get(&format!("/v1/deliveries{query}")).await;
        assert_eq!(
            problem(refused, 400).await["code"],
            "INVALID_PARAMETER",
            "{query}"
        );
    }
}

#[tokio::test]
async fn a_reason_or_a_cause_that_there_is_not_is_refused_and_the_others_are_named() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    for (query, named) in [
        ("?reason=breakers", "breaker, retry_after"),
        ("?reason=", "breaker, retry_after"),
        ("?cause=retry", "match, summary, test"),
    ] {
        let refused = customer.get(&format!("/v1/deliveries{query}")).await;
        let problem = problem(refused, 400).await;
        assert_eq!(problem["code"], "INVALID_PARAMETER", "{query}");
        let detail = problem["detail"].as_str().expect("a text");
        assert!(detail.contains(named), "{query}: {detail}");
    }
}

#[tokio::test]
async fn a_delivery_says_why_it_is_where_it_is_and_what_was_decided_on_each_attempt() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let receiver = Receiver::start().expect("a receiver");
    receiver.answer_sequence([503]);
    let rule = customer.rule(json!({}), &receiver.url()).await;
    let delivery = delivered(customer, &rule, "agent-1", "delivered").await;
    assert_eq!(
        delivery["explanation"],
        "Delivered: the receiver accepted it on attempt 2."
    );
    let log = delivery["attempt_log"].as_array().expect("attempts");
    assert_eq!(log[0]["decision"]["state"], "scheduled");
    assert_eq!(log[0]["decision"]["next_at"], log[1]["due_at"]);
    assert_eq!(
        log[1]["decision"],
        json!({"state": "delivered", "reason": null, "next_at": null})
    );
    assert_eq!(log[0]["secrets"], json!(["initial"]));
    assert!(log[1]["queued_ms"].as_u64().is_some());

    receiver.answer_with(413);
    let failed = delivered(customer, &rule, "agent-2", "failed").await;
    assert_eq!(failed["reason"], "permanent");
    let words = failed["explanation"].as_str().expect("words");
    assert!(
        words.starts_with(
            "Failed: the receiver will never accept it. 1 attempt was made; the last error: "
        ),
        "{words}"
    );
    assert!(
        words.contains(&format!("/v1/deliveries/{}/resend", id(&failed))),
        "{words}"
    );
}

#[tokio::test]
async fn a_delivery_is_sent_again_to_where_its_rule_sends_now_as_the_same_delivery() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let (old, new) = (
        Receiver::start().expect("one"),
        Receiver::start().expect("two"),
    );
    old.answer_with(413);
    let rule = customer.rule(json!({}), &old.url()).await;
    let failed = delivered(customer, &rule, "agent-1", "failed").await;
    customer
        .patch(
            &format!("/v1/alert-rules/{rule}"),
            &json!({"url": new.url()}),
        )
        .await;

    let resend = format!("/v1/deliveries/{}/resend", id(&failed));
    let (answer, _) = answered(customer.named(&resend, "once", &json!({}))).await;
    assert_eq!(answer["attempt"], 2);
    assert_eq!(answer["url"], new.url());
    let received = new.wait_for(1, DEADLINE).await;
    assert_eq!(received[0].delivery_id(), failed["id"].as_str());
    assert_eq!(received[0].header("x-service-trigger"), Some("resend"));
    assert_eq!(received[0].header("x-service-attempt"), Some("2"));
    assert_eq!(received[0].json()["event"]["agent_id"], "agent-1");
    let again = customer.delivery_in_state(id(&failed), "delivered").await;
    assert_eq!(again["reason"], Value::Null);
    assert_eq!(again["attempts"], 2);
    let log = again["attempt_log"].as_array().expect("attempts");
    assert_eq!(log[1]["trigger"], "resend");

    // Asked again by the same name it is not sent again; by another it is, although it was delivered.
    answered(customer.named(&resend, "once", &json!({}))).await;
    answered(customer.named(&resend, "twice", &json!({}))).await;
    let received = new.wait_for(2, DEADLINE).await;
    assert_eq!(received[1].header("x-service-attempt"), Some("3"));
    eventually(DEADLINE, "three attempts are on record", async || {
        customer.delivery_in_state(id(&failed), "delivered").await["attempts"] == 3
    })
    .await;
    assert_eq!(new.count(), 2);
}

#[tokio::test]
async fn a_resend_that_was_refused_begins_when_it_is_taken_and_not_when_it_was_refused() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let receiver = Receiver::start().expect("a receiver");
    receiver.answer_always(Answer::status(200).after(Duration::from_secs(3)));
    let rule = customer.rule(json!({}), &receiver.url()).await;
    let sent = delivered(customer, &rule, "agent-1", "pending").await;
    let resend = format!("/v1/deliveries/{}/resend", id(&sent));
    let named = || customer.named(&resend, "once", &json!({})).send();
    problem(named().await.expect("an answer"), 409).await;
    customer.delivery_in_state(id(&sent), "delivered").await;
    for _ in 0..3 {
        ok(named().await.expect("an answer")).await;
    }
    let log = eventually(DEADLINE, "it was sent again", async || {
        let shown = customer.delivery_in_state(id(&sent), "delivered").await;
        (shown["attempts"] == 2).then(|| shown["attempt_log"].clone())
    })
    .await;
    let time = |number: usize, field: &str| log[number][field].as_str().map(str::to_owned);
    assert!(
        time(1, "due_at") >= time(0, "finished_at"),
        "the round began when it was taken: {log:#}"
    );
    running.deployment.queue_is_empty().await;
    assert_eq!(receiver.count(), 2, "asked for three times, sent once");
}

#[tokio::test]
async fn what_cannot_be_sent_again_says_why() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let receiver = Receiver::start().expect("a receiver");
    let rule = customer.rule(json!({}), &receiver.url()).await;
    let refused = async |delivery: &Value, status: u16| {
        let resend = format!("/v1/deliveries/{}/resend", id(delivery));
        let answer = problem(customer.post(&resend, &json!({})).await, status).await;
        answer["detail"].as_str().expect("a detail").to_owned()
    };
    receiver.answer_with(500);
    let waits = delivered(customer, &rule, "agent-1", "scheduled").await;
    let detail = refused(&waits, 409).await;
    assert!(detail.contains("the next attempt is due at"), "{detail}");

    receiver.answer_with(200);
    let trigger = format!("/v1/alert-rules/{rule}/trigger");
    let test = ok(customer.post(&trigger, &json!({})).await).await;
    let test = test["delivery_id"].as_str().expect("an id");
    let test = customer.delivery_in_state(test, "delivered").await;
    let detail = refused(&test, 410).await;
    assert!(detail.contains("nothing to send"), "{detail}");

    let fine = delivered(customer, &rule, "agent-2", "delivered").await;
    customer.delete(&format!("/v1/alert-rules/{rule}")).await;
    let detail = refused(&fine, 409).await;
    assert!(detail.contains("was deleted"), "{detail}");
}

#[tokio::test]
async fn a_canceled_delivery_is_not_sent_until_somebody_wants_it_after_all() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let receiver = Receiver::start().expect("a receiver");
    receiver.answer_with(500);
    let rule = customer.rule(json!({}), &receiver.url()).await;
    let waits = delivered(customer, &rule, "agent-1", "scheduled").await;
    let cancel = format!("/v1/deliveries/{}/cancel", id(&waits));
    ok(customer.post(&cancel, &json!({})).await).await;
    ok(customer.post(&cancel, &json!({})).await).await;
    let canceled = customer.delivery_in_state(id(&waits), "canceled").await;
    assert_eq!(canceled["reason"], "user");
    assert_eq!(canceled["next_at"], Value::Null);
    // What is sent after it was due shows that it was not.
    receiver.answer_with(200);
    let attempts = receiver
        .received_where(|one| one.delivery_id() == waits["id"].as_str())
        .len();
    let other = customer.rule(json!({}), &receiver.url()).await;
    let before = receiver.count();
    receiver.answer_sequence([500, 500]);
    delivered(customer, &other, "agent-2", "delivered").await;
    assert!(receiver.count() > before);
    let mine = receiver.received_where(|one| one.delivery_id() == waits["id"].as_str());
    assert_eq!(mine.len(), attempts);
    let still = customer.delivery_in_state(id(&waits), "canceled").await;

    let resend = format!("/v1/deliveries/{}/resend", id(&still));
    ok(customer.post(&resend, &json!({})).await).await;
    customer.delivery_in_state(id(&waits), "delivered").await;
    let refused = problem(customer.post(&cancel, &json!({})).await, 409).await;
    assert_eq!(refused["code"], "STATE_CONFLICT");
}

#[tokio::test]
async fn a_delivery_that_is_canceled_and_resent_is_sent_once_and_not_by_its_old_schedule_too() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let receiver = Receiver::start().expect("a receiver");
    receiver.answer_with(500);
    let rule = customer.rule(json!({}), &receiver.url()).await;
    let waits = delivered(customer, &rule, "agent-1", "scheduled").await;
    // Its third attempt is due 5 s after the second.
    eventually(DEADLINE, "its second attempt failed", async || {
        let waits = customer.delivery_in_state(id(&waits), "scheduled").await;
        waits["attempts"] == 2
    })
    .await;
    receiver.answer_with(200);
    for ask in ["cancel", "resend"] {
        let path = format!("/v1/deliveries/{}/{ask}", id(&waits));
        ok(customer.post(&path, &json!({})).await).await;
    }
    customer.delivery_in_state(id(&waits), "delivered").await;

    // Another that fails twice from then on, and is delivered, shows that the old schedule's time has come.
    receiver.answer_sequence([500, 500]);
    delivered(customer, &rule, "agent-2", "delivered").await;
    let mine = receiver.received_where(|one| one.delivery_id() == waits["id"].as_str());
    assert_eq!(mine.len(), 3);
    let after = customer.delivery_in_state(id(&waits), "delivered").await;
    assert_eq!(after["attempts"], 3);
}

#[tokio::test]
async fn a_delivery_says_which_conditions_were_met_whatever_the_rule_became_since() {
    let mut running = Running::start(Deployment::new());
    let stranger = running.deployment.customer(&mut running.server);
    let customer = &running.customer;
    let receiver = Receiver::start().expect("a receiver");
    let pattern = json!({"result": ["denied"], "agent_id": [{"prefix": "agent-"}]});
    let rule = customer.rule(pattern, &receiver.url()).await;
    let delivery = delivered(customer, &rule, "agent-1", "delivered").await;
    let changed = json!({"match": {"result": ["success"]}});
    let path = format!("/v1/alert-rules/{rule}");
    assert_eq!(customer.patch(&path, &changed).await["version"], 2);

    let path = format!("/v1/deliveries/{}/conditions", id(&delivery));
    let met = customer.get_json(&path).await;
    assert_eq!(
        (&met["rule_version"], &met["matches"]),
        (&json!(1), &json!(true))
    );
    let agent = json!({"path": "agent_id", "op": "prefix", "wanted": "agent-", "seen": "agent-1", "pass": true});
    let leaves = met["leaves"].as_array().expect("leaves");
    assert_eq!(leaves.len(), 2, "{met}");
    assert!(leaves.contains(&agent), "{met}");
    // What every rule of this test's excepts did not apply.
    assert_eq!(met["except"][0]["matches"], false, "{met}");
    problem(stranger.get(&path).await, 404).await;
}

#[tokio::test]
async fn conditions_are_shown_only_to_whoever_may_read_the_rule_and_the_event() {
    let mut running = Running::start(Deployment::new());
    let base_url = running.server.url(DEADLINE);
    let person = Person::founder(&base_url).await;
    let receiver = Receiver::start().expect("a receiver");
    let mut keys = Vec::new();
    for scopes in [
        json!([
            "deliveries:read",
            "rules:read",
            "rules:write",
            "events:read",
            "events:write"
        ]),
        json!(["deliveries:read", "rules:read"]),
        json!(["deliveries:read", "events:read"]),
    ] {
        let wanted = json!({"name": "Some", "scopes": scopes});
        let key = ok(person.post("/v1/api-keys", &wanted).await).await;
        keys.push(key["api_key"].as_str().expect("a key").to_owned());
    }
    let mut customer = Customer {
        http: http(),
        base_url,
        api_key: keys[0].clone(),
    };
    let rule = customer.rule(json!({}), &receiver.url()).await;
    let delivery = delivered(&customer, &rule, "agent-1", "delivered").await;
    let path = format!("/v1/deliveries/{}/conditions", id(&delivery));
    customer.get_json(&path).await;
    for (key, missing) in [(1, "events:read"), (2, "rules:read")] {
        customer.api_key.clone_from(&keys[key]);
        let refused = problem(customer.get(&path).await, 403).await;
        assert!(
            refused["detail"].as_str().expect("words").contains(missing),
            "{refused}"
        );
    }
}
