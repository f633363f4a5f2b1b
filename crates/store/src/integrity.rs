//! Decisions that were not obeyed: an event says that something was done which a decision did not allow.
//!
//! Found as events are indexed, in the transaction that writes them. A decision is recorded before it is
//! answered, and its event has the decision's id with another prefix: whoever can name the decision comes after
//! it in the log, so it is there, and one look by key finds it. Nothing is asked about events that name none.

use std::time::Duration;

use domain::{DecisionId, EventId, OrgId, Timestamp};
use sqlx::{FromRow, Postgres, Transaction, types::time::OffsetDateTime};
use uuid::Uuid;

use crate::{
    Error, Store,
    events::EventRow,
    times::{from_database, to_database},
};

/// How long it is waited for word of an approval. The agent hears of it as soon as it is given, the trail a
/// moment later, or some seconds if whoever took it died: what the agent did then may be in the log before it.
pub const APPROVAL_GRACE: Duration = Duration::from_secs(60);

/// Something that was done though it was not allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub org: OrgId,
    /// The event that says that it was done.
    pub event: EventId,
    pub received_at: Timestamp,
    pub decision: DecisionId,
    pub decided: Decided,
    pub event_type: String,
    pub agent_id: String,
    pub action: String,
    pub session_id: Option<String>,
}

/// How it had been decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decided {
    Denied,
    /// A person was asked, who did not approve.
    Escalated,
}

impl Decided {
    /// The `result` of the decision's event.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Denied => "denied",
            Self::Escalated => "escalated",
        }
    }
}

/// Notes which of these events, just written, say that something was done that was not allowed.
pub(crate) async fn note(
    transaction: &mut Transaction<'_, Postgres>,
    written: &[&EventRow<'_>],
) -> Result<(), Error> {
    let done: Vec<(&EventRow<'_>, DecisionId)> = written
        .iter()
        .filter(|row| is_done(row))
        .filter_map(|row| Some((*row, row.decision_id?.parse().ok()?)))
        .collect();
    if done.is_empty() {
        return Ok(());
    }
    let uuids = |value: fn(&EventRow<'_>) -> Uuid| {
        let values = done.iter().map(|(row, _)| value(row));
        values.collect::<Vec<_>>()
    };
    let texts = |value: for<'a> fn(&'a EventRow<'_>) -> Option<&'a str>| {
        let values = done.iter().map(|(row, _)| value(row));
        values.collect::<Vec<_>>()
    };
    let decisions = done.iter().map(|(_, decision)| decision.uuid());
    let times = done.iter().map(|(row, _)| to_database(row.received_at));
    // `OFFSET 0` has each decision looked up by its key, on its day; joined, all days would be looked at.
    sqlx::query(
        "INSERT INTO integrity_findings (org_id, event_id, received_at, decision_id, decided, event_type,
                                         agent_id, action, session_id)
         SELECT done.org_id, done.event_id, done.received_at, done.decision_id, decision.result,
                done.event_type, done.agent_id, done.action, done.session_id
         FROM UNNEST($1::uuid[], $2::uuid[], $3::timestamptz[], $4::uuid[], $5::text[], $6::text[],
                     $7::text[], $8::text[], $9::text[])
              AS done (org_id, event_id, received_at, decided_in, decision_id, event_type, agent_id, action,
                       session_id)
         CROSS JOIN LATERAL (SELECT result FROM audit_events
                             WHERE org_id = done.org_id AND id = done.decided_in
                               AND event_type = 'decision' AND result IN ('denied', 'escalated')
                             OFFSET 0) AS decision
         ON CONFLICT DO NOTHING",
    )
    .bind(uuids(|row| row.org.uuid()))
    .bind(uuids(|row| row.id.uuid()))
    .bind(times.collect::<Vec<_>>())
    .bind(decisions.collect::<Vec<_>>())
    .bind(texts(|row| row.decision_id))
    .bind(texts(|row| Some(row.event_type)))
    .bind(texts(|row| Some(row.agent_id)))
    .bind(texts(|row| Some(row.action)))
    .bind(texts(|row| row.session_id))
    .execute(&mut **transaction)
    .await?;
    Ok(())
}

/// Whether the event says that something was done which a decision was asked about. Decisions and approvals
/// name a decision because they are it.
fn is_done(row: &EventRow<'_>) -> bool {
    row.decision_id.is_some()
        && row.result == "success"
        && !["decision", "approval"].contains(&row.event_type)
}

impl Store {
    /// What was found before `found_before` and the trail was not told of, oldest first. What a person had
    /// approved after all is forgotten.
    pub async fn untold_findings(
        &self,
        found_before: Timestamp,
        limit: u32,
    ) -> Result<Vec<Finding>, Error> {
        let waited_for = to_database(found_before.minus(APPROVAL_GRACE));
        sqlx::query(
            "DELETE FROM integrity_findings AS finding
             WHERE decided = 'escalated' AND found_at < $1
               AND EXISTS (SELECT FROM audit_events AS approval
                           WHERE approval.org_id = finding.org_id
                             AND approval.decision_id = finding.decision_id
                             AND approval.event_type = 'approval' AND approval.result = 'approved')",
        )
        .bind(waited_for)
        .execute(&self.pool)
        .await?;
        let rows: Vec<Row> = sqlx::query_as(
            "SELECT org_id, event_id, received_at, decision_id, decided, event_type, agent_id, action,
                    session_id
             FROM integrity_findings
             WHERE found_at < $1 AND (decided = 'denied' OR found_at < $2)
             ORDER BY found_at LIMIT $3",
        )
        .bind(to_database(found_before))
        .bind(waited_for)
        .bind(i64::from(limit))
        .fetch_all(&self.pool)
        .await?;
        rows.into_iter().map(Finding::try_from).collect()
    }

    /// The trail has the audit event of this finding.
    pub async fn finding_told(&self, finding: &Finding) -> Result<(), Error> {
        sqlx::query("DELETE FROM integrity_findings WHERE org_id = $1 AND event_id = $2")
            .bind(finding.org.uuid())
            .bind(finding.event.uuid())
            .execute(&self.pool)
            .await?;
        Ok(())
    }
}

#[derive(FromRow)]
struct Row {
    org_id: Uuid,
    event_id: Uuid,
    received_at: OffsetDateTime,
    decision_id: String,
    decided: String,
    event_type: String,
    agent_id: String,
    action: String,
    session_id: Option<String>,
}

impl TryFrom<Row> for Finding {
    type Error = Error;

    fn try_from(row: Row) -> Result<Self, Error> {
        let inconsistent = |problem: String| Error::Inconsistent {
            what: "a decision that was not obeyed",
            problem,
        };
        let decision = row.decision_id.parse();
        let known = [Decided::Denied, Decided::Escalated];
        let decided = known.into_iter().find(|one| one.as_str() == row.decided);
        Ok(Self {
            org: OrgId::from_uuid(row.org_id),
            event: EventId::from_uuid(row.event_id),
            received_at: from_database(row.received_at),
            decision: decision.map_err(|error| inconsistent(format!("{error}")))?,
            decided: decided.ok_or_else(|| inconsistent(format!("decided `{}`", row.decided)))?,
            event_type: row.event_type,
            agent_id: row.agent_id,
            action: row.action,
            session_id: row.session_id,
        })
    }
}
