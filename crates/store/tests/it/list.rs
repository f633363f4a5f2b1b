//! Pages of events hold exactly what the filter asks for, however small they are and however little
//! each may cost.

use std::time::Duration;

use domain::{
    EventId, OrgId, Timestamp,
    event::{EventView, Filter, reserved::RESERVED},
};
use serde_json::json;
use store::{
    Store,
    events::{Budget, EventRow, EventsQuery, Order},
    watermark::{Source, Span},
};
use testkit::{Database, Dice};
use trail_proof::leaf::Salt;
use uuid::Uuid;

use crate::{NOW, store};

/// How many events, over how many days. Minutes are counted for the newest 7 days only, so both sides
/// of that are met.
const EVENTS: usize = 500;
const DAYS: u64 = 10;
const FILTERS: usize = 40;

/// Counts what is in the table as the indexer does; where it has, this says the same.
pub(crate) const COUNT: &str = "INSERT INTO event_counts (org_id, field, grain, bucket, value, events)
    SELECT org_id, field, grain, date_trunc(grain, at, 'UTC'), value, count(*)
    FROM (SELECT *, to_timestamp(('x' || left(replace(id::text, '-', ''), 12))::bit(48)::bigint / 1000.0) AS at
          FROM audit_events) e
    CROSS JOIN LATERAL (VALUES ('event_type', event_type), ('agent_id', agent_id), ('action', action),
        ('result', result), ('severity', severity)) v (field, value)
    CROSS JOIN (VALUES ('minute'), ('hour'), ('day')) g (grain)
    WHERE value IS NOT NULL AND (grain <> 'minute' OR at > now() - interval '7 days')
    GROUP BY 1, 2, 3, 4, 5
    ON CONFLICT (org_id, field, grain, bucket, value) DO UPDATE SET events = EXCLUDED.events";

const TYPES: [&str; 3] = ["tool_call", "login", "export"];
const AGENTS: [&str; 4] = ["ag-1", "ag-2", "Ag-2", "ag-%"];
const ACTIONS: [&str; 5] = [
    "files.delete",
    "files.read",
    "file_s.x",
    "payments.refund",
    "pay.x",
];
const RESULTS: [&str; 4] = ["success", "success", "success", "denied"];
const SEVERITIES: [&str; 3] = ["info", "high", "critical"];
const SESSIONS: [&str; 3] = ["s-1", "s-2", "s-3"];
const KEYS: [&str; 2] = [
    "key_00000000000000000000000001",
    "key_00000000000000000000000002",
];
const TEXTS: [&str; 5] = [
    "100% sure",
    "under_score",
    "Ünïcode",
    "Back\\slash",
    "plain",
];

/// An event as the indexer reads it.
pub(crate) struct Event {
    pub(crate) id: EventId,
    pub(crate) json: String,
}

fn event(dice: &mut Dice, now: Timestamp) -> Event {
    let ago = Duration::from_millis(dice.below(DAYS * 24 * 3600 * 1000));
    let random = [(); 10].map(|()| u8::try_from(dice.below(256_u16)).expect("a byte"));
    let mut fields = json!({
        // One type is rare, so that the counts have something to skip.
        "event_type": if dice.one_in(100) { "rare" } else { dice.of(&TYPES) },
        "agent_id": dice.of(&AGENTS),
        "action": dice.of(&ACTIONS),
        "result": if dice.one_in(60) { "error" } else { dice.of(&RESULTS) },
        "metadata": {"note": dice.of(&TEXTS)},
    });
    for (field, values) in [
        ("severity", &SEVERITIES[..]),
        ("session_id", &SESSIONS),
        ("trace_id", &SESSIONS),
        ("decision_id", &SESSIONS),
    ] {
        if dice.one_in(3) {
            fields[field] = json!(dice.of(values));
        }
    }
    if dice.one_in(2) {
        // The server writes events of its own types, and nobody else does.
        let event_type = fields["event_type"].as_str().unwrap_or_default();
        let source = if RESERVED.contains(&event_type) {
            "server"
        } else {
            dice.of(&KEYS)
        };
        fields["source"] = json!(source);
    }
    let json = fields.to_string();
    Event {
        id: EventId::new(now.minus(ago), random),
        json,
    }
}

