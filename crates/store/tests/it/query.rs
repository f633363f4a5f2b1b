//! A query means the same to PostgreSQL as it does in memory: the list, the counts and exports have exactly the events
//! that [`domain::query::Matcher`] says, whatever is in them.

use std::time::Duration;

use domain::{
    EventId, Timestamp,
    event::{EventView, Filter},
};
use store::{
    Store,
    events::{Budget, EventsQuery, Order, export::Position},
    watermark::Span,
};
use testkit::{Database, Dice};
use uuid::Uuid;

use crate::{
    list::{COUNT, Event, index, listed, now, org},
    store,
};

const EVENTS: usize = 300;
const QUERIES: usize = 60;

/// What metadata can hold: also what PostgreSQL has trouble with.
const VALUES: [&str; 41] = [
    "500",
    "500.0",
    "5e2",
    "499.99999999999999999999",
    "-0.0",
    "0",
    "1e-20000",
    "1e-400",
    "9007199254740993",
    "18446744073709551616",
    "0.1000000000000000055",
    "\"500\"",
    "\"\"",
    "\"*\"",
    "\"eu\"",
    "\"EU\"",
    "\"eu-west\"",
    "\"100%\"",
    "\"a_b\"",
    "\"a\\\\b\"",
    "\"a\\u0000b\"",
    "\"\\\\u0000\"",
    "\"\\\\\\u0000\\u0000\"",
    "\"\\u00fcber\"",
    "\"über\"",
    "\"o'clock\"",
    "\"say \\\"hi\\\"\"",
    "\"true\"",
    "\"null\"",
    "true",
    "false",
    "null",
    "{}",
    "{\"b\":500}",
    "{\"b\":{\"c\":\"eu\"}}",
    "{\"0\":\"eu\"}",
    "[]",
    "[\"eu\",500,null]",
    "[[\"eu\"],{\"b\":500}]",
    "[600,\"us\",true]",
    "\"Infinity\"",
];
const FIELDS: [&str; 16] = [
    r#""severity":"low""#,
    r#""severity":"critical""#,
    r#""session_id":"s-1""#,
    r#""session_id":"s'2\\""#,
    r#""trace_id":"t-1""#,
    r#""decision_id":"d-1""#,
    r#""resource":"invoice:7""#,
    r#""resource":"100% of \"it\"""#,
    r#""resource":null"#,
    r#""span_id":"sp""#,
    r#""client_event_id":"c-1""#,
    r#""error_code":"E500""#,
    r#""latency_ms":12.5"#,
    r#""latency_ms":0"#,
    r#""latency_ms":1e-400"#,
    r#""latency_ms":null"#,
];
/// Terms, each also with a `-`.
const TERMS: [&str; 64] = [
    "result:denied",
    "result:success",
    "result:(error,denied)",
    "result:*",
    "result:s*",
    "severity:low",
    "severity:>=high",
    "severity:*",
    "agent_id:ag-1",
    "agent_id:(ag-1,ag-%)",
    "agent_id:ag*",
    "agent_id:*-%",
    "action:files.*",
    "action:*.refund",
    "action:pay*.r*d",
    "event_type:tool_call",
    "event_type:decision",
    "source:server",
    "source:key",
    "source:(server,key_00000000000000000000000001)",
    "source:*",
    "session_id:s-1",
    "session_id:\"s'2\\\\\"",
    "session_id:*",
    "trace_id:t-*",
    "decision_id:d-1",
    "resource:invoice:7",
    "resource:invoice*",
    "resource:100%*",
    "resource:*",
    "span_id:sp",
    "client_event_id:*",
    "error_code:E5*",
    "latency_ms:12.5",
    "latency_ms:<1",
    "latency_ms:0..13",
    "latency_ms:*",
    "received_at:>=0000-01-01",
    "decision:deny",
    "decision:(allow,deny)",
    "policy:p1",
    "took_us:>100",
    "metadata.a:500",
    "metadata.a:\"500\"",
    "metadata.a:>=499.99999999999999",
    "metadata.a:0",
    "metadata.a:<1",
    "metadata.a:0.1",
    "metadata.a:9007199254740992",
    "metadata.a:eu",
    "metadata.a:eu*",
    "metadata.a:(*\\b,a_*,*%)",
    "metadata.a:a*b",
    "metadata.a:\"über\"",
    "metadata.a:\"\\\\u0000\"",
    "metadata.a:(\"say \\\"hi\\\"\",o'clock,\"*\",\"\")",
    "metadata.a:(true,null)",
    "metadata.a:*",
    "metadata.a.b:500",
    "metadata.a.b.c:(eu,us)",
    "metadata.a.0:eu",
    "metadata.\"o'k\".\"x y\":*",
    "\"EU-\"",
    "ü",
];

