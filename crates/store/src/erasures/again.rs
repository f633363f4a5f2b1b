//! Deletes again what was erased and is in the table nevertheless.
//!
//! Nobody can delete an event of a day that is out of the table, to be dropped. If the day is put back, so would be what was
//! erased meanwhile. And whoever asks again for what is erased and not gone gets it deleted, whyever it is there.

use std::collections::BTreeMap;

use domain::{Day, EventId, OrgId};
use sqlx::PgConnection;
use uuid::Uuid;

use super::{ClaimedErasure, archive, page, tombstones};
use crate::Error;

/// So many tombstones are looked up in the table at a time: one statement for each organization, of 16 bytes for each.
const TOMBSTONES_AT_A_TIME: u32 = 1_000;

/// Deletes those of a job's events that were erased before. What the archive has of them is the job's to clean, unless their own
/// erasure is still at it.
pub(super) async fn delete(
    connection: &mut PgConnection,
    job: &ClaimedErasure,
    events: &[EventId],
) -> Result<(), Error> {
    if events.is_empty() {
        return Ok(());
    }
    archive::lock_shared(connection).await?;
    tombstones::lock(connection, job.org).await?;
    sqlx::query(
        "UPDATE erased_events SET erasure_id = $2 WHERE org_id = $1 AND event_id = ANY ($3)
         AND NOT EXISTS (SELECT FROM erasures WHERE erasures.org_id = $1 AND id = erasure_id AND state = 'running')",
    )
    .bind(job.org.uuid())
    .bind(job.id.uuid())
    .bind(events.iter().map(|id| id.uuid()).collect::<Vec<_>>())
    .execute(&mut *connection)
    .await?;
    page::delete(connection, job.org, events).await
}

/// Deletes what a day has of events with a tombstone. Nobody may erase meanwhile ([`super::archive::lock`]).
pub(crate) async fn delete_of_day(connection: &mut PgConnection, day: Day) -> Result<(), Error> {
    let below = day.next().first_id().uuid();
    let mut last = (day.first_id().uuid(), Uuid::nil());
    loop {
        let erased: Vec<(Uuid, Uuid)> = sqlx::query_as(
            "SELECT event_id, org_id FROM erased_events WHERE (event_id, org_id) > ($1, $2) AND event_id < $3
             ORDER BY event_id, org_id LIMIT $4",
        )
        .bind(last.0)
        .bind(last.1)
        .bind(below)
        .bind(i64::from(TOMBSTONES_AT_A_TIME))
        .fetch_all(&mut *connection)
        .await?;
        let Some(end) = erased.last() else {
            return Ok(());
        };
        last = *end;
        let mut of_orgs: BTreeMap<OrgId, Vec<EventId>> = BTreeMap::new();
        for (id, org) in erased {
            let of_org = of_orgs.entry(OrgId::from_uuid(org)).or_default();
            of_org.push(EventId::from_uuid(id));
        }
        for (org, ids) in of_orgs {
            page::delete(connection, org, &ids).await?;
        }
    }
}
