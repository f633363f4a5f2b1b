//! A matcher that goes on where another one died: from a record that the test writes as that one would
//! have left it.

use domain::{
    DeliveryId, RuleId, Timestamp,
    delivery::{Cause, State},
    partition::Partition,
    rule::pace::Groups,
};
use journal::{
    Journal,
    record::{self, Alerted, EventRecord, Judged, Matched, OutcomeRecord, Paced, Position},
    streams::Log,
};
use serde_json::json;
use testkit::Receiver;

use crate::deployment::{DEADLINE, Deployment, event};

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
    let judged = OutcomeRecord::Judged(Judged {
        created: state.expect("a state").created,
        position: Position {
            sequence: sequence - 1,
            records,
        },
        is_partial: true,
        settled: 0,
        since: 1,
        at: Timestamp::default(),
    });
    let half = rules[..2].iter();
    let facts = half.map(|rule| alerted(event, sequence, *rule, &receiver.url()));
    let records: Vec<OutcomeRecord> = std::iter::once(judged).chain(facts).collect();
    let appended = journal.append_judgement(partition, 0, record::message_of(&records));
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
