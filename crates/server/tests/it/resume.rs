//! A matcher that goes on where another one died: from a record that the test writes as that one would
//! have left it.

use std::time::Duration;

use domain::{
    DeliveryId, RuleId, Timestamp,
    delivery::{Cause, State},
    partition::Partition,
    rule::throttle::Groups,
};
use journal::{
    Journal,
    record::{self, Alerted, EventRecord, Job, Judged, Matched, OutcomeRecord, Paced, Position},
    streams::Log,
};
use serde_json::{Value, json};
use testkit::{Answer, Receiver, eventually, own, shared};

use crate::deployment::{Customer, DEADLINE, Deployment, event, ok};
use crate::in_hand::until_nothing_is_queued;

/// The partition that has events, the sequence of the last message, and its bytes.
async fn last_message(journal: &Journal) -> (Partition, u64, Vec<u8>) {
    for partition in journal.partitions().all() {
        let state = journal.log_state(Log::Events(partition)).await;
        let last = state.expect("a state").last_sequence;
        if last > 0 {
            let message = journal.event_message(partition, last).await;
            let message = message.expect("asked").expect("it is kept");
            return (partition, last, message.to_vec());
        }
    }
    panic!("no partition has events");
}

fn alerted(event: &EventRecord<'_>, message: u64, rule: RuleId, url: &str) -> OutcomeRecord {
    OutcomeRecord::Alerted(Box::new(Alerted {
        matched: Matched {
            org: event.org,
            delivery: DeliveryId::of(event.id, rule),
            event: event.id,
            rule,
            rule_name: String::from("Test rule"),
            event_type: String::from("tool_call"),
            url: url.to_owned(),
            matched_at: event.received_at,
            cause: Cause::Match,
        },
        state: State::Pending,
        paced: Paced {
            message,
            at: event.received_at,
            counts_since: 1,
            groups: Groups::default(),
            overflowed: false,
        },
    }))
}

/// How far a matcher says it is that died in the middle of a record: after so many of this message, and a part of the next.
fn judged_in_part(created: &str, sequence: u64, records: u32) -> OutcomeRecord {
    OutcomeRecord::Judged(Judged {
        created: created.to_owned(),
        position: Position {
            sequence: sequence - 1,
            records,
        },
        is_partial: true,
        settled: 0,
        since: 1,
        at: Timestamp::default(),
    })
}

#[tokio::test]
async fn what_a_dead_matcher_decided_is_sent_and_what_it_did_not_is_judged_each_once() {
    let deployment = Deployment::new();
    let mut server = deployment.serve("api,index,deliver");
    let customer = deployment.customer(&mut server);
    let receiver = Receiver::start().expect("a receiver");
    let mut rules: Vec<RuleId> = Vec::new();
    for _ in 0..4 {
        let pattern = json!({"result": ["denied"]});
        let rule = customer.rule(pattern, &receiver.url()).await;
        rules.push(rule.parse().expect("an id"));
    }
    let id = customer.ingest(&event("agent")).await;

    // One that died after half of the event's alerts were on record, and before any was queued.
    let journal = deployment.journal().await;
    let (partition, sequence, message) = last_message(&journal).await;
    let events = record::events(&message).expect("readable");
    let records = u32::try_from(events.len() - 1).expect("few");
    let event = events.last().expect("an event");
    assert_eq!(event.id.to_string(), id);
    let state = journal.log_state(Log::Events(partition)).await;
    let judged = judged_in_part(&state.expect("a state").created, sequence, records);
    let half = rules[..2].iter();
    let facts = half.map(|rule| alerted(event, sequence, *rule, &receiver.url()));
    let records: Vec<OutcomeRecord> = std::iter::once(judged).chain(facts).collect();
    let appended =
        journal.append_judgment(partition, 0, "dead", None, record::message_of(&records));
    appended.await.expect("asked").expect("appended");

    let mut matcher = deployment.serve("match");
    let arrived = receiver.wait_for(4, DEADLINE).await;
    let mut alerting: Vec<RuleId> = arrived
        .iter()
        .map(|it| it.rule_id().expect("a rule").parse().expect("an id"))
        .collect();
    alerting.sort_unstable();
    assert_eq!(alerting, rules);

    // And one that died after all of it.
    matcher.kill();
    let _another = deployment.serve("match");
    let next = customer.ingest(&crate::deployment::event("agent")).await;
    let arrived = receiver.wait_for(8, DEADLINE).await;
    until_nothing_is_queued(&deployment).await;
    let of_next = arrived
        .iter()
        .filter(|it| it.event_id().as_ref() == Some(&next));
    assert_eq!((of_next.count(), receiver.count()), (4, 8));
    assert_eq!(customer.all_deliveries().await.len(), 8);
    for rule in rules {
        let shown = customer.get_json(&format!("/v1/alert-rules/{rule}")).await;
        assert_eq!(shown["stats"]["matched_24h"], 2, "{rule}");
    }
}

