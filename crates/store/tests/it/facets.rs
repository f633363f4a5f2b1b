//! Counts are those of the list: whatever the filter, each number is how many events the list has when one filters by
//! it, however the count was made.

use domain::{EventId, OrgId, Timestamp, event::Filter};
use store::{
    Store,
    events::{Budget, CountedBy, EventFacets, EventsQuery, Order},
};
use testkit::{Database, Dice};
use uuid::Uuid;

use crate::{
    list::{COUNT, Event, filled, filter, listed, now, org},
    store,
};

const FILTERS: usize = 25;
/// More than there are, so that every event may be read.
const ALL_ROWS: u64 = 1_000_000;

/// How many events the list has.
async fn length(store: &Store, filter: Filter) -> u64 {
    let query = EventsQuery {
        filter,
        order: Order::NewestFirst,
        after: None,
        limit: 1_000,
    };
    listed(store, query, Budget::default()).await.len() as u64
}

/// The same filter, but for this field this value alone.
fn only(filter: &Filter, field: CountedBy, value: &str) -> Filter {
    let mut only = filter.clone();
    match field {
        CountedBy::EventType => only.event_type.clear(),
        CountedBy::Result => only.result.clear(),
        CountedBy::AgentId => only.agent_id.clear(),
        CountedBy::Action => only.action.clear(),
        CountedBy::Severity => only.severity.clear(),
    }
    only.add(field.as_str(), value).expect("a filter");
    only
}

/// Every number of an exact answer is what the list says.
async fn compare(store: &Store, filter: &Filter, facets: &EventFacets) {
    assert!(facets.is_exact && facets.is_complete, "{filter:?}");
    let all = length(store, filter.clone()).await;
    assert_eq!(facets.counted, all, "{filter:?}");
    assert_eq!(facets.estimate, all, "{filter:?}");
    for (field, values) in &facets.values {
        for (value, events) in values {
            let listed = if *events == 0 && has_other(filter, *field, value) {
                // It is named although it is not asked for.
                0
            } else {
                length(store, only(filter, *field, value)).await
            };
            assert_eq!(*events, listed, "{field:?} {value} of {filter:?}");
        }
    }
    // Some of the bars, or the test would be slow.
    for bar in facets.bars.iter().step_by(7) {
        let of_results: u64 = bar.by_result.values().sum();
        assert_eq!(bar.total, of_results, "few results, so each is named");
        if bar.total == 0 {
            continue;
        }
        let mut within = filter.clone();
        let end = Timestamp::from_unix_millis(bar.at.unix_millis() + facets.interval_ms);
        within.from = within.from.max(Some(bar.at));
        within.to = Some(within.to.map_or(end, |to| to.min(end)));
        assert_eq!(bar.total, length(store, within).await, "{filter:?}");
    }
}

/// Whether a filter asks for other values of a field only.
fn has_other(filter: &Filter, field: CountedBy, value: &str) -> bool {
    let values = match field {
        CountedBy::Result => &filter.result,
        CountedBy::Severity => &filter.severity,
        _ => return false,
    };
    !values.is_empty() && values.iter().all(|one| one != value)
}

/// The time alone.
fn plain(filter: &Filter) -> Filter {
    Filter {
        from: filter.from,
        to: filter.to,
        ..Filter::default()
    }
}

async fn prepared(seed: u64) -> (Store, Database, Vec<Event>, Dice) {
    let (store, database) = store().await;
    let mut dice = Dice(seed);
    let events = filled(&store, &database, &mut dice).await;
    database.query(COUNT).expect("counted");
    (store, database, events, dice)
}

#[tokio::test]
async fn every_number_is_how_many_events_the_list_has() {
    let (store, database, events, mut dice) = prepared(0xface7).await;
    let now = now(&database);
    let mut found = 0;
    for _ in 0..FILTERS {
        let filter = filter(&mut dice, &events);
        let facets = store
            .event_facets_within(org(), &filter, now, ALL_ROWS)
            .await
            .expect("counted");
        compare(&store, &filter, &facets).await;
        found += facets.counted;
    }
    assert!(found > 0, "the filters find something");
}

#[tokio::test]
async fn a_time_is_counted_by_the_kept_counts_to_the_millisecond() {
    let (store, database, events, mut dice) = prepared(0xb0b).await;
    let now = now(&database);
    for _ in 0..FILTERS {
        let filter = plain(&filter(&mut dice, &events));
        // No event may be read, but at the ends.
        let facets = store.event_facets_within(org(), &filter, now, 0).await;
        compare(&store, &filter, &facets.expect("counted")).await;
    }
}

