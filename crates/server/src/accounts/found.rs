//! Founds an organisation: its owner, a password, and an API key that is shown once.

use anyhow::Context as _;
use domain::{
    KeyId, OrgId, UserId,
    account::{ApiKey, EmailAddress, Password, Scope},
    clock::Clock,
};
use journal::{
    Journal,
    config::{Change, KeyEntry},
};
use serde::Serialize;
use store::{Store, accounts::NewAccount};

use super::passwords::Passwords;
use super::schema::organisation_name;
use crate::{
    announce::{self, Announcer},
    chance,
};

/// What a founder is told, once.
#[derive(Serialize)]
pub struct Founded {
    pub org_id: OrgId,
    pub user_email: String,
    pub user_password: String,
    pub api_key: String,
}

/// Makes an organisation with one user and one key that has every scope. Returns when every node
/// can know the key.
pub async fn found(
    store: &Store,
    journal: &Journal,
    clock: Clock,
    org_name: &str,
    email: &str,
) -> anyhow::Result<Founded> {
    let now = clock.now();
    let password = hex::encode(chance::bytes::<12>());
    let chosen = Password::parse_alone(password.clone())?;
    let key = ApiKey::new(chance::bytes());
    let account = NewAccount {
        org: OrgId::new(now, chance::bytes()),
        org_name: organisation_name(org_name, "").map_err(|fault| anyhow::anyhow!(fault.detail))?,
        user: UserId::new(now, chance::bytes()),
        email: EmailAddress::parse(email)
            .with_context(|| format!("`{email}` is not an e-mail address"))?,
        password_hash: Passwords::new()?.hash(chosen).await?,
        key: KeyId::new(now, chance::bytes()),
        key_name: "first key".to_owned(),
        key_hash: key.hash(),
        key_hint: key.hint().to_owned(),
        scopes: Scope::ALL.to_vec(),
        created_at: now,
    };
    let entry = KeyEntry {
        id: account.key,
        org_id: account.org,
        scopes: account.scopes.clone(),
        expires_at: None,
    };
    let announcement = announce::entry(Change::key_made(&account.key_hash, &entry));
    store
        .create_account(&account, &announcement)
        .await
        .with_context(|| format!("make the account of {email}"))?;
    Announcer::new(store.clone(), journal.clone())
        .announce()
        .await
        .context("announce the API key")?;
    Ok(Founded {
        org_id: account.org,
        user_email: account.email.as_str().to_owned(),
        user_password: password,
        api_key: key.reveal().to_owned(),
    })
}
