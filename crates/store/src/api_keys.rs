//! API keys as their owners manage them. What a node needs to serve one is announced.

use domain::{
    KeyId, OrgId, Timestamp, UserId,
    account::{Agents, KeyHash, Role, Scope, security_log::What},
};
use serde_json::{Value, json};
use sqlx::{FromRow, Postgres, Transaction, types::time::OffsetDateTime};
use uuid::Uuid;

use crate::{
    Error, Store,
    account_outbox::{Hand, note, note_all},
    members::{lock_organization, locked_role},
    outbox::{self, OutboxEntry},
    page::Page,
    times::{from_database, to_database},
};

/// How many keys that work an organization may have: each agent its own, and room.
pub const KEYS_MAX: i64 = 10_000;

/// A key to be made.
pub struct NewKey {
    pub org: OrgId,
    pub id: KeyId,
    pub name: String,
    pub hash: KeyHash,
    pub hint: String,
    pub scopes: Vec<Scope>,
    pub agents: Agents,
    /// Who made it; an operator is nobody.
    pub created_by: Option<UserId>,
    pub created_at: Timestamp,
    pub expires_at: Option<Timestamp>,
}

impl NewKey {
    /// Who makes it, if it is a person.
    fn hand(&self) -> Option<Hand> {
        let (org, at) = (self.org, self.created_at);
        self.created_by.map(|user| Hand { org, user, at })
    }

    /// What the trail is told of it.
    fn details(&self) -> Value {
        let scopes: Vec<&str> = self.scopes.iter().map(|scope| scope.as_str()).collect();
        let mut details = json!({
            "key_id": self.id, "name": self.name, "hint": self.hint, "scopes": scopes, "expires_at": self.expires_at,
        });
        if !self.agents.are_all() {
            details["agents"] = json!(self.agents);
        }
        details
    }
}

/// A key as its organization sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRow {
    pub org: OrgId,
    pub id: KeyId,
    pub name: String,
    pub hash: KeyHash,
    pub hint: String,
    pub scopes: Vec<Scope>,
    pub agents: Agents,
    pub created_by: Option<UserId>,
    pub created_at: Timestamp,
    pub expires_at: Option<Timestamp>,
    pub last_used_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
    pub replaced_by: Option<KeyId>,
}

/// What became of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyChange {
    Done,
    /// There is no such key, or it is over already.
    NoSuchKey,
    /// The organization has [`KEYS_MAX`] keys.
    TooMany,
    /// Who asks may not make keys any more: they were removed, or are an admin no longer.
    NotAllowed,
}

/// Named, because `*` stops working under a running process when a column is added.
macro_rules! columns {
    () => {
        "org_id, id, name, hash, hint, scopes, agents, created_by, created_at, expires_at, last_used_at, revoked_at, replaced_by"
    };
}

#[derive(FromRow)]
struct Row {
    org_id: Uuid,
    id: Uuid,
    name: String,
    hash: String,
    hint: String,
    scopes: Vec<String>,
    agents: Vec<String>,
    created_by: Option<Uuid>,
    created_at: OffsetDateTime,
    expires_at: Option<OffsetDateTime>,
    last_used_at: Option<OffsetDateTime>,
    revoked_at: Option<OffsetDateTime>,
    replaced_by: Option<Uuid>,
}

impl Store {
    /// Saves a key and, in the same transaction, what every node must be told of it.
    pub async fn create_key(
        &self,
        key: &NewKey,
        announcement: &OutboxEntry,
    ) -> Result<KeyChange, Error> {
        let mut transaction = self.pool.begin().await?;
        let change = insert_key(&mut transaction, key).await?;
        if change != KeyChange::Done {
            return Ok(change);
        }
        if let Some(hand) = key.hand() {
            note(&mut transaction, hand, What::KeyMade, key.details()).await?;
        }
        outbox::enqueue(&mut transaction, announcement).await?;
        transaction.commit().await?;
        Ok(KeyChange::Done)
    }

    /// Makes the successor of a key, which goes on until `ends_at` at the latest. A key has one
    /// successor: of two rotations at once one is too late. `announcements` is told when it ends.
    pub async fn rotate_key(
        &self,
        old: KeyId,
        ends_at: Timestamp,
        successor: &NewKey,
        announcements: impl FnOnce(Timestamp) -> [OutboxEntry; 2],
    ) -> Result<KeyChange, Error> {
        let mut transaction = self.pool.begin().await?;
        // The organization before its key, as when a member is removed: in the other order the two would wait for each other.
        lock_organization(&mut transaction, successor.org).await?;
        let ends_at: Option<OffsetDateTime> = sqlx::query_scalar(
            "UPDATE api_keys SET expires_at = least(expires_at, $3), replaced_by = $5
             WHERE org_id = $1 AND id = $2 AND revoked_at IS NULL AND replaced_by IS NULL
               AND (expires_at IS NULL OR expires_at > $4)
             RETURNING expires_at",
        )
        .bind(successor.org.uuid())
        .bind(old.uuid())
        .bind(to_database(ends_at))
        .bind(to_database(successor.created_at))
        .bind(successor.id.uuid())
        .fetch_optional(&mut *transaction)
        .await?;
        let Some(ends_at) = ends_at else {
            return Ok(KeyChange::NoSuchKey);
        };
        let change = insert_key(&mut transaction, successor).await?;
        if change != KeyChange::Done {
            return Ok(change);
        }
        if let Some(hand) = successor.hand() {
            let mut details = successor.details();
            details["key_id"] = json!(old);
            details["successor"] = json!(successor.id);
            details["ends_at"] = json!(from_database(ends_at));
            note(&mut transaction, hand, What::KeyRotated, details).await?;
        }
        for announcement in announcements(from_database(ends_at)) {
            outbox::enqueue(&mut transaction, &announcement).await?;
        }
        transaction.commit().await?;
        Ok(KeyChange::Done)
    }

