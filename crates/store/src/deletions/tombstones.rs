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

/// What becomes of what the journal says of organizations.
#[derive(Default)]
pub(crate) struct Marks {
    /// They are deleted, or are being.
    pub(crate) deleted: HashSet<OrgId>,
    /// They had events erased. Nobody erases more until the transaction ends.
    pub(crate) erasing: HashSet<OrgId>,
}

/// The same, and which of them had events erased: no other organization's events are looked up.
pub(crate) async fn marks_of(
    connection: &mut PgConnection,
    orgs: impl Iterator<Item = OrgId>,
) -> Result<Marks, Error> {
    let orgs: BTreeSet<Uuid> = orgs.map(OrgId::uuid).collect();
    if orgs.is_empty() {
        return Ok(Marks::default());
    }
    let orgs: Vec<Uuid> = orgs.into_iter().collect();
    let found: Vec<(Uuid, bool)> = sqlx::query_as(
        "WITH erasing AS (
             SELECT org_id FROM organizations_with_erasures WHERE org_id = ANY($1) ORDER BY org_id FOR SHARE)
         SELECT org_id, false FROM tombstones WHERE org_id = ANY($1)
         UNION ALL SELECT org_id, true FROM erasing",
    )
    .bind(orgs)
    .fetch_all(connection)
    .await?;
    let mut marks = Marks::default();
    for (org, is_erasing) in found {
        let set = if is_erasing {
            &mut marks.erasing
        } else {
            &mut marks.deleted
        };
        set.insert(OrgId::from_uuid(org));
    }
    Ok(marks)
}
