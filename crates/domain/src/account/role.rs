//! What a person may do in their organization.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use super::Scope;

/// The part a person plays in their organization, from most to least.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Everything, and the only one who makes and unmakes owners.
    Owner,
    /// Everything but that.
    Admin,
    /// Reads everything and changes nothing but what is their own, such as their views.
    Viewer,
}

impl Role {
    pub const ALL: [Self; 3] = [Self::Owner, Self::Admin, Self::Viewer];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Owner => "owner",
            Self::Admin => "admin",
            Self::Viewer => "viewer",
        }
    }

    /// What a session of somebody in this role may do, in the words of API keys.
    pub fn scopes(self) -> &'static [Scope] {
        match self {
            Self::Owner | Self::Admin => &Scope::ALL,
            Self::Viewer => &[
                Scope::EventsRead,
                Scope::RulesRead,
                Scope::DeliveriesRead,
                Scope::PoliciesRead,
                Scope::ApprovalsRead,
            ],
        }
    }

    /// Whether this role manages members, invitations, keys and the organization itself.
    pub fn may_manage(self) -> bool {
        matches!(self, Self::Owner | Self::Admin)
    }

    /// Whether somebody in this role may give `role` to another, or take it away.
    pub fn may_grant(self, role: Self) -> bool {
        match role {
            Self::Owner => self == Self::Owner,
            Self::Admin | Self::Viewer => self.may_manage(),
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Role {
    type Err = UnknownRole;

    fn from_str(text: &str) -> Result<Self, UnknownRole> {
        let found = Self::ALL.into_iter().find(|role| role.as_str() == text);
        found.ok_or(UnknownRole)
    }
}

/// The text is not one of [`Role::ALL`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a role must be `owner`, `admin` or `viewer`")]
pub struct UnknownRole;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_role_reads_back_as_written() {
        for role in Role::ALL {
            assert_eq!(role.as_str().parse(), Ok(role));
            assert_eq!(
                serde_json::to_string(&role).ok(),
                Some(format!("\"{role}\""))
            );
        }
        assert_eq!("Owner".parse::<Role>(), Err(UnknownRole));
    }

    #[test]
    fn a_viewer_has_every_scope_that_reads_and_none_other() {
        for scope in Scope::ALL {
            let reads = scope.as_str().ends_with(":read");
            assert_eq!(Role::Viewer.scopes().contains(&scope), reads, "{scope}");
            assert!(Role::Admin.scopes().contains(&scope), "{scope}");
            assert!(Role::Owner.scopes().contains(&scope), "{scope}");
        }
    }

    #[test]
    fn only_an_owner_makes_owners_and_a_viewer_makes_nobody_anything() {
        let granted: Vec<_> = Role::ALL
            .iter()
            .flat_map(|by| Role::ALL.map(|role| (*by, role)))
            .filter(|(by, role)| by.may_grant(*role))
            .collect();
        assert_eq!(
            granted,
            [
                (Role::Owner, Role::Owner),
                (Role::Owner, Role::Admin),
                (Role::Owner, Role::Viewer),
                (Role::Admin, Role::Admin),
                (Role::Admin, Role::Viewer),
            ]
        );
    }
}
