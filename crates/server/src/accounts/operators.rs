//! Who runs this deployment: people who may see how it is, whatever their organisation.

use std::sync::Arc;

use anyhow::Context as _;
use domain::account::EmailAddress;

use crate::config::Accounts;

/// The people of `accounts.operators`. Cheap to clone.
#[derive(Clone)]
pub struct Operators(Arc<[EmailAddress]>);

impl Operators {
    pub fn read(settings: &Accounts) -> anyhow::Result<Self> {
        let address = |text: &String| {
            EmailAddress::parse(text)
                .with_context(|| format!("accounts.operators: `{text}` is not an e-mail address"))
        };
        let addresses: anyhow::Result<Vec<_>> = settings.operators.iter().map(address).collect();
        Ok(Self(addresses?.into()))
    }

    /// Whether the person with this address is one of them. Accounts keep addresses as we compare them.
    pub fn include(&self, email: &str) -> bool {
        self.0.iter().any(|operator| operator.as_str() == email)
    }
}