/// What a matcher that died has left: the alerts of four events on record in two parts, and every part queued; of each part
/// one message for 32 deliveries.
struct Dead {
    journal: Journal,
    partition: Partition,
    /// The message that the events are in.
    sequence: u64,
}

impl Dead {
    async fn in_parts(customer: &Customer, journal: Journal, url: &str) -> Self {
        Self::of_rules(1, customer, journal, url, Duration::ZERO).await
    }

    /// `ago`: how long before it was found.
    async fn of_rules(
        rules: usize,
        customer: &Customer,
        journal: Journal,
        url: &str,
        ago: Duration,
    ) -> Self {
        let mut ids: Vec<RuleId> = Vec::new();
        for _ in 0..rules {
            let rule = customer.rule(json!({"result": ["denied"]}), url).await;
            ids.push(rule.parse().expect("an id"));
        }
        let batch: Vec<Value> = (0..4).map(|it| event(&format!("agent-{it}"))).collect();
        let batch = json!({ "events": batch });
        ok(customer.post("/v1/audit/events", &batch).await).await;

        let (partition, sequence, message) = last_message(&journal).await;
        let events = record::events(&message).expect("readable");
        let before = events.len() - 4;
        let state = journal.log_state(Log::Events(partition)).await;
        let created = state.expect("a state").created;
        let mut last = 0;
        for part in [before..before + 2, before + 2..before + 4] {
            let records = u32::try_from(part.end - 1).expect("few");
            let judged = judged_in_part(&created, sequence, records);
            let mut records = vec![judged];
            let mut jobs = Vec::new();
            for event in &events[part] {
                let event = EventRecord {
                    received_at: event.received_at.minus(ago),
                    ..event.clone()
                };
                for rule in &ids {
                    let fact = alerted(&event, sequence, *rule, url);
                    if let OutcomeRecord::Alerted(alerted) = &fact {
                        let matched = alerted.matched.clone();
                        jobs.push(Job::first(matched, event.json.to_owned()));
                    }
                    records.push(fact);
                }
            }
            let message = record::message_of(&records);
            let nonce = format!("dead-{last}");
            let appended = journal.append_judgment(partition, last, &nonce, None, message);
            last = appended.await.expect("asked").expect("appended");
            journal.deliver_all(&jobs).await.expect("queued");
        }
        Self {
            journal,
            partition,
            sequence,
        }
    }

    /// Waits until another matcher has gone on: what it found it has queued by then.
    async fn is_followed(&self) {
        eventually(DEADLINE, "another has gone on", async || {
            let end = self.journal.last_judgment(self.partition).await.ok()??;
            (end.judged.position.sequence >= self.sequence).then_some(())
        })
        .await;
    }
}

