//! A delivery that is asked for again: what is said late of the round before does not say where it stands.

use std::time::Duration;

use domain::{
    Timestamp,
    delivery::{Reason, State},
};
use journal::{
    Journal,
    record::{self, OutcomeRecord, StateChanged},
    streams::Log,
};
use serde_json::{Value, json};
use testkit::{Receiver, Watchbell};

use crate::dead_letters::{namespace, publish};
use crate::deployment::{Customer, DEADLINE, Deployment, event, ok};
use crate::load::wait_until_fresh;

/// A delivery that failed, and whoever could send it gone.
struct Failed {
    id: String,
    customer: Customer,
    _server: Watchbell,
    deployment: Deployment,
    receiver: Receiver,
}

impl Failed {
    async fn once() -> Self {
        let deployment = Deployment::new().with("JOURNAL__PARTITIONS", "1");
        let mut server = deployment.serve("api,index,match");
        let mut worker = deployment.serve("deliver");
        let customer = deployment.customer(&mut server);
        let receiver = Receiver::start().expect("a receiver");
        receiver.answer_with(413);
        customer
            .rule(json!({"result": ["denied"]}), &receiver.url())
            .await;
        customer.ingest(&event("agent")).await;
        let received = receiver.wait_for(1, DEADLINE).await;
        let id = received[0].delivery_id().expect("an id").to_owned();
        customer.delivery_in_state(&id, "failed").await;
        worker.kill();
        Self {
            id,
            customer,
            _server: server,
            deployment,
            receiver,
        }
    }

    async fn shown(&self) -> Value {
        wait_until_fresh(&self.customer, "/v1/deliveries").await;
        let path = format!("/v1/deliveries/{}", self.id);
        self.customer.get_json(&path).await
    }

    async fn resend(&self) {
        let path = format!("/v1/deliveries/{}/resend", self.id);
        ok(self.customer.post(&path, &json!({})).await).await;
    }

    /// Appends to the log what a worker would have.
    fn say(&self, stood: StateChanged) {
        let subject = format!("{}.out.0", namespace(&self.deployment));
        publish(
            &subject,
            &record::message(&OutcomeRecord::StateChanged(stood)),
        );
    }
}

/// All that the log says of where deliveries stand.
async fn said(journal: &Journal) -> Vec<StateChanged> {
    let partition = journal.partitions().all().next().expect("one");
    let log = Log::Outcomes(partition);
    let end = journal.log_state(log).await.expect("a state").last_sequence;
    let mut follower = journal.follow(log, 0);
    let mut said = Vec::new();
    while follower.position() < end {
        for entry in follower.next(100).await.expect("entries") {
            let records = record::outcomes(&entry.payload).expect("readable");
            said.extend(records.into_iter().filter_map(|record| match record {
                OutcomeRecord::StateChanged(stood) => Some(stood),
                _ => None,
            }));
        }
    }
    said
}

#[tokio::test]
async fn a_late_word_of_an_earlier_round_does_not_say_where_a_delivery_stands() {
    let failed = Failed::once().await;
    let shown = failed.shown().await;
    let matched_at: Timestamp = shown["matched_at"]
        .as_str()
        .and_then(Timestamp::parse)
        .expect("a time");
    failed.resend().await;
    assert_eq!(failed.shown().await["state"], "pending");

    let journal = failed.deployment.journal().await;
    let begun = said(&journal).await;
    let [begun] = begun.as_slice() else {
        panic!("{begun:?}")
    };

    // A worker had the first round in hand, and puts it on record only now.
    for (state, reason) in [
        (State::Held, Reason::Breaker),
        (State::Failed, Reason::Expired),
        (State::Canceled, Reason::RuleDeleted),
    ] {
        failed.say(StateChanged {
            state,
            reason: Some(reason),
            next_at: None,
            round_at: matched_at,
            ..begun.clone()
        });
        let shown = failed.shown().await;
        assert_eq!(
            (&shown["state"], &shown["reason"]),
            (&json!("pending"), &Value::Null),
            "{shown}"
        );
    }
    failed.receiver.answer_with(200);
    let _worker = failed.deployment.serve("deliver");
    failed
        .customer
        .delivery_in_state(&failed.id, "delivered")
        .await;
    assert_eq!(said(&journal).await.len(), 1 + 3);
}

#[tokio::test]
async fn what_workers_and_people_say_is_said_of_the_round_that_they_know() {
    let failed = Failed::once().await;
    let shown = failed.shown().await;
    let endpoint = shown["endpoint_id"].as_str().expect("an id");
    let pause = format!("/v1/endpoints/{endpoint}/pause");
    ok(failed.customer.post(&pause, &json!({})).await).await;
    failed.resend().await;
    let _worker = failed.deployment.serve("deliver");
    failed.customer.delivery_in_state(&failed.id, "held").await;
    let journal = failed.deployment.journal().await;
    let words = said(&journal).await;
    let [begun, held] = words.as_slice() else {
        panic!("{words:?}")
    };
    assert_eq!(
        (held.state, held.round_at),
        (State::Held, begun.round_at),
        "by the clock of whoever asked"
    );

    // Asked for again on a node whose clock is ahead.
    let ahead = begun.round_at.plus(Duration::from_hours(1));
    failed.say(StateChanged {
        next_at: Some(ahead),
        round_at: ahead,
        ..begun.clone()
    });
    assert_eq!(failed.shown().await["state"], "pending");
    let cancel = format!("/v1/deliveries/{}/cancel", failed.id);
    ok(failed.customer.post(&cancel, &json!({})).await).await;
    assert_eq!(failed.shown().await["state"], "canceled");
}
