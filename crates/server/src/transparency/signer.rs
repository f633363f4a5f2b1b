//! What checkpoints are signed with: an Ed25519 key for each log, made when the log begins and sealed as signing secrets are.
//! While a key is replaced there are two, and both sign.

use deliver::secrets::seal::{Unsealable, Vault};
use domain::{OrgId, SecretId, clock::Clock};
use runtime::random;
use secrecy::{ExposeSecret as _, SecretString};
use store::{Store, transparency::keys::LogKey};
use transparency_log::SigningKey;

/// Why nothing can be signed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoKey {
    #[error(transparent)]
    Store(#[from] store::Error),
    #[error("the log's key cannot be unsealed: {0}")]
    Sealed(#[from] Unsealable),
    #[error("the log's key is of no use: {0}")]
    Malformed(#[from] transparency_log::Error),
}

/// The keys that sign a log's checkpoints now; its first is made if it has none.
pub(super) async fn keys(
    store: &Store,
    vault: &Vault,
    clock: Clock,
    org: OrgId,
    origin: &str,
) -> Result<Vec<SigningKey>, NoKey> {
    let mut rows = store.transparency_keys(org).await?;
    if rows.is_empty() {
        let first = new_key(vault, clock, org, origin, 1)?;
        store.add_first_transparency_key(org, &first).await?;
        rows = store.transparency_keys(org).await?;
    }
    let signing = rows.iter().filter(|row| row.retired_at.is_none());
    signing.map(|row| unseal(vault, org, origin, row)).collect()
}

pub(super) fn new_key(
    vault: &Vault,
    clock: Clock,
    org: OrgId,
    origin: &str,
    number: u32,
) -> Result<LogKey, NoKey> {
    let seed: [u8; 32] = random::bytes();
    let created_at = clock.now();
    let id = SecretId::new(created_at, random::bytes());
    let text = SecretString::from(hex::encode(seed));
    let sealed = vault.seal(org, id, &text).ok_or(Unsealable::NoKey)?;
    let verifier = SigningKey::from_seed(origin, &seed)?
        .verifier_key()
        .to_string();
    Ok(LogKey {
        number,
        id,
        verifier,
        sealed,
        created_at,
        retired_at: None,
    })
}

fn unseal(vault: &Vault, org: OrgId, origin: &str, row: &LogKey) -> Result<SigningKey, NoKey> {
    let text = vault.unseal(org, row.id, &row.sealed)?;
    let seed = hex::decode(text.expose_secret()).map_err(|_| Unsealable::Damaged)?;
    let seed: [u8; 32] = seed.try_into().map_err(|_| Unsealable::Damaged)?;
    Ok(SigningKey::from_seed(origin, &seed)?)
}
