//! What the trail must still be told of accounts: keys, members, invitations and logins.
//!
//! Every change writes its row in its own transaction, so that what was done is told, and nothing else.

use domain::{OrgId, Timestamp, UserId, account::security_log::What};
use serde_json::{Map, Value};
use sqlx::{FromRow, PgConnection, types::time::OffsetDateTime};
use uuid::Uuid;

use crate::{
    Error, Store,
    times::{from_database, to_database},
};

/// What somebody did with accounts, for the trail.
#[derive(Clone, Debug, PartialEq)]
pub struct AccountChange {
    pub org: OrgId,
    pub id: Uuid,
    pub what: What,
    /// The person, `operator`, or `watchbell`; of a refused login, whose account it is.
    pub by: String,
    pub at: Timestamp,
    /// Whom or what it was done to, and how it was before.
    pub details: Map<String, Value>,
}

/// Who changes something, and when.
#[derive(Clone, Copy, Debug)]
pub struct Hand {
    pub org: OrgId,
    pub user: UserId,
    pub at: Timestamp,
}

impl Store {
    /// What was done before `made_before` and the trail was not told of, of all organizations, oldest first.
    pub async fn unpublished_account_changes(
        &self,
        made_before: Timestamp,
        limit: u32,
    ) -> Result<Vec<AccountChange>, Error> {
        let rows: Vec<Row> = sqlx::query_as(
            "SELECT org_id, id, what, made_by, details, made_at
             FROM account_changes WHERE made_at < $1 ORDER BY made_at LIMIT $2",
        )
        .bind(to_database(made_before))
        .bind(i64::from(limit))
        .fetch_all(&self.pool)
        .await?;
        rows.into_iter().map(AccountChange::try_from).collect()
    }

    /// What was done in an organization and the trail was not told of.
    pub async fn unpublished_account_changes_of(
        &self,
        org: OrgId,
        limit: u32,
    ) -> Result<Vec<AccountChange>, Error> {
        let rows: Vec<Row> = sqlx::query_as(
            "SELECT org_id, id, what, made_by, details, made_at
             FROM account_changes WHERE org_id = $1 ORDER BY made_at LIMIT $2",
        )
        .bind(org.uuid())
        .bind(i64::from(limit))
        .fetch_all(&self.pool)
        .await?;
        rows.into_iter().map(AccountChange::try_from).collect()
    }

    /// The trail has the audit event of this change.
    pub async fn account_change_published(&self, change: &AccountChange) -> Result<(), Error> {
        sqlx::query("DELETE FROM account_changes WHERE org_id = $1 AND id = $2")
            .bind(change.org.uuid())
            .bind(change.id)
            .execute(&self.pool)
            .await?;
        Ok(())
    }

    /// Notes that somebody was refused to log in to the account of `hand`.
    pub async fn login_refused(&self, hand: Hand, details: Value) -> Result<(), Error> {
        let mut connection = self.pool.acquire().await?;
        note(&mut connection, hand, What::LoginRefused, details).await
    }
}

/// Notes a change that is made in this transaction. `details` is an object.
pub(crate) async fn note(
    transaction: &mut PgConnection,
    hand: Hand,
    what: What,
    details: Value,
) -> Result<(), Error> {
    note_all(transaction, hand, what, vec![details.to_string()]).await
}

/// Notes changes of a kind that are made in this transaction, all at once. Each of `details` is the text of an object.
pub(crate) async fn note_all(
    transaction: &mut PgConnection,
    hand: Hand,
    what: What,
    details: Vec<String>,
) -> Result<(), Error> {
    let by = hand.user.to_string();
    note_by(transaction, hand.org, (by.as_str(), hand.at), what, details).await
}

/// The same for what may not be a person's doing: who did it, and when.
pub(crate) async fn note_by(
    transaction: &mut PgConnection,
    org: OrgId,
    (by, at): (&str, Timestamp),
    what: What,
    details: Vec<String>,
) -> Result<(), Error> {
    sqlx::query(
        "INSERT INTO account_changes (org_id, what, made_by, details, made_at)
         SELECT $1, $2, $3, made.details, $5 FROM unnest($4::text[]) AS made (details)",
    )
    .bind(org.uuid())
    .bind(what.as_str())
    .bind(by)
    .bind(details)
    .bind(to_database(at))
    .execute(transaction)
    .await?;
    Ok(())
}

/// The same for something that concerns several organizations, of which those are told that are there.
pub(crate) async fn note_of_each(
    transaction: &mut PgConnection,
    (by, at): (&str, Timestamp),
    what: What,
    details: Vec<(OrgId, String)>,
) -> Result<(), Error> {
    let (orgs, details): (Vec<Uuid>, Vec<String>) = details
        .into_iter()
        .map(|(org, details)| (org.uuid(), details))
        .unzip();
    sqlx::query(
        "INSERT INTO account_changes (org_id, what, made_by, details, made_at)
         SELECT made.org_id, $1, $2, made.details, $3
         FROM unnest($4::uuid[], $5::text[]) AS made (org_id, details)
         JOIN organisations ON organisations.id = made.org_id",
    )
    .bind(what.as_str())
    .bind(by)
    .bind(to_database(at))
    .bind(orgs)
    .bind(details)
    .execute(transaction)
    .await?;
    Ok(())
}

#[derive(FromRow)]
struct Row {
    org_id: Uuid,
    id: Uuid,
    what: String,
    made_by: String,
    details: String,
    made_at: OffsetDateTime,
}

impl TryFrom<Row> for AccountChange {
    type Error = Error;

    fn try_from(row: Row) -> Result<Self, Error> {
        let org = OrgId::from_uuid(row.org_id);
        let inconsistent = |problem: String| Error::Inconsistent {
            what: "a change of accounts",
            problem: format!("{org}: {problem}"),
        };
        let what = What::named(&row.what)
            .ok_or_else(|| inconsistent(format!("`{}` is not a change to accounts", row.what)))?;
        let details = serde_json::from_str(&row.details);
        Ok(Self {
            org,
            id: row.id,
            what,
            by: row.made_by,
            at: from_database(row.made_at),
            details: details.map_err(|error| inconsistent(error.to_string()))?,
        })
    }
}
