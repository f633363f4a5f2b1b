//! The journal on a real NATS server.

mod approvals;
mod clock;
mod endpoints;
mod judged;
mod nats_auth;
mod queue;
mod wake;

use std::time::Duration;

use domain::{
    DeliveryId, EventId, OrgId, Timestamp,
    account::{Agents, ApiKey, Scope},
    idempotency::RequestName,
    partition::Partitions,
};
use futures::future::join_all;
use journal::{
    Error, Journal, Options,
    dead_letters::Place,
    dedup::{AlertMark, RequestMark},
    frames::Frames,
    kv::{Change, KeyEntry},
    record::{self, EventRecord},
    streams::Log,
};
use testkit::{namespace, shared};
use tokio::time::timeout;
use uuid::Uuid;

const DEADLINE: Duration = Duration::from_secs(20);

fn options(partitions: u16) -> Options {
    Options {
        url: shared().nats_url.clone(),
        namespace: namespace(),
        partitions: Partitions::new(partitions).expect("in range"),
        replicas: 1,
        events_bytes_max: None,
    }
}

async fn journal() -> Journal {
    let journal = Journal::connect(&options(1)).await.expect("NATS runs");
    journal.prepare().await.expect("streams are made");
    journal
}

fn events_log(journal: &Journal) -> Log {
    Log::Events(journal.partitions().all().next().expect("a partition"))
}

fn event(number: u128, json: &str) -> EventRecord<'_> {
    EventRecord {
        org: OrgId::from_uuid(Uuid::from_u128(1)),
        id: EventId::from_uuid(Uuid::from_u128(number)),
        received_at: Timestamp::default(),
        json,
    }
}

fn frame(number: u128, json: &str) -> Frames {
    Frames::from_iter([event(number, json)])
}

/// The real time, which scheduled messages go by.
#[expect(
    clippy::disallowed_methods,
    reason = "the server fires by the real clock"
)]
fn now() -> Timestamp {
    let since = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .expect("after 1970");
    Timestamp::from_unix_millis(i64::try_from(since.as_millis()).expect("in range"))
}

/// The numbers of every event in the log, in order, and how many messages carried them.
async fn stored(journal: &Journal, expected: usize) -> (Vec<u128>, usize) {
    let mut follower = journal.follow(events_log(journal), 0);
    let (mut numbers, mut messages) = (Vec::new(), 0);
    while numbers.len() < expected {
        let entries = timeout(DEADLINE, follower.next(100))
            .await
            .expect("in time")
            .expect("entries");
        for entry in entries {
            messages += 1;
            let events = record::events(&entry.payload).expect("readable");
            numbers.extend(events.iter().map(|event| event.id.uuid().as_u128()));
        }
    }
    (numbers, messages)
}

#[tokio::test]
async fn concurrent_appends_share_messages_and_none_is_lost() {
    const APPENDS: u128 = 1_000;
    let journal = journal().await;
    let (appender, task) = journal.appender(events_log(&journal), "a");
    let appends = async {
        let answers =
            join_all((0..APPENDS).map(|number| appender.append(frame(number, "{}")))).await;
        assert!(answers.iter().all(Result::is_ok));
        drop(appender);
    };
    tokio::join!(appends, task);
    let (mut numbers, messages) = stored(&journal, 1_000).await;
    numbers.sort_unstable();
    assert_eq!(numbers, (0..APPENDS).collect::<Vec<_>>());
    println!("{APPENDS} concurrent appends traveled in {messages} messages");
    assert!(messages < 100, "{messages} messages");
}

#[tokio::test]
async fn a_lone_append_is_answered_at_once_and_large_ones_are_split() {
    let journal = journal().await;
    let (appender, task) = journal.appender(events_log(&journal), "a");
    let appends = async {
        appender.append(frame(0, "{}")).await.expect("acknowledged");
        let large = "x".repeat(30_000);
        appender
            .append((1..=100).map(|number| event(number, &large)).collect())
            .await
            .expect("acknowledged");
        drop(appender);
    };
    timeout(DEADLINE, async { tokio::join!(appends, task) })
        .await
        .expect("in time");
    let (numbers, messages) = stored(&journal, 101).await;
    assert_eq!(numbers, (0..=100).collect::<Vec<_>>());
    assert_eq!(messages, 1 + 6, "3 MB fit six messages of 512 KiB");
}

#[tokio::test]
async fn more_than_may_wait_is_refused_not_kept() {
    let journal = journal().await;
    // Nobody runs the task, so everything waits.
    let (appender, _task) = journal.appender(events_log(&journal), "a");
    let large = "x".repeat(400_000);
    let mut waiting = Vec::new();
    let refused = (0..200).find_map(|number| {
        let mut append = Box::pin(appender.append(frame(number, &large)));
        match futures::FutureExt::now_or_never(append.as_mut()) {
            None => {
                waiting.push(append);
                None
            }
            Some(answer) => Some((number, answer)),
        }
    });
    let (number, answer) = refused.expect("a bound");
    assert!(matches!(answer, Err(Error::Full)), "{answer:?}");
    assert!(
        (80..90).contains(&number),
        "32 MiB hold 83 appends of 400 kB, refused at {number}"
    );
}