#[tokio::test]
async fn the_usual_result_is_all_but_the_others() {
    let (store, database, events, mut dice) = prepared(0xa11).await;
    let now = now(&database);
    for number in 0..FILTERS {
        let mut filter = plain(&filter(&mut dice, &events));
        filter.add("result", "success").expect("a filter");
        if number % 3 == 0 {
            filter.add("result", "error").expect("a filter");
        }
        // Fewer than there are in all, more than there are others.
        let facets = store.event_facets_within(org(), &filter, now, 300).await;
        compare(&store, &filter, &facets.expect("counted")).await;
    }
}

#[tokio::test]
async fn without_kept_counts_events_are_counted_one_by_one() {
    let (store, database, events, mut dice) = prepared(0xdad).await;
    let now = now(&database);
    database.query("DELETE FROM event_counts").expect("deleted");
    for _ in 0..FILTERS / 5 {
        let filter = filter(&mut dice, &events);
        let facets = store.event_facets(org(), &filter, now).await;
        compare(&store, &filter, &facets.expect("counted")).await;
    }
}

#[tokio::test]
async fn what_would_cost_too_much_is_counted_in_part_and_says_so() {
    let (store, database, events, _) = prepared(0xca7).await;
    let now = now(&database);
    let mut filter = Filter::default();
    filter.add("result", "success").expect("a filter");
    let all = length(&store, filter.clone()).await;
    let facets = store
        .event_facets_within(org(), &filter, now, 100)
        .await
        .expect("counted");
    assert!(!facets.is_exact && !facets.is_complete);
    assert!(facets.counted > 0 && facets.counted < all, "{facets:?}");
    // The kept counts know how many have one value.
    assert_eq!(facets.estimate, all);
    let oldest: EventId = events.first().expect("an event").id;
    assert_eq!(
        facets.from,
        Some(oldest.time()),
        "the axis is all of the time"
    );
    let mut since = filter.clone();
    since.from = facets.counted_from;
    assert!(since.from > facets.from);
    assert_eq!(facets.counted, length(&store, since).await);
    let before = facets
        .bars
        .iter()
        .filter(|bar| Some(bar.at) < facets.counted_from);
    assert!(before.clone().count() > 0);
    assert_eq!(before.map(|bar| bar.total).sum::<u64>(), 0);
}

#[tokio::test]
async fn of_a_newest_day_that_costs_too_much_the_newest_hours_are_counted() {
    let (store, database, _, _) = prepared(0xda1).await;
    let now = now(&database);
    let day = 24 * 3_600_000;
    let to = now.unix_millis() / day * day;
    let mut filter = Filter {
        from: Some(Timestamp::from_unix_millis(to - 40 * day)),
        to: Some(Timestamp::from_unix_millis(to)),
        ..Filter::default()
    };
    filter.add("event_type", "tool_call").expect("a filter");
    // A fifth of a day.
    let facets = store.event_facets_within(org(), &filter, now, 10).await;
    let facets = facets.expect("counted");
    assert!(!facets.is_complete);
    let day_before = Timestamp::from_unix_millis(to - day);
    assert!(facets.counted_from > Some(day_before), "{facets:?}");
    filter.from = facets.counted_from;
    assert_eq!(facets.counted, length(&store, filter).await);
}

#[tokio::test]
async fn days_that_were_dropped_cost_nothing_and_are_not_estimated() {
    let (store, database, _, _) = prepared(0xd0d).await;
    let now = now(&database);
    // More than may be read, on a day of which nothing but the counts is left.
    let dropped = "INSERT INTO event_counts (org_id, field, grain, bucket, value, events)
        SELECT '00000000-0000-0000-0000-000000000001', field, grain,
               date_trunc(grain, now() - interval '20 days', 'UTC'), value, 2000000
        FROM (VALUES ('result', 'success'), ('event_type', 'tool_call')) AS counted (field, value)
        CROSS JOIN (VALUES ('hour'), ('day')) AS grains (grain)";
    database.query(dropped).expect("counted");
    for days in [25, 40] {
        let from = now.unix_millis() - days * 24 * 3_600_000;
        let mut filter = Filter {
            from: Some(Timestamp::from_unix_millis(from)),
            ..Filter::default()
        };
        filter.add("event_type", "tool_call").expect("a filter");
        let facets = store
            .event_facets_within(org(), &filter, now, ALL_ROWS)
            .await;
        let facets = facets.expect("counted");
        assert!(facets.is_exact && facets.is_complete, "{days} days");
        assert_eq!(facets.estimate, length(&store, filter).await);
    }
}

