//! Founding an organization: its owner and its first key.

use domain::{
    OrgId, Timestamp, UserId,
    account::{EmailAddress, Role},
};

use crate::{
    Error, Store,
    api_keys::{NewKey, insert_key},
    outbox::{self, OutboxEntry},
    registrations::{NewMember, found},
};

/// A new organization with its owner and its first key.
pub struct NewAccount {
    pub org: OrgId,
    pub org_name: String,
    pub user: UserId,
    pub email: EmailAddress,
    pub password_hash: String,
    /// Made by an operator, so that nobody is asked whether they may.
    pub key: NewKey,
    pub created_at: Timestamp,
}

impl Store {
    /// Makes all three or none; [`Error::Conflict`] if the email address is taken.
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
        insert_key(&mut transaction, &account.key).await?;
        outbox::enqueue(&mut transaction, announcement).await?;
        transaction.commit().await?;
        Ok(())
    }
}
