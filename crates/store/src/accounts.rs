//! Founding an organisation: its owner and its first key.

use domain::{
    KeyId, OrgId, Timestamp, UserId,
    account::{EmailAddress, KeyHash, Role, Scope},
};

use crate::{
    Error, Store,
    outbox::{self, OutboxEntry},
    registrations::{NewMember, found},
    times::to_database,
};

/// A new organisation with its owner and its first key.
pub struct NewAccount {
    pub org: OrgId,
    pub org_name: String,
    pub user: UserId,
    pub email: EmailAddress,
    pub password_hash: String,
    pub key: KeyId,
    pub key_name: String,
    pub key_hash: KeyHash,
    pub key_hint: String,
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
        let mut transaction = self.pool.begin().await?;
        let owner = NewMember {
            org: account.org,
            user: account.user,
            email: account.email.as_str(),
            password_hash: &account.password_hash,
            role: Role::Owner,
            at: account.created_at,
        };
        found(&mut transaction, &account.org_name, &owner).await?;
        let scopes: Vec<&str> = account.scopes.iter().map(|scope| scope.as_str()).collect();
        sqlx::query(
            "INSERT INTO api_keys (org_id, id, name, hash, hint, scopes, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7)",
        )
        .bind(account.org.uuid())
        .bind(account.key.uuid())
        .bind(&account.key_name)
        .bind(account.key_hash.as_str())
        .bind(&account.key_hint)
        .bind(scopes)
        .bind(to_database(account.created_at))
        .execute(&mut *transaction)
        .await?;
        outbox::enqueue(&mut transaction, announcement).await?;
        transaction.commit().await?;
        Ok(())
    }
}
