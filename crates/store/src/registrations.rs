//! Accounts that are not yet: they become one when the link that was mailed is opened.

use std::time::Duration;

use domain::{
    OrgId, Timestamp, UserId,
    account::{EmailAddress, Role, TokenHash},
};
use sqlx::{FromRow, Postgres, Transaction};

use crate::{Error, Store, times::to_database};

/// How long the link in the mail works.
pub const LIFETIME: Duration = Duration::from_hours(24);
/// How many registrations one address may have at a time; the next are not kept. More than a person
/// makes by pressing the button again, and a bound on what a stranger can store under somebody's
/// address. The newest goes, not the oldest: else a stranger could push out the link that somebody is
/// about to open.
const PER_ADDRESS_MAX: i64 = 5;

/// An organization and its owner, to be.
#[derive(Clone)]
pub struct Registration {
    pub org_name: String,
    pub email: EmailAddress,
    pub password_hash: String,
}

/// A person to be added to an organization.
pub(crate) struct NewMember<'a> {
    pub(crate) org: OrgId,
    pub(crate) user: UserId,
    pub(crate) email: &'a str,
    pub(crate) password_hash: &'a str,
    pub(crate) role: Role,
    pub(crate) at: Timestamp,
}

#[derive(FromRow)]
struct Row {
    token_hash: String,
    org_name: String,
    email: String,
    password_hash: String,
}

impl Store {
    /// Keeps a registration until its link is opened, whether its address has an account or not:
    /// both take the same time. `false` if the address has [`PER_ADDRESS_MAX`] already.
    pub async fn save_registration(
        &self,
        registration: &Registration,
        token_hash: &TokenHash,
        now: Timestamp,
    ) -> Result<bool, Error> {
        let mut transaction = self.pool.begin().await?;
        // One after the other for each address, so that none is counted twice. Two addresses that
        // share a hash wait for each other, which takes a moment and harms nobody.
        sqlx::query("SELECT pg_advisory_xact_lock(hashtextextended('registrations ' || $1, 0))")
            .bind(registration.email.as_str())
            .execute(&mut *transaction)
            .await?;
        let kept = sqlx::query(
            "INSERT INTO registrations (token_hash, org_name, email, password_hash, created_at, expires_at)
             SELECT $1, $2, $3, $4, $5, $6
             WHERE (SELECT count(*) FROM registrations WHERE email = $3 AND expires_at > $5) < $7",
        )
        .bind(token_hash.as_str())
        .bind(&registration.org_name)
        .bind(registration.email.as_str())
        .bind(&registration.password_hash)
        .bind(to_database(now))
        .bind(to_database(now.plus(LIFETIME)))
        .bind(PER_ADDRESS_MAX)
        .execute(&mut *transaction)
        .await?;
        transaction.commit().await?;
        Ok(kept.rows_affected() > 0)
    }

    /// The hash of the password that was chosen with the registration of this link, as long as the
    /// link works.
    pub async fn registration_password(
        &self,
        token_hash: &TokenHash,
        now: Timestamp,
    ) -> Result<Option<String>, Error> {
        Ok(sqlx::query_scalar(
            "SELECT password_hash FROM registrations WHERE token_hash = $1 AND expires_at > $2",
        )
        .bind(token_hash.as_str())
        .bind(to_database(now))
        .fetch_optional(&self.pool)
        .await?)
    }

