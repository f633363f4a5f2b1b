//! Every version of an organization's policies, as it was written.

use std::collections::HashMap;

use domain::{
    OrgId, Timestamp,
    guard::PolicyText,
    policy_state::{Hand, STARTER},
};
use sqlx::{FromRow, PgExecutor, Postgres, Transaction, types::time::OffsetDateTime};

use super::{
    change::{locked, write},
    change_outbox::{self, PolicyChange},
    from_number, to_number,
};
use crate::{
    Error, Store,
    page::Page,
    times::{from_database, to_database},
};

/// A version as somebody wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// Names the texts of policies and schema.
    pub digest: String,
    pub policies: String,
    pub schema: Option<String>,
    /// A JSON array. The store does not look inside.
    pub tests: String,
    pub note: Option<String>,
    /// How many policies there are.
    pub size: u32,
}

/// A version, and who wrote it when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    pub version: u32,
    pub written: Written,
    pub created_by: String,
    pub created_at: Timestamp,
}

/// A version in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    pub version: u32,
    pub digest: String,
    pub note: Option<String>,
    pub size: u32,
    pub created_by: String,
    pub created_at: Timestamp,
}

/// What became of a version that somebody wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Added {
    /// It is this one, and the trail is to be told.
    Made(Box<Version>, Box<PolicyChange>),
    /// The newest version says the same already, and is tested by the same.
    Same(u32),
    /// Nothing was written: the organization has as many versions as it may have.
    Full,
}

impl Store {
    /// Adds a version, unless the newest says the same or there are `versions_max`; `starter` is what version 1
    /// says. It is in force nowhere yet.
    pub async fn add_policy_version(
        &self,
        org: OrgId,
        hand: Hand<'_>,
        starter: &Written,
        written: Written,
        versions_max: u32,
    ) -> Result<Added, Error> {
        let mut transaction = self.pool.begin().await?;
        let standing = locked(&mut transaction, org).await?;
        let newest = standing.newest_version;
        let is_same = if newest == STARTER {
            written.says_the_same(starter)
        } else {
            find(&mut *transaction, org, newest)
                .await?
                .is_some_and(|newest| written.says_the_same(&newest.written))
        };
        if is_same {
            return Ok(Added::Same(newest));
        }
        if newest >= versions_max {
            return Ok(Added::Full);
        }
        let moved = standing.with_a_version();
        let version = Version {
            version: moved.standing.newest_version,
            written,
            created_by: hand.by.to_owned(),
            created_at: hand.at,
        };
        insert(&mut transaction, org, &version).await?;
        write(&mut transaction, org, &moved.standing).await?;
        let done = moved.done.into_iter().next().expect("a version was made");
        let told = PolicyChange::new(org, done, Some(version.written.digest.clone()), hand);
        change_outbox::note(&mut transaction, std::slice::from_ref(&told)).await?;
        transaction.commit().await?;
        Ok(Added::Made(Box::new(version), Box::new(told)))
    }

    pub async fn policy_version(&self, org: OrgId, version: u32) -> Result<Option<Version>, Error> {
        find(&self.pool, org, version).await
    }

    /// What one of an organization's own versions says.
    pub async fn policy_text(&self, org: OrgId, version: u32) -> Result<Option<PolicyText>, Error> {
        let found = self.policy_version(org, version).await?;
        Ok(found.map(|Version { written, .. }| PolicyText {
            version,
            digest: written.digest,
            policies: written.policies,
            schema: written.schema,
        }))
    }

    /// The digests of some of an organization's own versions, by their numbers.
    pub async fn policy_digests(
        &self,
        org: OrgId,
        versions: &[u32],
    ) -> Result<HashMap<u32, String>, Error> {
        let versions: Vec<i32> = versions.iter().copied().map(to_number).collect();
        let rows: Vec<(i32, String)> = sqlx::query_as(
            "SELECT version, digest FROM policy_versions WHERE org_id = $1 AND version = ANY ($2)",
        )
        .bind(org.uuid())
        .bind(versions)
        .fetch_all(&self.pool)
        .await?;
        let rows = rows.into_iter();
        Ok(rows
            .map(|(version, digest)| (from_number(version), digest))
            .collect())
    }

