//! Changes alert rules: the rule, its version and the announcement in one transaction.

use domain::{OrgId, RuleId, rule::Rule};
use sqlx::{Postgres, Transaction};

use super::{
    to_number, to_text,
    versions::{VERSIONS_MAX, Version},
};
use crate::{
    Error, Store,
    outbox::{self, OutboxEntry},
    times::to_database,
};

/// How many rules of an organization may be dear ([`domain::rule::Definition::is_dear`]): no value of an event
/// leads to them, so that every event is tested by them, or a test takes long. `is_indexed` is false of them.
pub const DEAR_MAX: u32 = 50;

/// A rule as it shall be, and what is kept and told of the change.
#[derive(Clone, Copy, Debug)]
pub struct RuleChange<'a> {
    /// With the version that the change makes; of a rule that goes, the definition it had.
    pub rule: &'a Rule,
    pub version: &'a Version,
    pub announcement: &'a OutboxEntry,
}

/// What became of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Done,
    /// Nothing was written: a rule to be made was made before; one to be changed was changed meanwhile, or
    /// is gone.
    Outdated,
    /// Nothing was written: the organization has as many rules as it may have.
    Full,
    /// Nothing was written: it has [`DEAR_MAX`] rules that are dear.
    TooManyDear,
}

impl Store {
    /// Saves a new rule, unless the organization has `rules_max` already. Whoever asks at the same time
    /// waits, so there is never one more. A rule that was made before is not made again, even if it
    /// was deleted since.
    pub async fn create_rule(
        &self,
        change: &RuleChange<'_>,
        rules_max: u32,
    ) -> Result<Outcome, Error> {
        let rule = change.rule;
        let mut transaction = self.pool.begin().await?;
        wait_for_turn(&mut transaction, rule.org_id).await?;
        if was_made(&mut transaction, rule.org_id, rule.id).await? {
            return Ok(Outcome::Outdated);
        }
        let rules = Held::count(&mut transaction, rule).await?;
        if rules.all >= i64::from(rules_max) {
            return Ok(Outcome::Full);
        }
        if !rules.has_room_for(rule) {
            return Ok(Outcome::TooManyDear);
        }
        sqlx::query(
            "INSERT INTO alert_rules (org_id, id, definition, enabled, tags, is_indexed,
                                      created_at, updated_at, version, counts_since, created_by, updated_by)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $11)",
        )
        .bind(rule.org_id.uuid())
        .bind(rule.id.uuid())
        .bind(to_text(&rule.definition))
        .bind(rule.definition.enabled)
        .bind(&rule.definition.tags)
        .bind(!rule.definition.is_dear())
        .bind(to_database(rule.created_at))
        .bind(to_database(rule.updated_at))
        .bind(to_number(rule.version))
        .bind(to_number(rule.counts_since))
        .bind(&change.version.by)
        .execute(&mut *transaction)
        .await?;
        finish(transaction, change).await
    }

    /// Replaces a rule by its next version.
    pub async fn replace_rule(&self, change: &RuleChange<'_>) -> Result<Outcome, Error> {
        let rule = change.rule;
        let mut transaction = self.pool.begin().await?;
        if rule.definition.is_dear() {
            wait_for_turn(&mut transaction, rule.org_id).await?;
            let rules = Held::count(&mut transaction, rule).await?;
            // One that was dear before makes them no more.
            if !rules.has_room_for(rule) && !is_dear(&mut transaction, rule).await? {
                return Ok(Outcome::TooManyDear);
            }
        }
        let replaced = sqlx::query(
            "UPDATE alert_rules
             SET definition = $4, enabled = $5, tags = $6, is_indexed = $7, updated_at = $8,
                 version = $3, counts_since = $9, updated_by = $10
             WHERE org_id = $1 AND id = $2 AND version = $3 - 1",
        )
        .bind(rule.org_id.uuid())
        .bind(rule.id.uuid())
        .bind(to_number(rule.version))
        .bind(to_text(&rule.definition))
        .bind(rule.definition.enabled)
        .bind(&rule.definition.tags)
        .bind(!rule.definition.is_dear())
        .bind(to_database(rule.updated_at))
        .bind(to_number(rule.counts_since))
        .bind(&change.version.by)
        .execute(&mut *transaction)
        .await?;
        if replaced.rows_affected() == 0 {
            return Ok(Outcome::Outdated);
        }
        finish(transaction, change).await
    }

    /// Deletes a rule. Its versions stay, and that it was deleted is the last of them.
    pub async fn delete_rule(&self, change: &RuleChange<'_>) -> Result<Outcome, Error> {
        let rule = change.rule;
        let mut transaction = self.pool.begin().await?;
        let deleted = sqlx::query(
            "DELETE FROM alert_rules WHERE org_id = $1 AND id = $2 AND version = $3 - 1",
        )
        .bind(rule.org_id.uuid())
        .bind(rule.id.uuid())
        .bind(to_number(rule.version))
        .execute(&mut *transaction)
        .await?;
        if deleted.rows_affected() == 0 {
            return Ok(Outcome::Outdated);
        }
        finish(transaction, change).await
    }
}

