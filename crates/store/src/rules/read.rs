//! Shows alert rules.

use domain::{OrgId, RuleId, rule::Rule};
use sqlx::{FromRow, Postgres, Transaction, types::time::OffsetDateTime};
use uuid::Uuid;

use super::{from_number, from_text};
use crate::{Error, Store, page::Page, times::from_database};

/// A rule, and who made it what it is.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredRule {
    pub rule: Rule,
    /// The key or the person.
    pub created_by: String,
    pub updated_by: String,
}

/// Which rules a list has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RuleFilter {
    pub enabled: Option<bool>,
    pub tag: Option<String>,
}

/// Named, because `*` stops working under a running process when a column is added.
macro_rules! columns {
    () => {
        "org_id, id, definition, created_at, updated_at, version, counts_since, created_by, updated_by"
    };
}

#[derive(FromRow)]
struct Row {
    org_id: Uuid,
    id: Uuid,
    definition: String,
    created_at: OffsetDateTime,
    updated_at: OffsetDateTime,
    version: i32,
    counts_since: i32,
    created_by: String,
    updated_by: String,
}

impl Store {
    pub async fn rule(&self, org: OrgId, id: RuleId) -> Result<Option<StoredRule>, Error> {
        let row: Option<Row> = sqlx::query_as(concat!(
            "SELECT ",
            columns!(),
            " FROM alert_rules WHERE org_id = $1 AND id = $2"
        ))
        .bind(org.uuid())
        .bind(id.uuid())
        .fetch_optional(&self.pool)
        .await?;
        row.map(StoredRule::try_from).transpose()
    }

    /// An organization's rules, newest first, from below `before` on. A filter looks at every rule
    /// below, which are few (`alerts.rules_per_org_max`) and not read for it.
    pub async fn list_rules(
        &self,
        org: OrgId,
        filter: &RuleFilter,
        before: Option<RuleId>,
        limit: u32,
    ) -> Result<Page<StoredRule, RuleId>, Error> {
        let rows: Vec<Row> = sqlx::query_as(concat!(
            "SELECT ",
            columns!(),
            " FROM alert_rules
             WHERE org_id = $1 AND id < $2
               AND ($4::boolean IS NULL OR enabled = $4) AND ($5::text IS NULL OR $5 = ANY (tags))
             ORDER BY id DESC LIMIT $3",
        ))
        .bind(org.uuid())
        .bind(before.map_or(Uuid::max(), RuleId::uuid))
        .bind(i64::from(limit) + 1)
        .bind(filter.enabled)
        .bind(&filter.tag)
        .fetch_all(&self.pool)
        .await?;
        let rules = rows.into_iter().map(StoredRule::try_from);
        let rules = rules.collect::<Result<_, _>>()?;
        Ok(Page::from_rows(rules, limit, |stored: &StoredRule| {
            stored.rule.id
        }))
    }
}

/// Rules of all organizations, by organization and id, after this one.
pub(crate) async fn rules_after(
    transaction: &mut Transaction<'_, Postgres>,
    org: Uuid,
    rule: Uuid,
    limit: i64,
) -> Result<Vec<StoredRule>, Error> {
    let rows: Vec<Row> = sqlx::query_as(concat!(
        "SELECT ",
        columns!(),
        " FROM alert_rules WHERE (org_id, id) > ($1, $2) ORDER BY org_id, id LIMIT $3",
    ))
    .bind(org)
    .bind(rule)
    .bind(limit)
    .fetch_all(&mut **transaction)
    .await?;
    rows.into_iter().map(StoredRule::try_from).collect()
}

impl TryFrom<Row> for StoredRule {
    type Error = Error;

    fn try_from(row: Row) -> Result<Self, Error> {
        let (id, org_id) = (RuleId::from_uuid(row.id), OrgId::from_uuid(row.org_id));
        Ok(Self {
            rule: Rule {
                id,
                org_id,
                definition: from_text(&row.definition, org_id, id)?,
                created_at: from_database(row.created_at),
                updated_at: from_database(row.updated_at),
                version: from_number(row.version),
                counts_since: from_number(row.counts_since),
            },
            created_by: row.created_by,
            updated_by: row.updated_by,
        })
    }
}
