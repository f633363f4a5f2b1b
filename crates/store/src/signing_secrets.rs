//! Signing secrets of organizations: each change with its announcement and what the trail is told of it, in
//! one transaction. Texts are sealed; nothing here can read them.

use domain::{
    OrgId, SecretId, Timestamp, UserId,
    account::Role,
    secret::{Refused, Secret, What},
};
use sqlx::{FromRow, Postgres, Transaction, types::time::OffsetDateTime};
use uuid::Uuid;

use crate::{
    Error, Store,
    members::locked_role,
    outbox::{self, OutboxEntry},
    times::{from_database, to_database},
};

/// How many secrets of an organization are kept after they ended: years of rotations, and few enough to be read
/// at once. Those that have not ended are not counted; the rules of rotation allow three.
const ENDED_KEPT_MAX: i64 = 100;

/// A secret as it is saved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretRow {
    pub secret: Secret,
    /// `None`: it was dropped by hand, and its text with it.
    pub sealed: Option<String>,
    pub created_by: Option<UserId>,
}

/// What somebody did to a secret, for the trail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretChange {
    pub org: OrgId,
    pub secret: SecretId,
    pub what: What,
    pub by: UserId,
    pub at: Timestamp,
    /// Of a promotion: until when the secret before signs beside it.
    pub until: Option<Timestamp>,
}

/// A change that may be made.
#[derive(Clone, Debug)]
pub struct Decided {
    /// Secrets that are new or other than before.
    pub changed: Vec<SecretRow>,
    pub told: Option<SecretChange>,
}

/// Why a change was not made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotChanged {
    /// Who asks is an admin no longer.
    NotAllowed,
    Refused(Refused),
}

/// Named, because `*` stops working under a running process when a column is added.
macro_rules! columns {
    () => {
        "id, sealed, created_by, created_at, promoted_at, ends_at, deployment_ends_at"
    };
}

impl Store {
    /// An organization's secrets as of `now`, newest first, dropped ones too.
    pub async fn signing_secrets(
        &self,
        org: OrgId,
        now: Timestamp,
    ) -> Result<Vec<SecretRow>, Error> {
        let mut transaction = self.pool.begin().await?;
        read(&mut transaction, org, now).await
    }

    /// Changes an organization's secrets as `decide` says, by what they are. One change happens after the
    /// other, and so do their announcements.
    pub async fn change_signing_secrets(
        &self,
        org: OrgId,
        by: UserId,
        now: Timestamp,
        decide: impl FnOnce(&[SecretRow]) -> Result<Decided, Refused>,
        announcement: impl FnOnce(&[SecretRow]) -> OutboxEntry,
    ) -> Result<Result<Decided, NotChanged>, Error> {
        let mut transaction = self.pool.begin().await?;
        let role = locked_role(&mut transaction, org, by).await?;
        if !role.is_some_and(Role::may_manage) {
            return Ok(Err(NotChanged::NotAllowed));
        }
        let decided = match decide(&read(&mut transaction, org, now).await?) {
            Ok(decided) => decided,
            Err(refused) => return Ok(Err(NotChanged::Refused(refused))),
        };
        for row in &decided.changed {
            write(&mut transaction, org, row).await?;
        }
        prune(&mut transaction, org, now).await?;
        if let Some(told) = &decided.told {
            to_be_told(&mut transaction, told).await?;
        }
        let after = read(&mut transaction, org, now).await?;
        outbox::enqueue(&mut transaction, &announcement(&after)).await?;
        transaction.commit().await?;
        Ok(Ok(decided))
    }

    /// What happened to secrets before `made_before` and the trail was not told of, oldest first.
    pub async fn unpublished_secret_changes(
        &self,
        made_before: Timestamp,
        limit: u32,
    ) -> Result<Vec<SecretChange>, Error> {
        let rows: Vec<SecretChangeRow> = sqlx::query_as(
            "SELECT org_id, secret_id, what, made_by, made_at, until FROM signing_secret_changes
             WHERE made_at < $1 ORDER BY made_at LIMIT $2",
        )
        .bind(to_database(made_before))
        .bind(i64::from(limit))
        .fetch_all(&self.pool)
        .await?;
        rows.into_iter().map(SecretChange::try_from).collect()
    }

    /// The trail has the audit event of this change.
    pub async fn secret_change_published(&self, told: &SecretChange) -> Result<(), Error> {
        sqlx::query(
            "DELETE FROM signing_secret_changes WHERE org_id = $1 AND secret_id = $2 AND what = $3",
        )
        .bind(told.org.uuid())
        .bind(told.secret.uuid())
        .bind(told.what.as_str())
        .execute(&self.pool)
        .await?;
        Ok(())
    }

    /// Forgets secrets that ended before then: no attempt that was signed with them is kept.
    pub async fn forget_signing_secrets(&self, ended_before: Timestamp) -> Result<u64, Error> {
        let done = sqlx::query("DELETE FROM signing_secrets WHERE ends_at < $1")
            .bind(to_database(ended_before))
            .execute(&self.pool)
            .await?;
        Ok(done.rows_affected())
    }
}

