//! Links to choose a new password: one for each person at most, used once.

use std::time::Duration;

use domain::{
    OrgId, Timestamp, UserId,
    account::{EmailAddress, TokenHash, security_log::What},
};
use serde_json::json;
use uuid::Uuid;

use crate::{
    Error, Store,
    account_outbox::{Hand, note},
    times::to_database,
};

/// How long a link works: long enough to find the mail, short enough to be of little use to who finds
/// it later.
pub const LIFETIME: Duration = Duration::from_mins(30);

impl Store {
    /// Makes the link of the person with this address, in place of any before. `false` if nobody has
    /// the address.
    pub async fn save_password_reset(
        &self,
        email: &EmailAddress,
        token_hash: &TokenHash,
        now: Timestamp,
    ) -> Result<bool, Error> {
        let done = sqlx::query(
            "INSERT INTO password_resets (org_id, user_id, token_hash, expires_at)
             SELECT org_id, id, $2, $3 FROM users WHERE email = $1
             ON CONFLICT (org_id, user_id) DO UPDATE
             SET token_hash = excluded.token_hash, expires_at = excluded.expires_at",
        )
        .bind(email.as_str())
        .bind(token_hash.as_str())
        .bind(to_database(now.plus(LIFETIME)))
        .execute(&self.pool)
        .await?;
        Ok(done.rows_affected() > 0)
    }

    /// Whose link this is, as long as it works.
    pub async fn password_reset_for(
        &self,
        token_hash: &TokenHash,
        now: Timestamp,
    ) -> Result<Option<EmailAddress>, Error> {
        let email: Option<String> = sqlx::query_scalar(
            "SELECT u.email FROM password_resets r
             JOIN users u ON u.org_id = r.org_id AND u.id = r.user_id
             WHERE r.token_hash = $1 AND r.expires_at > $2",
        )
        .bind(token_hash.as_str())
        .bind(to_database(now))
        .fetch_optional(&self.pool)
        .await?;
        email.as_deref().map(address).transpose()
    }

    /// Uses the link: sets the password and ends every session of the person, whose organization is
    /// returned. `None` if it does not work any more; of two who use it at the same moment, one gets that.
    pub async fn use_password_reset(
        &self,
        token_hash: &TokenHash,
        password_hash: &str,
        now: Timestamp,
    ) -> Result<Option<OrgId>, Error> {
        let mut transaction = self.pool.begin().await?;
        // The person's row before the link's, as when a member is removed: in the other order the two
        // would wait for each other.
        let owner: Option<(Uuid, Uuid)> = sqlx::query_as(
            "SELECT u.org_id, u.id FROM password_resets r
             JOIN users u ON u.org_id = r.org_id AND u.id = r.user_id
             WHERE r.token_hash = $1 AND r.expires_at > $2 FOR NO KEY UPDATE OF u",
        )
        .bind(token_hash.as_str())
        .bind(to_database(now))
        .fetch_optional(&mut *transaction)
        .await?;
        let Some((org, user)) = owner else {
            return Ok(None);
        };
        // Somebody else may have used it while we waited for the row.
        let used = sqlx::query("DELETE FROM password_resets WHERE org_id = $1 AND token_hash = $2")
            .bind(org)
            .bind(token_hash.as_str())
            .execute(&mut *transaction)
            .await?;
        if used.rows_affected() == 0 {
            return Ok(None);
        }
        sqlx::query("UPDATE users SET password_hash = $3 WHERE org_id = $1 AND id = $2")
            .bind(org)
            .bind(user)
            .bind(password_hash)
            .execute(&mut *transaction)
            .await?;
        // After the update: a login with the old password has either made its session by now, or
        // waits for this transaction and then makes none.
        sqlx::query("DELETE FROM sessions WHERE org_id = $1 AND user_id = $2")
            .bind(org)
            .bind(user)
            .execute(&mut *transaction)
            .await?;
        let (org, user) = (OrgId::from_uuid(org), UserId::from_uuid(user));
        let hand = Hand { org, user, at: now };
        let details = json!({ "user_id": user });
        note(&mut transaction, hand, What::PasswordReset, details).await?;
        transaction.commit().await?;
        Ok(Some(org))
    }
}

/// An address as the database keeps it.
pub(crate) fn address(text: &str) -> Result<EmailAddress, Error> {
    EmailAddress::parse(text).ok_or_else(|| Error::Inconsistent {
        what: "a person's address",
        problem: "it is not an email address".to_owned(),
    })
}
