//! What witnesses cosigned of each log, and which logs they have yet to.

use domain::{OrgId, Timestamp};
use sqlx::{FromRow, types::time::OffsetDateTime};
use uuid::Uuid;

use super::outbox::{from_index, to_index};
use crate::{
    Error, Store,
    times::{from_database, to_database},
};

/// How many logs one look for those that were signed lately finds, the newest first. Those that it leaves out are found by the
/// next look at all logs.
const SIGNED_MAX: i64 = 10_000;
/// How many logs one page of all has.
const PAGE: i64 = 1_000;

/// How a witness is with a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WitnessState {
    /// Its public key, as a verifier takes it.
    pub witness: String,
    /// How many leaves the last checkpoint has that it cosigned; `None`: it cosigned none.
    pub size: Option<u64>,
    pub cosigned_at: Option<Timestamp>,
    /// Why it did not cosign what was signed since; `None`: it does.
    pub problem: Option<String>,
    pub problem_since: Option<Timestamp>,
}

/// A checkpoint that a witness cosigned.
#[derive(Clone, Debug)]
pub struct Cosigned<'c> {
    pub witness: &'c str,
    pub size: u64,
    /// With all its cosignatures.
    pub checkpoint: &'c str,
    pub at: Timestamp,
}

/// A log that has a checkpoint of so many leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignedLog {
    pub org: OrgId,
    pub size: u64,
    pub signed_at: Timestamp,
}

/// A witness that does not cosign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Silent {
    pub witness: String,
    /// How many logs wait for it.
    pub logs: u64,
    /// Since when the first of them does.
    pub since: Timestamp,
    pub problem: String,
}

impl Store {
    /// Logs whose newest checkpoint was signed after that.
    pub async fn logs_signed_since(&self, since: Timestamp) -> Result<Vec<SignedLog>, Error> {
        let rows: Vec<LogRow> = sqlx::query_as(
            "SELECT org_id, size, signed_at FROM transparency_logs WHERE signed_at > $1
             ORDER BY signed_at DESC LIMIT $2",
        )
        .bind(to_database(since))
        .bind(SIGNED_MAX)
        .fetch_all(&self.pool)
        .await?;
        Ok(rows.into_iter().map(SignedLog::from).collect())
    }

    /// A page of the logs whose newest checkpoint lacks the cosignature of one of these witnesses, by organization.
    pub async fn logs_to_cosign(
        &self,
        witnesses: &[String],
        after: Option<OrgId>,
    ) -> Result<Vec<SignedLog>, Error> {
        let rows: Vec<LogRow> = sqlx::query_as(
            "SELECT org_id, size, signed_at FROM transparency_logs AS log
             WHERE signed_at IS NOT NULL AND org_id > $1 AND
                 (SELECT count(*) FROM transparency_witnesses AS one
                  WHERE one.org_id = log.org_id AND one.witness = ANY ($2) AND one.size = log.size) < cardinality($2)
             ORDER BY org_id LIMIT $3",
        )
        .bind(after.map_or(Uuid::nil(), OrgId::uuid))
        .bind(witnesses)
        .bind(PAGE)
        .fetch_all(&self.pool)
        .await?;
        Ok(rows.into_iter().map(SignedLog::from).collect())
    }

    /// How each witness is with a log that it was ever asked about.
    pub async fn witnesses_of(&self, org: OrgId) -> Result<Vec<WitnessState>, Error> {
        let rows: Vec<WitnessRow> = sqlx::query_as(
            "SELECT witness, size, cosigned_at, problem, problem_since FROM transparency_witnesses
             WHERE org_id = $1",
        )
        .bind(org.uuid())
        .fetch_all(&self.pool)
        .await?;
        Ok(rows.into_iter().map(WitnessState::from).collect())
    }