pub(crate) fn org() -> OrgId {
    OrgId::from_uuid(Uuid::from_u128(1))
}

pub(crate) async fn index(store: &Store, org: OrgId, events: &[Event], span: Span) {
    let texts: Vec<_> = events
        .iter()
        .map(|event| {
            let view = EventView::parse(&event.json).expect("an event");
            let names = [
                "event_type",
                "agent_id",
                "action",
                "result",
                "severity",
                "session_id",
                "trace_id",
                "decision_id",
                "source",
            ];
            names.map(|name| view.text(name))
        })
        .collect();
    let rows: Vec<EventRow<'_>> = events
        .iter()
        .zip(&texts)
        .map(|(event, texts)| {
            let text = |number: usize| texts[number].as_deref();
            EventRow {
                org,
                id: event.id,
                received_at: event.id.time(),
                event_type: text(0).expect("a type"),
                agent_id: text(1).expect("an agent"),
                action: text(2).expect("an action"),
                result: text(3).expect("a result"),
                severity: text(4),
                session_id: text(5),
                trace_id: text(6),
                decision_id: text(7),
                source: text(8),
                json: &event.json,
                salt: Salt([0; 16]),
            }
        })
        .collect();
    let source = Source {
        stream: String::from("EVENTS_0"),
        created: String::from("1"),
    };
    let mut index = store.event_index().await.expect("an index");
    index.apply(&source, span, &rows).await.expect("applied");
}

pub(crate) fn now(database: &Database) -> Timestamp {
    let now = database.query("SELECT floor(extract(epoch FROM now()) * 1000)::bigint");
    let now = now.expect("a time").trim().parse().expect("a number");
    Timestamp::from_unix_millis(now)
}

/// Events of two organizations, the first one's oldest first.
pub(crate) async fn filled(store: &Store, database: &Database, dice: &mut Dice) -> Vec<Event> {
    let now = now(database);
    let mut mine: Vec<Event> = (0..EVENTS).map(|_| event(dice, now)).collect();
    let others: Vec<Event> = (0..50).map(|_| event(dice, now)).collect();
    index(store, org(), &mine, Span::new(0, 1)).await;
    let other_org = OrgId::from_uuid(Uuid::from_u128(2));
    index(store, other_org, &others, Span::new(1, 2)).await;
    mine.sort_by_key(|event| event.id);
    mine
}

pub(crate) fn filter(dice: &mut Dice, events: &[Event]) -> Filter {
    let mut filter = Filter::default();
    let fields: [(&str, &[&str], u64); 10] = [
        (
            "event_type",
            &["tool_call", "login", "rare", "rare", "never"],
            3,
        ),
        ("agent_id", &AGENTS, 4),
        (
            "action",
            &[
                "files.delete",
                "files.*",
                "file_*",
                "pay*",
                "nothing.here",
                "x*",
            ],
            3,
        ),
        ("result", &["denied", "error", "error", "success"], 3),
        ("severity", &["low", "high", "critical"], 6),
        ("session_id", &SESSIONS, 8),
        ("trace_id", &SESSIONS, 8),
        ("decision_id", &SESSIONS, 8),
        ("source", &["server", "key", KEYS[0]], 6),
        (
            "q",
            &["100%", "_SCORE", "ünï", "ÜNÏ", "\\\\s", "result\":\"SUCC"],
            6,
        ),
    ];
    for (field, values, one_in) in fields {
        if !dice.one_in(one_in) {
            continue;
        }
        let times = if field == "q" {
            1
        } else {
            1 + dice.below(3_u8)
        };
        for _ in 0..times {
            filter.add(field, dice.of(values)).expect("a filter");
        }
    }
    for bound in ["from", "to"] {
        if dice.one_in(4) {
            let times: Vec<Timestamp> = events.iter().map(|event| event.id.time()).collect();
            let at = dice.of(&times).to_string();
            filter.add(bound, &at).expect("a filter");
        }
    }
    filter
}

