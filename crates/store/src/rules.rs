//! Alert rules as their owners wrote them.

use domain::{
    OrgId, RuleId,
    rule::{Definition, Rule},
};
use sqlx::{FromRow, types::time::OffsetDateTime};
use uuid::Uuid;

use crate::{
    Error, Store,
    outbox::{self, OutboxEntry},
    page::Page,
    times::{from_database, to_database},
};

/// How many rules an organisation may have. Every matcher holds all of them in memory, about a
/// kilobyte each.
pub const RULES_MAX: i64 = 10_000;

/// Named, because `*` stops working under a running process when a column is added.
macro_rules! columns {
    () => {
        "org_id, id, name, description, enabled, match, url, created_at, updated_at, version"
    };
}

#[derive(FromRow)]
struct Row {
    org_id: Uuid,
    id: Uuid,
    name: String,
    description: Option<String>,
    enabled: bool,
    #[sqlx(rename = "match")]
    pattern: String,
    url: String,
    created_at: OffsetDateTime,
    updated_at: OffsetDateTime,
    version: i32,
}

impl Store {
    /// Saves a new rule and, in the same transaction, what the data plane must be told of it; `false`
    /// if the organisation has [`RULES_MAX`] already. Two that ask at once may both be the last one.
    pub async fn create_rule(
        &self,
        rule: &Rule,
        announcement: &OutboxEntry,
    ) -> Result<bool, Error> {
        let mut transaction = self.pool.begin().await?;
        let rules: i64 = sqlx::query_scalar("SELECT count(*) FROM alert_rules WHERE org_id = $1")
            .bind(rule.org_id.uuid())
            .fetch_one(&mut *transaction)
            .await?;
        if rules >= RULES_MAX {
            return Ok(false);
        }
        sqlx::query(
            "INSERT INTO alert_rules (org_id, id, name, description, enabled, match, url,
                                      created_at, updated_at, version)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
        )
        .bind(rule.org_id.uuid())
        .bind(rule.id.uuid())
        .bind(&rule.definition.name)
        .bind(&rule.definition.description)
        .bind(rule.definition.enabled)
        .bind(rule.definition.pattern.source().to_string())
        .bind(&rule.definition.url)
        .bind(to_database(rule.created_at))
        .bind(to_database(rule.updated_at))
        .bind(i32::try_from(rule.version).unwrap_or(i32::MAX))
        .execute(&mut *transaction)
        .await?;
        outbox::enqueue(&mut transaction, announcement).await?;
        transaction.commit().await?;
        Ok(true)
    }

    /// Replaces a rule by its next version; `false` if it is not there or was changed meanwhile.
    pub async fn replace_rule(
        &self,
        rule: &Rule,
        announcement: &OutboxEntry,
    ) -> Result<bool, Error> {
        let mut transaction = self.pool.begin().await?;
        let replaced = sqlx::query(
            "UPDATE alert_rules
             SET name = $4, description = $5, enabled = $6, match = $7, url = $8, updated_at = $9,
                 version = $3
             WHERE org_id = $1 AND id = $2 AND version = $3 - 1",
        )
        .bind(rule.org_id.uuid())
        .bind(rule.id.uuid())
        .bind(i32::try_from(rule.version).unwrap_or(i32::MAX))
        .bind(&rule.definition.name)
        .bind(&rule.definition.description)
        .bind(rule.definition.enabled)
        .bind(rule.definition.pattern.source().to_string())
        .bind(&rule.definition.url)
        .bind(to_database(rule.updated_at))
        .execute(&mut *transaction)
        .await?;
        if replaced.rows_affected() == 0 {
            return Ok(false);
        }
        outbox::enqueue(&mut transaction, announcement).await?;
        transaction.commit().await?;
        Ok(true)
    }

    /// Deletes a rule; `false` if it is not there.
    pub async fn delete_rule(
        &self,
        org: OrgId,
        id: RuleId,
        announcement: &OutboxEntry,
    ) -> Result<bool, Error> {
        let mut transaction = self.pool.begin().await?;
        let deleted = sqlx::query("DELETE FROM alert_rules WHERE org_id = $1 AND id = $2")
            .bind(org.uuid())
            .bind(id.uuid())
            .execute(&mut *transaction)
            .await?;
        if deleted.rows_affected() == 0 {
            return Ok(false);
        }
        outbox::enqueue(&mut transaction, announcement).await?;
        transaction.commit().await?;
        Ok(true)
    }

    pub async fn rule(&self, org: OrgId, id: RuleId) -> Result<Option<Rule>, Error> {
        let row: Option<Row> = sqlx::query_as(concat!(
            "SELECT ",
            columns!(),
            " FROM alert_rules WHERE org_id = $1 AND id = $2"
        ))
        .bind(org.uuid())
        .bind(id.uuid())
        .fetch_optional(&self.pool)
        .await?;
        row.map(Rule::try_from).transpose()
    }

    /// An organisation's rules, newest first, from below `before` on.
    pub async fn list_rules(
        &self,
        org: OrgId,
        before: Option<RuleId>,
        limit: u32,
    ) -> Result<Page<Rule, RuleId>, Error> {
        let rows: Vec<Row> = sqlx::query_as(concat!(
            "SELECT ",
            columns!(),
            " FROM alert_rules WHERE org_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3",
        ))
        .bind(org.uuid())
        .bind(before.map_or(Uuid::max(), RuleId::uuid))
        .bind(i64::from(limit) + 1)
        .fetch_all(&self.pool)
        .await?;
        let rules = rows
            .into_iter()
            .map(Rule::try_from)
            .collect::<Result<_, _>>()?;
        Ok(Page::from_rows(rules, limit, |rule: &Rule| rule.id))
    }
}

impl TryFrom<Row> for Rule {
    type Error = Error;

    fn try_from(row: Row) -> Result<Self, Error> {
        let id = RuleId::from_uuid(row.id);
        let pattern = serde_json::from_str(&row.pattern).map_err(|error| Error::Inconsistent {
            what: "an alert rule",
            problem: format!("{id}: {error}"),
        })?;
        Ok(Self {
            id,
            org_id: OrgId::from_uuid(row.org_id),
            definition: Definition {
                description: row.description,
                enabled: row.enabled,
                ..Definition::plain(row.name, pattern, row.url)
            },
            created_at: from_database(row.created_at),
            updated_at: from_database(row.updated_at),
            version: u32::try_from(row.version).unwrap_or(1),
            counts_since: 1,
        })
    }
}
