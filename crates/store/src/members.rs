//! The people of an organization.
//!
//! Every change of who plays which part locks the organization's row, so that of two owners who
//! demote each other at the same moment one stays.

use domain::{
    OrgId, Timestamp, UserId,
    account::{EmailAddress, KeyHash, Role, security_log::What},
};
use serde_json::json;
use sqlx::{FromRow, Postgres, Transaction, types::time::OffsetDateTime};
use uuid::Uuid;

use crate::{
    Error, Store,
    account_outbox::{Hand, note},
    api_keys::{made_by, revoke_keys_of},
    outbox::OutboxEntry,
    page::Page,
    sessions::role,
    times::{from_database, to_database},
};

/// Somebody who belongs to an organization.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    pub user: UserId,
    pub email: String,
    pub role: Role,
    pub created_at: Timestamp,
}

/// What a login is checked against, and what it answers with.
pub struct Credentials {
    pub organization: Organization,
    pub member: Member,
    /// argon2id, in PHC form.
    pub password_hash: String,
}

/// An organization as its members see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Organization {
    pub org: OrgId,
    pub name: String,
    pub created_at: Timestamp,
    /// When it is deleted with all that it has, if it is to be.
    pub deletes_at: Option<Timestamp>,
}

/// A member as lists show them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedMember {
    pub member: Member,
    /// How many API keys that work they made.
    pub api_keys: u64,
}

/// What becomes of the API keys that a member made when they are removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TheirKeys {
    Revoked,
    Kept,
}

/// Why a change of the members was not made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The organization has no such member.
    NotFound,
    /// Who asks may not give or take this role.
    NotAllowed,
    /// An organization always has an owner.
    LastOwner,
}

#[derive(FromRow)]
struct MemberRow {
    id: Uuid,
    email: String,
    role: String,
    created_at: OffsetDateTime,
}

#[derive(FromRow)]
struct ListedRow {
    api_keys: i64,
    #[sqlx(flatten)]
    member: MemberRow,
}

#[derive(FromRow)]
struct CredentialsRow {
    org_id: Uuid,
    org_name: String,
    org_created_at: OffsetDateTime,
    deletes_at: Option<OffsetDateTime>,
    password_hash: String,
    #[sqlx(flatten)]
    member: MemberRow,
}

/// The most people of an organization that are told of something: more than need to be.
pub const MANAGERS_MAX: u32 = 20;

impl Store {
    /// What a login with this address is checked against. Starts from the address, because that is
    /// all that somebody who logs in gives.
    pub async fn credentials(&self, email: &EmailAddress) -> Result<Option<Credentials>, Error> {
        let row: Option<CredentialsRow> = sqlx::query_as(
            "SELECT u.org_id, o.name AS org_name, o.created_at AS org_created_at, o.deletes_at, u.password_hash,
                    u.id, u.email, u.role, u.created_at
             FROM users u JOIN organisations o ON o.id = u.org_id WHERE u.email = $1",
        )
        .bind(email.as_str())
        .fetch_optional(&self.pool)
        .await?;
        let credentials = |row: CredentialsRow| {
            Ok(Credentials {
                organization: Organization {
                    org: OrgId::from_uuid(row.org_id),
                    name: row.org_name,
                    created_at: from_database(row.org_created_at),
                    deletes_at: row.deletes_at.map(from_database),
                },
                member: Member::try_from(row.member)?,
                password_hash: row.password_hash,
            })
        };
        row.map(credentials).transpose()
    }

    /// All organizations, up to a thousand: for `watchbell dev`, whose receiver verifies the webhooks of each.
    pub async fn organization_ids(&self) -> Result<Vec<OrgId>, Error> {
        let ids: Vec<Uuid> =
            sqlx::query_scalar("SELECT id FROM organisations ORDER BY id LIMIT 1000")
                .fetch_all(&self.pool)
                .await?;
        Ok(ids.into_iter().map(OrgId::from_uuid).collect())
    }

    pub async fn organization(&self, org: OrgId) -> Result<Option<Organization>, Error> {
        let row: Option<(String, OffsetDateTime, Option<OffsetDateTime>)> =
            sqlx::query_as("SELECT name, created_at, deletes_at FROM organisations WHERE id = $1")
                .bind(org.uuid())
                .fetch_optional(&self.pool)
                .await?;
        Ok(row.map(|(name, created_at, deletes_at)| Organization {
            org,
            name,
            created_at: from_database(created_at),
            deletes_at: deletes_at.map(from_database),
        }))
    }

