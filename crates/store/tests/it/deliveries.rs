//! Where deliveries stand by the log, and how they are found.

use std::time::Duration;

use domain::{DeliveryId, EventId, OrgId, RuleId, Timestamp};
use store::{
    Store,
    deliveries::{
        Delivery, DeliveryLog, Outcomes, StateUpdate, UpdateSource, list::DeliveryFilter,
    },
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

fn said(number: u8, state: &str, by: UpdateSource) -> StateUpdate {
    StateUpdate {
        org: org(),
        delivery: id(number),
        state: state.to_owned(),
        reason: None,
        next_at: None,
        by,
    }
}

fn attempted(number: u32, due: u64, state: &str) -> StateUpdate {
    let due_at = after(due);
    said(1, state, UpdateSource::Attempt { number, due_at })
}

fn again(at: u64) -> StateUpdate {
    said(1, "pending", UpdateSource::Again { at: after(at) })
}

/// Said of the round that began then, or of the last before that.
fn of_round(round: u64, state: &str) -> StateUpdate {
    let round_at = after(round);
    said(1, state, UpdateSource::Change { round_at })
}

/// Applies these words, all in one span or each in its own: where the first delivery stands then.
async fn stands(store: &Store, log: &mut DeliveryLog, words: &[&[StateUpdate]]) -> (String, u32) {
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
        let span = Span::new(at, at + 1);
        log.apply(&source, span, &outcomes).await.expect("applied");
        at += 1;
    }
    let found = store.delivery(org(), id(1)).await.expect("an answer");
    let found = found.expect("the delivery");
    (found.state, found.attempts)
}

#[tokio::test]
async fn where_a_delivery_stands_is_the_last_word_of_its_round() {
    let change = |state| of_round(0, state);
    let cases: [(&str, Vec<StateUpdate>, (&str, u32)); 17] = [
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
            "held by somebody who had an earlier round in hand it goes on",
            vec![
                attempted(1, 0, "failed"),
                again(100),
                of_round(0, "held"),
                of_round(99, "failed"),
            ],
            ("pending", 1),
        ),
        (
            "held in its round it is held",
            vec![
                attempted(1, 0, "failed"),
                again(100),
                of_round(100, "held"),
                attempted(1, 0, "scheduled"),
            ],
            ("held", 1),
        ),
        (
            "an attempt of an earlier round that was under way does not, though its number is one of the round's",
            vec![
                again(100),
                of_round(100, "held"),
                attempted(1, 0, "scheduled"),
            ],
            ("held", 0),
        ),
        (
            "an attempt made again after a crash does not schedule what was held since",
            vec![
                attempted(1, 0, "scheduled"),
                change("held"),
                attempted(1, 0, "scheduled"),
            ],
            ("held", 1),
        ),
        (
            "but it can end it",
            vec![attempted(1, 0, "scheduled"), attempted(1, 0, "failed")],
            ("failed", 1),
        ),
        (
            "canceled up to a time it is, whatever round that is",
            vec![
                attempted(1, 0, "failed"),
                again(100),
                of_round(150, "canceled"),
            ],
            ("canceled", 1),
        ),
        (
            "ended by another worker while it is sent, it stays so, and the attempt counts",
            vec![change("canceled"), attempted(1, 0, "scheduled")],
            ("canceled", 1),
        ),
        (
            "held while it waits in its lane, it goes on",
            vec![change("held"), attempted(1, 0, "scheduled")],
            ("scheduled", 1),
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
            let spans: Vec<&[StateUpdate]> = if in_one_span {
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

/// All ways to tell these stories at once, each in its own order.
fn interleaved(stories: &[Vec<StateUpdate>]) -> Vec<Vec<StateUpdate>> {
    if stories.iter().all(Vec::is_empty) {
        return vec![Vec::new()];
    }
    let mut orders = Vec::new();
    for teller in 0..stories.len() {
        let mut rest = stories.to_vec();
        if rest[teller].is_empty() {
            continue;
        }
        let first = rest[teller].remove(0);
        let tails = interleaved(&rest).into_iter();
        orders.extend(tails.map(|tail| [vec![first.clone()], tail].concat()));
    }
    orders
}

#[tokio::test]
async fn in_whatever_order_rounds_are_put_on_record_the_last_one_says_where_a_delivery_stands() {
    let first = vec![of_round(0, "held"), of_round(0, "failed")];
    let second = vec![again(100), of_round(100, "held")];
    let stories = [
        (vec![again(200), of_round(200, "canceled")], "canceled"),
        (vec![again(200)], "pending"),
    ];
    for (third, expected) in stories {
        let orders = interleaved(&[first.clone(), second.clone(), third]);
        let numbers = (0_u8..).zip(&orders);
        // Each order happens to a delivery of its own.
        let of = |number, word: &StateUpdate| StateUpdate {
            delivery: id(number),
            ..word.clone()
        };
        let told = |step: usize| {
            numbers
                .clone()
                .map(move |(number, order)| of(number, &order[step]))
        };
        let steps: Vec<Vec<StateUpdate>> = (0..orders[0].len())
            .map(|step| told(step).collect())
            .collect();
        for spans in [steps.clone(), vec![steps.concat()]] {
            let (store, _database) = store().await;
            let mut log = store.delivery_log().await.expect("a log");
            let matched = numbers
                .clone()
                .map(|(number, _)| delivery(number))
                .collect();
            let outcomes = Outcomes {
                matched,
                ..Outcomes::default()
            };
            log.redrive("1", &outcomes).await.expect("written");
            let spans: Vec<&[StateUpdate]> = spans.iter().map(Vec::as_slice).collect();
            stands(&store, &mut log, &spans).await;
            for (number, order) in numbers.clone() {
                let found = store.delivery(org(), id(number)).await.expect("an answer");
                assert_eq!(found.expect("it").state, expected, "{order:#?}");
            }
        }
    }
}

#[tokio::test]
async fn few_among_many_are_found_by_the_index_that_was_made_for_them() {
    let (store, database) = store().await;
    let mut log = store.delivery_log().await.expect("a log");
    stands(&store, &mut log, &[&[of_round(0, "failed")]]).await;
    let many = "INSERT INTO deliveries (org_id, id, event_id, rule_id, rule_name, event_type, url, state, attempts, matched_at, cause, suppressed)
         SELECT org_id, (left(id::text, 14) || '7' || substr(md5(n::text), 1, 3) || '-8' || substr(md5(n::text), 4, 3) || '-'
                || substr(md5(n::text), 8, 12))::uuid, event_id, gen_random_uuid(), rule_name, event_type, url, 'delivered', 1,
                matched_at, cause, suppressed
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
        let page = store.list_deliveries(org(), &filter, None, None, 10).await;
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