/// What the list shows, page by page.
pub(crate) async fn listed(store: &Store, mut wanted: EventsQuery, budget: Budget) -> Vec<EventId> {
    let mut ids = Vec::new();
    // Each page looks at one event at least, or at one more stretch of time.
    for _ in 0..EVENTS * 20 {
        let page = store.list_events_within(org(), &wanted, budget).await;
        let page = page.expect("a page");
        assert!(page.rows.len() <= wanted.limit as usize);
        let bytes: usize = page.rows.iter().map(|event| event.json.len()).sum();
        let is_full = page.rows.len() == wanted.limit as usize || bytes >= budget.bytes;
        let may_have_more = page.next.is_some();
        assert_eq!(page.searched_to.is_some(), may_have_more && !is_full);
        ids.extend(page.rows.iter().map(|event| event.id));
        match page.next {
            Some(next) => wanted.after = Some(next),
            None => return ids,
        }
    }
    panic!("the list has no end: {wanted:?}");
}

async fn compare(store: &Store, events: &[Event], dice: &mut Dice) {
    let mut found = 0;
    for _ in 0..FILTERS {
        let filter = filter(dice, events);
        let matching = events.iter().filter(|event| {
            let view = EventView::parse(&event.json).expect("an event");
            filter.matches(event.id, &event.json, &view)
        });
        let mut expected: Vec<EventId> = matching.map(|event| event.id).collect();
        let order = if dice.one_in(2) {
            expected.reverse();
            Order::NewestFirst
        } else {
            Order::OldestFirst
        };
        let limit = 1 + dice.below(40);
        let budget = Budget {
            events: 1 + dice.below(100),
            looks: 1 + dice.below(5),
            bytes: usize::from(1 + dice.below(4_000_u16)),
            time: Duration::from_secs(dice.below(4)),
        };
        let wanted = EventsQuery {
            filter,
            order,
            after: None,
            limit,
        };
        found += expected.len();
        let small = listed(store, wanted.clone(), budget).await;
        assert_eq!(small, expected, "{wanted:?} {budget:?}");
        let usual = listed(store, wanted.clone(), Budget::default()).await;
        assert_eq!(usual, expected, "{wanted:?}");
    }
    assert!(found > FILTERS, "the filters find something: {found}");
}

#[tokio::test]
async fn pages_hold_what_the_filter_matches_in_order_and_nothing_twice() {
    let (store, database) = store().await;
    let mut dice = Dice(0x5eed);
    let events = filled(&store, &database, &mut dice).await;
    database.query("DELETE FROM event_counts").expect("deleted");
    compare(&store, &events, &mut dice).await;
}

#[tokio::test]
async fn counts_lead_to_the_same_pages() {
    let (store, database) = store().await;
    let mut dice = Dice(0xbe11);
    let events = filled(&store, &database, &mut dice).await;
    database.query(COUNT).expect("counted");
    // Some actions were too many to count one by one.
    let merged = "UPDATE event_counts SET value = '' WHERE field = 'action' AND value = 'pay.x'";
    database.query(merged).expect("merged");
    compare(&store, &events, &mut dice).await;
}

