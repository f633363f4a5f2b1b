//! Signing secrets of organizations: all of them, in memory, ready to sign with.

use std::{
    collections::HashMap,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicBool, Ordering},
    },
};

use domain::{
    OrgId, SecretId, Timestamp,
    secret::{self, State},
};
use journal::{
    Journal,
    mirror::Mirror,
    secrets::{SealedSecrets, SecretsChange},
    streams::Bucket,
};
use runtime::{error_chain::chain, retry::Retries};
use tokio_util::sync::CancellationToken;

use crate::{
    secrets::key::Key,
    secrets::seal::{Unsealable, Vault},
};

/// The secrets as far as this node has heard. Cheap to clone.
#[derive(Clone)]
pub struct Secrets {
    journal: Journal,
    vault: Arc<Vault>,
    held: Arc<RwLock<HashMap<OrgId, Held>>>,
    mirror: Mirror,
    is_loaded: Arc<AtomicBool>,
}

/// What is known of an organization's secrets; `None` if this version cannot read it.
type Held = Option<Arc<OwnSecrets>>;

/// The secrets of one organization.
#[derive(Debug)]
pub struct OwnSecrets {
    lives: secret::Secrets,
    keys: HashMap<SecretId, Result<Key, Unsealable>>,
}

/// Why it is not known what an organization signs with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unknown {
    #[error("the signing secrets have not been loaded yet")]
    NotLoaded,
    #[error("this version cannot read the organization's signing secrets")]
    Unreadable,
}

impl Secrets {
    pub fn new(journal: Journal, vault: Arc<Vault>) -> Self {
        Self {
            mirror: Mirror::new(journal.clone(), Bucket::Secrets),
            journal,
            vault,
            held: Arc::default(),
            is_loaded: Arc::default(),
        }
    }

    /// The secrets of an organization; `None` if it has none of its own.
    pub fn of(&self, org: OrgId) -> Result<Option<Arc<OwnSecrets>>, Unknown> {
        if !self.is_loaded.load(Ordering::Acquire) {
            return Err(Unknown::NotLoaded);
        }
        let held = self.held.read().unwrap_or_else(PoisonError::into_inner);
        match held.get(&org) {
            None => Ok(None),
            Some(Some(own)) => Ok(Some(Arc::clone(own))),
            Some(None) => Err(Unknown::Unreadable),
        }
    }

    /// Returns once everything decided before the call is in the snapshot, or when stopped: whoever signs
    /// before that would not know with what.
    pub async fn load(&self, stopping: &CancellationToken) {
        let mut retries = Retries::new("load the signing secrets", stopping);
        loop {
            let caught_up = self.mirror.catch_up().await;
            if caught_up.is_ok() {
                return self.is_loaded.store(true, Ordering::Release);
            }
            if !retries.again(caught_up).await {
                return;
            }
        }
    }

    /// Reads every secret, then every change, until stopped.
    pub async fn follow(self, stopping: CancellationToken) -> anyhow::Result<()> {
        let changes = self.journal.secret_changes();
        let apply = |changes: Vec<SecretsChange>| {
            for change in changes {
                self.apply(change);
            }
        };
        self.mirror.follow(changes, apply, stopping).await
    }

    fn apply(&self, change: SecretsChange) {
        let org = change.org;
        let held = match change.value {
            Ok(secrets) => Some(Arc::new(self.opened(org, secrets.unwrap_or_default()))),
            Err(error) => {
                let error = chain(&error);
                tracing::error!(org.id = %org, error, "cannot read an organization's signing secrets; nothing is sent for it");
                None
            }
        };
        let mut all = self.held.write().unwrap_or_else(PoisonError::into_inner);
        all.insert(org, held);
    }

    fn opened(&self, org: OrgId, sealed: SealedSecrets) -> OwnSecrets {
        let (mut lives, mut keys) = (Vec::new(), HashMap::new());
        for one in sealed.secrets {
            let id = one.secret.id;
            let key = self.vault.unseal(org, id, &one.sealed);
            if let Err(error) = &key {
                tracing::error!(org.id = %org, secret.id = %id, ?error, "cannot unseal a signing secret");
            }
            lives.push(one.secret);
            keys.insert(id, key.map(|text| Key::new(&text)));
        }
        OwnSecrets {
            lives: secret::Secrets(lives),
            keys,
        }
    }
}

/// A secret that is to be signed with.
pub type FoundSecret<'s> = Option<(SecretId, &'s Result<Key, Unsealable>)>;

impl OwnSecrets {
    pub fn in_state(&self, state: State, now: Timestamp) -> FoundSecret<'_> {
        let id = self.lives.in_state(state, now)?.id;
        Some((id, self.keys.get(&id)?))
    }

    /// Whether the deployment's secret still signs beside the organization's own.
    pub fn replaces_deployment(&self, now: Timestamp) -> bool {
        self.lives.deployment_until(now).is_some()
    }
}
