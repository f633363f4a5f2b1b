//! Reads events: one page, or one event.

use domain::{EventId, OrgId};
use uuid::Uuid;

use crate::{Error, Store, page::Page};

/// One listed event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredEvent {
    pub id: EventId,
    /// The event as stored.
    pub json: String,
}

impl Store {
    /// An organisation's events, newest first, from below `before` on.
    pub async fn list_events(
        &self,
        org: OrgId,
        before: Option<EventId>,
        limit: u32,
    ) -> Result<Page<StoredEvent, EventId>, Error> {
        let before = before.map_or(Uuid::max(), EventId::uuid);
        let rows: Vec<(Uuid, String)> = sqlx::query_as(
            "SELECT id, body FROM audit_events WHERE org_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3",
        )
        .bind(org.uuid())
        .bind(before)
        .bind(i64::from(limit) + 1)
        .fetch_all(&self.pool)
        .await?;
        let rows = rows.into_iter().map(StoredEvent::from_row).collect();
        Ok(Page::from_rows(rows, limit, |event| event.id))
    }

    pub async fn event(&self, org: OrgId, id: EventId) -> Result<Option<StoredEvent>, Error> {
        let row = sqlx::query_as("SELECT id, body FROM audit_events WHERE org_id = $1 AND id = $2")
            .bind(org.uuid())
            .bind(id.uuid())
            .fetch_optional(&self.pool)
            .await?;
        Ok(row.map(StoredEvent::from_row))
    }
}

impl StoredEvent {
    fn from_row((id, json): (Uuid, String)) -> Self {
        Self {
            id: EventId::from_uuid(id),
            json,
        }
    }
}