#[tokio::test]
async fn a_rare_event_far_back_is_on_the_first_page() {
    let (store, database) = store().await;
    let mut dice = Dice(0xfa12);
    let events = filled(&store, &database, &mut dice).await;
    database.query(COUNT).expect("counted");
    let rare = |event: &&Event| event.json.contains("\"event_type\":\"rare\"");
    let oldest = events.iter().find(rare).expect("a rare one").id;
    let mut filter = Filter::default();
    filter.add("event_type", "rare").expect("a filter");
    let wanted = EventsQuery {
        filter,
        order: Order::NewestFirst,
        after: None,
        limit: 100,
    };
    // A fifth of the events, and the oldest is near the end.
    let budget = Budget {
        events: u32::try_from(EVENTS / 5).expect("small"),
        ..Budget::default()
    };
    let page = store.list_events_within(org(), &wanted, budget).await;
    let page = page.expect("a page");
    assert_eq!(page.rows.last().map(|event| event.id), Some(oldest));
    assert_eq!((page.next, page.searched_to), (None, None));
    database.query("DELETE FROM event_counts").expect("deleted");
    let page = store.list_events_within(org(), &wanted, budget).await;
    assert!(page.expect("a page").searched_to.is_some());
}

#[tokio::test]
async fn a_page_ends_with_the_event_that_fills_its_bytes() {
    let (store, database) = store().await;
    let events = filled(&store, &database, &mut Dice(0xb17e)).await;
    let wanted = EventsQuery {
        filter: Filter::default(),
        order: Order::OldestFirst,
        after: None,
        limit: 100,
    };
    let budget = Budget {
        bytes: 1_000,
        ..Budget::default()
    };
    let page = store.list_events_within(org(), &wanted, budget).await;
    let page = page.expect("a page");
    let bytes: usize = page.rows.iter().map(|event| event.json.len()).sum();
    let last = page.rows.last().expect("an event");
    assert!(bytes >= 1_000 && bytes - last.json.len() < 1_000);
    assert!(page.rows.len() < events.len());
    assert_eq!((page.next, page.searched_to), (Some(last.id), None));
}

#[tokio::test]
async fn a_statement_that_takes_too_long_gives_its_connection_back() {
    let (store, database) = store().await;
    let id = EventId::new(NOW, [7; 10]);
    let (org_id, event_id) = (org().uuid(), id.uuid());
    database
        .query("ALTER TABLE audit_events RENAME TO quick_events")
        .expect("renamed");
    let slow = format!(
        "CREATE VIEW audit_events AS
         SELECT '{org_id}'::uuid AS org_id, '{event_id}'::uuid AS id, '{{}}'::text AS body FROM pg_sleep(60)"
    );
    database.query(&slow).expect("a view");
    let read = store.event(org(), id).await;
    assert!(matches!(read, Err(store::Error::TookTooLong)), "{read:?}");
}

#[tokio::test]
async fn what_the_server_wrote_far_back_is_on_the_first_page() {
    const HOURS: u32 = 200;
    let (store, database) = store().await;
    let now = now(&database);
    let event = |hours_ago: u32, event_type: &str, source: &str| {
        let ago = Duration::from_secs(3600) * hours_ago;
        let json = json!({"event_type": event_type, "agent_id": "ag-1", "action": "files.read",
            "result": "success", "source": source});
        Event {
            id: EventId::new(now.minus(ago), [7; 10]),
            json: json.to_string(),
        }
    };
    let calls = (0..HOURS).map(|hours_ago| event(hours_ago, "tool_call", KEYS[0]));
    let mut events: Vec<Event> = calls.collect();
    events.push(event(HOURS, "login", "server"));
    index(&store, org(), &events, Span::new(0, 1)).await;
    let mut filter = Filter::default();
    filter.add("source", "server").expect("a filter");
    let wanted = EventsQuery {
        filter,
        order: Order::NewestFirst,
        after: None,
        limit: 100,
    };
    let budget = Budget {
        events: HOURS / 2,
        ..Budget::default()
    };
    let page = store.list_events_within(org(), &wanted, budget).await;
    let page = page.expect("a page");
    assert_eq!(page.rows.len(), 1);
    assert_eq!((page.next, page.searched_to), (None, None));
    database.query("DELETE FROM event_counts").expect("deleted");
    let page = store.list_events_within(org(), &wanted, budget).await;
    let page = page.expect("a page");
    assert!(page.rows.is_empty() && page.searched_to.is_some());
}
