//! Invitations to join an organization, until they are accepted, revoked or run out.

use std::time::Duration;

use domain::{
    InvitationId, OrgId, Timestamp, UserId,
    account::{EmailAddress, Role, TokenHash, security_log::What},
};
use serde_json::json;
use sqlx::{FromRow, types::time::OffsetDateTime};
use uuid::Uuid;

use crate::{
    Error, Store,
    account_outbox::{Hand, note},
    members::{Refused, locked_role},
    page::Page,
    password_resets::address,
    registrations::{NewMember, add_member, finished},
    sessions::role,
    times::{from_database, to_database},
};

/// How long an invitation waits.
pub const LIFETIME: Duration = Duration::from_hours(7 * 24);
/// How many invitations of one organization may wait: more than join at a time. How much mail they
/// cause is bounded by a limit of its own.
pub const OPEN_MAX: u32 = 100;

/// An invitation, as members see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invitation {
    pub id: InvitationId,
    pub email: EmailAddress,
    pub role: Role,
    pub invited_by: UserId,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
}

/// Why an invitation was not made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotMade {
    /// Who invites may not give this role.
    NotAllowed,
    /// [`OPEN_MAX`] others wait.
    TooMany,
}

#[derive(FromRow)]
struct Row {
    id: Uuid,
    email: String,
    role: String,
    invited_by: Uuid,
    created_at: OffsetDateTime,
    expires_at: OffsetDateTime,
}

impl Store {
    /// Saves an invitation, in place of an earlier one of the organization for the same address. Who
    /// invites is asked for their role under the lock, because it may have changed since they asked.
    pub async fn save_invitation(
        &self,
        org: OrgId,
        invitation: &Invitation,
        token_hash: &TokenHash,
    ) -> Result<Result<(), NotMade>, Error> {
        let mut transaction = self.pool.begin().await?;
        let inviter = locked_role(&mut transaction, org, invitation.invited_by).await?;
        if !inviter.is_some_and(|inviter| inviter.may_grant(invitation.role)) {
            return Ok(Err(NotMade::NotAllowed));
        }
        let open: i64 = sqlx::query_scalar(
            "SELECT count(*) FROM invitations WHERE org_id = $1 AND email <> $2 AND expires_at > $3",
        )
        .bind(org.uuid())
        .bind(invitation.email.as_str())
        .bind(to_database(invitation.created_at))
        .fetch_one(&mut *transaction)
        .await?;
        if open >= i64::from(OPEN_MAX) {
            return Ok(Err(NotMade::TooMany));
        }
        sqlx::query(
            "INSERT INTO invitations (org_id, id, email, role, invited_by, token_hash, created_at, expires_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
             ON CONFLICT (org_id, email) DO UPDATE
             SET id = excluded.id, role = excluded.role, invited_by = excluded.invited_by,
                 token_hash = excluded.token_hash, created_at = excluded.created_at,
                 expires_at = excluded.expires_at",
        )
        .bind(org.uuid())
        .bind(invitation.id.uuid())
        .bind(invitation.email.as_str())
        .bind(invitation.role.as_str())
        .bind(invitation.invited_by.uuid())
        .bind(token_hash.as_str())
        .bind(to_database(invitation.created_at))
        .bind(to_database(invitation.expires_at))
        .execute(&mut *transaction)
        .await?;
        let hand = Hand {
            org,
            user: invitation.invited_by,
            at: invitation.created_at,
        };
        let (email, role) = (invitation.email.as_str(), invitation.role.as_str());
        let details = json!({"invitation_id": invitation.id, "email": email, "role": role});
        note(&mut transaction, hand, What::Invited, details).await?;
        transaction.commit().await?;
        Ok(Ok(()))
    }