#[tokio::test]
async fn values_that_were_not_counted_one_by_one_make_an_answer_inexact() {
    let (store, database, _, _) = prepared(0xbad).await;
    let now = now(&database);
    let merged = "UPDATE event_counts SET value = '' WHERE field = 'action' AND value = 'pay.x'";
    database.query(merged).expect("merged");
    let all = Filter::default();
    let facets = store.event_facets_within(org(), &all, now, 0).await;
    let facets = facets.expect("counted");
    assert!(!facets.is_exact && facets.is_complete);
    assert_eq!(facets.counted, length(&store, all).await, "all the same");
    let actions = &facets.values[&CountedBy::Action];
    assert!(actions.iter().all(|(action, _)| !action.is_empty()));
    // Only at the ends of the time, where events were read.
    let counted = actions.iter().find(|(action, _)| action == "pay.x");
    let listed = length(&store, only(&Filter::default(), CountedBy::Action, "pay.x")).await;
    assert!(counted.is_none_or(|(_, events)| *events < listed));
}

#[tokio::test]
async fn counts_that_are_too_many_to_add_up_make_an_answer_inexact() {
    let (store, database, _, _) = prepared(0xc07).await;
    let now = now(&database);
    // Nothing is left of these values, as of those that a subtraction takes away; but other counts were cut off for them.
    let many = "INSERT INTO event_counts (org_id, field, grain, bucket, value, events)
        SELECT '00000000-0000-0000-0000-000000000001', 'agent_id', 'day',
               date_trunc('day', now() - interval '3 days', 'UTC'), 'none-' || number, 0
        FROM generate_series(1, 200001) AS number";
    database.query(many).expect("counted");
    let all = Filter::default();
    let facets = store.event_facets_within(org(), &all, now, 0).await;
    assert!(!facets.expect("counted").is_exact);
}

#[tokio::test]
async fn results_and_severities_are_named_even_if_no_event_has_them() {
    let (store, database, _, _) = prepared(0xabc).await;
    let now = now(&database);
    let facets = store.event_facets(org(), &Filter::default(), now).await;
    let facets = facets.expect("counted");
    let severities = &facets.values[&CountedBy::Severity];
    assert_eq!(severities.len(), 5, "{severities:?}");
    assert!(severities.contains(&("low".to_owned(), 0)));
    let mut nobody = Filter::default();
    nobody.add("agent_id", "nobody").expect("a filter");
    let facets = store.event_facets(org(), &nobody, now).await;
    let facets = facets.expect("counted");
    assert_eq!((facets.counted, facets.is_exact), (0, true));
    assert!(!facets.bars.is_empty(), "the axis is there");
    assert_eq!(facets.values[&CountedBy::Result].len(), 3);
}

#[tokio::test]
async fn where_there_are_no_events_the_same_is_named() {
    let (store, database, events, _) = prepared(0x0ff).await;
    let now = now(&database);
    let newcomer = OrgId::from_uuid(Uuid::from_u128(9));
    let oldest = events.first().expect("an event").id.time();
    let before = Filter {
        to: Some(Timestamp::from_unix_millis(1_000)),
        ..Filter::default()
    };
    for (org, filter, from) in [
        (newcomer, Filter::default(), None),
        (org(), before, Some(oldest)),
    ] {
        let facets = store.event_facets(org, &filter, now).await;
        let facets = facets.expect("counted");
        assert_eq!((facets.counted, facets.from), (0, from));
        assert_eq!(facets.values[&CountedBy::Result].len(), 3);
        assert_eq!(facets.values[&CountedBy::Severity].len(), 5);
    }
}

#[tokio::test]
async fn before_the_first_event_there_is_an_axis() {
    let (store, database) = store().await;
    let now = now(&database);
    let lately = Filter {
        from: Some(Timestamp::from_unix_millis(now.unix_millis() - 60_000)),
        ..Filter::default()
    };
    let facets = store.event_facets(org(), &lately, now).await;
    let facets = facets.expect("counted");
    assert_eq!(facets.counted, 0);
    assert!(!facets.bars.is_empty());
    assert_eq!(facets.values[&CountedBy::Result].len(), 3);
}