fn event(dice: &mut Dice, now: Timestamp) -> Event {
    let ago = Duration::from_millis(dice.below(10 * 24 * 3600 * 1000_u64));
    let random = [(); 10].map(|()| u8::try_from(dice.below(256_u16)).expect("a byte"));
    let id = EventId::new(now.minus(ago), random);
    // The server writes events of its own types only.
    let kinds = [
        ("tool_call", None),
        ("tool_call", Some("key_00000000000000000000000001")),
        ("decision", None),
        ("decision", Some("server")),
        ("decision", Some("server")),
    ];
    let (event_type, source) = dice.of(&kinds);
    let agent = dice.of(&["ag-1", "ag-2", "ag-%"]);
    let action = dice.of(&["files.read", "payments.refund", "pay.x"]);
    let result = dice.of(&["success", "success", "success", "denied", "error"]);
    let mut fields = vec![
        format!(r#""received_at":"{}""#, id.time()),
        format!(
            r#""event_type":"{event_type}","agent_id":"{agent}","action":"{action}","result":"{result}""#
        ),
    ];
    fields.extend(source.map(|source| format!(r#""source":"{source}""#)));
    for name in [
        "severity",
        "session_id",
        "trace_id",
        "decision_id",
        "resource",
        "span_id",
        "client_event_id",
        "error_code",
        "latency_ms",
    ] {
        let start = format!("\"{name}\"");
        let choices: Vec<&str> = FIELDS
            .into_iter()
            .filter(|field| field.starts_with(&start))
            .collect();
        if dice.one_in(2) {
            fields.push(dice.of(&choices).to_owned());
        }
    }
    if !dice.one_in(8) {
        let decision = dice.of(&["deny", "allow", "escalate"]);
        let value = dice.of(&VALUES);
        let metadata = if dice.one_in(2) {
            format!(
                r#"{{"took_us":{},"decision":"{decision}","policies":["p1","p2"],"a":{value}}}"#,
                dice.below(300_u32)
            )
        } else {
            format!(r#"{{"a":{value},"o'k":{{"x y":1}}}}"#)
        };
        fields.push(format!("\"metadata\":{metadata}"));
    }
    Event {
        id,
        json: format!("{{{}}}", fields.join(",")),
    }
}

fn text(dice: &mut Dice, now: Timestamp) -> String {
    let hours_ago = |hours: u64| now.minus(Duration::from_secs(hours * 3600)).to_string();
    let mut terms = Vec::new();
    for _ in 0..=dice.below(3_u8) {
        let minus = if dice.one_in(3) { "-" } else { "" };
        let term = match dice.below(12_u8) {
            0 => format!("occurred_at:>{}", hours_ago(dice.below(240))),
            1 => format!("received_at:<={}", hours_ago(dice.below(240))),
            2 => {
                let from = 1 + dice.below(200_u64);
                format!(
                    "occurred_at:({},{}..{})",
                    hours_ago(dice.below(240)),
                    hours_ago(from + 40),
                    hours_ago(from)
                )
            }
            _ => dice.of(&TERMS).to_owned(),
        };
        terms.push(format!("{minus}{term}"));
    }
    terms.join(" ")
}

async fn filled(store: &Store, database: &Database, dice: &mut Dice) -> Vec<Event> {
    let now = now(database);
    let mut events: Vec<Event> = (0..EVENTS).map(|_| event(dice, now)).collect();
    index(store, org(), &events, Span::new(0, 1)).await;
    database.query(COUNT).expect("counted");
    events.sort_by_key(|event| std::cmp::Reverse(event.id));
    events
}

async fn exported(store: &Store, filter: &Filter) -> Vec<String> {
    let ends = [Uuid::nil(), Uuid::max()].map(EventId::from_uuid);
    let mut at = Position::new(ends[0], ends[1], None);
    let mut events = Vec::new();
    loop {
        let piece = store.export_events(org(), filter, at).await;
        let piece = piece.expect("a piece");
        events.extend(piece.text.lines().map(str::to_owned));
        if piece.is_last {
            return events;
        }
        at = piece.reached;
    }
}

#[tokio::test]
async fn a_query_finds_what_it_finds_in_memory() {
    let (store, database) = store().await;
    let mut dice = Dice(0x9e5);
    let events = filled(&store, &database, &mut dice).await;
    let now = now(&database);
    let (mut asked, mut found) = (0, 0);
    while asked < QUERIES {
        let text = text(&mut dice, now);
        let mut filter = Filter::default();
        // Some terms exclude each other, and are refused together.
        if filter.add("filter", &text).is_err() {
            continue;
        }
        if dice.one_in(5) {
            filter.add("result", "success").expect("a filter");
        }
        asked += 1;
        let matching = events.iter().filter(|event| {
            let view = EventView::parse(&event.json).expect("an event");
            filter.matches(event.id, &event.json, &view)
        });
        let (expected, bodies): (Vec<EventId>, Vec<&str>) = matching
            .map(|event| (event.id, event.json.as_str()))
            .unzip();
        let query = EventsQuery {
            filter: filter.clone(),
            order: Order::NewestFirst,
            after: None,
            limit: 1_000,
        };
        let ids = listed(&store, query, Budget::default()).await;
        assert_eq!(ids, expected, "{filter:?}");
        found += ids.len();
        let facets = store.event_facets(org(), &filter, now).await;
        let facets = facets.expect("counted");
        assert!(facets.is_exact, "{filter:?}");
        assert_eq!(facets.counted, ids.len() as u64, "{filter:?}");
        assert_eq!(exported(&store, &filter).await, bodies, "{filter:?}");
    }
    assert!(found > QUERIES, "the queries find something: {found}");
}

#[tokio::test]
async fn every_term_means_the_same_alone_and_with_a_minus() {
    let (store, database) = store().await;
    let mut dice = Dice(0x7e4);
    let events = filled(&store, &database, &mut dice).await;
    for term in TERMS {
        let mut lengths = Vec::new();
        for text in [term.to_owned(), format!("-{term}")] {
            let mut filter = Filter::default();
            filter.add("filter", &text).expect(&text);
            let matching = events.iter().filter(|event| {
                let view = EventView::parse(&event.json).expect("an event");
                filter.matches(event.id, &event.json, &view)
            });
            let expected: Vec<EventId> = matching.map(|event| event.id).collect();
            let query = EventsQuery {
                filter,
                order: Order::NewestFirst,
                after: None,
                limit: 1_000,
            };
            let ids = listed(&store, query, Budget::default()).await;
            assert_eq!(ids, expected, "{text}");
            lengths.push(ids.len());
        }
        assert_eq!(lengths.iter().sum::<usize>(), EVENTS, "{term}");
    }
}