    /// An organization's invitations that wait, newest first, from below `before` on.
    pub async fn list_invitations(
        &self,
        org: OrgId,
        before: Option<InvitationId>,
        limit: u32,
        now: Timestamp,
    ) -> Result<Page<Invitation, InvitationId>, Error> {
        let rows: Vec<Row> = sqlx::query_as(
            "SELECT id, email, role, invited_by, created_at, expires_at FROM invitations
             WHERE org_id = $1 AND id < $2 AND expires_at > $3 ORDER BY id DESC LIMIT $4",
        )
        .bind(org.uuid())
        .bind(before.map_or(Uuid::max(), InvitationId::uuid))
        .bind(to_database(now))
        .bind(i64::from(limit) + 1)
        .fetch_all(&self.pool)
        .await?;
        let invitations = rows.into_iter().map(Invitation::try_from);
        let invitations = invitations.collect::<Result<_, _>>()?;
        Ok(Page::from_rows(invitations, limit, |one: &Invitation| {
            one.id
        }))
    }

    /// Takes an invitation back.
    pub async fn revoke_invitation(
        &self,
        hand: Hand,
        id: InvitationId,
    ) -> Result<Result<(), Refused>, Error> {
        let mut transaction = self.pool.begin().await?;
        let asking = locked_role(&mut transaction, hand.org, hand.user).await?;
        if !asking.is_some_and(Role::may_manage) {
            return Ok(Err(Refused::NotAllowed));
        }
        let revoked: Option<(String, String)> = sqlx::query_as(
            "DELETE FROM invitations WHERE org_id = $1 AND id = $2 RETURNING email, role",
        )
        .bind(hand.org.uuid())
        .bind(id.uuid())
        .fetch_optional(&mut *transaction)
        .await?;
        let Some((email, role)) = revoked else {
            return Ok(Err(Refused::NotFound));
        };
        let details = json!({"invitation_id": id, "email": email, "role": role});
        note(&mut transaction, hand, What::InvitationRevoked, details).await?;
        transaction.commit().await?;
        Ok(Ok(()))
    }

    /// Who was invited by this link, as long as it works.
    pub async fn invitation_for(
        &self,
        token_hash: &TokenHash,
        now: Timestamp,
    ) -> Result<Option<EmailAddress>, Error> {
        let email: Option<String> = sqlx::query_scalar(
            "SELECT email FROM invitations WHERE token_hash = $1 AND expires_at > $2",
        )
        .bind(token_hash.as_str())
        .bind(to_database(now))
        .fetch_optional(&self.pool)
        .await?;
        email.as_deref().map(address).transpose()
    }

    /// Uses the link: makes the member, of which organization is returned. `None` if it does not work any
    /// more, or if the address has an account by now.
    pub async fn accept_invitation(
        &self,
        token_hash: &TokenHash,
        user: UserId,
        password_hash: &str,
        now: Timestamp,
    ) -> Result<Option<OrgId>, Error> {
        let mut transaction = self.pool.begin().await?;
        let row: Option<(Uuid, Uuid, String, String)> = sqlx::query_as(
            "DELETE FROM invitations WHERE token_hash = $1 AND expires_at > $2
             RETURNING org_id, id, email, role",
        )
        .bind(token_hash.as_str())
        .bind(to_database(now))
        .fetch_optional(&mut *transaction)
        .await?;
        let Some((org, id, email, invited_as)) = row else {
            return Ok(None);
        };
        let org = OrgId::from_uuid(org);
        let member = NewMember {
            org,
            user,
            email: &email,
            password_hash,
            role: role(&invited_as)?,
            at: now,
        };
        let made = add_member(&mut transaction, &member).await;
        if made.is_ok() {
            let hand = Hand { org, user, at: now };
            let details = json!({
                "invitation_id": InvitationId::from_uuid(id), "user_id": user, "email": email, "role": invited_as,
            });
            note(&mut transaction, hand, What::InvitationAccepted, details).await?;
        }
        Ok(finished(transaction, made).await?.then_some(org))
    }
}

impl TryFrom<Row> for Invitation {
    type Error = Error;

    fn try_from(row: Row) -> Result<Self, Error> {
        Ok(Self {
            id: InvitationId::from_uuid(row.id),
            email: address(&row.email)?,
            role: role(&row.role)?,
            invited_by: UserId::from_uuid(row.invited_by),
            created_at: from_database(row.created_at),
            expires_at: from_database(row.expires_at),
        })
    }
}
