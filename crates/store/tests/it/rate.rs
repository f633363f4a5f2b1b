//! How fast outcomes are applied; printed, for whoever changes the tables.

use std::time::Instant;

use domain::{AttemptId, DeliveryId, EventId, OrgId, RuleId, Timestamp};
use store::{
    deliveries::{
        Attempt, Delivery, Outcomes, Phases, Standing, Word,
        balance::{Decided, What},
    },
    watermark::{Source, Span},
};
use uuid::Uuid;

use crate::{NOW, store};

const SPANS: u64 = 40;
const PER_SPAN: u64 = 500;

#[tokio::test]
#[ignore = "prints a figure"]
async fn rate_of_applying() {
    let (store, _database) = store().await;
    let mut log = store.delivery_log().await.expect("a log");
    store.make_days_ahead(NOW).await.expect("days");
    let org = OrgId::from_uuid(Uuid::from_u128(1));
    let source = Source {
        stream: "OUTCOMES_0".to_owned(),
        created: "1".to_owned(),
    };
    let bytes = |n: u64| {
        let mut b = [0; 10];
        b[..8].copy_from_slice(&n.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes());
        b
    };
    let id = |n: u64| {
        DeliveryId::new(
            Timestamp::from_unix_millis(NOW.unix_millis() + i64::try_from(n / 10).expect("small")),
            bytes(n),
        )
    };
    let delivery = |n: u64| Delivery {
        org,
        id: id(n),
        event: EventId::from_uuid(id(n).uuid()),
        rule: RuleId::from_uuid(Uuid::from_u128(u128::from(n % 100))),
        rule_name: "A rule".to_owned(),
        event_type: "tool_call".to_owned(),
        url: format!("https://example.com/{}", n % 100),
        state: "pending".to_owned(),
        reason: None,
        round: None,
        attempts: 0,
        matched_at: NOW,
        next_at: None,
        cause: "match".to_owned(),
        suppressed: 0,
    };
    let attempt = |n: u64| Attempt {
        org,
        delivery: id(n),
        id: AttemptId::new(NOW, bytes(n)),
        number: 1,
        trigger: "match".to_owned(),
        due_at: NOW,
        started_at: NOW,
        finished_at: NOW,
        signed_at: NOW,
        url: "https://example.com/".to_owned(),
        remote_address: Some("127.0.0.1:80".to_owned()),
        body_sha256: "00".repeat(32),
        body_bytes: 500,
        status: Some(200),
        outcome: "delivered".to_owned(),
        error: None,
        answer: "ok".to_owned(),
        phases: Phases {
            sent_us: Some(500),
            answered_us: Some(1000),
            ..Phases::default()
        },
        secrets: vec!["deployment".to_owned()],
        tls: None,
        answer_headers: vec![("content-type".to_owned(), "text/plain".to_owned())],
        clock_skew_s: None,
        retry_after_s: None,
        state: Some("delivered".to_owned()),
        reason: None,
        next_at: None,
    };
    let standing = |n: u64| Standing {
        org,
        delivery: id(n),
        state: "delivered".to_owned(),
        reason: None,
        next_at: None,
        by: Word::Attempt {
            number: 1,
            due_at: NOW,
        },
    };
    let decided = |n: u64| Decided {
        org,
        rule: RuleId::from_uuid(Uuid::from_u128(u128::from(n % 100))),
        delivery: id(n),
        what: What::Alert,
    };
    let started = Instant::now();
    for span in 0..SPANS {
        let numbers = || span * PER_SPAN..(span + 1) * PER_SPAN;
        let outcomes = Outcomes {
            matched: numbers().map(delivery).collect(),
            decided: numbers().map(decided).collect(),
            ..Outcomes::default()
        };
        log.apply(
            &source,
            Span {
                from: 2 * span,
                to: 2 * span + 1,
            },
            &outcomes,
        )
        .await
        .expect("applied");
        let outcomes = Outcomes {
            attempts: numbers().map(attempt).collect(),
            standings: numbers().map(standing).collect(),
            ..Outcomes::default()
        };
        log.apply(
            &source,
            Span {
                from: 2 * span + 1,
                to: 2 * span + 2,
            },
            &outcomes,
        )
        .await
        .expect("applied");
    }
    let rate = (SPANS * PER_SPAN) as f64 / started.elapsed().as_secs_f64();
    println!("{rate:.0} deliveries/s");
}
