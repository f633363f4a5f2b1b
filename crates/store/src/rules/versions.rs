//! Every version of a rule, and whether the trail was told of it.

use domain::{
    OrgId, RuleId, Timestamp,
    rule::{Definition, change::What},
};
use serde_json::Value;
use sqlx::{FromRow, Postgres, Transaction, types::time::OffsetDateTime};
use uuid::Uuid;

use super::{from_number, from_text, to_number, to_text};
use crate::{
    Error, Store,
    page::Page,
    times::{from_database, to_database},
};

/// How many versions of a rule are kept, the newest: enough to find what somebody broke last month, and at
/// most a few megabytes for a rule that a script changes all day.
pub const VERSIONS_MAX: u32 = 100;

/// How many deleted rules are forgotten by one statement, so that it ends within the time that one has.
const FORGET_AT_ONCE: i64 = 500;

/// One version of a rule.
#[derive(Clone, Debug, PartialEq)]
pub struct Version {
    pub version: u32,
    pub what: What,
    /// The fields in which it differs from the version before.
    pub changed: Vec<String>,
    pub definition: Definition,
    /// The key or the person.
    pub by: String,
    pub at: Timestamp,
}

/// What the trail is told of a version. The definition is not needed for it, so one that cannot be read
/// holds up nobody.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleChange {
    pub org: OrgId,
    pub rule: RuleId,
    pub version: u32,
    pub what: What,
    pub changed: Vec<String>,
    pub name: String,
    pub by: String,
    pub at: Timestamp,
}

/// Named, because `*` stops working under a running process when a column is added.
macro_rules! columns {
    () => {
        "org_id, rule_id, version, what, changed, definition, made_by, made_at"
    };
}

#[derive(FromRow)]
struct Row {
    org_id: Uuid,
    rule_id: Uuid,
    version: i32,
    what: String,
    changed: Vec<String>,
    definition: String,
    made_by: String,
    made_at: OffsetDateTime,
}

impl Store {
    /// A rule's versions, newest first, from below `before` on; also of one that was deleted.
    pub async fn list_rule_versions(
        &self,
        org: OrgId,
        rule: RuleId,
        before: Option<u32>,
        limit: u32,
    ) -> Result<Page<Version, u32>, Error> {
        let rows: Vec<Row> = sqlx::query_as(concat!(
            "SELECT ",
            columns!(),
            " FROM alert_rule_versions WHERE org_id = $1 AND rule_id = $2 AND version < $3
             ORDER BY version DESC LIMIT $4",
        ))
        .bind(org.uuid())
        .bind(rule.uuid())
        .bind(before.map_or(i32::MAX, to_number))
        .bind(i64::from(limit) + 1)
        .fetch_all(&self.pool)
        .await?;
        let versions = rows.into_iter().map(Version::try_from);
        let versions = versions.collect::<Result<_, _>>()?;
        Ok(Page::from_rows(versions, limit, |one: &Version| {
            one.version
        }))
    }

    pub async fn rule_version(
        &self,
        org: OrgId,
        rule: RuleId,
        version: u32,
    ) -> Result<Option<Version>, Error> {
        let row: Option<Row> = sqlx::query_as(concat!(
            "SELECT ",
            columns!(),
            " FROM alert_rule_versions WHERE org_id = $1 AND rule_id = $2 AND version = $3",
        ))
        .bind(org.uuid())
        .bind(rule.uuid())
        .bind(to_number(version))
        .fetch_optional(&self.pool)
        .await?;
        row.map(Version::try_from).transpose()
    }

    /// The version of a rule that was in force at this time, if it is still kept.
    pub async fn rule_version_at(
        &self,
        org: OrgId,
        rule: RuleId,
        at: Timestamp,
    ) -> Result<Option<Version>, Error> {
        let row: Option<Row> = sqlx::query_as(concat!(
            "SELECT ",
            columns!(),
            " FROM alert_rule_versions WHERE org_id = $1 AND rule_id = $2 AND made_at <= $3
             ORDER BY version DESC LIMIT 1",
        ))
        .bind(org.uuid())
        .bind(rule.uuid())
        .bind(to_database(at))
        .fetch_optional(&self.pool)
        .await?;
        row.map(Version::try_from).transpose()
    }

