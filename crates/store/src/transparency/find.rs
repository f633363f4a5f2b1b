//! Where in a log a leaf may be, by its time.

use domain::{OrgId, Timestamp};

use super::outbox::from_index;
use crate::{Error, Store, times::to_database};

/// How many bundles are looked into for one leaf. Leaves are nearly in the order of their times, so one or two have it; one that
/// spans a long time, because an old record was applied late, may come in between.
const CANDIDATES_MAX: i64 = 64;

impl Store {
    /// The full bundles that may have a leaf of this time, the likeliest first.
    pub async fn bundles_around(&self, org: OrgId, at: Timestamp) -> Result<Vec<u64>, Error> {
        let numbers: Vec<i64> = sqlx::query_scalar(
            "SELECT number FROM transparency_bundles
             WHERE org_id = $1 AND last_at >= $2 AND first_at <= $2 ORDER BY last_at, number LIMIT $3",
        )
        .bind(org.uuid())
        .bind(to_database(at))
        .bind(CANDIDATES_MAX)
        .fetch_all(&self.pool)
        .await?;
        Ok(numbers.into_iter().map(from_index).collect())
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
