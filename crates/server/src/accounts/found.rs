//! Founds an organisation: its owner, a password, and an API key that is shown once.

use anyhow::Context as _;
use argon2::{Argon2, PasswordHasher as _};
use domain::{
    KeyId, OrgId, UserId,
    account::{ApiKey, Scope},
    clock::Clock,
};
use journal::{
    Journal,
    config::{Change, KeyEntry},
};
use serde::Serialize;
use store::{Store, accounts::NewAccount};

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
    let key = ApiKey::new(chance::bytes());
    let account = NewAccount {
        org: OrgId::new(now, chance::bytes()),
        org_name: org_name.to_owned(),
        user: UserId::new(now, chance::bytes()),
        email: email.to_lowercase(),
        password_hash: hash(password.clone()).await?,
        key: KeyId::new(now, chance::bytes()),
        key_name: "first key".to_owned(),
        key_hash: key.hash(),
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
        user_email: account.email,
        user_password: password,
        api_key: key.reveal().to_owned(),
    })
}

/// argon2id takes tens of milliseconds by design, so it has a thread of its own.
async fn hash(password: String) -> anyhow::Result<String> {
    let salt = chance::bytes::<16>();
    let hash = tokio::task::spawn_blocking(move || {
        Argon2::default()
            .hash_password_with_salt(password.as_bytes(), &salt)
            .map(|hash| hash.to_string())
    });
    hash.await
        .context("hash a password")?
        .map_err(|error| anyhow::anyhow!("hash a password: {error}"))
}