    /// Versions made before `made_before` that the trail was not told of, oldest first.
    pub async fn unrecorded_rule_versions(
        &self,
        made_before: Timestamp,
        limit: u32,
    ) -> Result<Vec<RuleChange>, Error> {
        let rows: Vec<Row> = sqlx::query_as(concat!(
            "SELECT ",
            columns!(),
            " FROM alert_rule_versions WHERE NOT is_recorded AND made_at < $1
             ORDER BY made_at LIMIT $2",
        ))
        .bind(to_database(made_before))
        .bind(i64::from(limit))
        .fetch_all(&self.pool)
        .await?;
        rows.into_iter().map(RuleChange::try_from).collect()
    }

    /// The trail has the audit event of this version.
    pub async fn rule_version_recorded(&self, told: &RuleChange) -> Result<(), Error> {
        sqlx::query(
            "UPDATE alert_rule_versions SET is_recorded = true
             WHERE org_id = $1 AND rule_id = $2 AND version = $3",
        )
        .bind(told.org.uuid())
        .bind(told.rule.uuid())
        .bind(to_number(told.version))
        .execute(&self.pool)
        .await?;
        Ok(())
    }

    /// Forgets all versions of rules that were deleted before then; returns how many versions that were.
    pub async fn forget_deleted_rules(&self, deleted_before: Timestamp) -> Result<u64, Error> {
        let mut forgotten = 0;
        loop {
            let slice = sqlx::query(
                "DELETE FROM alert_rule_versions WHERE (org_id, rule_id) IN
                     (SELECT org_id, rule_id FROM alert_rule_versions
                      WHERE what = 'deleted' AND made_at < $1 AND is_recorded LIMIT $2)",
            )
            .bind(to_database(deleted_before))
            .bind(FORGET_AT_ONCE)
            .execute(&self.pool)
            .await?;
            if slice.rows_affected() == 0 {
                return Ok(forgotten);
            }
            forgotten += slice.rows_affected();
        }
    }
}

impl Version {
    /// What the trail is told of it.
    pub fn told(&self, org: OrgId, rule: RuleId) -> RuleChange {
        RuleChange {
            org,
            rule,
            version: self.version,
            what: self.what,
            changed: self.changed.clone(),
            name: self.definition.name.clone(),
            by: self.by.clone(),
            at: self.at,
        }
    }

    pub(super) async fn keep(
        &self,
        transaction: &mut Transaction<'_, Postgres>,
        org: OrgId,
        rule: RuleId,
    ) -> Result<(), Error> {
        sqlx::query(
            "INSERT INTO alert_rule_versions (org_id, rule_id, version, what, changed, definition,
                                              made_by, made_at, is_recorded)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, false)",
        )
        .bind(org.uuid())
        .bind(rule.uuid())
        .bind(to_number(self.version))
        .bind(self.what.as_str())
        .bind(&self.changed)
        .bind(to_text(&self.definition))
        .bind(&self.by)
        .bind(to_database(self.at))
        .execute(&mut **transaction)
        .await?;
        Ok(())
    }
}

impl Row {
    fn ids(&self) -> (OrgId, RuleId) {
        (
            OrgId::from_uuid(self.org_id),
            RuleId::from_uuid(self.rule_id),
        )
    }

    fn what(&self) -> Result<What, Error> {
        let mut all = What::ALL.into_iter();
        let what = all.find(|what| what.as_str() == self.what);
        what.ok_or_else(|| {
            let (org, rule) = self.ids();
            Error::Inconsistent {
                what: "a version of an alert rule",
                problem: format!("{rule} of {org}: `{}` is not a change to rules", self.what),
            }
        })
    }
}

impl TryFrom<Row> for RuleChange {
    type Error = Error;

    fn try_from(row: Row) -> Result<Self, Error> {
        let ((org, rule), what) = (row.ids(), row.what()?);
        let definition: Value = serde_json::from_str(&row.definition).unwrap_or_default();
        Ok(Self {
            org,
            rule,
            version: from_number(row.version),
            what,
            changed: row.changed,
            name: definition["name"].as_str().unwrap_or_default().to_owned(),
            by: row.made_by,
            at: from_database(row.made_at),
        })
    }
}

impl TryFrom<Row> for Version {
    type Error = Error;

    fn try_from(row: Row) -> Result<Self, Error> {
        let ((org, rule), what) = (row.ids(), row.what()?);
        Ok(Self {
            version: from_number(row.version),
            what,
            changed: row.changed,
            definition: from_text(&row.definition, org, rule)?,
            by: row.made_by,
            at: from_database(row.made_at),
        })
    }
}
