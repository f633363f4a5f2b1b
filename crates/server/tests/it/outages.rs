//! A dependency goes away under load and comes back: what must go on goes on, and nothing is lost.

use std::time::{Duration, Instant};

use reqwest::{Method, Response, StatusCode};
use serde_json::{Value, json};
use testkit::{Answer, Receiver, Watchbell, eventually, own, shared};

use crate::deliveries::delivered;
use crate::deployment::{Customer, DEADLINE, Deployment, event, http, ok};
use crate::in_hand::{Excuses, handed_out_again, seal_record, until_nothing_is_queued};
use crate::load::{Ledger, Load, arrived, assert_nothing_lost, duplicates, named_event};
use crate::wire::Wire;

/// An append is tried for 15 s; a client that waits longer sees how that ends.
const PATIENCE: Duration = Duration::from_secs(25);

#[tokio::test]
async fn without_postgresql_ingest_and_delivery_go_on_and_later_the_list_is_exact() {
    let (mut postgres, deployment) = Deployment::on_own_postgres();
    let mut server = deployment.serve_all();
    let customer = deployment.customer(&mut server);
    let receiver = Receiver::start().expect("a receiver");
    customer
        .rule(json!({"result": ["denied"]}), &receiver.url())
        .await;
    let mut ledger = Ledger::default();
    accept(&customer, &mut ledger, 20).await;
    receiver.wait_for(20, DEADLINE).await;

    postgres.stop();

    accept(&customer, &mut ledger, 50).await;
    receiver.wait_for(70, DEADLINE).await;
    for list in ["/v1/audit/events", "/v1/deliveries", "/v1/alert-rules"] {
        assert_unavailable(customer.get(list).await, "STORE_UNAVAILABLE").await;
    }
    let rule = json!({"name": "r", "match": {"result": ["ok"]}, "url": receiver.url()});
    let refused = customer.post("/v1/alert-rules", &rule).await;
    assert_unavailable(refused, "STORE_UNAVAILABLE").await;
    // A process that starts now has never met the key, the rule or PostgreSQL.
    let mut newcomer = deployment.serve("api,match,deliver");
    accept(&customer.at(&mut newcomer), &mut ledger, 50).await;
    drop(server);
    accept(&customer.at(&mut newcomer), &mut ledger, 20).await;
    eventually(DEADLINE, "all are delivered", async || {
        receiver.count() >= 140
    })
    .await;

    postgres.restart().expect("PostgreSQL starts again");

    let mut server = deployment.serve("api,index");
    let arrived = assert_nothing_lost(&customer.at(&mut server), &receiver, &ledger).await;
    println!(
        "120 of {} events were accepted and sent while PostgreSQL was stopped; {} were sent twice",
        ledger.accepted.len(),
        duplicates(&arrived)
    );
}

#[tokio::test]
async fn a_postgresql_that_is_killed_under_load_loses_nothing() {
    let (mut postgres, deployment) = Deployment::on_own_postgres();
    let mut server = deployment.serve_all();
    let customer = deployment.customer(&mut server);
    let receiver = Receiver::start().expect("a receiver");
    customer
        .rule(json!({"result": ["denied"]}), &receiver.url())
        .await;

    let load = Load::start(&customer, 4);
    for _ in 0..3 {
        load.wait_for_accepted(100).await;
        postgres.kill();
        load.wait_for_accepted(100).await;
        postgres.restart().expect("PostgreSQL starts again");
    }
    let ledger = load.stop().await;

    assert_eq!(ledger.troubles, Vec::<String>::new(), "ingest went on");
    assert_nothing_lost(&customer, &receiver, &ledger).await;
    until_nothing_is_queued(&deployment).await;
    // Nobody who delivers died.
    assert_eq!(Excuses::default().cover_arrived(&arrived(&receiver)), 0);
    println!(
        "PostgreSQL killed 3 times under {} events; the longest request took {:?}",
        ledger.accepted.len(),
        ledger.longest
    );
}

#[tokio::test]
async fn a_journal_that_is_killed_and_returns_costs_time_but_no_event() {
    let mut nats = own::nats().expect("NATS");
    let deployment = Deployment::on_journal(&nats.url());
    let mut server = deployment.serve_all();
    let mut customer = deployment.customer(&mut server);
    customer.http = patient();
    let receiver = Receiver::start().expect("a receiver");
    customer
        .rule(json!({"result": ["denied"]}), &receiver.url())
        .await;
    let mut ledger = Ledger::default();
    accept(&customer, &mut ledger, 10).await;
    receiver.wait_for(10, DEADLINE).await;
    assert_eq!(readiness(&mut server).await, StatusCode::OK);

    nats.kill();

    wait_for_readiness(&mut server, StatusCode::SERVICE_UNAVAILABLE).await;
    let started = Instant::now();
    let posting = accept(&customer, &mut ledger, 1);
    let returning = async {
        // Asking the journal takes its time while it is away; then the read says what it may lack.
        let page = customer.get_json("/v1/audit/events").await;
        assert_eq!(page["fresh"], false);
        nats.restart().expect("NATS starts again");
    };
    tokio::join!(posting, returning);
    let waited = started.elapsed();

    wait_for_readiness(&mut server, StatusCode::OK).await;
    accept(&customer, &mut ledger, 10).await;
    let arrived = assert_nothing_lost(&customer, &receiver, &ledger).await;
    println!(
        "a post met a journal that was away and took {waited:?}; {} sent twice",
        duplicates(&arrived)
    );
}

