//! What every node must know, as the database has it: to be compared with what was announced, and announced again if that
//! got lost.

use std::collections::BTreeMap;

use domain::{
    EndpointId, KeyId, OrgId, RuleId, Timestamp,
    account::{Agents, KeyHash, Scope, security_log::What},
    delivery::endpoint::Endpoint,
    guard::{Guard, PolicyText},
};
use serde_json::Value;
use sqlx::{FromRow, Postgres, Transaction, types::time::OffsetDateTime};
use uuid::Uuid;

use crate::{
    Error, Store, account_outbox, endpoints,
    outbox::{self, OutboxEntry},
    policies,
    rules::read::{self, StoredRule},
    signing_secrets::{self, SecretRow},
    times::from_database,
};

/// How many things one look returns at most.
const PAGE: i64 = 1_000;

/// Everything at one moment.
pub struct Announcements {
    transaction: Transaction<'static, Postgres>,
}

/// What the trail is told of an announcement.
pub struct TrailNote {
    pub by: &'static str,
    pub at: Timestamp,
    /// An object for each organization.
    pub details: BTreeMap<OrgId, Value>,
}

/// What a node must know of a key that works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveKey {
    pub hash: KeyHash,
    pub id: KeyId,
    pub org: OrgId,
    pub scopes: Vec<Scope>,
    pub agents: Agents,
    pub expires_at: Option<Timestamp>,
}

#[derive(FromRow)]
struct KeyRow {
    hash: String,
    id: Uuid,
    org_id: Uuid,
    scopes: Vec<String>,
    agents: Vec<String>,
    expires_at: Option<OffsetDateTime>,
}

impl Store {
    /// Looks at everything as it is now.
    pub async fn announcements(&self) -> Result<Announcements, Error> {
        let mut transaction = self.pool.begin().await?;
        one_moment(&mut transaction).await?;
        Ok(Announcements { transaction })
    }

    /// The same, and whoever wants to change or announce something waits until this is over: what is announced again must
    /// not undo what somebody decides meanwhile.
    pub async fn hold_announcements(&self) -> Result<Announcements, Error> {
        let mut transaction = self.pool.begin().await?;
        one_moment(&mut transaction).await?;
        // Before anything is read, so that what was decided until now is seen.
        sqlx::query("LOCK TABLE config_outbox IN SHARE ROW EXCLUSIVE MODE")
            .execute(&mut *transaction)
            .await?;
        Ok(Announcements { transaction })
    }

    /// The buckets that everything was announced to, each with when it was made.
    pub async fn announced_buckets(&self) -> Result<BTreeMap<String, String>, Error> {
        let rows: Vec<(String, String)> =
            sqlx::query_as("SELECT bucket, created FROM announced_buckets")
                .fetch_all(&self.pool)
                .await?;
        Ok(rows.into_iter().collect())
    }

    /// Everything was announced to a bucket that was made then.
    pub async fn bucket_was_announced(&self, bucket: &str, created: &str) -> Result<(), Error> {
        sqlx::query(
            "INSERT INTO announced_buckets (bucket, created) VALUES ($1, $2)
             ON CONFLICT (bucket) DO UPDATE SET created = excluded.created",
        )
        .bind(bucket)
        .bind(created)
        .execute(&self.pool)
        .await?;
        Ok(())
    }
}