    /// Renames an organization.
    pub async fn rename_organization(
        &self,
        hand: Hand,
        name: &str,
    ) -> Result<Result<(), Refused>, Error> {
        let mut transaction = self.pool.begin().await?;
        let asking = locked_role(&mut transaction, hand.org, hand.user).await?;
        if !asking.is_some_and(Role::may_manage) {
            return Ok(Err(Refused::NotAllowed));
        }
        let before: String = sqlx::query_scalar("SELECT name FROM organisations WHERE id = $1")
            .bind(hand.org.uuid())
            .fetch_one(&mut *transaction)
            .await?;
        sqlx::query("UPDATE organisations SET name = $2 WHERE id = $1")
            .bind(hand.org.uuid())
            .bind(name)
            .execute(&mut *transaction)
            .await?;
        if before != name {
            let details = json!({"before": before, "after": name});
            note(&mut transaction, hand, What::Renamed, details).await?;
        }
        transaction.commit().await?;
        Ok(Ok(()))
    }

    pub async fn member(&self, org: OrgId, user: UserId) -> Result<Option<Member>, Error> {
        let row: Option<MemberRow> = sqlx::query_as(
            "SELECT id, email, role, created_at FROM users WHERE org_id = $1 AND id = $2",
        )
        .bind(org.uuid())
        .bind(user.uuid())
        .fetch_optional(&self.pool)
        .await?;
        row.map(Member::try_from).transpose()
    }

    /// The addresses of an organization's owners and admins, who can do something about its troubles.
    pub async fn managers(&self, org: OrgId) -> Result<Vec<String>, Error> {
        Ok(sqlx::query_scalar(
            "SELECT email FROM users WHERE org_id = $1 AND role IN ('owner', 'admin') ORDER BY id LIMIT $2",
        )
        .bind(org.uuid())
        .bind(i64::from(MANAGERS_MAX))
        .fetch_all(&self.pool)
        .await?)
    }

    /// An organization's members, newest first, from below `before` on.
    pub async fn list_members(
        &self,
        org: OrgId,
        before: Option<UserId>,
        limit: u32,
        now: Timestamp,
    ) -> Result<Page<ListedMember, UserId>, Error> {
        // The keys are looked at once for all members: an organization has 10,000 that work at most.
        let rows: Vec<ListedRow> = sqlx::query_as(
            "SELECT u.id, u.email, u.role, u.created_at, coalesce(made.api_keys, 0) AS api_keys
             FROM users u LEFT JOIN (
                 SELECT created_by, count(*) AS api_keys FROM api_keys
                 WHERE org_id = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $4)
                 GROUP BY created_by) made ON made.created_by = u.id
             WHERE u.org_id = $1 AND u.id < $2 ORDER BY u.id DESC LIMIT $3",
        )
        .bind(org.uuid())
        .bind(before.map_or(Uuid::max(), UserId::uuid))
        .bind(i64::from(limit) + 1)
        .bind(to_database(now))
        .fetch_all(&self.pool)
        .await?;
        let members = rows.into_iter().map(ListedMember::try_from);
        let members = members.collect::<Result<_, _>>()?;
        Ok(Page::from_rows(members, limit, |one: &ListedMember| {
            one.member.user
        }))
    }

    /// Gives a member another role. Who loses the right to invite loses the invitations they made.
    pub async fn change_role(
        &self,
        hand: Hand,
        member: UserId,
        role: Role,
    ) -> Result<Result<Member, Refused>, Error> {
        let org = hand.org;
        let mut transaction = self.pool.begin().await?;
        let (by, found) = match locked(&mut transaction, hand, member).await? {
            Ok(both) => both,
            Err(refused) => return Ok(Err(refused)),
        };
        if !(by.role.may_grant(found.role) && by.role.may_grant(role)) {
            return Ok(Err(Refused::NotAllowed));
        }
        if role != Role::Owner && is_last_owner(&mut transaction, org, &found).await? {
            return Ok(Err(Refused::LastOwner));
        }
        sqlx::query("UPDATE users SET role = $3 WHERE org_id = $1 AND id = $2")
            .bind(org.uuid())
            .bind(member.uuid())
            .bind(role.as_str())
            .execute(&mut *transaction)
            .await?;
        if role != found.role && !role.may_grant(found.role) {
            drop_invitations_by(&mut transaction, org, member).await?;
        }
        if role != found.role {
            let (before, after) = (found.role.as_str(), role.as_str());
            let details = json!({"user_id": member, "before": before, "after": after});
            note(&mut transaction, hand, What::RoleChanged, details).await?;
        }
        transaction.commit().await?;
        Ok(Ok(Member { role, ..found }))
    }

    /// Removes a member with their sessions, links and invitations, and how many keys ended with them. Anybody may remove
    /// themself.
    pub async fn remove_member(
        &self,
        hand: Hand,
        member: UserId,
        keys: TheirKeys,
        key_gone: impl Fn(&KeyHash) -> OutboxEntry,
    ) -> Result<Result<usize, Refused>, Error> {
        let org = hand.org;
        let mut transaction = self.pool.begin().await?;
        let (by, found) = match locked(&mut transaction, hand, member).await? {
            Ok(both) => both,
            Err(refused) => return Ok(Err(refused)),
        };
        if by.user != member && !by.role.may_grant(found.role) {
            return Ok(Err(Refused::NotAllowed));
        }
        if is_last_owner(&mut transaction, org, &found).await? {
            return Ok(Err(Refused::LastOwner));
        }
        drop_invitations_by(&mut transaction, org, member).await?;
        // Sessions and links go with the row they belong to.
        sqlx::query("DELETE FROM users WHERE org_id = $1 AND id = $2")
            .bind(org.uuid())
            .bind(member.uuid())
            .execute(&mut *transaction)
            .await?;
        let (revoked, kept) = match keys {
            TheirKeys::Revoked => {
                let revoked = revoke_keys_of(&mut transaction, hand, member, key_gone).await?;
                (revoked, 0)
            }
            TheirKeys::Kept => (
                0,
                made_by(&mut transaction, org, member, hand.at).await?.len(),
            ),
        };
        let role = found.role.as_str();
        let details = json!({
            "user_id": member, "email": found.email, "role": role,
            "api_keys_revoked": revoked, "api_keys_kept": kept,
        });
        note(&mut transaction, hand, What::MemberRemoved, details).await?;
        transaction.commit().await?;
        Ok(Ok(revoked))
    }
}

