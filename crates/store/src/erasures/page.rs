//! Erases a page: tombstones, rows, counts and how far the job is move together, or nothing does.

use std::time::Duration;

use domain::{EventId, OrgId};
use sqlx::{PgConnection, types::time::OffsetDateTime};
use trail_proof::leaf::Salt;
use uuid::Uuid;

use super::{ClaimedErasure, ErasurePage, archive, tombstones};
use crate::{
    Error, Store,
    events::{EventRow, counts::Tally},
    times::from_database,
};

impl Store {
    /// Erases the events of a page, which `by` tells of in the trail. The job stays ours for longer; `false` if it is not.
    pub async fn erase_page(
        &self,
        job: &ClaimedErasure,
        page: &ErasurePage,
        by: EventId,
        lasts: Duration,
    ) -> Result<bool, Error> {
        let mut transaction = self.pool.begin().await?;
        archive::lock_shared(&mut transaction).await?;
        tombstones::lock(&mut transaction, job.org).await?;
        let erased = tombstones::put(&mut transaction, job, page, by).await?;
        delete(&mut transaction, job.org, &page.events).await?;
        let finished = sqlx::query(
            "UPDATE erasures SET page = '{}', page_at = NULL, erased = erased + $4, tries = 1, error = NULL,
                                 leased_until = now() + $5 * interval '1 second'
             WHERE org_id = $1 AND id = $2 AND lease = $3 AND state = 'running'",
        )
        .bind(job.org.uuid())
        .bind(job.id.uuid())
        .bind(job.lease)
        .bind(i64::try_from(erased).unwrap_or(i64::MAX))
        .bind(lasts.as_secs_f64())
        .execute(&mut *transaction)
        .await?;
        if finished.rows_affected() == 0 {
            return Ok(false);
        }
        transaction.commit().await?;
        Ok(true)
    }
}

/// What of a deleted row was counted.
type Deleted = (
    Uuid,
    OffsetDateTime,
    String,
    String,
    String,
    String,
    Option<String>,
);

/// Deletes those of an organization's events that are in the table, and takes them from the counts.
pub(super) async fn delete(
    connection: &mut PgConnection,
    org: OrgId,
    events: &[EventId],
) -> Result<(), Error> {
    let (Some(first), Some(last)) = (events.iter().min(), events.iter().max()) else {
        return Ok(());
    };
    // With the ends, only days that may have one are looked into.
    let deleted: Vec<Deleted> = sqlx::query_as(
        "DELETE FROM audit_events WHERE org_id = $1 AND id >= $2 AND id <= $3 AND id = ANY ($4)
         RETURNING id, received_at, event_type, agent_id, action, result, severity",
    )
    .bind(org.uuid())
    .bind(first.uuid())
    .bind(last.uuid())
    .bind(events.iter().map(|id| id.uuid()).collect::<Vec<_>>())
    .fetch_all(&mut *connection)
    .await?;
    let rows: Vec<EventRow<'_>> = deleted.iter().map(|row| counted(org, row)).collect();
    Tally::of(rows.iter()).take_away(connection).await
}

fn counted(
    org: OrgId,
    (id, received_at, event_type, agent_id, action, result, severity): &Deleted,
) -> EventRow<'_> {
    EventRow {
        org,
        id: EventId::from_uuid(*id),
        received_at: from_database(*received_at),
        event_type,
        agent_id,
        action,
        result,
        severity: severity.as_deref(),
        session_id: None,
        trace_id: None,
        decision_id: None,
        source: None,
        json: "",
        salt: Salt([0; 16]),
    }
}
