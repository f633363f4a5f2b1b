//! The secrets that an attempt of the past was signed with, as far as they are still there.

use deliver::{
    secrets::key::Key,
    send::signing::{self, DeploymentKeys, Keys},
};
use domain::{OrgId, SecretId};
use journal::record::SecretUsed;
use store::signing_secrets::SecretRow;

use deliver::secrets::seal::Vault;

/// All secrets that are known of an organization.
pub struct Keyring<'k> {
    pub deployment: &'k DeploymentKeys,
    pub vault: &'k Vault,
    pub org: OrgId,
    pub own: &'k [SecretRow],
}

/// A secret that made a signature.
#[derive(Clone, Debug)]
pub struct Past {
    pub used: SecretUsed,
    pub key: Result<Key, Gone>,
}

/// Why a secret is not there any more.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Gone {
    #[error(
        "The initial signing secret is gone: the deployment's secret, from which it is derived, is no longer configured."
    )]
    Deployment,
    #[error("The signing secret {0} was dropped.")]
    Dropped(SecretId),
    #[error(
        "The signing secret {0} cannot be unsealed; the operator can find the reason in \
         Watchbell's log."
    )]
    Unsealable(SecretId),
}

impl Keyring<'_> {
    /// The keys of an attempt by the header that each gave its signature to.
    pub fn keys_of(&self, used: &[SecretUsed]) -> Keys<Past> {
        let roles = signing::roles(used);
        let is_deployments = roles.main == Some(SecretUsed::Deployment);
        let mut keys = roles.filter_map(|used| Some(self.past(used)));
        // Beside itself the initial one is what it was before; beside another it is what it is now.
        if let Some(previous) = keys.previous.as_mut().filter(|_| is_deployments) {
            let text = self.deployment.signed_for(self.org);
            previous.key = text.as_ref().map(Key::new).ok_or(Gone::Deployment);
        }
        keys
    }

    fn past(&self, used: SecretUsed) -> Past {
        let key = match used {
            SecretUsed::Deployment => {
                let text = self.deployment.signs_for(self.org);
                text.as_ref().map(Key::new).ok_or(Gone::Deployment)
            }
            SecretUsed::Own(id) => self.own_key(id),
        };
        Past { used, key }
    }

    fn own_key(&self, id: SecretId) -> Result<Key, Gone> {
        let row = self.own.iter().find(|row| row.secret.id == id);
        let sealed = row.and_then(|row| row.sealed.as_ref());
        let sealed = sealed.ok_or(Gone::Dropped(id))?;
        let text = self.vault.unseal(self.org, id, sealed);
        let text = text.map_err(|reason| {
            tracing::warn!(?reason, secret.id = %id, org.id = %self.org, "could not unseal a signing secret");
            Gone::Unsealable(id)
        })?;
        Ok(Key::new(&text))
    }
}
