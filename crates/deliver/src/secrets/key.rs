//! A signing secret, ready for use: its keys are made once.

use std::{ops::Deref, sync::Arc};

use secrecy::{ExposeSecret as _, SecretString};
use webhook_signature::{Signer, standard};

/// A secret, ready for use. Cheap to clone. Its `Debug` output does not show it.
#[derive(Clone)]
pub struct Key(Arc<Signers>);

/// What it signs with.
pub struct Signers {
    pub service: Signer,
    /// Only a secret of the form `whsec_<base64>` can be given to a Standard Webhooks verifier.
    pub standard: Option<standard::Key>,
}

impl Key {
    pub fn new(secret: &SecretString) -> Self {
        let text = secret.expose_secret();
        Self(Arc::new(Signers {
            service: Signer::new(text.as_bytes()),
            standard: standard::Key::parse(text),
        }))
    }
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key(hidden)")
    }
}

impl Deref for Key {
    type Target = Signers;

    fn deref(&self) -> &Signers {
        &self.0
    }
}
