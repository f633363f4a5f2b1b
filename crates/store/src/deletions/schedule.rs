//! Has an organization deleted when its time comes, or not after all.

use domain::{
    OrgId, Timestamp,
    account::{Role, security_log::What},
};
use serde_json::json;
use sqlx::{Postgres, Transaction, types::time::OffsetDateTime};

use crate::{
    Error, Store,
    account_outbox::{Hand, note, note_by},
    members::{lock_organization, locked_role},
    times::{from_database, to_database},
};

/// The most owners that are told of it.
pub const OWNERS_TOLD_MAX: u32 = 100;

/// An organization that is to be deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scheduled {
    pub deletes_at: Timestamp,
    /// Whether it was not to be deleted before.
    pub is_new: bool,
}

/// Why a deletion was not canceled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotCanceled {
    /// Who asks is no owner any more.
    NotAllowed,
    NotScheduled,
    /// Its time has come: some of it is gone already.
    HasBegun,
}

impl Store {
    /// Has an organization deleted then, unless it is to be deleted already, which then stays as it is: asking again
    /// neither puts it off nor hurries it. `None` if who asks is no owner any more.
    pub async fn schedule_deletion(
        &self,
        hand: Hand,
        deletes_at: Timestamp,
    ) -> Result<Option<Scheduled>, Error> {
        let mut transaction = self.pool.begin().await?;
        let asking = locked_role(&mut transaction, hand.org, hand.user).await?;
        if asking != Some(Role::Owner) {
            return Ok(None);
        }
        if let Some(deletes_at) = scheduled(&mut transaction, hand.org).await? {
            return Ok(Some(Scheduled {
                deletes_at,
                is_new: false,
            }));
        }
        set(&mut transaction, hand.org, Some(deletes_at)).await?;
        let details = json!({ "deletes_at": deletes_at });
        note(&mut transaction, hand, What::DeletionScheduled, details).await?;
        transaction.commit().await?;
        Ok(Some(Scheduled {
            deletes_at,
            is_new: true,
        }))
    }

    /// The same for whoever runs the server, who may also choose another time; its name, or `None` if there is no such
    /// organization, or it is being deleted already.
    pub async fn schedule_deletion_by_operator(
        &self,
        org: OrgId,
        deletes_at: Timestamp,
        now: Timestamp,
    ) -> Result<Option<String>, Error> {
        let mut transaction = self.pool.begin().await?;
        lock_organization(&mut transaction, org).await?;
        let name: Option<String> =
            sqlx::query_scalar("SELECT name FROM organisations WHERE id = $1")
                .bind(org.uuid())
                .fetch_optional(&mut *transaction)
                .await?;
        if name.is_none() || has_begun(&mut transaction, org).await? {
            return Ok(None);
        }
        set(&mut transaction, org, Some(deletes_at)).await?;
        let details = vec![json!({ "deletes_at": deletes_at }).to_string()];
        let by = ("operator", now);
        note_by(&mut transaction, org, by, What::DeletionScheduled, details).await?;
        transaction.commit().await?;
        Ok(name)
    }

    /// Has an organization not deleted after all.
    pub async fn cancel_deletion(&self, hand: Hand) -> Result<Result<(), NotCanceled>, Error> {
        let mut transaction = self.pool.begin().await?;
        let asking = locked_role(&mut transaction, hand.org, hand.user).await?;
        if asking != Some(Role::Owner) {
            return Ok(Err(NotCanceled::NotAllowed));
        }
        let Some(deletes_at) = scheduled(&mut transaction, hand.org).await? else {
            return Ok(Err(NotCanceled::NotScheduled));
        };
        if has_begun(&mut transaction, hand.org).await? {
            return Ok(Err(NotCanceled::HasBegun));
        }
        set(&mut transaction, hand.org, None).await?;
        let details = json!({ "deletes_at": deletes_at });
        note(&mut transaction, hand, What::DeletionCanceled, details).await?;
        transaction.commit().await?;
        Ok(Ok(()))
    }

    /// The addresses of an organization's owners.
    pub async fn owners(&self, org: OrgId) -> Result<Vec<String>, Error> {
        Ok(sqlx::query_scalar(
            "SELECT email FROM users WHERE org_id = $1 AND role = 'owner' ORDER BY id LIMIT $2",
        )
        .bind(org.uuid())
        .bind(i64::from(OWNERS_TOLD_MAX))
        .fetch_all(&self.pool)
        .await?)
    }
}

async fn scheduled(
    transaction: &mut Transaction<'_, Postgres>,
    org: OrgId,
) -> Result<Option<Timestamp>, Error> {
    let deletes_at: Option<OffsetDateTime> =
        sqlx::query_scalar("SELECT deletes_at FROM organisations WHERE id = $1")
            .bind(org.uuid())
            .fetch_one(&mut **transaction)
            .await?;
    Ok(deletes_at.map(from_database))
}

/// Asked under the organization's lock, without which nobody begins: what is answered holds until the transaction ends.
async fn has_begun(transaction: &mut Transaction<'_, Postgres>, org: OrgId) -> Result<bool, Error> {
    Ok(
        sqlx::query_scalar("SELECT EXISTS (SELECT 1 FROM tombstones WHERE org_id = $1)")
            .bind(org.uuid())
            .fetch_one(&mut **transaction)
            .await?,
    )
}

async fn set(
    transaction: &mut Transaction<'_, Postgres>,
    org: OrgId,
    deletes_at: Option<Timestamp>,
) -> Result<(), Error> {
    sqlx::query("UPDATE organisations SET deletes_at = $2 WHERE id = $1")
        .bind(org.uuid())
        .bind(deletes_at.map(to_database))
        .execute(&mut **transaction)
        .await?;
    Ok(())
}
