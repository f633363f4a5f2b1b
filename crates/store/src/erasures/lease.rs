//! Erasures as nodes work on them: one at a time has a job, by a lease that it renews.
//!
//! A page is written down before anything is done about it, with how far the search is behind it: after a crash nothing else
//! would tell which events the trail says were erased.

use std::time::Duration;

use domain::{ErasureId, EventId, OrgId, Timestamp};
use sqlx::{FromRow, types::time::OffsetDateTime};
use uuid::Uuid;

use super::{What, again};
use crate::{
    Error, Store,
    jobs::{Held, Job},
    times::{from_database, to_database},
};

/// A job that was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimedErasure {
    pub org: OrgId,
    pub id: ErasureId,
    pub lease: Uuid,
    pub asked_by: String,
    pub reason: String,
    pub what: What,
    /// How many of its ids were seen to.
    pub ids_seen: usize,
    /// Of a filter, what is left is below this; `None`: everything is.
    pub below: Option<EventId>,
    /// Nothing is left to be found.
    pub is_found: bool,
    /// What somebody began to erase and may not have finished.
    pub page: Option<ErasurePage>,
    /// How many pages were begun.
    pub pages: u32,
    /// How often it was taken since its last finished page, this time included.
    pub tries: u32,
}

/// Events that are erased together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErasurePage {
    pub number: u32,
    pub at: Timestamp,
    pub events: Vec<EventId>,
}

/// What a look for the next events found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// To be erased.
    pub events: Vec<EventId>,
    pub already_erased: u64,
    /// Those of them that are still there: deleted again, without the trail being told again.
    pub again: Vec<EventId>,
    pub kept: u64,
    pub not_found: Vec<EventId>,
    /// How far the search is now.
    pub ids_seen: usize,
    pub below: Option<EventId>,
    /// It is at its end.
    pub is_last: bool,
}

#[derive(FromRow)]
struct Row {
    org_id: Uuid,
    id: Uuid,
    asked_by: String,
    reason: String,
    ids: Option<Vec<Uuid>>,
    filter: Option<String>,
    newest: Option<Uuid>,
    oldest: Option<Uuid>,
    ids_seen: i32,
    below: Option<Uuid>,
    is_found: bool,
    page: Vec<Uuid>,
    page_at: Option<OffsetDateTime>,
    page_number: i32,
    tries: i32,
}

impl Store {
    /// Takes a job that nobody works on, the one that has waited longest. It counts as tried from now on.
    pub async fn claim_erasure(
        &self,
        lease: Uuid,
        lasts: Duration,
    ) -> Result<Option<ClaimedErasure>, Error> {
        let row: Option<Row> = sqlx::query_as(
            "UPDATE erasures SET lease = $1, leased_until = now() + $2 * interval '1 second', tries = tries + 1
             WHERE (org_id, id) = (
                 SELECT org_id, id FROM erasures WHERE state = 'running' AND leased_until <= now()
                 ORDER BY leased_until LIMIT 1 FOR UPDATE SKIP LOCKED)
             RETURNING org_id, id, asked_by, reason, ids, filter, newest, oldest, ids_seen, below, is_found, page, page_at,
                       page_number, tries",
        )
        .bind(lease)
        .bind(lasts.as_secs_f64())
        .fetch_optional(&self.pool)
        .await?;
        Ok(row.map(|row| row.claimed(lease)))
    }

    /// Writes down what was found: the search is behind it, and its events are the page that is next. `None` if the job is not
    /// ours any more.
    pub async fn begin_erasure_page(
        &self,
        job: &ClaimedErasure,
        look: Look,
        at: Timestamp,
        lasts: Duration,
    ) -> Result<Option<ErasurePage>, Error> {
        let number = job.pages + 1;
        let uuids = |ids: &[EventId]| ids.iter().map(|id| id.uuid()).collect::<Vec<_>>();
        let mut transaction = self.pool.begin().await?;
        again::delete(&mut transaction, job, &look.again).await?;
        let begun = sqlx::query(
            "UPDATE erasures SET page = $4, page_at = $5, page_number = $6, already = already + $7, kept = kept + $8,
                                 not_found = not_found || $9, ids_seen = $10, below = $11, is_found = $12,
                                 leased_until = now() + $13 * interval '1 second'
             WHERE org_id = $1 AND id = $2 AND lease = $3 AND state = 'running'",
        )
        .bind(job.org.uuid())
        .bind(job.id.uuid())
        .bind(job.lease)
        .bind(uuids(&look.events))
        .bind(to_database(at))
        .bind(i32::try_from(number).unwrap_or(i32::MAX))
        .bind(i64::try_from(look.already_erased).unwrap_or(i64::MAX))
        .bind(i64::try_from(look.kept).unwrap_or(i64::MAX))
        .bind(uuids(&look.not_found))
        .bind(i32::try_from(look.ids_seen).unwrap_or(i32::MAX))
        .bind(look.below.map(EventId::uuid))
        .bind(look.is_last)
        .bind(lasts.as_secs_f64())
        .execute(&mut *transaction)
        .await?;
        if begun.rows_affected() == 0 {
            return Ok(None);
        }
        transaction.commit().await?;
        Ok(Some(ErasurePage {
            number,
            at,
            events: look.events,
        }))
    }
}

impl Job for ClaimedErasure {
    fn held(&self) -> Held {
        Held {
            table: "erasures",
            org: self.org,
            id: self.id.uuid(),
            lease: self.lease,
        }
    }
}

impl Row {
    fn claimed(self, lease: Uuid) -> ClaimedErasure {
        let events = |ids: Vec<Uuid>| ids.into_iter().map(EventId::from_uuid).collect();
        let range = self.newest.zip(self.oldest);
        let range =
            range.map(|(newest, oldest)| (EventId::from_uuid(newest), EventId::from_uuid(oldest)));
        let pages = self.page_number.unsigned_abs();
        ClaimedErasure {
            org: OrgId::from_uuid(self.org_id),
            id: ErasureId::from_uuid(self.id),
            lease,
            asked_by: self.asked_by,
            reason: self.reason,
            what: match self.filter {
                Some(filter) => What::Filter(filter, range),
                None => What::Ids(events(self.ids.unwrap_or_default())),
            },
            ids_seen: usize::try_from(self.ids_seen).unwrap_or(0),
            below: self.below.map(EventId::from_uuid),
            is_found: self.is_found,
            page: self.page_at.map(|at| ErasurePage {
                number: pages,
                at: from_database(at),
                events: events(self.page),
            }),
            pages,
            tries: self.tries.unsigned_abs(),
        }
    }
}