/// All that have not ended, however many ended after them: nodes sign with what is read here.
pub(crate) async fn read(
    transaction: &mut Transaction<'_, Postgres>,
    org: OrgId,
    now: Timestamp,
) -> Result<Vec<SecretRow>, Error> {
    let rows: Vec<Row> = sqlx::query_as(concat!(
        "SELECT ",
        columns!(),
        " FROM signing_secrets
          WHERE org_id = $1
            AND (ends_at IS NULL OR ends_at > $2
                 OR id IN (SELECT id FROM signing_secrets WHERE org_id = $1 AND ends_at <= $2
                           ORDER BY id DESC LIMIT $3))
          ORDER BY id DESC",
    ))
    .bind(org.uuid())
    .bind(to_database(now))
    .bind(ENDED_KEPT_MAX)
    .fetch_all(&mut **transaction)
    .await?;
    Ok(rows.into_iter().map(SecretRow::from).collect())
}

async fn write(
    transaction: &mut Transaction<'_, Postgres>,
    org: OrgId,
    row: &SecretRow,
) -> Result<(), Error> {
    let secret = &row.secret;
    sqlx::query(
        "INSERT INTO signing_secrets (org_id, id, sealed, created_by, created_at, promoted_at, ends_at,
                                      deployment_ends_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
         ON CONFLICT (org_id, id) DO UPDATE
         SET sealed = $3, promoted_at = $6, ends_at = $7, deployment_ends_at = $8",
    )
    .bind(org.uuid())
    .bind(secret.id.uuid())
    .bind(&row.sealed)
    .bind(row.created_by.map(UserId::uuid))
    .bind(to_database(secret.created_at))
    .bind(secret.promoted_at.map(to_database))
    .bind(secret.ends_at.map(to_database))
    .bind(secret.deployment_ends_at.map(to_database))
    .execute(&mut **transaction)
    .await?;
    Ok(())
}

/// Forgets the oldest of those that ended, if they are too many.
async fn prune(
    transaction: &mut Transaction<'_, Postgres>,
    org: OrgId,
    now: Timestamp,
) -> Result<(), Error> {
    sqlx::query(
        "DELETE FROM signing_secrets WHERE org_id = $1 AND ends_at <= $2 AND id <=
             (SELECT id FROM signing_secrets WHERE org_id = $1 AND ends_at <= $2
              ORDER BY id DESC OFFSET $3 LIMIT 1)",
    )
    .bind(org.uuid())
    .bind(to_database(now))
    .bind(ENDED_KEPT_MAX)
    .execute(&mut **transaction)
    .await?;
    Ok(())
}

async fn to_be_told(
    transaction: &mut Transaction<'_, Postgres>,
    told: &SecretChange,
) -> Result<(), Error> {
    sqlx::query(
        "INSERT INTO signing_secret_changes (org_id, secret_id, what, made_by, made_at, until)
         VALUES ($1, $2, $3, $4, $5, $6)",
    )
    .bind(told.org.uuid())
    .bind(told.secret.uuid())
    .bind(told.what.as_str())
    .bind(told.by.uuid())
    .bind(to_database(told.at))
    .bind(told.until.map(to_database))
    .execute(&mut **transaction)
    .await?;
    Ok(())
}

#[derive(FromRow)]
struct Row {
    id: Uuid,
    sealed: Option<String>,
    created_by: Option<Uuid>,
    created_at: OffsetDateTime,
    promoted_at: Option<OffsetDateTime>,
    ends_at: Option<OffsetDateTime>,
    deployment_ends_at: Option<OffsetDateTime>,
}

#[derive(FromRow)]
struct SecretChangeRow {
    org_id: Uuid,
    secret_id: Uuid,
    what: String,
    made_by: Uuid,
    made_at: OffsetDateTime,
    until: Option<OffsetDateTime>,
}

impl From<Row> for SecretRow {
    fn from(row: Row) -> Self {
        Self {
            secret: Secret {
                id: SecretId::from_uuid(row.id),
                created_at: from_database(row.created_at),
                promoted_at: row.promoted_at.map(from_database),
                ends_at: row.ends_at.map(from_database),
                deployment_ends_at: row.deployment_ends_at.map(from_database),
            },
            sealed: row.sealed,
            created_by: row.created_by.map(UserId::from_uuid),
        }
    }
}

impl TryFrom<SecretChangeRow> for SecretChange {
    type Error = Error;

    fn try_from(row: SecretChangeRow) -> Result<Self, Error> {
        let what = What::ALL.into_iter().find(|what| what.as_str() == row.what);
        let what = what.ok_or_else(|| Error::Inconsistent {
            what: "a change of a signing secret",
            problem: format!("`{}` is not a change to secrets", row.what),
        })?;
        Ok(Self {
            org: OrgId::from_uuid(row.org_id),
            secret: SecretId::from_uuid(row.secret_id),
            what,
            by: UserId::from_uuid(row.made_by),
            at: from_database(row.made_at),
            until: row.until.map(from_database),
        })
    }
}
