//! Organisations, their people and their keys.

use domain::{
    KeyId, OrgId, Timestamp, UserId,
    account::{KeyHash, Scope},
};

use crate::{
    Error, Store,
    outbox::{self, OutboxEntry},
    times::to_database,
};

/// A new organisation with its first user and its first key.
pub struct NewAccount {
    pub org: OrgId,
    pub org_name: String,
    pub user: UserId,
    /// Lower case.
    pub email: String,
    pub password_hash: String,
    pub key: KeyId,
    pub key_name: String,
    pub key_hash: KeyHash,
    pub scopes: Vec<Scope>,
    pub created_at: Timestamp,
}

impl Store {
    /// Makes all three or none; [`Error::Conflict`] if the e-mail address is taken.
    pub async fn create_account(
        &self,
        account: &NewAccount,
        announcement: &OutboxEntry,
    ) -> Result<(), Error> {
        let created_at = to_database(account.created_at);
        let mut transaction = self.pool.begin().await?;
        sqlx::query("INSERT INTO organisations (id, name, created_at) VALUES ($1, $2, $3)")
            .bind(account.org.uuid())
            .bind(&account.org_name)
            .bind(created_at)
            .execute(&mut *transaction)
            .await?;
        sqlx::query(
            "INSERT INTO users (id, org_id, email, password_hash, created_at) VALUES ($1, $2, $3, $4, $5)",
        )
        .bind(account.user.uuid())
        .bind(account.org.uuid())
        .bind(&account.email)
        .bind(&account.password_hash)
        .bind(created_at)
        .execute(&mut *transaction)
        .await?;
        let scopes: Vec<&str> = account.scopes.iter().map(|scope| scope.as_str()).collect();
        sqlx::query(
            "INSERT INTO api_keys (org_id, id, name, hash, scopes, created_at) VALUES ($1, $2, $3, $4, $5, $6)",
        )
        .bind(account.org.uuid())
        .bind(account.key.uuid())
        .bind(&account.key_name)
        .bind(account.key_hash.as_str())
        .bind(scopes)
        .bind(created_at)
        .execute(&mut *transaction)
        .await?;
        outbox::enqueue(&mut transaction, announcement).await?;
        transaction.commit().await?;
        Ok(())
    }
}
