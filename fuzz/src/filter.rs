//! Filters, as parameters (`name=value` lines) and as JSON: they never panic, and one that is
//! read says the same when it is written and read again.

use domain::{
    EventId, Timestamp,
    event::{EventView, Filter},
};

const EVENT: &str =
    r#"{"event_type":"tool_call","agent_id":"a","action":"files.delete","result":"denied"}"#;

pub(crate) fn check(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    if let Ok(filter) = serde_json::from_str::<Filter>(text) {
        check_filter(&filter);
    }
    let mut filter = Filter::default();
    for (name, value) in text.lines().filter_map(|line| line.split_once('=')) {
        let _ = filter.add(name, value);
    }
    check_filter(&filter);
}

fn check_filter(filter: &Filter) {
    let written = serde_json::to_string(filter).expect("a filter can be written");
    let again: Filter = serde_json::from_str(&written).expect("what was written can be read");
    assert_eq!(*filter, again);
    assert_eq!(filter.digest(), again.digest());
    let id = EventId::new(Timestamp::from_unix_millis(1_794_735_000_000), [7; 10]);
    let view = EventView::parse(EVENT).expect("an event");
    assert_eq!(
        filter.matches(id, EVENT, &view),
        again.matches(id, EVENT, &view)
    );
}