    /// Makes the account whose link was opened with its password, and forgets the address's other registrations.
    /// `false` if there is no such link, or the address has an account by now.
    pub async fn confirm_registration(
        &self,
        token_hash: &TokenHash,
        org: OrgId,
        user: UserId,
        now: Timestamp,
    ) -> Result<bool, Error> {
        let mut transaction = self.pool.begin().await?;
        // All of the address in one statement: two links opened at the same moment take their rows in
        // the same order, so that one waits for the other.
        let rows: Vec<Row> = sqlx::query_as(
            "DELETE FROM registrations WHERE email =
                 (SELECT email FROM registrations WHERE token_hash = $1 AND expires_at > $2)
             RETURNING token_hash, org_name, email, password_hash",
        )
        .bind(token_hash.as_str())
        .bind(to_database(now))
        .fetch_all(&mut *transaction)
        .await?;
        let is_it = |row: &Row| row.token_hash == token_hash.as_str();
        let Some(row) = rows.into_iter().find(is_it) else {
            return Ok(false);
        };
        let owner = NewMember {
            org,
            user,
            email: &row.email,
            password_hash: &row.password_hash,
            role: Role::Owner,
            at: now,
        };
        let made = found(&mut transaction, &row.org_name, &owner).await;
        finished(transaction, made).await
    }

    /// Makes an account without asking its address. `false` if the address has one.
    pub async fn register_at_once(
        &self,
        registration: &Registration,
        org: OrgId,
        user: UserId,
        now: Timestamp,
    ) -> Result<bool, Error> {
        let mut transaction = self.pool.begin().await?;
        let owner = NewMember {
            org,
            user,
            email: registration.email.as_str(),
            password_hash: &registration.password_hash,
            role: Role::Owner,
            at: now,
        };
        let made = found(&mut transaction, &registration.org_name, &owner).await;
        finished(transaction, made).await
    }

    /// Whether an address has an account; for what is mailed to it, never for an answer.
    pub async fn has_account(&self, email: &EmailAddress) -> Result<bool, Error> {
        Ok(
            sqlx::query_scalar("SELECT EXISTS (SELECT FROM users WHERE email = $1)")
                .bind(email.as_str())
                .fetch_one(&self.pool)
                .await?,
        )
    }

    /// Removes what has run out: links, invitations, sessions. Nothing looks at it any more.
    pub async fn forget_what_ran_out(&self, now: Timestamp) -> Result<u64, Error> {
        let mut gone = 0;
        for statement in [
            "DELETE FROM registrations WHERE expires_at <= $1",
            "DELETE FROM password_resets WHERE expires_at <= $1",
            "DELETE FROM invitations WHERE expires_at <= $1",
            "DELETE FROM sessions WHERE expires_at <= $1",
        ] {
            let done = sqlx::query(statement)
                .bind(to_database(now))
                .execute(&self.pool)
                .await?;
            gone += done.rows_affected();
        }
        Ok(gone)
    }
}

/// Makes an organization and its owner.
pub(crate) async fn found(
    transaction: &mut Transaction<'_, Postgres>,
    org_name: &str,
    owner: &NewMember<'_>,
) -> Result<(), Error> {
    sqlx::query("INSERT INTO organisations (id, name, created_at) VALUES ($1, $2, $3)")
        .bind(owner.org.uuid())
        .bind(org_name)
        .bind(to_database(owner.at))
        .execute(&mut **transaction)
        .await?;
    add_member(transaction, owner).await
}

/// [`Error::Conflict`] if the address has an account.
pub(crate) async fn add_member(
    transaction: &mut Transaction<'_, Postgres>,
    member: &NewMember<'_>,
) -> Result<(), Error> {
    sqlx::query(
        "INSERT INTO users (id, org_id, email, password_hash, role, created_at)
         VALUES ($1, $2, $3, $4, $5, $6)",
    )
    .bind(member.user.uuid())
    .bind(member.org.uuid())
    .bind(member.email)
    .bind(member.password_hash)
    .bind(member.role.as_str())
    .bind(to_database(member.at))
    .execute(&mut **transaction)
    .await?;
    Ok(())
}

/// Commits what was made; an address that is taken undoes all of it.
pub(crate) async fn finished(
    transaction: Transaction<'_, Postgres>,
    made: Result<(), Error>,
) -> Result<bool, Error> {
    match made {
        Ok(()) => {
            transaction.commit().await?;
            Ok(true)
        }
        Err(Error::Conflict) => {
            transaction.rollback().await?;
            Ok(false)
        }
        Err(error) => Err(error),
    }
}
