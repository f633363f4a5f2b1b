//! Where an organization's policies stand, and each step from there in one transaction.

use domain::{
    OrgId,
    guard::{Guard, PolicyText, Settings},
    policy_state::{Hand, Moved, Placed, PolicyState, Refused},
};
use sqlx::{FromRow, Postgres, Transaction, types::time::OffsetDateTime};

use super::{
    change_outbox::{self, PolicyChange},
    from_number, to_number, versions,
};
use crate::{
    Error, Store,
    outbox::{self, OutboxEntry},
    times::{from_database, to_database},
};

/// Named, because `*` stops working under a running process when a column is added.
macro_rules! columns {
    () => {
        "newest_version, active_version, active_since, active_by, previous_version, shadow_version,
         shadow_since, shadow_by, settings, changes"
    };
}

impl Store {
    pub async fn policy_standing(&self, org: OrgId) -> Result<PolicyState, Error> {
        let row: Option<Row> = sqlx::query_as(concat!(
            "SELECT ",
            columns!(),
            " FROM policy_guards WHERE org_id = $1"
        ))
        .bind(org.uuid())
        .fetch_optional(&self.pool)
        .await?;
        row.map_or_else(|| Ok(PolicyState::default()), |row| row.standing(org))
    }

    /// Takes the step that `decide` wants, by where the policies stand; `starter` is what version 1 says. A step
    /// that changes nothing is announced too: should an announcement have got lost, saying it again heals that.
    pub async fn change_policies(
        &self,
        org: OrgId,
        hand: Hand<'_>,
        starter: &PolicyText,
        decide: impl FnOnce(&PolicyState) -> Result<Moved, Refused>,
        announcement: impl FnOnce(&Guard) -> OutboxEntry,
    ) -> Result<Result<Changed, Refused>, Error> {
        let mut transaction = self.pool.begin().await?;
        let moved = match decide(&locked(&mut transaction, org).await?) {
            Ok(moved) => moved,
            Err(refused) => return Ok(Err(refused)),
        };
        if !moved.done.is_empty() {
            write(&mut transaction, org, &moved.standing).await?;
        }
        let mut told = Vec::new();
        for done in moved.done {
            let digest = match done.version {
                Some(version) => {
                    let text = versions::text(&mut transaction, org, version, starter).await?;
                    Some(text.digest)
                }
                None => None,
            };
            told.push(PolicyChange::new(org, done, digest, hand));
        }
        change_outbox::note(&mut transaction, &told).await?;
        let guard = guard(&mut transaction, org, &moved.standing, starter).await?;
        outbox::enqueue(&mut transaction, &announcement(&guard)).await?;
        transaction.commit().await?;
        Ok(Ok(Changed {
            standing: moved.standing,
            told,
        }))
    }
}

/// What a step led to.
#[derive(Clone, Debug)]
pub struct Changed {
    pub standing: PolicyState,
    /// What the trail is to be told.
    pub told: Vec<PolicyChange>,
}

/// Where the policies stand, for whoever changes that: anybody else who wants to waits.
pub(super) async fn locked(
    transaction: &mut Transaction<'_, Postgres>,
    org: OrgId,
) -> Result<PolicyState, Error> {
    let from_the_beginning = PolicyState::default();
    sqlx::query(
        "INSERT INTO policy_guards (org_id, newest_version, active_version, settings, changes)
         VALUES ($1, $2, $3, $4, $5) ON CONFLICT (org_id) DO NOTHING",
    )
    .bind(org.uuid())
    .bind(to_number(from_the_beginning.newest_version))
    .bind(to_number(from_the_beginning.active.version))
    .bind(settings_text(&from_the_beginning.settings))
    .bind(to_number(from_the_beginning.changes))
    .execute(&mut **transaction)
    .await?;
    let row: Row = sqlx::query_as(concat!(
        "SELECT ",
        columns!(),
        " FROM policy_guards WHERE org_id = $1 FOR UPDATE"
    ))
    .bind(org.uuid())
    .fetch_one(&mut **transaction)
    .await?;
    row.standing(org)
}

