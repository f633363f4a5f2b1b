//! Which organizations are deleted, or are being: nothing that the journal says of them is written any more.

use std::collections::{BTreeSet, HashSet};

use domain::OrgId;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::Error;

/// Those of these organizations that have a tombstone. One look-up by key for all rows of a transaction, which are of few
/// organizations.
pub(crate) async fn among(
    connection: &mut PgConnection,
    orgs: impl Iterator<Item = OrgId>,
) -> Result<HashSet<OrgId>, Error> {
    let orgs: BTreeSet<Uuid> = orgs.map(OrgId::uuid).collect();
    if orgs.is_empty() {
        return Ok(HashSet::new());
    }
    let orgs: Vec<Uuid> = orgs.into_iter().collect();
    let deleted: Vec<Uuid> =
        sqlx::query_scalar("SELECT org_id FROM tombstones WHERE org_id = ANY($1)")
            .bind(orgs)
            .fetch_all(connection)
            .await?;
    Ok(deleted.into_iter().map(OrgId::from_uuid).collect())
}
