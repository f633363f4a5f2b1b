//! Adds up how many events there were with each value of a field, in each minute, hour and day.
//!
//! A batch is added up in memory first and then added to what is there, in the transaction that
//! writes its events: so the counts are of exactly the events in the table.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    time::Duration,
};

use domain::{OrgId, Timestamp};
use sqlx::PgConnection;

use super::{CountedBy, Grain, MINUTES_KEPT};
use crate::{Error, Store, events::EventRow, times::to_database};

/// How many values of a field one batch counts by name for each organization, over all its minutes:
/// beyond it nobody reads the chart any more, and a client that invents values, each at a time of its
/// own, must not make rows for each event.
const VALUES_MAX: usize = 1_000;
/// The value under which a batch counts what is beyond [`VALUES_MAX`]. No event has it: the door
/// refuses empty texts. Who asks whether a value occurs must take this one for a maybe.
const OTHER: &str = "";
/// How many counts one statement adds; bounds its parameters, each of some 100 bytes.
const COUNTS_PER_STATEMENT: usize = 10_000;

/// One organization's events in one minute.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Minute {
    org: OrgId,
    begins: i64,
}

/// How many events had each value of each field, in the order of [`CountedBy::ALL`].
type Values<'a> = [HashMap<&'a str, i64>; CountedBy::ALL.len()];

/// What one row of the table is found by, in the order of its key: two transactions that add to the
/// same rows take them in the same order, so neither waits for the other in a circle.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Key<'a> {
    org: OrgId,
    field: CountedBy,
    grain: Grain,
    begins: i64,
    value: &'a str,
}

/// Tally of a batch.
#[derive(Default)]
pub(crate) struct Tally<'a> {
    minutes: HashMap<Minute, Values<'a>>,
    /// The values that are counted by name.
    named: HashMap<(OrgId, CountedBy), HashSet<&'a str>>,
    newest: Timestamp,
}

impl<'a> Tally<'a> {
    pub(crate) fn of(rows: impl Iterator<Item = &'a EventRow<'a>>) -> Self {
        let mut counts = Self::default();
        for row in rows {
            counts.add(row);
        }
        counts
    }

    pub(crate) fn add(&mut self, row: &'a EventRow<'a>) {
        self.newest = self.newest.max(row.received_at);
        let minute = Minute {
            org: row.org,
            begins: Grain::Minute.bucket(row.id.time().unix_millis()),
        };
        let minute = self.minutes.entry(minute).or_default();
        for (field, values) in CountedBy::ALL.into_iter().zip(minute) {
            let Some(value) = value_of(row, field) else {
                continue;
            };
            // What is counted in this minute already is, however it is named.
            if let Some(events) = values.get_mut(value) {
                *events += 1;
                continue;
            }
            let named = self.named.entry((row.org, field)).or_default();
            let is_named =
                named.contains(value) || (named.len() < VALUES_MAX && named.insert(value));
            *values
                .entry(if is_named { value } else { OTHER })
                .or_default() += 1;
        }
    }

    /// The minutes added up to hours and days; minutes themselves only from then on.
    fn rolled_up(&self, kept_from: i64) -> BTreeMap<Key<'a>, i64> {
        let mut sums = BTreeMap::new();
        for (minute, values) in &self.minutes {
            let values = CountedBy::ALL.into_iter().zip(values);
            let values =
                values.flat_map(|(field, values)| values.iter().map(move |it| (field, it)));
            for (field, (value, events)) in values {
                for grain in Grain::ALL {
                    if grain == Grain::Minute && minute.begins < kept_from {
                        continue;
                    }
                    let key = Key {
                        org: minute.org,
                        field,
                        grain,
                        begins: grain.bucket(minute.begins),
                        value,
                    };
                    *sums.entry(key).or_default() += events;
                }
            }
        }
        sums
    }

    /// Adds them to what is there.
    pub(in crate::events) async fn save(&self, connection: &mut PgConnection) -> Result<(), Error> {
        let kept_from = self.newest.minus(MINUTES_KEPT).unix_millis();
        let sums: Vec<(Key<'_>, i64)> = self.rolled_up(kept_from).into_iter().collect();
        for sums in sums.chunks(COUNTS_PER_STATEMENT) {
            add_to_table(connection, sums).await?;
        }
        Ok(())
    }

    /// Takes them away from what is there.
    pub(crate) async fn take_away(&self, connection: &mut PgConnection) -> Result<(), Error> {
        let sums: Vec<(Key<'_>, i64)> = self.rolled_up(i64::MIN).into_iter().collect();
        for sums in sums.chunks(COUNTS_PER_STATEMENT) {
            take_from_table(connection, sums).await?;
        }
        Ok(())
    }
}

fn value_of<'a>(row: &'a EventRow<'a>, field: CountedBy) -> Option<&'a str> {
    match field {
        CountedBy::EventType => Some(row.event_type),
        CountedBy::Result => Some(row.result),
        CountedBy::AgentId => Some(row.agent_id),
        CountedBy::Action => Some(row.action),
        CountedBy::Severity => row.severity,
    }
}

impl Store {
    /// Forgets counts that are older than they are kept, given how long events are; how many there
    /// were. Not all at once: what remains is for the next time.
    pub async fn forget_old_counts(
        &self,
        now: Timestamp,
        events_kept: Duration,
    ) -> Result<u64, Error> {
        let kept = [
            (Grain::Minute, MINUTES_KEPT.min(events_kept)),
            (Grain::Hour, events_kept),
            (Grain::Day, events_kept),
        ];
        let mut forgotten = 0;
        for (grain, kept) in kept {
            // A day's row goes when its whole day is too old, as the events of that day do.
            let before = Grain::Day.bucket(now.minus(kept).unix_millis());
            for _ in 0..SLICES_MAX {
                let slice = forget_slice(self, grain, Timestamp::from_unix_millis(before)).await?;
                forgotten += slice;
                if slice < SLICE_ROWS {
                    break;
                }
            }
        }
        Ok(forgotten)
    }
}

/// So many rows are deleted in a transaction, which holds up nobody for long.
const SLICE_ROWS: u64 = 10_000;
/// So many times in one round: more than an hour makes, unless a client invents values.
const SLICES_MAX: usize = 100;

async fn forget_slice(store: &Store, grain: Grain, before: Timestamp) -> Result<u64, Error> {
    let deleted = sqlx::query(
        "DELETE FROM event_counts WHERE ctid = ANY (ARRAY (
             SELECT ctid FROM event_counts WHERE grain = $1 AND bucket < $2 LIMIT $3))",
    )
    .bind(grain.as_str())
    .bind(to_database(before))
    .bind(i64::try_from(SLICE_ROWS).unwrap_or(i64::MAX))
    .execute(&store.pool)
    .await?;
    Ok(deleted.rows_affected())
}