#[tokio::test]
async fn what_a_dead_matcher_had_queued_in_parts_is_sent_once() {
    let deployment = Deployment::new();
    let mut server = deployment.serve("api,index");
    let customer = deployment.customer(&mut server);
    let receiver = Receiver::start().expect("a receiver");
    let journal = deployment.journal().await;
    let dead = Dead::in_parts(&customer, journal, &receiver.url()).await;
    assert_eq!(deployment.queue(&shared().nats_monitor_url).await, (2, 2));
    let _matcher = deployment.serve("match");
    dead.is_followed().await;
    assert_eq!(
        deployment.queue(&shared().nats_monitor_url).await,
        (2, 2),
        "the parts are recognized"
    );
    let _workers = [deployment.serve("deliver"), deployment.serve("deliver")];
    receiver.wait_for(4, DEADLINE).await;
    deployment.queue_is_empty().await;
    assert_eq!(receiver.count(), 4);
}

/// The queue forgets names after two minutes.
#[tokio::test]
async fn what_a_dead_matcher_had_queued_long_ago_is_sent_once() {
    let deployment = Deployment::new();
    let mut server = deployment.serve("api,index");
    let customer = deployment.customer(&mut server);
    let receiver = Receiver::start().expect("a receiver");
    let journal = deployment.journal().await;
    let hour = Duration::from_hours(1);
    let dead = Dead::of_rules(1, &customer, journal, &receiver.url(), hour).await;
    let _matcher = deployment.serve("match");
    dead.is_followed().await;
    let _workers = [deployment.serve("deliver"), deployment.serve("deliver")];
    receiver.wait_for(4, DEADLINE).await;
    deployment.queue_is_empty().await;
    assert_eq!(receiver.count(), 4);
    for delivery in customer.all_deliveries().await {
        assert_eq!(delivery["state"], "delivered", "{delivery}");
    }
}

/// A server that starts again has forgotten the names of what was settled.
#[tokio::test]
async fn what_was_sent_before_the_journal_was_killed_is_not_sent_again_by_who_goes_on() {
    let mut nats = own::nats().expect("NATS");
    let deployment = Deployment::on_journal(&nats.url());
    let mut server = deployment.serve("api,index,deliver");
    let customer = deployment.customer(&mut server);
    let receiver = Receiver::start().expect("a receiver");
    let journal = deployment.journal().await;
    let dead = Dead::in_parts(&customer, journal, &receiver.url()).await;
    receiver.wait_for(4, DEADLINE).await;
    let taken = eventually(DEADLINE, "all are settled", async || {
        let (taken, left) = deployment.queue(&nats.monitor_url()).await;
        (left == 0).then_some(taken)
    })
    .await;
    nats.kill();
    nats.restart().expect("NATS starts again");
    let _matcher = deployment.serve("match");
    dead.is_followed().await;
    let (after, _) = deployment.queue(&nats.monitor_url()).await;
    assert_eq!(after, taken, "nothing was queued again");
    assert_eq!(receiver.count(), 4);
}

/// What waits for room was moved, so it has another name; and that of the message that it came in is forgotten.
#[tokio::test]
async fn what_waits_for_room_when_the_journal_is_killed_is_not_queued_again_by_who_goes_on() {
    let mut nats = own::nats().expect("NATS");
    let deployment = Deployment::on_journal(&nats.url());
    let mut server = deployment.serve("api,index,deliver");
    let customer = deployment.customer(&mut server);
    let receiver = Receiver::start().expect("a receiver");
    receiver.answer_always(Answer::status(200).after(Duration::from_secs(5)));
    let journal = deployment.journal().await;
    // In messages of 32 deliveries; a worker has 256 of an endpoint in hand.
    let (now, queued, in_hand) = (Duration::ZERO, 10, 8);
    let dead = Dead::of_rules(80, &customer, journal, &receiver.url(), now).await;
    eventually(DEADLINE, "the rest was moved", async || {
        let seen = deployment.queue(&nats.monitor_url()).await;
        (seen == (queued + queued - in_hand, queued))
            .then_some(())
            .ok_or(seen)
    })
    .await;
    nats.kill();
    nats.restart().expect("NATS starts again");
    receiver.answer_always(Answer::status(200));
    let _matcher = deployment.serve("match");
    dead.is_followed().await;
    receiver.wait_for(320, DEADLINE).await;
    until_nothing_is_queued(&deployment).await;
    assert_eq!(receiver.count(), 320);
}
