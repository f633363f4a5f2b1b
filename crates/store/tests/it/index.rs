//! Writing events: each once whatever its way in, counted as often as it is there, by one writer.

use std::time::Duration;

use domain::{Day, EventId, OrgId, Timestamp, partition::Partitions};
use store::{
    events::EventRow,
    partitions::{DayContent, Leftover, Table},
    watermark::{Applied, Source, Span},
};
use testkit::{Database, Dice};
use trail_proof::leaf::{Leaf, Salt};
use uuid::Uuid;

use crate::{NOW, store};

/// More than are inserted one by one; so many are copied.
const MANY: u32 = 700;

fn source(created: &str) -> Source {
    Source {
        stream: String::from("EVENTS_0"),
        created: created.to_owned(),
    }
}

pub(crate) fn org(number: u128) -> OrgId {
    OrgId::from_uuid(Uuid::from_u128(number))
}

pub(crate) fn random_id(number: u32, at: Timestamp) -> EventId {
    let mut random = [0; 10];
    random[..4].copy_from_slice(&number.to_be_bytes());
    EventId::new(at, random)
}

fn named_id(number: u32, at: Timestamp) -> EventId {
    EventId::from_client(org(1), &[number.to_string().as_str()], at)
}

pub(crate) fn row(id: EventId) -> EventRow<'static> {
    EventRow {
        org: org(1),
        id,
        received_at: NOW,
        event_type: "tool_call",
        agent_id: "agent",
        action: "files.delete",
        result: "denied",
        severity: None,
        session_id: None,
        trace_id: None,
        decision_id: None,
        source: Some("server"),
        json: "{}",
        salt: Salt([0; 16]),
    }
}

fn span(from: u64) -> Span {
    Span::new(from, from + 1)
}

pub(crate) fn asked(database: &Database, sql: &str) -> String {
    database.query(sql).expect("an answer").trim().to_owned()
}

/// What the counts say that the table does not, and the other way round.
pub(crate) fn differences(database: &Database) -> String {
    let events = "SELECT org_id, event_type, agent_id, action, result, severity, to_timestamp(
        ('x' || lpad(replace(left(id::text, 13), '-', ''), 16, '0'))::bit(64)::bigint / 1000.0) AS at
        FROM audit_events";
    let counted = format!(
        "SELECT org_id, field, grain, date_trunc(grain, at, 'UTC') AS bucket, value, count(*) AS events
         FROM ({events}) AS event,
              LATERAL (VALUES ('event_type', event_type), ('agent_id', agent_id), ('action', action),
                              ('result', result), ('severity', severity)) AS field (field, value),
              (VALUES ('minute'), ('hour'), ('day')) AS grain (grain)
         WHERE value IS NOT NULL GROUP BY 1, 2, 3, 4, 5"
    );
    let kept = "SELECT org_id, field, grain, bucket, value, events FROM event_counts";
    asked(
        database,
        &format!("(({counted}) EXCEPT ({kept})) UNION ALL (({kept}) EXCEPT ({counted}))"),
    )
}

#[tokio::test]
async fn events_with_random_and_with_given_ids_are_each_there_once_and_counted_once() {
    let (store, database) = store().await;
    let mut index = store.event_index().await.expect("an index");
    let mut rows: Vec<_> = (0..MANY)
        .map(|number| row(random_id(number, NOW)))
        .collect();
    rows.extend((0..MANY).map(|number| row(named_id(number, NOW))));
    // Named twice within the span, and again in the next.
    rows.extend((0..10).map(|number| row(named_id(number, NOW))));
    let again: Vec<_> = (0..MANY)
        .map(|number| row(named_id(number, NOW)))
        .chain((MANY..2 * MANY).map(|number| row(random_id(number, NOW))))
        .collect();
    for (from, rows) in [(0, &rows), (1, &again)] {
        let applied = index.apply(&source("1"), span(from), rows).await;
        assert_eq!(applied.expect("applied"), Applied::Done);
    }
    assert_eq!(
        asked(&database, "SELECT count(*) FROM audit_events"),
        (3 * MANY).to_string()
    );
    assert_eq!(differences(&database), "");
}

#[tokio::test]
async fn leaves_are_in_the_order_of_the_journal_whatever_the_ways_that_events_are_written() {
    let (store, _database) = store().await;
    let partitions = Partitions::new(1).expect("one");
    let store = store.with_transparency_log(partitions);
    let mut index = store.event_index().await.expect("an index");
    let rows: Vec<_> = (0..2 * MANY)
        .map(|number| match number % 2 {
            0 => row(named_id(number, NOW)),
            _ => row(random_id(number, NOW)),
        })
        .collect();
    let applied = index.apply(&source("1"), span(0), &rows).await;
    assert_eq!(applied.expect("applied"), Applied::Done);
    let waiting = store.leaves_waiting(org(1), partitions.of(org(1))).await;
    let leaves = waiting.expect("leaves").leaves;
    let ids = leaves
        .iter()
        .map(|leaf| Uuid::from_bytes(Leaf::decode(leaf).expect("a leaf").id));
    assert!(ids.eq(rows.iter().map(|row| row.id.uuid())));
}

