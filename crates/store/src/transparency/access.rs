//! Who may read a log: those who may read the events, or anybody.

use domain::{OrgId, account::security_log::What};
use serde_json::json;

use crate::{
    Error, Store,
    account_outbox::{Hand, note},
};

impl Store {
    /// Whether anybody may read an organization's log. A log that is not there is not public.
    pub async fn is_transparency_log_public(&self, org: OrgId) -> Result<bool, Error> {
        let is_public: Option<bool> =
            sqlx::query_scalar("SELECT is_public FROM transparency_logs WHERE org_id = $1")
                .bind(org.uuid())
                .fetch_optional(&self.pool)
                .await?;
        Ok(is_public.unwrap_or(false))
    }

    /// Lets anybody read an organization's log, or no longer; says so in the trail if that changes anything.
    pub async fn set_transparency_log_public(
        &self,
        hand: Hand,
        is_public: bool,
    ) -> Result<(), Error> {
        let mut transaction = self.pool.begin().await?;
        let changed = sqlx::query(
            "UPDATE transparency_logs SET is_public = $2 WHERE org_id = $1 AND is_public <> $2",
        )
        .bind(hand.org.uuid())
        .bind(is_public)
        .execute(&mut *transaction)
        .await?;
        if changed.rows_affected() > 0 {
            let what = if is_public {
                What::LogPublished
            } else {
                What::LogWithdrawn
            };
            note(&mut transaction, hand, what, json!({})).await?;
        }
        transaction.commit().await?;
        Ok(())
    }
}
