//! Pieces of an export hold exactly what the filter asks for, whatever is in it and wherever they end.

use domain::{
    EventId, OrgId,
    event::{EventView, Filter},
};
use serde_json::json;
use store::{
    Store,
    events::export::{Piece, Position},
    watermark::Span,
};
use testkit::{Database, Dice};
use uuid::Uuid;

use crate::{
    NOW,
    list::{Event, filled, filter, index, org},
    store,
};

const FILTERS: usize = 60;
/// Pieces after which an export of some hundred events has no end.
const PIECES_MOST: usize = 10_000;

/// What is no plain text to SQL, in some way or other.
const HOSTILE: [&str; 14] = [
    "o'clock",
    "''",
    "\\",
    "\\'",
    "'; DROP TABLE audit_events; --",
    "\\'; DROP TABLE audit_events; --",
    "' OR true OR '",
    "$$",
    "$1",
    "/* */ --",
    "%_",
    "E'\\x27'",
    "\u{2019}ünï \u{1f514}\n\ttext",
    "\"]::text[]) OR (true",
];

fn everything() -> Position {
    let (first, last) = (Uuid::nil(), Uuid::max());
    Position::new(EventId::from_uuid(first), EventId::from_uuid(last), None)
}

fn texts(piece: &Piece) -> Vec<String> {
    let mut left = piece.text.as_str();
    let texts = piece.lengths.iter().map(|length| {
        let (text, behind) = left.split_at(*length as usize);
        left = behind.strip_prefix('\n').expect("a line end");
        text.to_owned()
    });
    let texts = texts.collect();
    assert_eq!(left, "");
    texts
}

/// The events from a position on, read in pieces that look at no more rows, and how many pieces.
async fn exported(
    store: &Store,
    org: OrgId,
    filter: &Filter,
    from: Position,
    rows: Option<u32>,
) -> (Vec<String>, usize) {
    let mut events = Vec::new();
    let mut at = from;
    for number in 1..PIECES_MOST {
        if let Some(rows) = rows {
            at = at.at_most(rows);
        }
        let piece = store.export_events(org, filter, at).await.expect("a piece");
        events.extend(texts(&piece));
        if piece.is_last {
            return (events, number);
        }
        assert!(piece.reached.below < at.below, "it goes on");
        at = piece.reached;
    }
    panic!("the export has no end: {filter:?}");
}

fn matches(filter: &Filter, event: &Event) -> bool {
    let view = EventView::parse(&event.json).expect("an event");
    filter.matches(event.id, &event.json, &view)
}

#[tokio::test]
async fn pieces_hold_what_the_filter_matches_newest_first_and_nothing_twice() {
    let (store, database) = store().await;
    let mut dice = Dice(0xe4907);
    let events = filled(&store, &database, &mut dice).await;
    let mut found = 0;
    for _ in 0..FILTERS {
        let mut filter = filter(&mut dice, &events);
        // An export has its times in the position.
        (filter.from, filter.to) = (None, None);
        let without = dice.one_in(2).then(|| events[events.len() / 2].id);
        let expected: Vec<&str> = events
            .iter()
            .rev()
            .filter(|event| matches(&filter, event) && Some(event.id) != without)
            .map(|event| event.json.as_str())
            .collect();
        found += expected.len();
        let mut from = everything();
        from.without = without;
        let rows = 1 + dice.below(40);
        let (small, _) = exported(&store, org(), &filter, from, Some(rows)).await;
        assert_eq!(small, expected, "{rows} {filter:?}");
        let (usual, _) = exported(&store, org(), &filter, from, None).await;
        assert_eq!(usual, expected, "{filter:?}");
    }
    assert!(found > FILTERS, "the filters find something: {found}");
}

#[tokio::test]
async fn a_position_ends_where_it_says() {
    let (store, database) = store().await;
    let events = filled(&store, &database, &mut Dice(0xe4d)).await;
    let all = Filter::default();
    let part = Position::new(events[100].id, events[200].id, None);
    let (read, _) = exported(&store, org(), &all, part, Some(7)).await;
    let expected: Vec<&str> = events[100..200]
        .iter()
        .rev()
        .map(|event| event.json.as_str())
        .collect();
    assert_eq!(read, expected);
}

/// An event whose every free text is this one.
fn hostile_event(number: u8, text: &str) -> Event {
    let fields = json!({
        "event_type": "tool_call",
        "agent_id": text,
        "action": "files.delete",
        "result": "success",
        "session_id": text,
        "trace_id": text,
        "decision_id": text,
    });
    Event {
        id: EventId::new(NOW, [number; 10]),
        json: fields.to_string(),
    }
}