/// Takes the organization's lock and reads who asks and who is meant, as they are now. Somebody who
/// was removed meanwhile may do nothing any more.
async fn locked(
    transaction: &mut Transaction<'_, Postgres>,
    hand: Hand,
    member: UserId,
) -> Result<Result<(Member, Member), Refused>, Error> {
    let by = hand.user;
    lock_organization(transaction, hand.org).await?;
    let rows: Vec<MemberRow> = sqlx::query_as(
        "SELECT id, email, role, created_at FROM users WHERE org_id = $1 AND id IN ($2, $3)",
    )
    .bind(hand.org.uuid())
    .bind(by.uuid())
    .bind(member.uuid())
    .fetch_all(&mut **transaction)
    .await?;
    let members = rows
        .into_iter()
        .map(Member::try_from)
        .collect::<Result<Vec<_>, _>>()?;
    let find = |user| members.iter().find(|one| one.user == user).cloned();
    Ok(match (find(by), find(member)) {
        (None, _) => Err(Refused::NotAllowed),
        (_, None) => Err(Refused::NotFound),
        (Some(by), Some(member)) => Ok((by, member)),
    })
}

/// Takes the organization's lock and reads the role of who asks, as it is now: it may have changed
/// since the request came in. `None` if they were removed meanwhile.
pub(crate) async fn locked_role(
    transaction: &mut Transaction<'_, Postgres>,
    org: OrgId,
    by: UserId,
) -> Result<Option<Role>, Error> {
    lock_organization(transaction, org).await?;
    let found: Option<String> =
        sqlx::query_scalar("SELECT role FROM users WHERE org_id = $1 AND id = $2")
            .bind(org.uuid())
            .bind(by.uuid())
            .fetch_optional(&mut **transaction)
            .await?;
    found.as_deref().map(role).transpose()
}

/// Lets one change of an organization's people and keys happen after the other; rules go on.
pub(crate) async fn lock_organization(
    transaction: &mut Transaction<'_, Postgres>,
    org: OrgId,
) -> Result<(), Error> {
    sqlx::query("SELECT id FROM organisations WHERE id = $1 FOR NO KEY UPDATE")
        .bind(org.uuid())
        .execute(&mut **transaction)
        .await?;
    Ok(())
}

async fn is_last_owner(
    transaction: &mut Transaction<'_, Postgres>,
    org: OrgId,
    member: &Member,
) -> Result<bool, Error> {
    if member.role != Role::Owner {
        return Ok(false);
    }
    let owners: i64 =
        sqlx::query_scalar("SELECT count(*) FROM users WHERE org_id = $1 AND role = 'owner'")
            .bind(org.uuid())
            .fetch_one(&mut **transaction)
            .await?;
    Ok(owners <= 1)
}

/// A link that somebody mailed to a second address of theirs must not let them back in.
async fn drop_invitations_by(
    transaction: &mut Transaction<'_, Postgres>,
    org: OrgId,
    member: UserId,
) -> Result<(), Error> {
    sqlx::query("DELETE FROM invitations WHERE org_id = $1 AND invited_by = $2")
        .bind(org.uuid())
        .bind(member.uuid())
        .execute(&mut **transaction)
        .await?;
    Ok(())
}

impl TryFrom<ListedRow> for ListedMember {
    type Error = Error;

    fn try_from(row: ListedRow) -> Result<Self, Error> {
        Ok(Self {
            member: Member::try_from(row.member)?,
            api_keys: u64::try_from(row.api_keys).unwrap_or(0),
        })
    }
}

impl TryFrom<MemberRow> for Member {
    type Error = Error;

    fn try_from(row: MemberRow) -> Result<Self, Error> {
        Ok(Self {
            user: UserId::from_uuid(row.id),
            email: row.email,
            role: role(&row.role)?,
            created_at: from_database(row.created_at),
        })
    }
}
