//! Founds an organization: its owner, a password, and an API key that is shown once.

use anyhow::Context as _;
use deliver::send::signing::DeploymentKeys;
use domain::{
    OrgId, UserId,
    account::{Agents, EmailAddress, Password, Scope, organization_name},
    clock::Clock,
};
use journal::Journal;
use runtime::random;
use secrecy::ExposeSecret as _;
use serde::Serialize;
use store::{Store, accounts::NewAccount};

use super::{
    api_keys::{Draft, announced, entry},
    passwords::Passwords,
};
use crate::announce::Announcer;

/// What a founder is told, once.
#[derive(Serialize)]
pub struct Founded {
    pub org_id: OrgId,
    pub user_email: String,
    pub user_password: String,
    pub api_key: String,
    /// The initial one; none if the deployment signs nothing by itself.
    pub signing_secret: Option<String>,
}

/// Makes an organization with one user and one key that has every scope. Returns when every node
/// can know the key.
pub async fn found(
    store: &Store,
    journal: &Journal,
    clock: Clock,
    deployment: &DeploymentKeys,
    org_name: &str,
    email: &str,
) -> anyhow::Result<Founded> {
    let now = clock.now();
    let password = hex::encode(random::bytes::<12>());
    let chosen = Password::parse_alone(password.clone())?;
    let org = OrgId::new(now, random::bytes());
    let (key, text) = Draft {
        org,
        name: "first key".to_owned(),
        scopes: Scope::ALL.to_vec(),
        agents: Agents::default(),
        created_by: None,
        expires_at: None,
    }
    .make(now);
    let announcement = announced(&key.hash, &entry(&key));
    let account = NewAccount {
        org,
        org_name: organization_name::parse(org_name, "")
            .map_err(|fault| anyhow::anyhow!(fault.detail))?,
        user: UserId::new(now, random::bytes()),
        email: EmailAddress::parse(email)
            .with_context(|| format!("`{email}` is not an email address"))?,
        password_hash: Passwords::new()?.hash(chosen).await?,
        key,
        created_at: now,
    };
    store
        .create_account(&account, &announcement)
        .await
        .with_context(|| format!("create the account of {email}"))?;
    Announcer::new(store.clone(), journal.clone())
        .announce()
        .await
        .context("announce the API key")?;
    Ok(Founded {
        org_id: account.org,
        user_email: account.email.as_str().to_owned(),
        user_password: password,
        api_key: text.reveal().to_owned(),
        signing_secret: deployment
            .initial(account.org)
            .map(|secret| secret.expose_secret().to_owned()),
    })
}