async fn compare_hostile(store: &Store, events: &[Event]) {
    for field in ["agent_id", "session_id", "trace_id", "decision_id", "q"] {
        for (number, text) in HOSTILE.iter().enumerate() {
            let mut filter = Filter::default();
            filter.add(field, text).expect("a filter");
            if field != "q" && number % 2 == 0 {
                // Two values are not searched for by an index.
                filter.add(field, "another").expect("a filter");
            }
            let expected: Vec<&str> = events
                .iter()
                .rev()
                .filter(|event| matches(&filter, event))
                .map(|event| event.json.as_str())
                .collect();
            assert!(field == "q" || expected.len() == 1, "{field} {text}");
            let (read, _) = exported(store, org(), &filter, everything(), None).await;
            assert_eq!(read, expected, "{field} {text}");
        }
    }
}

#[tokio::test]
async fn nothing_in_a_filter_is_read_as_sql() {
    let (store, database) = store().await;
    let numbered = (1..).zip(HOSTILE);
    let events: Vec<Event> = numbered
        .map(|(number, text)| hostile_event(number, text))
        .collect();
    index(&store, org(), &events, Span::new(0, 1)).await;
    compare_hostile(&store, &events).await;
    // A database may be told to read plain literals as they were read of old.
    set_of_old(&database);
    let as_of_old = Store::new(database.url(), 1).expect("a store");
    compare_hostile(&as_of_old, &events).await;
}

fn set_of_old(database: &Database) {
    let set = "DO $$ BEGIN EXECUTE format(
        'ALTER DATABASE %I SET standard_conforming_strings = off', current_database()); END $$";
    database.query(set).expect("set");
    let read = database.query("SHOW standard_conforming_strings");
    assert_eq!(read.expect("a setting").trim(), "off");
}

#[tokio::test]
async fn a_text_that_postgresql_cannot_hold_is_refused_and_not_cut() {
    let (store, _database) = store().await;
    let filter = Filter {
        agent_id: vec!["a\0' OR true".to_owned()],
        ..Filter::default()
    };
    let refused = store.export_events(org(), &filter, everything()).await;
    assert!(refused.expect_err("refused").refuses_data());
    // The connection is not left in the midst of it.
    store.ping().await.expect("an answer");
}

/// Many events of a size.
fn large_events(number: u16, bytes: usize) -> Vec<Event> {
    (0..number)
        .map(|number| {
            let mut random = [0; 10];
            random[..2].copy_from_slice(&number.to_be_bytes());
            let fields = json!({
                "event_type": "tool_call",
                "agent_id": format!("ag-{number}"),
                "action": "files.delete",
                "result": "success",
                "metadata": {"note": "x".repeat(bytes)},
            });
            Event {
                id: EventId::new(NOW, random),
                json: fields.to_string(),
            }
        })
        .collect()
}

#[tokio::test]
async fn a_piece_that_grows_too_large_is_cut_and_the_next_goes_on_behind_it() {
    let (_, database) = store().await;
    // One connection only: whoever gets it next must not be sent the rest of a piece.
    let store = Store::new(database.url(), 1).expect("a store");
    let events = large_events(900, 30_000);
    index(&store, org(), &events, Span::new(0, 1)).await;
    let all = Filter::default();
    let first = store.export_events(org(), &all, everything()).await;
    let first = first.expect("a piece");
    let mib = 1024 * 1024;
    assert!((16 * mib..17 * mib).contains(&first.text.len()));
    assert!(!first.is_last);
    store.ping().await.expect("an answer");
    let (read, pieces) = exported(&store, org(), &all, everything(), None).await;
    let expected: Vec<&str> = events
        .iter()
        .rev()
        .map(|event| event.json.as_str())
        .collect();
    assert!(read == expected, "{} of {}", read.len(), expected.len());
    assert_eq!(pieces, 3, "16 MiB, then 256 events each");
}

#[tokio::test]
async fn a_reader_that_gives_up_leaves_no_half_read_piece_behind() {
    let (_, database) = store().await;
    let store = Store::new(database.url(), 1).expect("a store");
    let events = large_events(300, 30_000);
    index(&store, org(), &events, Span::new(0, 1)).await;
    let all = Filter::default();
    for polls in 1..20 {
        let mut piece = Box::pin(store.export_events(org(), &all, everything()));
        let mut polled = 0;
        let given_up = std::future::poll_fn(|context| {
            polled += 1;
            if polled > polls {
                return std::task::Poll::Ready(true);
            }
            piece.as_mut().poll(context).map(|_| false)
        });
        given_up.await;
        drop(piece);
        let (read, _) = exported(&store, org(), &all, everything(), None).await;
        assert_eq!(read.len(), events.len(), "given up after {polls} polls");
    }
}
