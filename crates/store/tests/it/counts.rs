//! What charts are made of.

use domain::{OrgId, Timestamp};
use store::events::{CountedBy, Counts, CountsQuery, Grain};
use uuid::Uuid;

use crate::store;

/// 2026-11-15T00:00:00Z.
const DAY: i64 = 1_794_700_800_000;
const HOUR: i64 = 3_600_000;

fn wanted(values_most: u32) -> CountsQuery {
    CountsQuery {
        by: CountedBy::Result,
        grain: Grain::Hour,
        from: Timestamp::from_unix_millis(DAY),
        to: Timestamp::from_unix_millis(DAY + 3 * HOUR),
        values_most,
    }
}

/// Bucket, value and events, flattened.
fn flat(counts: &Counts) -> Vec<(i64, Option<&str>, u64)> {
    let buckets = counts.iter().flat_map(|(at, values)| {
        let hour = (at.unix_millis() - DAY) / HOUR;
        values
            .iter()
            .map(move |(value, events)| (hour, value.as_deref(), *events))
    });
    buckets.collect()
}

#[tokio::test]
async fn the_values_with_most_events_are_told_apart_and_the_rest_is_added_up() {
    let (store, database) = store().await;
    let insert = "INSERT INTO event_counts (org_id, field, grain, bucket, value, events)
        SELECT org::uuid, field, grain, '2026-11-15T00:00:00Z'::timestamptz + hours * interval '1 hour', value, events
        FROM (VALUES
            ('00000000-0000-0000-0000-000000000001', 'result', 'hour', 0, 'success', 5),
            ('00000000-0000-0000-0000-000000000001', 'result', 'hour', 0, 'denied', 1),
            ('00000000-0000-0000-0000-000000000001', 'result', 'hour', 2, 'denied', 7),
            ('00000000-0000-0000-0000-000000000001', 'result', 'hour', 2, 'error', 2),
            ('00000000-0000-0000-0000-000000000001', 'result', 'hour', 2, '', 100),
            ('00000000-0000-0000-0000-000000000001', 'result', 'hour', 3, 'success', 90),
            ('00000000-0000-0000-0000-000000000001', 'result', 'hour', -1, 'success', 90),
            ('00000000-0000-0000-0000-000000000001', 'result', 'day', 0, 'success', 90),
            ('00000000-0000-0000-0000-000000000001', 'event_type', 'hour', 0, 'login', 90),
            ('00000000-0000-0000-0000-000000000002', 'result', 'hour', 0, 'success', 90)
        ) AS v (org, field, grain, hours, value, events)";
    database.query(insert).expect("inserted");
    let org = OrgId::from_uuid(Uuid::from_u128(1));
    let counts = store.event_counts(org, &wanted(2)).await;
    let counts = counts.expect("an answer").expect("few enough");
    assert_eq!(
        flat(&counts),
        [
            (0, Some("denied"), 1),
            (0, Some("success"), 5),
            (2, None, 102),
            (2, Some("denied"), 7),
        ]
    );
    let counts = store.event_counts(org, &wanted(1)).await;
    let counts = counts.expect("an answer").expect("few enough");
    assert_eq!(
        flat(&counts),
        [
            (0, None, 5),
            (0, Some("denied"), 1),
            (2, None, 102),
            (2, Some("denied"), 7)
        ]
    );
    let nobody = OrgId::from_uuid(Uuid::from_u128(3));
    let counts = store.event_counts(nobody, &wanted(1)).await;
    assert!(counts.expect("an answer").expect("few enough").is_empty());
}

#[tokio::test]
async fn more_counts_than_can_be_added_up_in_time_are_refused() {
    let (store, database) = store().await;
    let insert = "INSERT INTO event_counts (org_id, field, grain, bucket, value, events)
        SELECT '00000000-0000-0000-0000-000000000001', 'result', 'hour', '2026-11-15T01:00:00Z', number::text, 1
        FROM generate_series(1, 200001) AS number";
    database.query(insert).expect("inserted");
    let org = OrgId::from_uuid(Uuid::from_u128(1));
    let counts = store.event_counts(org, &wanted(10)).await;
    assert_eq!(counts.expect("an answer"), None);
}