    /// Keeps a checkpoint that a witness cosigned, unless a newer one is kept.
    pub async fn keep_cosigned(&self, org: OrgId, cosigned: &Cosigned<'_>) -> Result<(), Error> {
        let mut transaction = self.pool.begin().await?;
        let kept = sqlx::query(
            "UPDATE transparency_logs SET witnessed_size = $2, witnessed_checkpoint = $3,
                 outgrown_at = CASE WHEN size > $2 THEN now() END
             WHERE org_id = $1 AND size >= $2 AND (witnessed_size IS NULL OR witnessed_size <= $2)",
        )
        .bind(org.uuid())
        .bind(to_index(cosigned.size))
        .bind(cosigned.checkpoint)
        .execute(&mut *transaction)
        .await?;
        // Otherwise the log was deleted meanwhile, or somebody else was faster.
        if kept.rows_affected() == 0 {
            return Ok(());
        }
        sqlx::query(
            "INSERT INTO transparency_witnesses (org_id, witness, size, cosigned_at) VALUES ($1, $2, $3, $4)
             ON CONFLICT (org_id, witness) DO UPDATE SET size = excluded.size,
                 cosigned_at = excluded.cosigned_at, problem = NULL, problem_since = NULL",
        )
        .bind(org.uuid())
        .bind(cosigned.witness)
        .bind(to_index(cosigned.size))
        .bind(to_database(cosigned.at))
        .execute(&mut *transaction)
        .await?;
        transaction.commit().await?;
        Ok(())
    }

    /// Notes why a witness does not cosign a log; since when stays what it was.
    pub async fn note_witness_problem(
        &self,
        org: OrgId,
        witness: &str,
        problem: &str,
        at: Timestamp,
    ) -> Result<(), Error> {
        sqlx::query(
            "INSERT INTO transparency_witnesses AS one (org_id, witness, problem, problem_since)
             VALUES ($1, $2, $3, $4)
             ON CONFLICT (org_id, witness) DO UPDATE SET problem = excluded.problem,
                 problem_since = COALESCE(one.problem_since, excluded.problem_since)",
        )
        .bind(org.uuid())
        .bind(witness)
        .bind(problem)
        .bind(to_database(at))
        .execute(&self.pool)
        .await?;
        Ok(())
    }

    /// Those of these witnesses for whom logs wait since before then.
    pub async fn silent_witnesses(
        &self,
        witnesses: &[String],
        before: Timestamp,
    ) -> Result<Vec<Silent>, Error> {
        let rows: Vec<(String, i64, OffsetDateTime, String)> = sqlx::query_as(
            "SELECT witness, count(*), min(problem_since), min(problem) FROM transparency_witnesses
             WHERE witness = ANY ($1) AND problem_since < $2 GROUP BY witness ORDER BY witness",
        )
        .bind(witnesses)
        .bind(to_database(before))
        .fetch_all(&self.pool)
        .await?;
        let silent = |(witness, logs, since, problem)| Silent {
            witness,
            logs: from_index(logs),
            since: from_database(since),
            problem,
        };
        Ok(rows.into_iter().map(silent).collect())
    }
}

#[derive(FromRow)]
struct LogRow {
    org_id: Uuid,
    size: i64,
    signed_at: OffsetDateTime,
}

impl From<LogRow> for SignedLog {
    fn from(row: LogRow) -> Self {
        Self {
            org: OrgId::from_uuid(row.org_id),
            size: from_index(row.size),
            signed_at: from_database(row.signed_at),
        }
    }
}

#[derive(FromRow)]
struct WitnessRow {
    witness: String,
    size: Option<i64>,
    cosigned_at: Option<OffsetDateTime>,
    problem: Option<String>,
    problem_since: Option<OffsetDateTime>,
}

impl From<WitnessRow> for WitnessState {
    fn from(row: WitnessRow) -> Self {
        Self {
            witness: row.witness,
            size: row.size.map(from_index),
            cosigned_at: row.cosigned_at.map(from_database),
            problem: row.problem,
            problem_since: row.problem_since.map(from_database),
        }
    }
}
