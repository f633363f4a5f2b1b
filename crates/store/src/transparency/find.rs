//! Where in a log a leaf may be, by its time.

use domain::{OrgId, Timestamp};
use sqlx::types::time::OffsetDateTime;

use super::outbox::{from_index, to_index};
use crate::{Error, Store, times::to_database};

/// How many bundles one page has. Leaves are nearly in the order of their times, so one or two bundles may have a leaf; after a
/// backlog, bundles span a long time, and there are more.
const PAGE: i64 = 64;

/// A bundle, and the latest time of a leaf in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    pub number: u64,
    last_at: OffsetDateTime,
}

impl Store {
    /// A page of the full bundles that may have a leaf of this time, the likeliest first.
    pub async fn bundles_around(
        &self,
        org: OrgId,
        at: Timestamp,
        after: Option<Candidate>,
    ) -> Result<Vec<Candidate>, Error> {
        let rows: Vec<(i64, OffsetDateTime)> = sqlx::query_as(
            "SELECT number, last_at FROM transparency_bundles
             WHERE org_id = $1 AND last_at >= $2 AND first_at <= $2 AND (last_at, number) > ($3, $4)
             ORDER BY last_at, number LIMIT $5",
        )
        .bind(org.uuid())
        .bind(to_database(at))
        .bind(after.map_or_else(|| to_database(at), |after| after.last_at))
        .bind(after.map_or(-1, |after| to_index(after.number)))
        .bind(PAGE)
        .fetch_all(&self.pool)
        .await?;
        let candidate = |(number, last_at)| Candidate {
            number: from_index(number),
            last_at,
        };
        Ok(rows.into_iter().map(candidate).collect())
    }

    /// The first full bundle that has a leaf of this time or later; every one after it may have some, too.
    pub async fn first_bundle_since(
        &self,
        org: OrgId,
        at: Timestamp,
    ) -> Result<Option<u64>, Error> {
        let number: Option<i64> = sqlx::query_scalar(
            "SELECT min(number) FROM transparency_bundles WHERE org_id = $1 AND last_at >= $2",
        )
        .bind(org.uuid())
        .bind(to_database(at))
        .fetch_one(&self.pool)
        .await?;
        Ok(number.map(from_index))
    }
}
