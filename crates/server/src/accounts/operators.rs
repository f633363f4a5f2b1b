//! Who runs this deployment: people who may see how it is, whatever their organisation.

use std::sync::Arc;

use anyhow::Context as _;
use domain::{account::EmailAddress, error_code::ErrorCode};

use crate::{config::Accounts, edge::Problem, planes::ControlPlane};

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

    /// Refuses to make an account under the address of one of them where nobody proves by mail that it is theirs: whoever
    /// came first would be the operator. The same whether there is such an account or not.
    pub fn refuse_unproven(plane: &ControlPlane, email: &EmailAddress) -> Result<(), Problem> {
        if plane.post.is_some() || !plane.operators.include(email.as_str()) {
            return Ok(());
        }
        Err(Problem::new(
            ErrorCode::Forbidden,
            "This address is of somebody who runs this server (`accounts.operators`), which sends no mail to prove it. \
             Their account is made by `watchbell admin create-org`.",
        ))
    }

    /// Whether the person with this address is one of them. Accounts keep addresses as we compare them.
    pub fn include(&self, email: &str) -> bool {
        self.0.iter().any(|operator| operator.as_str() == email)
    }
}