#[tokio::test]
async fn a_log_that_is_applied_a_second_time_changes_nothing_whatever_the_ids() {
    let (store, database) = store().await;
    let mut index = store.event_index().await.expect("an index");
    let rows: Vec<_> = (0..MANY)
        .map(|number| row(random_id(number, NOW)))
        .collect();
    let more: Vec<_> = (0..MANY + 5)
        .map(|number| row(random_id(number, NOW)))
        .collect();
    // The stream was made anew and has the old events, and five that are new.
    for (created, rows) in [("1", &rows), ("2", &more)] {
        let applied = index.apply(&source(created), span(0), rows).await;
        assert_eq!(applied.expect("applied"), Applied::Done);
    }
    assert_eq!(
        asked(&database, "SELECT count(*) FROM audit_events"),
        (MANY + 5).to_string()
    );
    assert_eq!(differences(&database), "");
}

#[tokio::test]
async fn counts_are_of_what_is_in_the_table_after_any_batches_in_any_order() {
    const AGENTS: [&str; 4] = ["a", "b", "c", "d"];
    const SEVERITIES: [Option<&str>; 3] = [None, Some("low"), Some("high")];
    let (store, database) = store().await;
    let mut index = store.event_index().await.expect("an index");
    let mut dice = Dice(7);
    for position in 0..40 {
        let rows: Vec<_> = (0..dice.below(2 * MANY))
            .map(|_| {
                let at = NOW.minus(Duration::from_secs(dice.below(2 * 24 * 3600)));
                let number = dice.below(1_000);
                let id = match dice.below(3_u8) {
                    0 => named_id(number, NOW),
                    1 => random_id(dice.below(u32::MAX), at),
                    // Comes again, against the rule.
                    _ => random_id(number, NOW),
                };
                EventRow {
                    org: org(1 + u128::from(dice.below(2_u8))),
                    agent_id: dice.of(&AGENTS),
                    severity: dice.of(&SEVERITIES),
                    ..row(id)
                }
            })
            .collect();
        // A writer that believes in an old position changes nothing.
        let late = index.apply(&source("1"), span(position + 7), &rows).await;
        assert_eq!(late.expect("an answer"), Applied::MovedTo(position));
        let applied = index.apply(&source("1"), span(position), &rows).await;
        assert_eq!(applied.expect("applied"), Applied::Done);
    }
    assert_eq!(differences(&database), "");
    assert_ne!(asked(&database, "SELECT count(*) FROM event_counts"), "0");
}

#[tokio::test]
async fn more_values_than_anybody_reads_are_counted_together() {
    let (store, database) = store().await;
    let mut index = store.event_index().await.expect("an index");
    let agents: Vec<String> = (0..1_200).map(|number| format!("agent-{number}")).collect();
    let rows: Vec<_> = (0..1_200)
        .map(|number| EventRow {
            agent_id: &agents[number as usize],
            ..row(random_id(number, NOW))
        })
        .collect();
    index
        .apply(&source("1"), span(0), &rows)
        .await
        .expect("applied");
    let by_agent = "SELECT grain, count(*), sum(events), sum(events) FILTER (WHERE value = '')
                    FROM event_counts WHERE field = 'agent_id' GROUP BY grain ORDER BY grain";
    assert_eq!(
        asked(&database, by_agent),
        "day|1001|1200|200\nhour|1001|1200|200\nminute|1001|1200|200"
    );
}

#[tokio::test]
async fn minutes_are_counted_only_while_they_are_kept() {
    let (store, database) = store().await;
    let mut index = store.event_index().await.expect("an index");
    let day = Duration::from_secs(24 * 3600);
    let rows = [
        row(random_id(1, NOW)),
        row(random_id(2, NOW.minus(day * 8))),
    ];
    index
        .apply(&source("1"), span(0), &rows)
        .await
        .expect("applied");
    let by_grain =
        "SELECT grain, sum(events) FROM event_counts WHERE field = 'action' GROUP BY 1 ORDER BY 1";
    assert_eq!(asked(&database, by_grain), "day|2\nhour|2\nminute|1");
}

