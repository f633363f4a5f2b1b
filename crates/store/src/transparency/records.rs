//! The rows that leaves stand for, as the log names them: by their ids.

use std::collections::HashMap;

use domain::{AttemptId, EventId, OrgId};
use trail_proof::leaf::Salt;
use uuid::Uuid;

use crate::{Error, Store, deliveries::Attempt};

/// What a leaf commits to. No salt: it was recorded before there was a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    pub stored: String,
    pub salt: Option<Salt>,
}

impl Store {
    /// Those of an organization's events that the database has.
    pub async fn events_by_id(
        &self,
        org: OrgId,
        ids: &[EventId],
    ) -> Result<HashMap<EventId, Record>, Error> {
        let (Some(first), Some(last)) = (ids.iter().min(), ids.iter().max()) else {
            return Ok(HashMap::new());
        };
        // With the ends, only days that may have one are looked into.
        let rows: Vec<(Uuid, String, Option<Vec<u8>>)> = sqlx::query_as(
            "SELECT id, body, salt FROM audit_events
             WHERE org_id = $1 AND id >= $2 AND id <= $3 AND id = ANY ($4)",
        )
        .bind(org.uuid())
        .bind(first.uuid())
        .bind(last.uuid())
        .bind(ids.iter().map(|id| id.uuid()).collect::<Vec<_>>())
        .fetch_all(&self.pool)
        .await?;
        let record = |(id, stored, salt): (Uuid, String, Option<Vec<u8>>)| {
            let salt = salt.and_then(|salt| salt.try_into().ok()).map(Salt);
            (EventId::from_uuid(id), Record { stored, salt })
        };
        Ok(rows.into_iter().map(record).collect())
    }

    /// What hides an organization's events, of those that are in its log.
    pub async fn salts_of(
        &self,
        org: OrgId,
        ids: &[EventId],
    ) -> Result<HashMap<EventId, Salt>, Error> {
        let (Some(first), Some(last)) = (ids.iter().min(), ids.iter().max()) else {
            return Ok(HashMap::new());
        };
        let rows: Vec<(Uuid, Vec<u8>)> = sqlx::query_as(
            "SELECT id, salt FROM audit_events
             WHERE org_id = $1 AND id >= $2 AND id <= $3 AND salt IS NOT NULL",
        )
        .bind(org.uuid())
        .bind(first.uuid())
        .bind(last.uuid())
        .fetch_all(&self.pool)
        .await?;
        let salt = |(id, salt): (Uuid, Vec<u8>)| {
            let salt = salt.try_into().ok().map(Salt)?;
            Some((EventId::from_uuid(id), salt))
        };
        Ok(rows.into_iter().filter_map(salt).collect())
    }

    /// Those of an organization's attempts that the database has.
    pub async fn attempts_by_id(
        &self,
        org: OrgId,
        ids: &[AttemptId],
    ) -> Result<HashMap<AttemptId, Record>, Error> {
        let attempts = self.attempts_with_ids(org, ids).await?;
        let record = |attempt: Attempt| {
            let stored = String::from_utf8_lossy(&attempt.statement()).into_owned();
            let salt = attempt.salt;
            (attempt.id, Record { stored, salt })
        };
        Ok(attempts.into_iter().map(record).collect())
    }
}