    /// An organization's own versions, newest first, from below `before` on.
    pub async fn list_policy_versions(
        &self,
        org: OrgId,
        before: Option<u32>,
        limit: u32,
    ) -> Result<Page<Summary, u32>, Error> {
        let rows: Vec<SummaryRow> = sqlx::query_as(
            "SELECT version, digest, note, size, created_by, created_at FROM policy_versions
             WHERE org_id = $1 AND version < $2 ORDER BY version DESC LIMIT $3",
        )
        .bind(org.uuid())
        .bind(before.map_or(i32::MAX, to_number))
        .bind(i64::from(limit) + 1)
        .fetch_all(&self.pool)
        .await?;
        let summaries = rows.into_iter().map(Summary::from).collect();
        Ok(Page::from_rows(summaries, limit, |one: &Summary| {
            one.version
        }))
    }
}

impl Written {
    /// A note says why, not what.
    fn says_the_same(&self, other: &Self) -> bool {
        self.policies == other.policies && self.schema == other.schema && self.tests == other.tests
    }
}

/// What a version says, which the data plane is told.
pub(super) async fn text(
    transaction: &mut Transaction<'_, Postgres>,
    org: OrgId,
    version: u32,
    starter: &PolicyText,
) -> Result<PolicyText, Error> {
    if version == STARTER {
        return Ok(starter.clone());
    }
    let found = find(&mut **transaction, org, version).await?;
    let found = found.ok_or_else(|| Error::Inconsistent {
        what: "a version of policies",
        problem: format!("{version} of {org} does not exist"),
    })?;
    Ok(PolicyText {
        version,
        digest: found.written.digest,
        policies: found.written.policies,
        schema: found.written.schema,
    })
}

async fn find(
    executor: impl PgExecutor<'_>,
    org: OrgId,
    version: u32,
) -> Result<Option<Version>, Error> {
    let row: Option<Row> = sqlx::query_as(
        "SELECT version, digest, policies, schema, tests, note, size, created_by, created_at
         FROM policy_versions WHERE org_id = $1 AND version = $2",
    )
    .bind(org.uuid())
    .bind(to_number(version))
    .fetch_optional(executor)
    .await?;
    Ok(row.map(Version::from))
}

async fn insert(
    transaction: &mut Transaction<'_, Postgres>,
    org: OrgId,
    version: &Version,
) -> Result<(), Error> {
    let written = &version.written;
    sqlx::query(
        "INSERT INTO policy_versions (org_id, version, digest, policies, schema, tests, note, size, created_by,
                                      created_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
    )
    .bind(org.uuid())
    .bind(to_number(version.version))
    .bind(&written.digest)
    .bind(&written.policies)
    .bind(&written.schema)
    .bind(&written.tests)
    .bind(&written.note)
    .bind(to_number(written.size))
    .bind(&version.created_by)
    .bind(to_database(version.created_at))
    .execute(&mut **transaction)
    .await?;
    Ok(())
}

#[derive(FromRow)]
struct Row {
    version: i32,
    digest: String,
    policies: String,
    schema: Option<String>,
    tests: String,
    note: Option<String>,
    size: i32,
    created_by: String,
    created_at: OffsetDateTime,
}

#[derive(FromRow)]
struct SummaryRow {
    version: i32,
    digest: String,
    note: Option<String>,
    size: i32,
    created_by: String,
    created_at: OffsetDateTime,
}

impl From<Row> for Version {
    fn from(row: Row) -> Self {
        Self {
            version: from_number(row.version),
            written: Written {
                digest: row.digest,
                policies: row.policies,
                schema: row.schema,
                tests: row.tests,
                note: row.note,
                size: from_number(row.size),
            },
            created_by: row.created_by,
            created_at: from_database(row.created_at),
        }
    }
}

impl From<SummaryRow> for Summary {
    fn from(row: SummaryRow) -> Self {
        Self {
            version: from_number(row.version),
            digest: row.digest,
            note: row.note,
            size: from_number(row.size),
            created_by: row.created_by,
            created_at: from_database(row.created_at),
        }
    }
}
