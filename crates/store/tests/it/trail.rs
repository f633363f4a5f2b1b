//! What is derived from the journal, and what must still be announced.

use domain::{AttemptId, DeliveryId, EventId, OrgId, RuleId, event::Filter};
use store::{
    Store,
    deliveries::{Attempt, Delivery, Outcomes, Phases, StateUpdate, UpdateSource},
    events::{EventRow, EventsQuery, Order},
    outbox::OutboxEntry,
    watermark::{Applied, Milestone, Source, Span},
};
use trail_proof::leaf::Salt;
use uuid::Uuid;

use crate::{NOW, store};

fn source() -> Source {
    Source {
        stream: String::from("EVENTS_0"),
        created: String::from("1"),
    }
}

fn org() -> OrgId {
    OrgId::from_uuid(Uuid::from_u128(1))
}

fn event_id(number: u8) -> EventId {
    EventId::new(NOW, [number; 10])
}

fn row(id: EventId) -> EventRow<'static> {
    EventRow {
        org: org(),
        id,
        received_at: NOW,
        event_type: "tool_call",
        agent_id: "agent",
        action: "files.delete",
        result: "denied",
        severity: None,
        session_id: Some("s"),
        trace_id: None,
        decision_id: None,
        source: Some("key_00000000000000000000000002"),
        json: r#"{"n": 1.00}"#,
        salt: Salt([0; 16]),
    }
}

fn newest(after: Option<EventId>, limit: u32) -> EventsQuery {
    EventsQuery {
        filter: Filter::default(),
        order: Order::NewestFirst,
        after,
        limit,
    }
}

async fn listed(store: &Store) -> Vec<EventId> {
    let page = store.list_events(org(), &newest(None, 100)).await;
    let page = page.expect("a page");
    page.rows.iter().map(|event| event.id).collect()
}

#[tokio::test]
async fn of_two_indexers_that_race_one_applies_and_the_other_is_told_where_to_go_on() {
    let (store, _database) = store().await;
    let (mut first, mut second) = (
        store.event_index().await.expect("one"),
        store.event_index().await.expect("two"),
    );
    let span = Span::new(0, 5);
    let rows = [row(event_id(1)), row(event_id(2))];
    let source = source();
    let (a, b) = tokio::join!(
        first.apply(&source, span, &rows),
        second.apply(&source, span, &rows)
    );
    let mut outcomes = [a.expect("applied"), b.expect("applied")];
    outcomes.sort_by_key(|outcome| *outcome != Applied::Done);
    assert_eq!(outcomes, [Applied::Done, Applied::MovedTo(5)]);
    assert_eq!(listed(&store).await.len(), 2);
    assert_eq!(store.watermark(&source).await.expect("a position"), 5);
}