    /// Revokes a key; doing it again changes nothing, but is announced again.
    pub async fn revoke_key(
        &self,
        hand: Hand,
        id: KeyId,
        announcement: impl FnOnce(&KeyHash) -> OutboxEntry,
    ) -> Result<KeyChange, Error> {
        let mut transaction = self.pool.begin().await?;
        let found: Option<(String, String, Option<String>, bool)> = sqlx::query_as(
            "SELECT hash, name, hint, revoked_at IS NOT NULL FROM api_keys
             WHERE org_id = $1 AND id = $2 FOR UPDATE",
        )
        .bind(hand.org.uuid())
        .bind(id.uuid())
        .fetch_optional(&mut *transaction)
        .await?;
        let Some((hash, name, hint, is_revoked)) = found else {
            return Ok(KeyChange::NoSuchKey);
        };
        if !is_revoked {
            sqlx::query("UPDATE api_keys SET revoked_at = $3 WHERE org_id = $1 AND id = $2")
                .bind(hand.org.uuid())
                .bind(id.uuid())
                .bind(to_database(hand.at))
                .execute(&mut *transaction)
                .await?;
            let details = json!({"key_id": id, "name": name, "hint": hint});
            note(&mut transaction, hand, What::KeyRevoked, details).await?;
        }
        let announcement = announcement(&KeyHash::from_text(&hash));
        outbox::enqueue(&mut transaction, &announcement).await?;
        transaction.commit().await?;
        Ok(KeyChange::Done)
    }

    pub async fn key(&self, org: OrgId, id: KeyId) -> Result<Option<KeyRow>, Error> {
        let row: Option<Row> = sqlx::query_as(concat!(
            "SELECT ",
            columns!(),
            " FROM api_keys WHERE org_id = $1 AND id = $2"
        ))
        .bind(org.uuid())
        .bind(id.uuid())
        .fetch_optional(&self.pool)
        .await?;
        Ok(row.map(KeyRow::from))
    }

    /// An organization's keys, newest first, from below `before` on; revoked ones too.
    pub async fn list_keys(
        &self,
        org: OrgId,
        before: Option<KeyId>,
        limit: u32,
    ) -> Result<Page<KeyRow, KeyId>, Error> {
        let rows: Vec<Row> = sqlx::query_as(concat!(
            "SELECT ",
            columns!(),
            " FROM api_keys WHERE org_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3",
        ))
        .bind(org.uuid())
        .bind(before.map_or(Uuid::max(), KeyId::uuid))
        .bind(i64::from(limit) + 1)
        .fetch_all(&self.pool)
        .await?;
        let keys = rows.into_iter().map(KeyRow::from).collect();
        Ok(Page::from_rows(keys, limit, |key: &KeyRow| key.id))
    }

    /// How many keys that work a person made.
    pub async fn keys_made_by(
        &self,
        org: OrgId,
        maker: UserId,
        now: Timestamp,
    ) -> Result<u64, Error> {
        let keys: i64 = sqlx::query_scalar(
            "SELECT count(*) FROM api_keys
             WHERE org_id = $1 AND created_by = $2 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $3)",
        )
        .bind(org.uuid())
        .bind(maker.uuid())
        .bind(to_database(now))
        .fetch_one(&self.pool)
        .await?;
        Ok(u64::try_from(keys).unwrap_or(0))
    }

    /// Notes when keys were last used. A later time that is known already stays.
    pub async fn note_keys_used(
        &self,
        uses: impl Iterator<Item = (OrgId, KeyId, Timestamp)>,
    ) -> Result<(), Error> {
        // In one order on every node, so that two that write the same keys do not wait for each other.
        let mut uses: Vec<_> = uses.collect();
        uses.sort_unstable_by_key(|(org, id, _)| (*org, *id));
        let (mut orgs, mut ids, mut times) = (Vec::new(), Vec::new(), Vec::new());
        for (org, id, used_at) in uses {
            orgs.push(org.uuid());
            ids.push(id.uuid());
            times.push(to_database(used_at));
        }
        sqlx::query(
            "UPDATE api_keys SET last_used_at = greatest(last_used_at, used.at)
             FROM unnest($1::uuid[], $2::uuid[], $3::timestamptz[]) AS used (org_id, id, at)
             WHERE api_keys.org_id = used.org_id AND api_keys.id = used.id",
        )
        .bind(orgs)
        .bind(ids)
        .bind(times)
        .execute(&self.pool)
        .await?;
        Ok(())
    }
}