pub(super) async fn write(
    transaction: &mut Transaction<'_, Postgres>,
    org: OrgId,
    standing: &PolicyState,
) -> Result<(), Error> {
    let shadow = standing.shadow.as_ref();
    let since = |placed: &Placed| placed.since.map(to_database);
    sqlx::query(
        "UPDATE policy_guards
         SET newest_version = $2, active_version = $3, active_since = $4, active_by = $5,
             previous_version = $6, shadow_version = $7, shadow_since = $8, shadow_by = $9, settings = $10,
             changes = $11
         WHERE org_id = $1",
    )
    .bind(org.uuid())
    .bind(to_number(standing.newest_version))
    .bind(to_number(standing.active.version))
    .bind(since(&standing.active))
    .bind(&standing.active.by)
    .bind(standing.previous.map(to_number))
    .bind(standing.shadow_version().map(to_number))
    .bind(shadow.and_then(since))
    .bind(shadow.and_then(|shadow| shadow.by.clone()))
    .bind(settings_text(&standing.settings))
    .bind(to_number(standing.changes))
    .execute(&mut **transaction)
    .await?;
    Ok(())
}

/// What every node must know of an organization that has policies of its own.
pub(crate) async fn standing_guard(
    transaction: &mut Transaction<'_, Postgres>,
    org: OrgId,
    starter: &PolicyText,
) -> Result<Guard, Error> {
    let row: Row = sqlx::query_as(concat!(
        "SELECT ",
        columns!(),
        " FROM policy_guards WHERE org_id = $1"
    ))
    .bind(org.uuid())
    .fetch_one(&mut **transaction)
    .await?;
    guard(transaction, org, &row.standing(org)?, starter).await
}

/// What every node must know.
async fn guard(
    transaction: &mut Transaction<'_, Postgres>,
    org: OrgId,
    standing: &PolicyState,
    starter: &PolicyText,
) -> Result<Guard, Error> {
    let active = versions::text(transaction, org, standing.active.version, starter).await?;
    let shadow = match standing.shadow_version() {
        Some(version) => Some(versions::text(transaction, org, version, starter).await?),
        None => None,
    };
    Ok(Guard {
        active,
        shadow,
        settings: standing.settings,
    })
}

/// Settings as they are kept.
pub(super) fn settings_text(settings: &Settings) -> String {
    serde_json::to_string(settings).expect("settings always encode")
}

pub(super) fn read_settings(org: OrgId, text: &str) -> Result<Settings, Error> {
    serde_json::from_str(text).map_err(|error| Error::Inconsistent {
        what: "the settings of policies",
        problem: format!("{org}: {error}"),
    })
}

#[derive(FromRow)]
struct Row {
    newest_version: i32,
    active_version: i32,
    active_since: Option<OffsetDateTime>,
    active_by: Option<String>,
    previous_version: Option<i32>,
    shadow_version: Option<i32>,
    shadow_since: Option<OffsetDateTime>,
    shadow_by: Option<String>,
    settings: String,
    changes: i32,
}

impl Row {
    fn standing(self, org: OrgId) -> Result<PolicyState, Error> {
        let (shadow_since, shadow_by) = (self.shadow_since, self.shadow_by);
        Ok(PolicyState {
            newest_version: from_number(self.newest_version),
            active: Placed {
                version: from_number(self.active_version),
                since: self.active_since.map(from_database),
                by: self.active_by,
            },
            previous: self.previous_version.map(from_number),
            shadow: self.shadow_version.map(|version| Placed {
                version: from_number(version),
                since: shadow_since.map(from_database),
                by: shadow_by,
            }),
            settings: read_settings(org, &self.settings)?,
            changes: from_number(self.changes),
        })
    }
}