async fn one_moment(transaction: &mut Transaction<'_, Postgres>) -> Result<(), Error> {
    sqlx::query("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        .execute(&mut **transaction)
        .await?;
    Ok(())
}

impl Announcements {
    /// Keys that were not revoked, by hash, after this one.
    pub async fn keys(&mut self, after: Option<&KeyHash>) -> Result<Vec<LiveKey>, Error> {
        let rows: Vec<KeyRow> = sqlx::query_as(
            "SELECT hash, id, org_id, scopes, agents, expires_at FROM api_keys
             WHERE revoked_at IS NULL AND hash > $1 ORDER BY hash LIMIT $2",
        )
        .bind(after.map_or("", KeyHash::as_str))
        .bind(PAGE)
        .fetch_all(&mut *self.transaction)
        .await?;
        Ok(rows.into_iter().map(LiveKey::from).collect())
    }

    /// Rules, by organization and id, after this one.
    pub async fn rules(
        &mut self,
        after: Option<(OrgId, RuleId)>,
    ) -> Result<Vec<StoredRule>, Error> {
        let (org, rule) = after.map_or((Uuid::nil(), Uuid::nil()), |(org, rule)| {
            (org.uuid(), rule.uuid())
        });
        read::rules_after(&mut self.transaction, org, rule, PAGE).await
    }

    /// Organizations with signing secrets, and these as of `now`, after this one.
    pub async fn secrets(
        &mut self,
        after: Option<OrgId>,
        now: Timestamp,
    ) -> Result<Vec<(OrgId, Vec<SecretRow>)>, Error> {
        let orgs = self
            .organizations(
                "SELECT DISTINCT org_id FROM signing_secrets WHERE org_id > $1 ORDER BY org_id LIMIT $2",
                after,
            )
            .await?;
        let mut all = Vec::with_capacity(orgs.len());
        for org in orgs {
            let rows = signing_secrets::read(&mut self.transaction, org, now).await?;
            all.push((org, rows));
        }
        Ok(all)
    }

    /// Organizations with policies of their own, and these, after this one; `starter` is what version 1 says.
    pub async fn guards(
        &mut self,
        after: Option<OrgId>,
        starter: &PolicyText,
    ) -> Result<Vec<(OrgId, Guard)>, Error> {
        let orgs = self
            .organizations(
                "SELECT org_id FROM policy_guards WHERE org_id > $1 ORDER BY org_id LIMIT $2",
                after,
            )
            .await?;
        let mut all = Vec::with_capacity(orgs.len());
        for org in orgs {
            let guard = policies::change::standing_guard(&mut self.transaction, org, starter);
            all.push((org, guard.await?));
        }
        Ok(all)
    }

    /// Endpoints that are or were in trouble, as of their last notice, by organization and id, after this one.
    pub async fn endpoints(
        &mut self,
        after: Option<(OrgId, EndpointId)>,
    ) -> Result<Vec<Endpoint>, Error> {
        let (org, id) = after.map_or((Uuid::nil(), Uuid::nil()), |(org, id)| {
            (org.uuid(), id.uuid())
        });
        endpoints::endpoints_after(&mut self.transaction, org, id, PAGE).await
    }

    async fn organizations(
        &mut self,
        sql: &'static str,
        after: Option<OrgId>,
    ) -> Result<Vec<OrgId>, Error> {
        let orgs: Vec<Uuid> = sqlx::query_scalar(sql)
            .bind(after.map_or(Uuid::nil(), OrgId::uuid))
            .bind(PAGE)
            .fetch_all(&mut *self.transaction)
            .await?;
        Ok(orgs.into_iter().map(OrgId::from_uuid).collect())
    }

    /// What waits to be announced in a bucket, by key: the last that was decided.
    pub async fn waiting(
        &mut self,
        bucket: &str,
    ) -> Result<BTreeMap<String, Option<String>>, Error> {
        let rows: Vec<(String, Option<String>)> =
            sqlx::query_as("SELECT key, value FROM config_outbox WHERE bucket = $1 ORDER BY id")
                .bind(bucket)
                .fetch_all(&mut *self.transaction)
                .await?;
        Ok(rows.into_iter().collect())
    }

    /// Has these announced, each about another thing, before whatever is decided after this; and the trail told.
    pub async fn tell(mut self, entries: Vec<OutboxEntry>, note: TrailNote) -> Result<(), Error> {
        outbox::enqueue_all(&mut self.transaction, entries).await?;
        let TrailNote { by, at, details } = note;
        let details = details.into_iter().map(|(org, it)| (org, it.to_string()));
        let what = What::AnnouncedAgain;
        account_outbox::note_of_each(&mut self.transaction, (by, at), what, details.collect())
            .await?;
        self.transaction.commit().await?;
        Ok(())
    }
}

impl From<KeyRow> for LiveKey {
    fn from(row: KeyRow) -> Self {
        Self {
            hash: KeyHash::from_text(&row.hash),
            id: KeyId::from_uuid(row.id),
            org: OrgId::from_uuid(row.org_id),
            // Those this version knows.
            scopes: row
                .scopes
                .iter()
                .filter_map(|scope| scope.parse().ok())
                .collect(),
            agents: Agents::from(row.agents),
            expires_at: row.expires_at.map(from_database),
        }
    }
}
