//! Which events were erased: nothing that the journal says of them is written any more.

use std::collections::{HashMap, HashSet};

use domain::{EventId, OrgId};
use sqlx::PgConnection;
use uuid::Uuid;

use super::{ClaimedErasure, ErasurePage};
use crate::{Error, Store, events::EventRow};

/// Has an organization's erased events to itself until the transaction ends: whoever was writing its events is done, and the
/// next sees what this one erases.
pub(super) async fn lock(connection: &mut PgConnection, org: OrgId) -> Result<(), Error> {
    sqlx::query("SELECT FROM organizations_with_erasures WHERE org_id = $1 FOR UPDATE")
        .bind(org.uuid())
        .execute(connection)
        .await?;
    Ok(())
}

/// Puts the tombstones of a page; how many events had none.
pub(super) async fn put(
    connection: &mut PgConnection,
    job: &ClaimedErasure,
    page: &ErasurePage,
    by: EventId,
) -> Result<u64, Error> {
    let put = sqlx::query(
        "INSERT INTO erased_events (org_id, event_id, erasure_id, erasure_event)
         SELECT $1, page.event_id, $3, $4 FROM unnest($2::uuid[]) AS page (event_id) ON CONFLICT DO NOTHING",
    )
    .bind(job.org.uuid())
    .bind(page.events.iter().map(|id| id.uuid()).collect::<Vec<_>>())
    .bind(job.id.uuid())
    .bind(by.uuid())
    .execute(connection)
    .await?;
    Ok(put.rows_affected())
}

/// Those of these events, all of organizations that have erased some, that were erased.
pub(crate) async fn among(
    connection: &mut PgConnection,
    rows: &[&EventRow<'_>],
) -> Result<HashSet<(OrgId, EventId)>, Error> {
    let erased: Vec<(Uuid, Uuid)> = sqlx::query_as(
        "SELECT org_id, event_id FROM erased_events
         JOIN unnest($1::uuid[], $2::uuid[]) AS row (org_id, event_id) USING (org_id, event_id)",
    )
    .bind(rows.iter().map(|row| row.org.uuid()).collect::<Vec<_>>())
    .bind(rows.iter().map(|row| row.id.uuid()).collect::<Vec<_>>())
    .fetch_all(connection)
    .await?;
    let key = |(org, id)| (OrgId::from_uuid(org), EventId::from_uuid(id));
    Ok(erased.into_iter().map(key).collect())
}

impl Store {
    /// Whether an organization ever asked for an erasure; of all others no event was erased.
    pub async fn has_erasures(&self, org: OrgId) -> Result<bool, Error> {
        let has_some = sqlx::query_scalar(
            "SELECT EXISTS (SELECT FROM organizations_with_erasures WHERE org_id = $1)",
        );
        Ok(has_some.bind(org.uuid()).fetch_one(&self.pool).await?)
    }

    /// Those of an organization's events that were erased, and the event that says so of each.
    pub async fn erased_events(
        &self,
        org: OrgId,
        ids: &[EventId],
    ) -> Result<HashMap<EventId, EventId>, Error> {
        if ids.is_empty() {
            return Ok(HashMap::new());
        }
        let rows: Vec<(Uuid, Uuid)> = sqlx::query_as(
            "SELECT event_id, erasure_event FROM erased_events WHERE org_id = $1 AND event_id = ANY ($2)",
        )
        .bind(org.uuid())
        .bind(ids.iter().map(|id| id.uuid()).collect::<Vec<_>>())
        .fetch_all(&self.pool)
        .await?;
        let erased = |(id, by)| (EventId::from_uuid(id), EventId::from_uuid(by));
        Ok(rows.into_iter().map(erased).collect())
    }
}