#[tokio::test]
async fn work_larger_than_may_wait_is_appended_whole_and_a_clients_is_refused_whole() {
    let journal = journal().await;
    let (appender, task) = journal.appender(events_log(&journal), "a");
    let large = "x".repeat(400_000);
    let too_much = || (0..100).map(|number| event(number, &large)).collect();
    let appends = async {
        let refused = appender.append(too_much()).await;
        assert!(matches!(refused, Err(Error::Full)), "{refused:?}");
        let state = journal
            .log_state(events_log(&journal))
            .await
            .expect("state");
        assert_eq!(state.last_sequence, 0, "nothing of it was appended");
        appender
            .append_patiently(too_much())
            .await
            .expect("acknowledged");
        drop(appender);
    };
    timeout(DEADLINE, async { tokio::join!(appends, task) })
        .await
        .expect("in time");
    assert_eq!(stored(&journal, 100).await.0, (0..100).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_message_is_found_by_when_it_was_stored() {
    let journal = journal().await;
    let log = events_log(&journal);
    for number in 1..=3 {
        let (appender, task) = journal.appender(log, &format!("a{number}"));
        let appends = async {
            appender
                .append(frame(number, "{}"))
                .await
                .expect("appended");
            drop(appender);
        };
        tokio::join!(appends, task);
    }
    let mut follower = journal.follow(log, 0);
    let mut entries = Vec::new();
    while entries.len() < 3 {
        let read = timeout(DEADLINE, follower.next(10)).await;
        entries.extend(read.expect("in time").expect("read"));
    }
    for entry in &entries {
        let stored = journal.stored_ns(log, entry.sequence).await;
        assert_eq!(stored.expect("asked"), Some(entry.stored_ns));
        let last = journal.last_stored_by(log, entry.stored_ns).await;
        assert_eq!(last.expect("asked"), entry.sequence);
        let before = journal.last_stored_by(log, entry.stored_ns - 1).await;
        assert_eq!(before.expect("asked"), entry.sequence - 1);
    }
    assert_eq!(journal.stored_ns(log, 4).await.expect("asked"), None);
}

#[tokio::test]
async fn a_follower_goes_on_where_it_is_told() {
    let journal = journal().await;
    let (appender, task) = journal.appender(events_log(&journal), "a");
    let appends = async {
        for number in 0..5 {
            appender
                .append(frame(number, "{}"))
                .await
                .expect("acknowledged");
        }
        drop(appender);
    };
    tokio::join!(appends, task);
    let mut follower = journal.follow(events_log(&journal), 3);
    let entries = timeout(DEADLINE, follower.next(10))
        .await
        .expect("in time")
        .expect("entries");
    assert_eq!(entries[0].sequence, 4);
    let state = journal
        .log_state(events_log(&journal))
        .await
        .expect("state");
    assert_eq!(state.last_sequence, 5);
}

#[tokio::test]
async fn a_follower_says_whether_the_log_has_more() {
    let journal = journal().await;
    let (appender, task) = journal.appender(events_log(&journal), "a");
    let mut follower = journal.follow(events_log(&journal), 0);
    let appends = async {
        for number in 0..5 {
            appender
                .append(frame(number, "{}"))
                .await
                .expect("acknowledged");
        }
        let first = follower.next(2).await.expect("entries");
        assert!(follower.is_behind(), "{} of 5", first.len());
        while follower.position() < 5 {
            follower.next(10).await.expect("entries");
        }
        assert!(!follower.is_behind(), "all were returned");
        // One that comes alone leaves nothing behind it.
        appender.append(frame(5, "{}")).await.expect("acknowledged");
        follower.next(10).await.expect("entries");
        assert!(!follower.is_behind(), "nothing came after it");
        drop(appender);
    };
    timeout(DEADLINE, async { tokio::join!(appends, task) })
        .await
        .expect("in time");
}

#[tokio::test]
async fn a_key_is_found_the_moment_it_is_announced_and_not_once_it_is_gone() {
    let journal = journal().await;
    let hash = ApiKey::new([1; 20]).hash();
    assert_eq!(journal.key(&hash).await.expect("an answer"), None);
    let entry = KeyEntry {
        id: domain::KeyId::from_uuid(Uuid::from_u128(1)),
        org_id: OrgId::from_uuid(Uuid::from_u128(2)),
        scopes: vec![Scope::EventsWrite],
        expires_at: None,
        agents: Agents::from(vec![String::from("billing-*")]),
    };
    let mut changes = journal.key_changes().await.expect("changes");
    let made = Change::key_made(&hash, &entry);
    journal.announce(&made, 1).await.expect("announced");
    assert_eq!(journal.key(&hash).await.expect("an answer"), Some(entry));
    assert_eq!(
        timeout(DEADLINE, changes.next())
            .await
            .expect("in time")
            .expect("changes"),
        std::slice::from_ref(&hash)
    );
    journal
        .announce(
            &Change {
                value: None,
                ..made
            },
            2,
        )
        .await
        .expect("announced");
    assert_eq!(journal.key(&hash).await.expect("an answer"), None);
}

#[tokio::test]
async fn of_many_who_mark_a_request_one_is_first_and_the_others_learn_what_it_said() {
    let journal = journal().await;
    let org = OrgId::from_uuid(Uuid::from_u128(1));
    let name = RequestName::new(org, "key_1", "retry-me").expect("a name");
    assert_eq!(journal.request_mark(&name).await.expect("an answer"), None);
    let mark = |number: i64| RequestMark {
        fingerprint: String::from("00ff"),
        received_at: Timestamp::from_unix_millis(number),
    };
    let marks: Vec<RequestMark> = (0..20).map(mark).collect();
    let answers = join_all(marks.iter().map(|mark| journal.mark_request(&name, mark))).await;
    let before: Vec<Option<RequestMark>> = answers
        .into_iter()
        .map(|answer| answer.expect("an answer"))
        .collect();
    let first = before.iter().position(Option::is_none).expect("a first");
    let known = Some(marks[first].clone());
    for (number, before) in before.iter().enumerate() {
        assert_eq!(before, if number == first { &None } else { &known });
    }
    assert_eq!(journal.request_mark(&name).await.expect("an answer"), known);
    let again = journal.mark_request(&name, &marks[first]).await;
    assert_eq!(again.expect("an answer"), None, "it knows its own mark");
}

#[tokio::test]
async fn an_alert_belongs_to_the_message_that_marked_it_first() {
    let journal = journal().await;
    let partition = journal.partitions().all().next().expect("a partition");
    let delivery = |number| DeliveryId::from_uuid(Uuid::from_u128(number));
    let ask_of = async |created: &str, deliveries: &[DeliveryId], sequence| {
        let mark = AlertMark::new(partition, created, sequence);
        let alerts = deliveries.iter().map(|delivery| (*delivery, mark.clone()));
        let alerts: Vec<(DeliveryId, AlertMark)> = alerts.collect();
        journal.mark_alerts(&alerts).await.expect("an answer")
    };
    let ask = async |deliveries: &[DeliveryId], sequence| ask_of("1", deliveries, sequence).await;
    let (one, two) = (delivery(1), delivery(2));
    assert_eq!(ask(&[one], 7).await, [true]);
    assert_eq!(ask(&[two, one, two], 8).await, [true, false, true]);
    assert_eq!(ask(&[one, two], 7).await, [true, false], "after a crash");
    let of_another = ask_of("2", &[one, two], 9).await;
    assert_eq!(of_another, [true, true], "after the log was lost");
}

#[tokio::test]
async fn streams_are_made_once_and_another_number_of_partitions_is_refused() {
    let two = options(2);
    let journal = Journal::connect(&two).await.expect("NATS runs");
    journal.prepare().await.expect("made");
    journal.prepare().await.expect("there already");
    let three = Options {
        partitions: Partitions::new(3).expect("in range"),
        ..two
    };
    let refused = Journal::connect(&three)
        .await
        .expect("NATS runs")
        .prepare()
        .await;
    let error = refused.expect_err("another number").to_string();
    assert!(
        error.contains("installed with 2 partitions") && error.contains('3'),
        "{error}"
    );
}

#[tokio::test]
async fn a_record_put_aside_twice_is_there_once_until_it_is_removed() {
    let journal = journal().await;
    let place = |sequence, number| Place {
        log: events_log(&journal),
        created: String::from("17"),
        sequence,
        number,
    };
    for (sequence, number) in [(5, 0), (5, 1), (5, 0), (9, 0)] {
        let reason = format!("reason {sequence}");
        let payload = u64::to_be_bytes(sequence);
        journal
            .put_dead_letter(&place(sequence, number), now(), &reason, &payload)
            .await
            .expect("put aside");
    }
    assert_eq!(journal.count_dead_letters().await.expect("a count"), 3);
    let letters = journal.dead_letters(0, 10).await.expect("letters");
    let sequences: Vec<u64> = letters.iter().map(|one| one.letter.sequence).collect();
    assert_eq!(sequences, [5, 5, 9]);
    assert_eq!(letters[2].letter.reason, "reason 9");
    assert_eq!(
        journal.log_named(&letters[2].letter.log),
        Some(events_log(&journal))
    );
    let rest = journal.dead_letters(letters[0].number, 1).await;
    assert_eq!(rest.expect("letters"), letters[1..2]);

    for _ in 0..2 {
        journal
            .remove_dead_letter(letters[1].number)
            .await
            .expect("removed");
    }
    let left = journal.dead_letters(0, 10).await.expect("letters");
    assert_eq!(left, [letters[0].clone(), letters[2].clone()]);
}