/// One who counts an organization's rules to change their number at a time. What only refers to the
/// organization does not wait for it.
async fn wait_for_turn(
    transaction: &mut Transaction<'_, Postgres>,
    org: OrgId,
) -> Result<(), Error> {
    sqlx::query("SELECT FROM organisations WHERE id = $1 FOR NO KEY UPDATE")
        .bind(org.uuid())
        .execute(&mut **transaction)
        .await?;
    Ok(())
}

async fn was_made(
    transaction: &mut Transaction<'_, Postgres>,
    org: OrgId,
    rule: RuleId,
) -> Result<bool, Error> {
    Ok(sqlx::query_scalar(
        "SELECT EXISTS (SELECT FROM alert_rule_versions WHERE org_id = $1 AND rule_id = $2)",
    )
    .bind(org.uuid())
    .bind(rule.uuid())
    .fetch_one(&mut **transaction)
    .await?)
}

/// Whether the rule as it is saved counts as one that every event is tested by.
async fn is_dear(transaction: &mut Transaction<'_, Postgres>, rule: &Rule) -> Result<bool, Error> {
    let is_indexed: Option<bool> =
        sqlx::query_scalar("SELECT is_indexed FROM alert_rules WHERE org_id = $1 AND id = $2")
            .bind(rule.org_id.uuid())
            .bind(rule.id.uuid())
            .fetch_optional(&mut **transaction)
            .await?;
    Ok(is_indexed == Some(false))
}

/// How many rules the organization has beside one.
struct Held {
    all: i64,
    dear: i64,
}

impl Held {
    async fn count(
        transaction: &mut Transaction<'_, Postgres>,
        beside: &Rule,
    ) -> Result<Self, Error> {
        let (all, dear) = sqlx::query_as(
            "SELECT count(*), count(*) FILTER (WHERE NOT is_indexed)
             FROM alert_rules WHERE org_id = $1 AND id <> $2",
        )
        .bind(beside.org_id.uuid())
        .bind(beside.id.uuid())
        .fetch_one(&mut **transaction)
        .await?;
        Ok(Self { all, dear })
    }

    fn has_room_for(&self, rule: &Rule) -> bool {
        !rule.definition.is_dear() || self.dear < i64::from(DEAR_MAX)
    }
}

/// Keeps the version, forgets those that are too many, and announces the change.
async fn finish(
    mut transaction: Transaction<'_, Postgres>,
    change: &RuleChange<'_>,
) -> Result<Outcome, Error> {
    let rule = change.rule;
    let (org, id) = (rule.org_id, rule.id);
    change.version.keep(&mut transaction, org, id).await?;
    // One that the trail was not told of stays until it is.
    sqlx::query(
        "DELETE FROM alert_rule_versions
         WHERE org_id = $1 AND rule_id = $2 AND version <= $3 AND is_recorded",
    )
    .bind(rule.org_id.uuid())
    .bind(rule.id.uuid())
    .bind(to_number(rule.version) - to_number(VERSIONS_MAX))
    .execute(&mut *transaction)
    .await?;
    outbox::enqueue(&mut transaction, change.announcement).await?;
    transaction.commit().await?;
    Ok(Outcome::Done)
}