#[tokio::test]
async fn without_the_journal_ingest_is_refused_in_time_and_works_again_when_it_is_back() {
    let mut nats = own::nats().expect("NATS");
    let deployment = Deployment::on_journal(&nats.url());
    let mut server = deployment.serve_all();
    let mut customer = deployment.customer(&mut server);
    customer.http = patient();
    let receiver = Receiver::start().expect("a receiver");
    customer
        .rule(json!({"result": ["denied"]}), &receiver.url())
        .await;
    let mut ledger = Ledger::default();
    accept(&customer, &mut ledger, 1).await;

    nats.kill();

    let started = Instant::now();
    let event = named_event("agent-1", "while-away");
    ledger.sent.insert("while-away".to_owned());
    let post = async {
        let refused = customer.post("/v1/audit/events", &event).await;
        let waited = started.elapsed();
        assert_unavailable(refused, "JOURNAL_UNAVAILABLE").await;
        assert!(waited < Duration::from_secs(20), "refused after {waited:?}");
        waited
    };
    // Two at once, because announcements are made one after the other.
    let agents = ["late-0", "late-1"];
    let rules = agents.map(|agent| make_rule_in_vain(&customer, agent, &receiver));
    let export = async {
        let refused = customer.post("/v1/audit/export", &json!({})).await;
        // Nobody can say whether it would be whole.
        assert_unavailable(refused, "STORE_UNAVAILABLE").await;
    };
    let (waited, _, ()) = tokio::join!(post, futures::future::join_all(rules), export);

    nats.restart().expect("NATS starts again");

    wait_for_readiness(&mut server, StatusCode::OK).await;
    accept_named(&customer, &mut ledger, &event).await;
    assert_nothing_lost(&customer, &receiver, &ledger).await;
    for agent in agents {
        let allowed = json!({
            "event_type": "tool_call", "agent_id": agent, "action": "files.read", "result": "ok",
        });
        eventually(DEADLINE, "the rule is in force", async || {
            let id = customer.ingest(&allowed).await;
            let has_alerted = async || {
                !receiver
                    .received_where(|one| one.event_id().as_ref() == Some(&id))
                    .is_empty()
            };
            tokio::time::timeout(Duration::from_secs(1), async {
                eventually(DEADLINE, "it alerts", has_alerted).await;
            })
            .await
        })
        .await;
    }
    println!("refused after {waited:?}, accepted when the journal was back");
}

#[tokio::test]
async fn while_the_journal_is_away_little_is_sent_and_nothing_twice() {
    const EVENTS: usize = 600;
    const SLOTS: usize = 16;
    let mut nats = own::nats().expect("NATS");
    let deployment = Deployment::on_journal(&nats.url());
    let deployment = deployment.with("DELIVERY__CONCURRENCY", &SLOTS.to_string());
    let mut server = deployment.serve_all();
    let customer = deployment.customer(&mut server);
    let receiver = Receiver::start().expect("a receiver");
    receiver.answer_always(Answer::status(200).after(Duration::from_millis(50)));
    customer
        .rule(json!({"result": ["denied"]}), &receiver.url())
        .await;
    let events: Vec<Value> = (0..EVENTS).map(|_| event("agent-1")).collect();
    let body = json!({"events": events});
    ok(customer.post("/v1/audit/events", &body).await).await;
    receiver.wait_for_count(50, DEADLINE).await;

    nats.kill();
    let sent = receiver.count();
    until_silence_is_too_long().await;
    let sent_meanwhile = receiver.count() - sent;
    assert!(sent_meanwhile <= 2 * SLOTS, "{sent_meanwhile} were sent");

    nats.restart().expect("NATS starts again");
    eventually(PATIENCE, "everything is delivered", async || {
        let deliveries = customer.all_deliveries().await;
        let is_over = deliveries.iter().all(|one| one["state"] == "delivered");
        (is_over && deliveries.len() == EVENTS).then_some(())
    })
    .await;
    assert_eq!(receiver.count(), EVENTS, "each of them once");
}

