//! What is said of deliveries a second time is not counted a second time.

use std::time::Duration;

use domain::{DeliveryId, EventId, OrgId, RuleId, Timestamp};
use store::{
    Store,
    deliveries::{
        Delivery, DeliveryLog, Outcomes,
        balance::{Counts, Decided, What},
    },
    rule_counts::{MatchFate, RuleMatch, RuleStats},
    watermark::{Source, Span},
};
use uuid::Uuid;

use crate::{NOW, store};

const ORG: OrgId = OrgId::from_uuid(Uuid::from_u128(1));
const RULE: RuleId = RuleId::from_uuid(Uuid::from_u128(7));
const HOUR: Duration = Duration::from_hours(1);

fn id(number: u8) -> DeliveryId {
    DeliveryId::new(NOW, [number; 10])
}

fn delivery(number: u8, cause: &str, state: &str) -> Delivery {
    Delivery {
        org: ORG,
        id: id(number),
        event: EventId::from_uuid(id(number).uuid()),
        rule: RULE,
        rule_name: String::from("r"),
        event_type: String::from("tool_call"),
        url: String::from("https://example.com"),
        state: state.to_owned(),
        reason: None,
        attempts: 0,
        matched_at: NOW,
        next_at: None,
        cause: cause.to_owned(),
        suppressed: 0,
        round: None,
    }
}

fn matched(fate: MatchFate, at: Timestamp) -> RuleMatch {
    RuleMatch {
        org: ORG,
        rule: RULE,
        at,
        fate,
        delivery: None,
        overflowed: false,
    }
}

fn decided(number: u8, what: What) -> Decided {
    Decided {
        org: ORG,
        rule: RULE,
        delivery: id(number),
        what,
    }
}

/// An alert, one that was kept back, and a summary.
fn outcomes() -> Outcomes {
    Outcomes {
        matched: vec![
            delivery(1, "match", "pending"),
            delivery(2, "match", "suppressed"),
            delivery(3, "summary", "pending"),
        ],
        matches: vec![
            RuleMatch {
                delivery: Some(id(1)),
                overflowed: true,
                ..matched(MatchFate::Alert, NOW)
            },
            RuleMatch {
                delivery: Some(id(2)),
                ..matched(MatchFate::Suppressed, NOW)
            },
        ],
        decided: vec![
            decided(1, What::Alert),
            decided(2, What::Suppressed),
            decided(3, What::Summary),
        ],
        ..Outcomes::default()
    }
}

/// Matches that count toward a threshold, at these times.
fn counting(at: &[Timestamp]) -> Outcomes {
    let one = |at: &Timestamp| matched(MatchFate::Counted, *at);
    Outcomes {
        matches: at.iter().map(one).collect(),
        ..Outcomes::default()
    }
}

fn source(created: &str) -> Source {
    Source {
        stream: String::from("OUTCOMES_0"),
        created: created.to_owned(),
    }
}

/// Applies outcomes as the next message of a log.
async fn apply(store: &Store, log: &mut DeliveryLog, source: &Source, outcomes: &Outcomes) {
    let from = store.watermark(source).await.expect("a position");
    let span = Span::new(from, from + 1);
    log.apply(source, span, outcomes).await.expect("applied");
}

async fn counts(store: &Store) -> (Counts, RuleStats) {
    let to = NOW.plus(2 * HOUR);
    let balance = store.balance(ORG, RULE, NOW.minus(2 * HOUR), to).await;
    let stats = store.rule_stats(ORG, &[RULE], NOW.plus(HOUR)).await;
    let stats = stats.expect("stats").remove(&RULE);
    (balance.expect("a balance").0, stats.unwrap_or_default())
}

fn once() -> (Counts, RuleStats) {
    let counts = Counts {
        alerts: 1,
        suppressed: 1,
        withheld: 0,
        summaries: 1,
    };
    let stats = RuleStats {
        matched_24h: 2,
        alerts_24h: 1,
        suppressed_24h: 1,
        withheld_24h: 0,
        overflows_24h: 1,
        last_matched_at: Some(NOW),
    };
    (counts, stats)
}

