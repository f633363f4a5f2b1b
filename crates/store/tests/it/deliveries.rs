//! Where deliveries stand by the log, and how they are found.

use std::time::Duration;

use domain::{DeliveryId, EventId, OrgId, RuleId, Timestamp};
use store::{
    Store,
    deliveries::{Delivery, DeliveryLog, Outcomes, Standing, Word, list::DeliveryFilter},
    watermark::{Source, Span},
};
use uuid::Uuid;

use crate::{NOW, store};

fn org() -> OrgId {
    OrgId::from_uuid(Uuid::from_u128(1))
}

fn id(number: u8) -> DeliveryId {
    DeliveryId::new(NOW, [number; 10])
}

fn delivery(number: u8) -> Delivery {
    Delivery {
        org: org(),
        id: id(number),
        event: EventId::from_uuid(id(number).uuid()),
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

fn after(seconds: u64) -> Timestamp {
    NOW.plus(Duration::from_secs(seconds))
}

fn said(number: u8, state: &str, by: Word) -> Standing {
    Standing {
        org: org(),
        delivery: id(number),
        state: state.to_owned(),
        reason: None,
        next_at: None,
        by,
    }
}

fn attempted(number: u32, due: u64, state: &str) -> Standing {
    let due_at = after(due);
    said(1, state, Word::Attempt { number, due_at })
}

fn again(at: u64) -> Standing {
    said(1, "pending", Word::Again { at: after(at) })
}

/// Applies these words, all in one span or each in its own: where the first delivery stands then.
async fn stands(store: &Store, log: &mut DeliveryLog, words: &[&[Standing]]) -> (String, u32) {
    let source = Source {
        stream: String::from("OUTCOMES_0"),
        created: String::from("1"),
    };
    let mut at = store.watermark(&source).await.expect("a position");
    for span in words {
        let outcomes = Outcomes {
            matched: vec![delivery(1), delivery(2)],
            standings: span.to_vec(),
            ..Outcomes::default()
        };
        let span = Span {
            from: at,
            to: at + 1,
        };
        log.apply(&source, span, &outcomes).await.expect("applied");
        at += 1;
    }
    let found = store.delivery(org(), id(1)).await.expect("an answer");
    let found = found.expect("the delivery");
    (found.state, found.attempts)
}

#[tokio::test]
async fn where_a_delivery_stands_is_the_last_word_of_its_round() {
    let change = |state| said(1, state, Word::Change);
    let cases: [(&str, Vec<Standing>, (&str, u32)); 9] = [
        (
            "delivered stays delivered",
            vec![attempted(1, 0, "delivered"), attempted(1, 0, "scheduled")],
            ("delivered", 1),
        ),
        (
            "asked for again it is pending, whatever it was",
            vec![attempted(1, 0, "delivered"), again(100)],
            ("pending", 1),
        ),
        (
            "and the new round decides",
            vec![
                attempted(1, 0, "delivered"),
                again(100),
                attempted(2, 100, "scheduled"),
            ],
            ("scheduled", 2),
        ),
        (
            "a late record of an earlier round does not",
            vec![
                attempted(1, 0, "failed"),
                again(100),
                attempted(1, 0, "delivered"),
            ],
            ("pending", 1),
        ),
        (
            "asked for again twice by one request it is one round",
            vec![
                attempted(1, 0, "failed"),
                again(100),
                attempted(2, 100, "delivered"),
                again(100),
            ],
            ("delivered", 2),
        ),
        (
            "an older request begins none",
            vec![
                attempted(1, 0, "failed"),
                again(100),
                attempted(2, 100, "delivered"),
                again(99),
            ],
            ("delivered", 2),
        ),
        (
            "a retry by a clock that is behind counts",
            vec![
                attempted(1, 0, "failed"),
                again(100),
                attempted(2, 100, "scheduled"),
                attempted(3, 90, "delivered"),
            ],
            ("delivered", 3),
        ),
        (
            "an attempt of the round with the number of one that was under way counts",
            vec![
                attempted(1, 0, "scheduled"),
                change("canceled"),
                attempted(2, 5, "scheduled"),
                again(100),
                attempted(2, 100, "delivered"),
            ],
            ("delivered", 2),
        ),
        (
            "canceled while it is sent, it is delivered if the receiver took it",
            vec![change("canceled"), attempted(1, 0, "delivered")],
            ("delivered", 1),
        ),
    ];
    for (what, words, expected) in cases {
        for in_one_span in [true, false] {
            let (store, _database) = store().await;
            let mut log = store.delivery_log().await.expect("a log");
            let spans: Vec<&[Standing]> = if in_one_span {
                vec![&words]
            } else {
                words.chunks(1).collect()
            };
            let (state, attempts) = stands(&store, &mut log, &spans).await;
            assert_eq!(
                (state.as_str(), attempts),
                expected,
                "{what}, {in_one_span}"
            );
            let other = store.delivery(org(), id(2)).await.expect("an answer");
            assert_eq!(other, Some(delivery(2)), "another is untouched");
        }
    }
}

#[tokio::test]
async fn few_among_many_are_found_by_the_index_that_was_made_for_them() {
    let (store, database) = store().await;
    let mut log = store.delivery_log().await.expect("a log");
    stands(&store, &mut log, &[&[said(1, "failed", Word::Change)]]).await;
    let many = "INSERT INTO deliveries (org_id, id, event_id, rule_id, rule_name, event_type, url, state, attempts, matched_at)
         SELECT org_id, (left(id::text, 14) || '7' || substr(md5(n::text), 1, 3) || '-8' || substr(md5(n::text), 4, 3) || '-'
                || substr(md5(n::text), 8, 12))::uuid, event_id, gen_random_uuid(), rule_name, event_type, url, 'delivered', 1,
                matched_at
         FROM deliveries, generate_series(1, 20000) AS n WHERE state = 'failed'";
    database.query(many).expect("inserted");
    database.query("ANALYZE deliveries").expect("analyzed");
    let filters = [
        DeliveryFilter {
            states: vec![String::from("failed")],
            ..DeliveryFilter::default()
        },
        DeliveryFilter {
            rule: Some(delivery(1).rule),
            ..DeliveryFilter::default()
        },
    ];
    for filter in filters {
        let page = store.list_deliveries(org(), &filter, None, 10).await;
        let page = page.expect("a page");
        assert!(page.rows.iter().any(|one| one.id == id(1)), "{filter:?}");
        assert!(page.rows.len() <= 2, "{filter:?}");
    }
    let plan = database
        .query(
            "EXPLAIN SELECT id FROM deliveries WHERE org_id = '00000000-0000-0000-0000-000000000001'
             AND state = ANY (ARRAY['failed']) AND state <> 'delivered' ORDER BY id DESC LIMIT 11",
        )
        .expect("a plan");
    assert!(plan.contains("state"), "{plan}");
    assert!(!plan.contains("Seq Scan"), "{plan}");
}
