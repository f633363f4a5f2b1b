//! What the trail must still be told of policies.

use domain::{
    OrgId, Timestamp,
    policy_state::{Done, Hand, What},
};
use sqlx::{FromRow, Postgres, Transaction, types::time::OffsetDateTime};
use uuid::Uuid;

use super::{
    change::{read_settings, settings_text},
    from_number, to_number,
};
use crate::{
    Error, Store,
    times::{from_database, to_database},
};

/// What somebody did to policies, for the trail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyChange {
    pub org: OrgId,
    pub done: Done,
    /// Of the version that it was done to.
    pub digest: Option<String>,
    /// The key or the person.
    pub by: String,
    pub at: Timestamp,
}

impl PolicyChange {
    pub(super) fn new(org: OrgId, done: Done, digest: Option<String>, hand: Hand<'_>) -> Self {
        Self {
            org,
            done,
            digest,
            by: hand.by.to_owned(),
            at: hand.at,
        }
    }
}

impl Store {
    /// What was done to policies before `made_before` and the trail was not told of, oldest first.
    pub async fn unpublished_policy_changes(
        &self,
        made_before: Timestamp,
        limit: u32,
    ) -> Result<Vec<PolicyChange>, Error> {
        let rows: Vec<Row> = sqlx::query_as(
            "SELECT org_id, number, what, version, digest, instead_of, settings, made_by, made_at
             FROM policy_changes WHERE made_at < $1 ORDER BY made_at LIMIT $2",
        )
        .bind(to_database(made_before))
        .bind(i64::from(limit))
        .fetch_all(&self.pool)
        .await?;
        rows.into_iter().map(PolicyChange::try_from).collect()
    }

    /// The trail has the audit event of this change.
    pub async fn policy_change_published(&self, told: &PolicyChange) -> Result<(), Error> {
        sqlx::query("DELETE FROM policy_changes WHERE org_id = $1 AND number = $2")
            .bind(told.org.uuid())
            .bind(to_number(told.done.number))
            .execute(&self.pool)
            .await?;
        Ok(())
    }
}

pub(super) async fn note(
    transaction: &mut Transaction<'_, Postgres>,
    told: &[PolicyChange],
) -> Result<(), Error> {
    for told in told {
        let done = &told.done;
        sqlx::query(
            "INSERT INTO policy_changes (org_id, number, what, version, digest, instead_of, settings, made_by,
                                         made_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        )
        .bind(told.org.uuid())
        .bind(to_number(done.number))
        .bind(done.what.action())
        .bind(done.version.map(to_number))
        .bind(&told.digest)
        .bind(done.instead_of.map(to_number))
        .bind(done.settings.as_ref().map(settings_text))
        .bind(&told.by)
        .bind(to_database(told.at))
        .execute(&mut **transaction)
        .await?;
    }
    Ok(())
}

#[derive(FromRow)]
struct Row {
    org_id: Uuid,
    number: i32,
    what: String,
    version: Option<i32>,
    digest: Option<String>,
    instead_of: Option<i32>,
    settings: Option<String>,
    made_by: String,
    made_at: OffsetDateTime,
}

impl TryFrom<Row> for PolicyChange {
    type Error = Error;

    fn try_from(row: Row) -> Result<Self, Error> {
        let org = OrgId::from_uuid(row.org_id);
        let what = What::ALL.into_iter().find(|what| what.action() == row.what);
        let what = what.ok_or_else(|| Error::Inconsistent {
            what: "a change of policies",
            problem: format!("{org}: `{}` is not a change to policies", row.what),
        })?;
        let settings = row.settings.map(|text| read_settings(org, &text));
        Ok(Self {
            org,
            done: Done {
                number: from_number(row.number),
                what,
                version: row.version.map(from_number),
                instead_of: row.instead_of.map(from_number),
                settings: settings.transpose()?,
            },
            digest: row.digest,
            by: row.made_by,
            at: from_database(row.made_at),
        })
    }
}
