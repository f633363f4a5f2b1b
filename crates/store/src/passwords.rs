//! One's own password, for who is logged in.

use domain::{
    OrgId, SessionId, UserId,
    account::{EmailAddress, TokenHash, security_log::What},
};
use serde_json::json;

use crate::{
    Error, Store,
    account_outbox::{Hand, note},
    password_resets::address,
};

/// What a person's password is checked against, and must not be.
pub struct OwnPassword {
    /// argon2id, in PHC form.
    pub hash: String,
    pub email: EmailAddress,
}

impl Store {
    pub async fn own_password(
        &self,
        org: OrgId,
        user: UserId,
    ) -> Result<Option<OwnPassword>, Error> {
        let row: Option<(String, String)> =
            sqlx::query_as("SELECT password_hash, email FROM users WHERE org_id = $1 AND id = $2")
                .bind(org.uuid())
                .bind(user.uuid())
                .fetch_optional(&self.pool)
                .await?;
        row.map(|(hash, email)| {
            let email = address(&email)?;
            Ok(OwnPassword { hash, email })
        })
        .transpose()
    }

    /// Changes the password of `hand` from one hash to another, and ends their other sessions and any link to choose one.
    /// This session goes on under another token: somebody may have a copy of the one before. `false` if the password is
    /// another by now, or the session is over.
    pub async fn change_password(
        &self,
        hand: Hand,
        (session, token_hash): (SessionId, &TokenHash),
        before: &str,
        after: &str,
    ) -> Result<bool, Error> {
        let mut transaction = self.pool.begin().await?;
        let changed = sqlx::query(
            "UPDATE users SET password_hash = $4 WHERE org_id = $1 AND id = $2 AND password_hash = $3",
        )
        .bind(hand.org.uuid())
        .bind(hand.user.uuid())
        .bind(before)
        .bind(after)
        .execute(&mut *transaction)
        .await?;
        if changed.rows_affected() == 0 {
            return Ok(false);
        }
        sqlx::query("DELETE FROM password_resets WHERE org_id = $1 AND user_id = $2")
            .bind(hand.org.uuid())
            .bind(hand.user.uuid())
            .execute(&mut *transaction)
            .await?;
        // After the update, as when a link is used: no session outlives the password that opened it.
        sqlx::query("DELETE FROM sessions WHERE org_id = $1 AND user_id = $2 AND id <> $3")
            .bind(hand.org.uuid())
            .bind(hand.user.uuid())
            .bind(session.uuid())
            .execute(&mut *transaction)
            .await?;
        let renewed = sqlx::query(
            "UPDATE sessions SET token_hash = $4 WHERE org_id = $1 AND user_id = $2 AND id = $3",
        )
        .bind(hand.org.uuid())
        .bind(hand.user.uuid())
        .bind(session.uuid())
        .bind(token_hash.as_str())
        .execute(&mut *transaction)
        .await?;
        if renewed.rows_affected() == 0 {
            return Ok(false);
        }
        let details = json!({ "user_id": hand.user, "session_id": session });
        note(&mut transaction, hand, What::PasswordChanged, details).await?;
        transaction.commit().await?;
        Ok(true)
    }
}
