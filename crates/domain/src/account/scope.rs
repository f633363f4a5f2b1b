//! What an API key may do.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// One permission of an API key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Scope {
    #[serde(rename = "events:write")]
    EventsWrite,
    #[serde(rename = "events:read")]
    EventsRead,
    #[serde(rename = "events:export")]
    EventsExport,
    #[serde(rename = "decisions:write")]
    DecisionsWrite,
    #[serde(rename = "rules:write")]
    RulesWrite,
    #[serde(rename = "rules:read")]
    RulesRead,
    #[serde(rename = "deliveries:read")]
    DeliveriesRead,
    #[serde(rename = "policies:write")]
    PoliciesWrite,
    #[serde(rename = "policies:read")]
    PoliciesRead,
    #[serde(rename = "approvals:write")]
    ApprovalsWrite,
    #[serde(rename = "approvals:read")]
    ApprovalsRead,
}

impl Scope {
    pub const ALL: [Self; 11] = [
        Self::EventsWrite,
        Self::EventsRead,
        Self::EventsExport,
        Self::DecisionsWrite,
        Self::RulesWrite,
        Self::RulesRead,
        Self::DeliveriesRead,
        Self::PoliciesWrite,
        Self::PoliciesRead,
        Self::ApprovalsWrite,
        Self::ApprovalsRead,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::EventsWrite => "events:write",
            Self::EventsRead => "events:read",
            Self::EventsExport => "events:export",
            Self::DecisionsWrite => "decisions:write",
            Self::RulesWrite => "rules:write",
            Self::RulesRead => "rules:read",
            Self::DeliveriesRead => "deliveries:read",
            Self::PoliciesWrite => "policies:write",
            Self::PoliciesRead => "policies:read",
            Self::ApprovalsWrite => "approvals:write",
            Self::ApprovalsRead => "approvals:read",
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Scope {
    type Err = UnknownScope;

    fn from_str(text: &str) -> Result<Self, UnknownScope> {
        let found = Self::ALL.into_iter().find(|scope| scope.as_str() == text);
        found.ok_or_else(|| UnknownScope(text.to_owned()))
    }
}

/// The text is not one of [`Scope::ALL`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown scope `{0}`")]
pub struct UnknownScope(String);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scope_reads_back_as_written() {
        for scope in Scope::ALL {
            assert_eq!(scope.as_str().parse(), Ok(scope));
            assert_eq!(
                serde_json::to_string(&scope).ok(),
                Some(format!("\"{scope}\""))
            );
        }
    }
}