#[tokio::test]
async fn while_the_record_takes_nothing_what_is_put_aside_stays_in_hand_and_a_worker_stops_in_time()
{
    let deployment = Deployment::new();
    let mut server = deployment.serve("api,index,match");
    let customer = deployment.customer(&mut server);
    let receiver = Receiver::start().expect("a receiver");
    let rule = customer.rule(json!({}), &receiver.url()).await;
    let waits = delivered(&customer, &rule, "agent-1", "pending").await;
    let endpoint = waits["endpoint_id"].as_str().expect("an id");
    let pause = format!("/v1/endpoints/{endpoint}/pause");
    ok(customer.post(&pause, &json!({})).await).await;

    seal_record(&deployment, true);
    let mut worker = deployment.serve("deliver");
    until_silence_is_too_long().await;
    assert_eq!(handed_out_again(&deployment), 0);
    let ended = worker.terminate(DEADLINE);
    assert!(ended.success(), "{:#?}", worker.lines());

    seal_record(&deployment, false);
    let _another = deployment.serve("deliver");
    let id = waits["id"].as_str().expect("an id");
    customer.delivery_in_state(id, "held").await;
    deployment.queue_is_empty().await;
    assert_eq!(receiver.count(), 0);
}

/// Waits longer than a message may be silent before the queue hands it out again.
async fn until_silence_is_too_long() {
    let began = Instant::now();
    eventually(DEADLINE, "twenty seconds are over", async || {
        (began.elapsed() > Duration::from_secs(20)).then_some(())
    })
    .await;
}

/// Makes a rule that is saved but cannot be announced, and is told so.
async fn make_rule_in_vain(customer: &Customer, agent: &str, receiver: &Receiver) {
    let rule = json!({"name": agent, "match": {"agent_id": [agent]}, "url": receiver.url()});
    let started = Instant::now();
    let response = customer.post("/v1/alert-rules", &rule).await;
    let waited = started.elapsed();
    assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
    let body: Value = response.json().await.expect("JSON");
    assert_eq!(body["code"], "NOT_IN_EFFECT_YET", "{body}");
    let detail = body["detail"].as_str().expect("a detail");
    assert!(detail.contains("was saved"), "{detail}");
    assert!(
        waited < Duration::from_secs(10),
        "answered after {waited:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wire_to_the_journal_that_is_cut_again_and_again_loses_nothing() {
    const CUTS: usize = 8;
    // With a few milliseconds on the wire there is always something in it when it is cut.
    let wire = Wire::to(&shared().nats_url, Duration::from_millis(5)).await;
    let deployment = Deployment::on_journal(&wire.nats_url());
    let mut server = deployment.serve_all();
    let customer = deployment.customer(&mut server);
    let receiver = Receiver::start().expect("a receiver");
    customer
        .rule(json!({"result": ["denied"]}), &receiver.url())
        .await;

    let load = Load::start(&customer, 8);
    for _ in 0..CUTS {
        load.wait_for_accepted(40).await;
        wire.cut();
    }
    load.wait_for_accepted(40).await;
    let ledger = load.stop().await;

    assert_eq!(ledger.troubles, Vec::<String>::new());
    let arrived = assert_nothing_lost(&customer, &receiver, &ledger).await;
    println!(
        "{CUTS} cuts under {} events; the longest request took {:?}; {} sent twice",
        ledger.accepted.len(),
        ledger.longest,
        duplicates(&arrived)
    );
}

/// Posts `count` new events, each of which must be accepted.
async fn accept(customer: &Customer, ledger: &mut Ledger, count: usize) {
    for _ in 0..count {
        let event = named_event("agent-1", &format!("event-{}", ledger.sent.len()));
        accept_named(customer, ledger, &event).await;
    }
}

async fn accept_named(customer: &Customer, ledger: &mut Ledger, event: &Value) {
    let name = event["client_event_id"]
        .as_str()
        .expect("a name")
        .to_owned();
    ledger.sent.insert(name.clone());
    ledger.accepted.insert(customer.ingest(event).await, name);
}

async fn assert_unavailable(response: Response, code: &str) {
    assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert!(response.headers().contains_key("retry-after"));
    assert_eq!(
        response.headers()["content-type"],
        "application/problem+json"
    );
    let body: Value = response.json().await.expect("JSON");
    assert_eq!(body["code"], code, "{body}");
}

async fn readiness(server: &mut Watchbell) -> StatusCode {
    let url = format!("{}/healthz/ready", server.url(DEADLINE));
    let answer = http().request(Method::GET, url).send().await;
    answer.expect("an answer").status()
}

async fn wait_for_readiness(server: &mut Watchbell, wanted: StatusCode) {
    let what = format!("readiness is {wanted}");
    eventually(DEADLINE, &what, async || {
        let is = readiness(server).await;
        (is == wanted).then_some(()).ok_or(is)
    })
    .await;
}

/// A client that waits longer than an append may take.
pub(crate) fn patient() -> reqwest::Client {
    reqwest::Client::builder()
        .timeout(PATIENCE)
        .no_proxy()
        .build()
        .expect("a client")
}