#[tokio::test]
async fn a_record_that_is_written_again_is_counted_once() {
    let (store, _database) = store().await;
    let mut log = store.delivery_log().await.expect("a log");
    // Two letters with the same record, of a log that was made anew.
    for letter in ["1", "1", "2"] {
        log.redrive(letter, &outcomes()).await.expect("written");
        assert_eq!(counts(&store).await, once());
    }
    // The log has it too, twice in one span.
    let mut twice = outcomes();
    twice.matched.extend(outcomes().matched);
    twice.matches.extend(outcomes().matches);
    twice.decided.extend(outcomes().decided);
    apply(&store, &mut log, &source("1"), &twice).await;
    assert_eq!(counts(&store).await, once());
}

#[tokio::test]
async fn a_letter_that_is_redriven_again_counts_nothing_again() {
    let (store, database) = store().await;
    let mut log = store.delivery_log().await.expect("a log");
    for (letter, matches) in [("1", 2), ("1", 2), ("2", 4)] {
        let counting = counting(&[NOW, NOW]);
        log.redrive(letter, &counting).await.expect("written");
        assert_eq!(counts(&store).await.1.matched_24h, matches, "{letter}");
    }
    let kept = "SELECT count(*) FROM redriven_letters";
    assert_eq!(database.query(kept).expect("a count").trim(), "2");
    let later = Timestamp::from_unix_millis(4_000_000_000_000);
    let forgotten = store.forget_redriven_letters(later).await;
    assert_eq!(forgotten.expect("forgotten"), 2);
}

#[tokio::test]
async fn a_log_that_starts_over_counts_what_is_new_in_it() {
    let (store, _database) = store().await;
    let mut log = store.delivery_log().await.expect("a log");
    let soon = |seconds| NOW.plus(Duration::from_secs(seconds));
    let (early, late) = (counting(&[soon(1), soon(1)]), counting(&[soon(2)]));
    for outcomes in [&outcomes(), &early, &late] {
        apply(&store, &mut log, &source("1"), outcomes).await;
    }
    let before = counts(&store).await;
    assert_eq!(before.1.matched_24h, 2 + 3);

    // The journal was put back to where it had not the last of them, and went on.
    store.start_over(&source("1"), 3).await.expect("done");
    let other = counting(&[soon(30), soon(30)]);
    for outcomes in [&outcomes(), &early, &other] {
        apply(&store, &mut log, &source("1"), outcomes).await;
    }
    let stats = counts(&store).await.1;
    assert_eq!((stats.matched_24h, stats.alerts_24h), (2 + 3 + 2, 1));

    // And was lost. What is made anew is filled from the same events, and goes on.
    let next = counting(&[soon(60)]);
    for outcomes in [&outcomes(), &early, &other, &next] {
        apply(&store, &mut log, &source("2"), outcomes).await;
    }
    let (balance, stats) = counts(&store).await;
    assert_eq!(balance, before.0);
    assert_eq!((stats.matched_24h, stats.alerts_24h), (2 + 3 + 2 + 1, 1));
}

#[tokio::test]
async fn a_delivery_that_the_database_swallows_is_counted_and_so_is_missed() {
    let (store, database) = store().await;
    let mut log = store.delivery_log().await.expect("a log");
    let swallow = "CREATE FUNCTION swallow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
         CREATE TRIGGER swallow BEFORE INSERT ON deliveries FOR EACH ROW WHEN (NEW.cause = 'summary')
         EXECUTE FUNCTION swallow()";
    database.query(swallow).expect("a trigger");
    apply(&store, &mut log, &source("1"), &outcomes()).await;
    assert_eq!(counts(&store).await, once());
    let mut reconciling = store.reconciling().await.expect("asked").expect("ours");
    let off = reconciling.unbalanced(NOW, 10).await.expect("a look");
    let off: Vec<_> = off.iter().map(|one| (one.decided, one.found)).collect();
    assert_eq!(off, [(3, 2)]);
}
