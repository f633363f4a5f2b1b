//! Queries, about events, decisions and deliveries: they never panic, one that is read is the same when it is
//! printed and read again, a filter with it finds what it finds, folded or not, and an error points at
//! whole characters of the text.

use domain::{
    EventId, Timestamp,
    event::{EventView, Filter},
    query::{COST_MAX, List, Matcher, Query, complete, parse},
};

const EVENT: &str = r#"{"source":"server","event_type":"decision","agent_id":"billing-1","action":"payments.refund","result":"denied","severity":"high","latency_ms":5.0,"metadata":{"amount":750,"order id":{"total":"500"},"decision":"deny"}}"#;

pub(crate) fn check(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    for list in List::ALL {
        check_completion(list, text);
        match parse(list, text) {
            Ok(query) => check_query(&query, text),
            Err(error) => {
                let part = text.get(error.span.start..error.span.end);
                assert!(part.is_some(), "points outside: {error:?}");
                assert!(error.position(text) <= text.chars().count() + 1);
                assert!(!error.detail.is_empty());
            }
        }
    }
}

fn check_query(query: &Query, text: &str) {
    assert!(query.cost() <= COST_MAX);
    let printed = query.to_string();
    let again = parse(query.list, &printed).expect("what was printed can be read");
    assert_eq!(*query, again);
    assert_eq!(printed, again.to_string());
    let id = EventId::new(Timestamp::from_unix_millis(1_794_735_000_000), [7; 10]);
    let view = EventView::parse(EVENT).expect("an event");
    let matches = Matcher::new(query).map(|matcher| matcher.matches(id, EVENT, &view));
    let mut filter = Filter::default();
    if query.list == List::Events && filter.add("filter", text).is_ok() {
        assert_eq!(Some(filter.matches(id, EVENT, &view)), matches);
        let folded = filter.folded();
        assert_eq!(Some(folded.matches(id, EVENT, &view)), matches);
        let written = serde_json::to_string(&folded).expect("a filter can be written");
        let again: Filter = serde_json::from_str(&written).expect("what was written can be read");
        assert_eq!(folded, again);
    }
}

fn check_completion(list: List, text: &str) {
    for cursor in [text.len() / 2, text.len()] {
        let replaces = complete(list, text, cursor).replaces;
        assert!(text.get(replaces.start..replaces.end).is_some());
        assert!(replaces.end <= cursor);
    }
}