#[tokio::test]
async fn an_event_applied_again_is_listed_once_with_its_first_bytes() {
    let (store, _database) = store().await;
    let mut index = store.event_index().await.expect("an index");
    let first = row(event_id(1));
    let again = EventRow {
        json: "{}",
        salt: Salt([0; 16]),
        ..first.clone()
    };
    index
        .apply(&source(), Span::new(0, 1), &[first])
        .await
        .expect("applied");
    index
        .apply(&source(), Span::new(1, 2), &[again, row(event_id(2))])
        .await
        .expect("applied");
    assert_eq!(listed(&store).await.len(), 2);
    let kept = store
        .event(org(), event_id(1))
        .await
        .expect("an answer")
        .expect("the event");
    assert_eq!(kept.json, r#"{"n": 1.00}"#);
}

#[tokio::test]
async fn a_large_span_is_written_like_a_small_one() {
    const EVENTS: u16 = 900;
    let (store, database) = store().await;
    let mut index = store.event_index().await.expect("an index");
    let id = |number: u16| {
        let [high, low] = number.to_be_bytes();
        EventId::new(NOW, [high, low, 0, 0, 0, 0, 0, 0, 0, 0])
    };
    let mut large: Vec<EventRow<'_>> = (0..EVENTS).map(|number| row(id(number))).collect();
    let small = large.split_off(usize::from(EVENTS) - 10);
    // Sent twice, once within the span and once before it.
    large.push(large[0].clone());
    large.push(small[0].clone());
    for (from, rows) in [(0, small), (1, large)] {
        let span = Span::new(from, from + 1);
        let applied = index.apply(&source(), span, &rows).await;
        assert_eq!(applied.expect("applied"), Applied::Done);
    }
    let different = "SELECT count(*), count(DISTINCT (id)), count(DISTINCT (audit_events.*)::text) \
                     - count(DISTINCT id), count(DISTINCT (received_at, event_type, agent_id, action, \
                     result, severity, session_id, trace_id, decision_id, body)) FROM audit_events";
    let counted = database.query(different).expect("an answer");
    assert_eq!(counted.trim(), "900|900|0|1");
}

#[tokio::test]
async fn a_span_without_a_readable_event_still_moves_the_position() {
    let (store, _database) = store().await;
    let mut index = store.event_index().await.expect("an index");
    index
        .apply(&source(), Span::new(0, 7), &[])
        .await
        .expect("applied");
    assert_eq!(store.watermark(&source()).await.expect("a position"), 7);
}

#[tokio::test]
async fn a_stream_that_was_lost_and_made_again_starts_over() {
    let (store, _database) = store().await;
    let mut index = store.event_index().await.expect("an index");
    index
        .apply(&source(), Span::new(0, 90), &[row(event_id(1))])
        .await
        .expect("applied");
    let anew = Source {
        created: String::from("2"),
        ..source()
    };
    assert_eq!(store.watermark(&anew).await.expect("a position"), 0);
    let applied = index
        .apply(&anew, Span::new(0, 1), &[row(event_id(2))])
        .await;
    assert_eq!(applied.expect("applied"), Applied::Done);
    assert_eq!(listed(&store).await.len(), 2);
}

#[tokio::test]
async fn the_last_message_that_was_applied_is_noted_until_its_stream_starts_over() {
    let (store, _database) = store().await;
    let mut index = store.event_index().await.expect("an index");
    let noted = async || store.milestone(&source()).await.expect("asked");
    let span = |from, to, stored_ns| Span {
        stored_ns,
        ..Span::new(from, to)
    };
    assert_eq!(noted().await, None);
    for (span, sequence) in [(span(0, 3, Some(7)), 3), (span(3, 5, Some(9)), 5)] {
        index.apply(&source(), span, &[]).await.expect("applied");
        let stored_ns = span.stored_ns.expect("known");
        let milestone = Milestone {
            sequence,
            stored_ns,
        };
        assert_eq!(noted().await, Some(milestone));
    }
    store.start_over(&source(), 5).await.expect("started over");
    assert_eq!(noted().await, None);
}

#[tokio::test]
async fn events_of_any_day_find_their_partition_and_are_listed_in_event_time() {
    let (store, database) = store().await;
    let mut index = store.event_index().await.expect("an index");
    let day = std::time::Duration::from_secs(24 * 3600);
    let ids: Vec<EventId> = (0..5)
        .map(|days| EventId::new(NOW.minus(day * days * 30), [1; 10]))
        .collect();
    let rows: Vec<_> = ids.iter().map(|id| row(*id)).collect();
    index
        .apply(&source(), Span::new(0, 1), &rows)
        .await
        .expect("applied");
    assert_eq!(listed(&store).await, ids);
    let partitions = database
        .query("SELECT count(*) FROM pg_inherits WHERE inhparent = 'audit_events'::regclass");
    assert_eq!(partitions.expect("a count").trim(), "5");
}

#[tokio::test]
async fn pages_follow_each_other_without_gap_or_overlap_and_stay_in_the_organization() {
    let (store, _database) = store().await;
    let mut index = store.event_index().await.expect("an index");
    let mut rows: Vec<_> = (0..25).map(|number| row(event_id(number))).collect();
    rows.push(EventRow {
        org: OrgId::from_uuid(Uuid::from_u128(2)),
        ..row(event_id(99))
    });
    index
        .apply(&source(), Span::new(0, 1), &rows)
        .await
        .expect("applied");
    let (mut seen, mut before) = (Vec::new(), None);
    loop {
        let page = store.list_events(org(), &newest(before, 10)).await;
        let page = page.expect("a page");
        seen.extend(page.rows.iter().map(|event| event.id));
        match page.next {
            Some(next) => before = Some(next),
            None => break,
        }
    }
    let mut expected: Vec<_> = (0..25).map(event_id).collect();
    expected.sort_by(|a, b| b.cmp(a));
    assert_eq!(seen, expected);
    assert_eq!(
        store.event(org(), event_id(99)).await.expect("an answer"),
        None
    );
}

fn delivery() -> Delivery {
    Delivery {
        org: org(),
        id: DeliveryId::new(NOW, [3; 10]),
        event: event_id(1),
        rule: RuleId::from_uuid(Uuid::from_u128(7)),
        rule_name: String::from("r"),
        event_type: String::from("tool_call"),
        url: String::from("https://example.com"),
        state: String::from("pending"),
        reason: None,
        attempts: 0,
        matched_at: NOW,
        next_at: None,
        cause: String::from("match"),
        suppressed: 0,
        round: None,
    }
}

fn attempt(number: u32) -> Attempt {
    Attempt {
        org: org(),
        delivery: delivery().id,
        id: AttemptId::new(NOW, [u8::try_from(number).expect("small"); 10]),
        salt: None,
        number,
        trigger: String::from("match"),
        due_at: NOW,
        started_at: NOW,
        finished_at: NOW,
        signed_at: NOW,
        url: String::from("https://example.com"),
        remote_address: None,
        body_sha256: String::from("00"),
        body_bytes: 1,
        status: Some(500),
        outcome: String::from("transient"),
        error: None,
        answer: String::new(),
        phases: Phases {
            sent_us: Some(7),
            ..Phases::default()
        },
        secrets: vec![String::from("deployment")],
        tls: Some(String::from("TLSv1.3")),
        answer_headers: vec![(String::from("date"), String::from("today"))],
        clock_skew_s: Some(-3),
        retry_after_s: Some(60),
        state: Some(String::from("scheduled")),
        reason: None,
        next_at: Some(NOW),
    }
}

fn standing(attempts: u32, state: &str) -> StateUpdate {
    let (org, delivery) = (org(), delivery().id);
    StateUpdate {
        org,
        delivery,
        state: state.to_owned(),
        reason: None,
        next_at: None,
        by: UpdateSource::Attempt {
            number: attempts,
            due_at: NOW,
        },
    }
}

#[tokio::test]
async fn the_last_word_about_a_delivery_wins_but_delivered_stays_delivered() {
    let (store, _database) = store().await;
    let mut log = store.delivery_log().await.expect("a log");
    let outcomes = Outcomes {
        matched: vec![delivery(), delivery()],
        attempts: vec![attempt(1), attempt(2), attempt(2)],
        standings: vec![
            standing(1, "scheduled"),
            standing(2, "delivered"),
            standing(2, "scheduled"),
        ],
        ..Outcomes::default()
    };
    log.apply(&source(), Span::new(0, 1), &outcomes)
        .await
        .expect("applied");
    let later = Outcomes {
        standings: vec![standing(1, "scheduled")],
        ..Outcomes::default()
    };
    log.apply(&source(), Span::new(1, 2), &later)
        .await
        .expect("applied");

    let stored = store
        .delivery(org(), delivery().id)
        .await
        .expect("an answer")
        .expect("the delivery");
    assert_eq!((stored.state.as_str(), stored.attempts), ("delivered", 2));
    let attempts = store
        .attempts(org(), delivery().id)
        .await
        .expect("attempts");
    assert_eq!(attempts, [attempt(1), attempt(2)]);
    let nobodys = OrgId::from_uuid(Uuid::from_u128(2));
    assert_eq!(
        store
            .delivery(nobodys, delivery().id)
            .await
            .expect("an answer"),
        None
    );
}

#[tokio::test]
async fn announcements_are_taken_in_order_and_stay_until_they_were_made() {
    let (store, database) = store().await;
    let waiting = "INSERT INTO config_outbox (bucket, key, value) VALUES ('rules', 'a', '1'), ('newer', 'a', '1'), ('rules', 'a', NULL)";
    database.query(waiting).expect("inserted");
    drop(
        store
            .outbox_round(&["rules"])
            .await
            .expect("a round that is given up"),
    );
    let round = store.outbox_round(&["rules"]).await.expect("a round");
    let entry = |value: Option<&str>| OutboxEntry {
        bucket: String::from("rules"),
        key: String::from("a"),
        value: value.map(str::to_owned),
    };
    assert_eq!(round.entries, [entry(Some("1")), entry(None)]);
    let names: Vec<String> = round.named().map(|(name, _)| name.to_owned()).collect();
    round.finish().await.expect("finished");
    assert!(
        store
            .outbox_round(&["rules"])
            .await
            .expect("a round")
            .entries
            .is_empty()
    );
    let newer = store.outbox_round(&["rules", "newer"]).await;
    let newer = newer.expect("a round of a node that knows more");
    assert_eq!(newer.entries.len(), 1, "it waits for whoever knows it");
    newer.finish().await.expect("finished");
    // As if the database had been put back to before: the numbers are given again.
    database
        .query("ALTER TABLE config_outbox ALTER COLUMN id RESTART WITH 1")
        .expect("put back");
    database.query(waiting).expect("inserted");
    let round = store.outbox_round(&["rules"]).await.expect("a round");
    assert!(
        round
            .named()
            .all(|(name, _)| !names.contains(&name.to_owned())),
        "{names:?}"
    );
}
