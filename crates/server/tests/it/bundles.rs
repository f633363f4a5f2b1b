//! Alerts of one organization that come up together are one message of the queue, whatever their rules; each endpoint gets
//! its own, and none waits for another.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::{Value, json};
use testkit::{Answer, Receiver, Watchbell, eventually};

use crate::deployment::{Customer, DEADLINE, Deployment, event, ok};
use crate::in_hand::{forget_who_has_what, until_nothing_is_queued};

/// What a killed worker had in hand is handed out again after 16 s.
const HANDED_OUT_AGAIN: Duration = Duration::from_secs(60);

fn agent(number: usize) -> String {
    format!("agent-{number}")
}

/// An event of each of these agents, in one request.
async fn ingest(customer: &Customer, agents: usize) {
    let events: Vec<Value> = (0..agents).map(|number| event(&agent(number))).collect();
    ok(customer
        .post("/v1/audit/events", &json!({"events": events}))
        .await)
    .await;
}

#[tokio::test]
async fn alerts_of_several_rules_travel_in_one_message_and_each_arrives_where_its_rule_sends_it() {
    const RULES: usize = 8;
    let deployment = Deployment::new();
    let mut server = deployment.serve("api,index,match");
    let customer = deployment.customer(&mut server);
    let receiver = Receiver::start().expect("a receiver");
    let mut rules = BTreeMap::new();
    for number in 0..RULES {
        let path = format!("/{number}");
        let pattern = json!({"agent_id": [agent(number)]});
        let rule = customer.rule(pattern, &receiver.url_of(&path)).await;
        rules.insert(path, rule);
    }
    ingest(&customer, RULES).await;
    let path = "/v1/deliveries?state=pending";
    eventually(DEADLINE, "all are on record", async || {
        let page = customer.get_json(path).await;
        let found = page["data"].as_array().map_or(0, Vec::len);
        (found == RULES).then_some(())
    })
    .await;
    let journal = deployment.journal().await;
    let mut messages = 0;
    for partition in journal.partitions().all() {
        let source = journal.due(partition).await.expect("a source");
        messages += source.waiting().await.expect("a number");
    }
    assert_eq!(messages, 1);

    let _worker = deployment.serve("deliver");
    receiver.wait_for(RULES, DEADLINE).await;
    until_nothing_is_queued(&deployment).await;
    let arrived: BTreeMap<String, String> = receiver
        .received()
        .iter()
        .map(|one| {
            let body: Value = serde_json::from_slice(&one.body).expect("JSON");
            let rule = body["rule_id"].as_str().expect("a rule").to_owned();
            (one.uri.path().to_owned(), rule)
        })
        .collect();
    assert_eq!(arrived, rules);
    assert_eq!(receiver.count(), RULES, "each once");
}

/// One organization's alerts, some of them to a receiver that does not answer yet.
struct HalfDelivered {
    deployment: Deployment,
    _server: Watchbell,
    hanging: Receiver,
    healthy: Receiver,
}

const REQUESTS: usize = 30;

/// Messages of which one half is on record as delivered, and a worker that was killed with the other in flight.
async fn a_worker_died_with_half_of_each_message_delivered() -> HalfDelivered {
    let deployment = Deployment::new();
    let mut server = deployment.serve("api,index,match");
    let customer = deployment.customer(&mut server);
    let receivers = [Receiver::start(), Receiver::start()];
    let [hanging, healthy] = receivers.map(|receiver| receiver.expect("a receiver"));
    hanging.answer_always(Answer::never());
    for (number, receiver) in [&hanging, &healthy].into_iter().enumerate() {
        let pattern = json!({"agent_id": [agent(number)]});
        customer.rule(pattern, &receiver.url()).await;
    }
    let mut worker = deployment.serve("deliver");
    for _ in 0..REQUESTS {
        ingest(&customer, 2).await;
    }
    healthy.wait_for(REQUESTS, DEADLINE).await;
    eventually(DEADLINE, "that is on record", async || {
        let page = customer
            .get_json("/v1/deliveries?state=delivered&limit=100")
            .await;
        let found = page["data"].as_array().map_or(0, Vec::len);
        (found == REQUESTS).then_some(())
    })
    .await;
    worker.kill();
    HalfDelivered {
        deployment,
        _server: server,
        hanging,
        healthy,
    }
}

impl HalfDelivered {
    /// Another worker delivers the other half, and nothing of the first again.
    async fn assert_the_rest_arrives_and_nothing_twice(self) {
        self.hanging.answer_always(Answer::status(200));
        let _another = self.deployment.serve("deliver");
        let different = || {
            let received = self.hanging.received();
            let ids: BTreeSet<_> = received.iter().map(|one| one.delivery_id()).collect();
            ids.len()
        };
        eventually(HANDED_OUT_AGAIN, "all arrived", async || {
            (different() == REQUESTS).then_some(())
        })
        .await;
        until_nothing_is_queued(&self.deployment).await;
        assert_eq!(self.healthy.count(), REQUESTS, "each once");
    }
}

#[tokio::test]
async fn an_endpoint_that_hangs_holds_up_nothing_that_came_with_it_and_a_kill_repeats_nothing_delivered()
 {
    let half = a_worker_died_with_half_of_each_message_delivered().await;
    half.assert_the_rest_arrives_and_nothing_twice().await;
}

/// A server that is killed forgets whom it handed what from lanes, and of the rest what it handed out last: the next worker
/// gets it as if nobody had had it.
#[tokio::test]
async fn nothing_delivered_is_repeated_though_the_queue_forgot_that_a_killed_worker_had_it() {
    let half = a_worker_died_with_half_of_each_message_delivered().await;
    forget_who_has_what(&half.deployment);
    half.assert_the_rest_arrives_and_nothing_twice().await;
}