/// A key that somebody made, as its end is told.
#[derive(FromRow)]
pub(crate) struct Made {
    id: Uuid,
    hash: String,
    name: String,
    hint: String,
}

/// The keys that work and that a person made. They stay as they are until the transaction ends.
pub(crate) async fn made_by(
    transaction: &mut Transaction<'_, Postgres>,
    org: OrgId,
    maker: UserId,
    now: Timestamp,
) -> Result<Vec<Made>, Error> {
    // In the order in which uses are noted.
    Ok(sqlx::query_as(
        "SELECT id, hash, name, hint FROM api_keys
         WHERE org_id = $1 AND created_by = $2 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $3)
         ORDER BY id FOR UPDATE",
    )
    .bind(org.uuid())
    .bind(maker.uuid())
    .bind(to_database(now))
    .fetch_all(&mut **transaction)
    .await?)
}

/// Revokes the keys that work and that a person made; returns how many. They may be [`KEYS_MAX`]: nobody must be able to make
/// so many that removing them takes longer than a request may.
pub(crate) async fn revoke_keys_of(
    transaction: &mut Transaction<'_, Postgres>,
    hand: Hand,
    maker: UserId,
    announcement: impl Fn(&KeyHash) -> OutboxEntry,
) -> Result<usize, Error> {
    let keys = made_by(transaction, hand.org, maker, hand.at).await?;
    let ids: Vec<Uuid> = keys.iter().map(|key| key.id).collect();
    sqlx::query("UPDATE api_keys SET revoked_at = $3 WHERE org_id = $1 AND id = ANY($2)")
        .bind(hand.org.uuid())
        .bind(ids)
        .bind(to_database(hand.at))
        .execute(&mut **transaction)
        .await?;
    let details = |key: &Made| {
        let (id, name, hint) = (KeyId::from_uuid(key.id), &key.name, &key.hint);
        json!({"key_id": id, "name": name, "hint": hint}).to_string()
    };
    let details = keys.iter().map(details).collect();
    note_all(transaction, hand, What::KeyRevoked, details).await?;
    let gone = |key: &Made| announcement(&KeyHash::from_text(&key.hash));
    outbox::enqueue_all(transaction, keys.iter().map(gone).collect()).await?;
    Ok(keys.len())
}

/// Whether the organization may have one more key. Who makes keys holds its lock, so that of two that ask
/// at once the second counts the first.
async fn has_room(
    transaction: &mut Transaction<'_, Postgres>,
    key: &NewKey,
) -> Result<bool, Error> {
    let keys: i64 = sqlx::query_scalar(
        "SELECT count(*) FROM api_keys
         WHERE org_id = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2)",
    )
    .bind(key.org.uuid())
    .bind(to_database(key.created_at))
    .fetch_one(&mut **transaction)
    .await?;
    Ok(keys < KEYS_MAX)
}

/// Saves a key, unless its maker may not make keys any more (a request may take as long as its body)
/// or there are too many.
pub(crate) async fn insert_key(
    transaction: &mut Transaction<'_, Postgres>,
    key: &NewKey,
) -> Result<KeyChange, Error> {
    if let Some(maker) = key.created_by {
        let role = locked_role(transaction, key.org, maker).await?;
        if !role.is_some_and(Role::may_manage) {
            return Ok(KeyChange::NotAllowed);
        }
    }
    if !has_room(transaction, key).await? {
        return Ok(KeyChange::TooMany);
    }
    let scopes: Vec<&str> = key.scopes.iter().map(|scope| scope.as_str()).collect();
    sqlx::query(
        "INSERT INTO api_keys (org_id, id, name, hash, hint, scopes, created_by, created_at, expires_at, agents)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
    )
    .bind(key.org.uuid())
    .bind(key.id.uuid())
    .bind(&key.name)
    .bind(key.hash.as_str())
    .bind(&key.hint)
    .bind(scopes)
    .bind(key.created_by.map(UserId::uuid))
    .bind(to_database(key.created_at))
    .bind(key.expires_at.map(to_database))
    .bind(key.agents.as_slice().to_vec())
    .execute(&mut **transaction)
    .await?;
    Ok(KeyChange::Done)
}

impl From<Row> for KeyRow {
    fn from(row: Row) -> Self {
        Self {
            org: OrgId::from_uuid(row.org_id),
            id: KeyId::from_uuid(row.id),
            name: row.name,
            hash: KeyHash::from_text(&row.hash),
            hint: row.hint,
            // A newer version may have written scopes that this one does not know.
            scopes: row
                .scopes
                .iter()
                .filter_map(|scope| scope.parse().ok())
                .collect(),
            agents: Agents::from(row.agents),
            created_by: row.created_by.map(UserId::from_uuid),
            created_at: from_database(row.created_at),
            expires_at: row.expires_at.map(from_database),
            last_used_at: row.last_used_at.map(from_database),
            revoked_at: row.revoked_at.map(from_database),
            replaced_by: row.replaced_by.map(KeyId::from_uuid),
        }
    }
}
