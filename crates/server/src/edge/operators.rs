//! Who runs this deployment: people who may see how it is, whatever their organization.

use std::sync::Arc;

use domain::account::EmailAddress;

use crate::config::Accounts;

/// The people of `accounts.operators`. Cheap to clone.
#[derive(Clone)]
pub struct Operators(Arc<[EmailAddress]>);

impl Operators {
    pub fn read(settings: &Accounts) -> anyhow::Result<Self> {
        Ok(Self(settings.operators()?.into()))
    }

    /// Whether the person with this address is one of them. Accounts keep addresses as we compare them.
    pub fn include(&self, email: &str) -> bool {
        self.0.iter().any(|operator| operator.as_str() == email)
    }
}