async fn add_to_table(connection: &mut PgConnection, sums: &[(Key<'_>, i64)]) -> Result<(), Error> {
    let texts = |value: for<'k> fn(&Key<'k>) -> &'k str| {
        sums.iter().map(|(key, _)| value(key)).collect::<Vec<_>>()
    };
    let begins = |(key, _): &(Key<'_>, i64)| to_database(Timestamp::from_unix_millis(key.begins));
    sqlx::query(
        "INSERT INTO event_counts (org_id, field, grain, bucket, value, events)
         SELECT org_id, field, grain, bucket, value, events
         FROM UNNEST($1::uuid[], $2::text[], $3::text[], $4::timestamptz[], $5::text[], $6::bigint[])
              AS row (org_id, field, grain, bucket, value, events)
         ON CONFLICT (org_id, field, grain, bucket, value)
         DO UPDATE SET events = event_counts.events + excluded.events",
    )
    .bind(sums.iter().map(|(key, _)| key.org.uuid()).collect::<Vec<_>>())
    .bind(texts(|key| key.field.as_str()))
    .bind(texts(|key| key.grain.as_str()))
    .bind(sums.iter().map(begins).collect::<Vec<_>>())
    .bind(texts(|key| key.value))
    .bind(sums.iter().map(|(_, events)| *events).collect::<Vec<_>>())
    .execute(connection)
    .await?;
    Ok(())
}

/// What no event has a count of any more goes with its value, which may be somebody's name. Of values that a batch did not
/// count by name less is taken away there than was counted, never more.
async fn take_from_table(
    connection: &mut PgConnection,
    sums: &[(Key<'_>, i64)],
) -> Result<(), Error> {
    let texts = |value: for<'k> fn(&Key<'k>) -> &'k str| {
        sums.iter().map(|(key, _)| value(key)).collect::<Vec<_>>()
    };
    let begins = |(key, _): &(Key<'_>, i64)| to_database(Timestamp::from_unix_millis(key.begins));
    sqlx::query(
        "WITH erased AS (
             SELECT * FROM UNNEST($1::uuid[], $2::text[], $3::text[], $4::timestamptz[], $5::text[], $6::bigint[])
                  AS row (org_id, field, grain, bucket, value, events)),
         gone AS (
             DELETE FROM event_counts USING erased
             WHERE event_counts.org_id = erased.org_id AND event_counts.field = erased.field
               AND event_counts.grain = erased.grain AND event_counts.bucket = erased.bucket
               AND event_counts.value = erased.value AND event_counts.events <= erased.events)
         UPDATE event_counts SET events = event_counts.events - erased.events FROM erased
         WHERE event_counts.org_id = erased.org_id AND event_counts.field = erased.field
           AND event_counts.grain = erased.grain AND event_counts.bucket = erased.bucket
           AND event_counts.value = erased.value AND event_counts.events > erased.events",
    )
    .bind(sums.iter().map(|(key, _)| key.org.uuid()).collect::<Vec<_>>())
    .bind(texts(|key| key.field.as_str()))
    .bind(texts(|key| key.grain.as_str()))
    .bind(sums.iter().map(begins).collect::<Vec<_>>())
    .bind(texts(|key| key.value))
    .bind(sums.iter().map(|(_, events)| *events).collect::<Vec<_>>())
    .execute(connection)
    .await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use domain::EventId;
    use uuid::Uuid;

    use super::*;

    #[test]
    fn values_at_times_of_their_own_are_not_all_counted_by_name() {
        let agents: Vec<String> = (0..VALUES_MAX + 50).map(|n| n.to_string()).collect();
        let rows: Vec<EventRow<'_>> = (0..)
            .zip(&agents)
            .map(|(number, agent)| {
                let at = Timestamp::from_unix_millis(number * Grain::Minute.millis());
                EventRow {
                    org: OrgId::from_uuid(Uuid::from_u128(1)),
                    id: EventId::new(at, [7; 10]),
                    received_at: at,
                    event_type: "tool_call",
                    agent_id: agent,
                    action: "files.read",
                    result: "success",
                    severity: None,
                    session_id: None,
                    trace_id: None,
                    decision_id: None,
                    source: None,
                    json: "{}",
                    salt: trail_proof::leaf::Salt([0; 16]),
                }
            })
            .collect();
        let sums = Tally::of(rows.iter()).rolled_up(i64::MIN);
        let mut by_day = sums
            .iter()
            .filter(|(key, _)| key.field == CountedBy::AgentId && key.grain == Grain::Day);
        assert_eq!(by_day.clone().count(), VALUES_MAX + 1);
        assert!(by_day.any(|(key, events)| key.value == OTHER && *events == 50));
    }
}