#[tokio::test]
async fn what_postgresql_will_never_take_is_recognized_and_the_writer_goes_on() {
    let (store, database) = store().await;
    let mut index = store.event_index().await.expect("an index");
    // So long that many are copied in several pieces.
    let body = "b".repeat(1024);
    let good: Vec<_> = (0..MANY)
        .map(|number| EventRow {
            json: &body,
            ..row(random_id(number, NOW))
        })
        .collect();
    let poison = EventRow {
        json: "nul \0",
        salt: Salt([0; 16]),
        ..row(random_id(MANY, NOW))
    };
    let many = good.len();
    for (size, place) in [(1, 1), (many, 0), (many, many / 2), (many, many)] {
        let mut rows = good[..size].to_vec();
        rows.insert(place, poison.clone());
        let error = index.apply(&source("1"), span(0), &rows).await;
        assert!(
            error.expect_err("refused").refuses_data(),
            "{size} rows, {place}"
        );
        let error = index.rehearse(&rows).await.expect_err("refused");
        assert!(error.refuses_data(), "{size} rows");
        index.rehearse(&good[..size]).await.expect("would be taken");
    }
    assert_eq!(asked(&database, "SELECT count(*) FROM audit_events"), "0");
    let applied = index.apply(&source("1"), span(0), &good).await;
    assert_eq!(applied.expect("applied"), Applied::Done);
    index.redrive("1", &good).await.expect("written again");
    assert_eq!(differences(&database), "");
}

#[tokio::test]
async fn a_lease_is_one_writers_until_it_offers_it_or_is_gone() {
    const SOON: Duration = Duration::from_millis(50);
    const LATER: Duration = Duration::from_secs(20);
    let (store, _database) = store().await;
    let mut first = store.event_index().await.expect("one").writer;
    let mut second = store.event_index().await.expect("two").writer;
    let mut third = store.delivery_log().await.expect("three").writer;
    assert!(first.take_lease("a", SOON).await.expect("an answer"));
    assert!(!second.take_lease("a", SOON).await.expect("an answer"));
    assert!(third.take_lease("b", SOON).await.expect("another log"));

    assert!(first.offer_lease("a").await.expect("nobody waits"));
    let (offered, taken) = tokio::join!(
        async {
            loop {
                // waits for: the other to wait in PostgreSQL
                tokio::time::sleep(SOON).await;
                if !first.offer_lease("a").await.expect("an answer") {
                    break;
                }
            }
        },
        second.take_lease("a", LATER)
    );
    assert_eq!((offered, taken.expect("an answer")), ((), true));

    let (taken, ()) = tokio::join!(first.take_lease("a", LATER), async { drop(second) });
    assert!(taken.expect("an answer"), "its holder is gone");
}

#[tokio::test]
async fn a_day_that_was_dropped_is_made_again_for_a_writer_that_knew_it() {
    let (store, database) = store().await;
    let mut index = store.event_index().await.expect("an index");
    for round in 0..2 {
        let rows: Vec<_> = (0..MANY)
            .map(|number| row(random_id(number + round * MANY, NOW)))
            .collect();
        // In the second round the writer believes that the day is there.
        let applied = index
            .apply(&source("1"), span(u64::from(round)), &rows)
            .await;
        assert_eq!(applied.expect("applied"), Applied::Done);
        assert_eq!(
            asked(&database, "SELECT count(*) FROM audit_events"),
            MANY.to_string()
        );
        let day =
            "SELECT inhrelid::regclass FROM pg_inherits WHERE inhparent = 'audit_events'::regclass";
        let day = asked(&database, day);
        asked(&database, &format!("DROP TABLE {day}"));
    }
}

#[tokio::test]
async fn a_day_that_holds_more_than_its_file_is_put_back_and_never_dropped() {
    let (store, database) = store().await;
    let mut index = store.event_index().await.expect("an index");
    let rows = [row(random_id(1, NOW)), row(random_id(2, NOW))];
    index.redrive("1", &rows).await.expect("written");
    let held = || asked(&database, "SELECT count(*) FROM audit_events");
    let taken = store.day_dropper().await.expect("an answer");
    let mut dropper = taken.expect("nobody else drops");
    let day = Day::of(NOW);
    let content = |events| DayContent { events, erased: 0 };
    let is_dropped = dropper
        .drop_archived_day(day, content(1))
        .await
        .expect("an answer");
    assert!(!is_dropped);
    assert_eq!(held(), "2");

    // A crash after it was taken out: the next round puts it back before it looks at it.
    let partition = format!("audit_events_d{}", day.number());
    let take_out = format!("ALTER TABLE audit_events DETACH PARTITION {partition}");
    asked(&database, &take_out);
    assert_eq!(held(), "0");
    // One that is kept longer by now is put back by whoever would drop it.
    let keeping = dropper.see_to_leftovers(Table::AuditEvents, NOW, Leftover::Drop);
    keeping.await.expect("put back");
    assert_eq!(held(), "2");
    asked(&database, &take_out);
    let later = NOW.plus(Duration::from_secs(2 * 24 * 3600));
    let putting_back = dropper.see_to_leftovers(Table::AuditEvents, later, Leftover::PutBack);
    putting_back.await.expect("put back");
    assert_eq!(held(), "2");

    let is_dropped = dropper
        .drop_archived_day(day, content(2))
        .await
        .expect("an answer");
    assert!(is_dropped);
    assert_eq!(held(), "0");
}
