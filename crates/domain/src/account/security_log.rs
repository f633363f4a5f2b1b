//! What happens to accounts, as the organization's trail tells it: the security log.

use uuid::Uuid;

use crate::{
    OrgId,
    id::{Tail, derived},
};

/// What was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    KeyMade,
    KeyRotated,
    KeyRevoked,
    RoleChanged,
    MemberRemoved,
    Invited,
    InvitationRevoked,
    InvitationAccepted,
    Renamed,
    /// All members have a view that they did not have.
    ViewShared,
    /// One that all members have.
    ViewChanged,
    ViewDeleted,
    /// The organization is to be deleted.
    DeletionScheduled,
    /// It is not, after all.
    DeletionCanceled,
    /// Anybody may read the transparency log.
    LogPublished,
    /// Only those who may read events may, again.
    LogWithdrawn,
    /// Another key signs the transparency log, beside the one before.
    LogKeyAdded,
    /// The one before signs it no more.
    LogKeyRetired,
    /// The transparency log, which had stopped because its files contradicted it, goes on.
    LogResumed,
    /// Nodes were told again who may do what, after the journal or the database was lost or restored.
    AnnouncedAgain,
    LoggedIn,
    /// Somebody had the address of an account and not its password.
    LoginRefused,
    /// Logged out, or ended from another session.
    SessionEnded,
    PasswordReset,
    /// By who knew the one before.
    PasswordChanged,
}

impl What {
    pub const ALL: [Self; 25] = [
        Self::KeyMade,
        Self::KeyRotated,
        Self::KeyRevoked,
        Self::RoleChanged,
        Self::MemberRemoved,
        Self::Invited,
        Self::InvitationRevoked,
        Self::InvitationAccepted,
        Self::Renamed,
        Self::ViewShared,
        Self::ViewChanged,
        Self::ViewDeleted,
        Self::DeletionScheduled,
        Self::DeletionCanceled,
        Self::LogPublished,
        Self::LogWithdrawn,
        Self::LogKeyAdded,
        Self::LogKeyRetired,
        Self::LogResumed,
        Self::AnnouncedAgain,
        Self::LoggedIn,
        Self::LoginRefused,
        Self::SessionEnded,
        Self::PasswordReset,
        Self::PasswordChanged,
    ];

    /// What the store calls it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::KeyMade => "key_made",
            Self::KeyRotated => "key_rotated",
            Self::KeyRevoked => "key_revoked",
            Self::RoleChanged => "role_changed",
            Self::MemberRemoved => "member_removed",
            Self::Invited => "invited",
            Self::InvitationRevoked => "invitation_revoked",
            Self::InvitationAccepted => "invitation_accepted",
            Self::Renamed => "renamed",
            Self::ViewShared => "view_shared",
            Self::ViewChanged => "view_changed",
            Self::ViewDeleted => "view_deleted",
            Self::DeletionScheduled => "deletion_scheduled",
            Self::DeletionCanceled => "deletion_canceled",
            Self::LogPublished => "log_published",
            Self::LogWithdrawn => "log_withdrawn",
            Self::LogKeyAdded => "log_key_added",
            Self::LogKeyRetired => "log_key_retired",
            Self::LogResumed => "log_resumed",
            Self::AnnouncedAgain => "announced_again",
            Self::LoggedIn => "logged_in",
            Self::LoginRefused => "login_refused",
            Self::SessionEnded => "session_ended",
            Self::PasswordReset => "password_reset",
            Self::PasswordChanged => "password_changed",
        }
    }

    /// What the store calls so.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|what| what.as_str() == name)
    }

    /// The `event_type` of its audit event.
    pub fn event_type(self) -> &'static str {
        match self {
            Self::KeyMade
            | Self::KeyRotated
            | Self::KeyRevoked
            | Self::LogKeyAdded
            | Self::LogKeyRetired => "key_rotation",
            Self::RoleChanged
            | Self::MemberRemoved
            | Self::Invited
            | Self::InvitationRevoked
            | Self::InvitationAccepted
            | Self::Renamed
            | Self::DeletionScheduled
            | Self::DeletionCanceled
            | Self::LogPublished
            | Self::LogWithdrawn
            | Self::LogResumed
            | Self::AnnouncedAgain => "permission_change",
            Self::ViewShared | Self::ViewChanged | Self::ViewDeleted => "view_change",
            Self::LoggedIn
            | Self::LoginRefused
            | Self::SessionEnded
            | Self::PasswordReset
            | Self::PasswordChanged => "login",
        }
    }

    /// Its `action`.
    pub fn action(self) -> &'static str {
        match self {
            Self::KeyMade => "api_key.create",
            Self::KeyRotated => "api_key.rotate",
            Self::KeyRevoked => "api_key.revoke",
            Self::RoleChanged => "member.change",
            Self::MemberRemoved => "member.remove",
            Self::Invited => "invitation.create",
            Self::InvitationRevoked => "invitation.revoke",
            Self::InvitationAccepted => "invitation.accept",
            Self::Renamed => "organisation.rename",
            Self::ViewShared => "view.share",
            Self::ViewChanged => "view.change",
            Self::ViewDeleted => "view.delete",
            Self::DeletionScheduled => "organisation.delete",
            Self::DeletionCanceled => "organisation.keep",
            Self::LogPublished => "log.publish",
            Self::LogWithdrawn => "log.withdraw",
            Self::LogKeyAdded => "log_key.add",
            Self::LogKeyRetired => "log_key.retire",
            Self::LogResumed => "log.resume",
            Self::AnnouncedAgain => "organisation.announce",
            Self::LoggedIn | Self::LoginRefused => "session.start",
            Self::SessionEnded => "session.end",
            Self::PasswordReset => "password.reset",
            Self::PasswordChanged => "password.change",
        }
    }

    /// Its `result`.
    pub fn result(self) -> &'static str {
        match self {
            Self::LoginRefused => "denied",
            _ => "success",
        }
    }
}

/// What makes the id of the event of a change beside its time: recorded again it is the same event. No
/// `client_event_id` has a NUL, so none makes the same.
pub fn event_tail(org: OrgId, change: Uuid) -> Tail {
    let cause = [b"\0account\0".as_slice(), change.as_bytes()].concat();
    Tail::Derived(derived(org.uuid().as_bytes(), &cause))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn everything_has_a_name_of_its_own_and_reads_back() {
        for what in What::ALL {
            assert_eq!(What::named(what.as_str()), Some(what));
        }
        let events: BTreeSet<(&str, &str)> = What::ALL
            .iter()
            .map(|what| (what.action(), what.result()))
            .collect();
        assert_eq!(events.len(), What::ALL.len());
    }
}
