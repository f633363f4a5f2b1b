//! Decisions that were not obeyed: an event says that something was done which a decision did not allow.
//!
//! Found as events are indexed, in the transaction that writes them. A decision is recorded before it is
//! answered, and its event has the decision's id with another prefix: whoever can name the decision comes after
//! it in the log, so it is there, and one look by key finds it. Nothing is asked about events that name none.

use std::time::Duration;

use domain::{DecisionId, EventId, OrgId, Timestamp, approval};
use sqlx::{
    FromRow, Postgres, Transaction, postgres::types::PgInterval, types::time::OffsetDateTime,
};
use uuid::Uuid;

use crate::{
    Error, Store,
    events::{EventRow, StoredEvent},
    times::{from_database, to_database},
};

/// How long it is waited for word of an approval before anything is said. The agent hears of it as soon as it
/// is given, and what it does then may be in the log first. Who tells asks the journal too, so this saves questions
/// and decides nothing.
pub const APPROVAL_GRACE: Duration = Duration::from_secs(60);

/// How far the clock that an approval ended by may be behind the one it was asked by.
const BEHIND_MAX: Duration = Duration::from_secs(3600);

/// How many events of one decision wait to be told of. Whoever acts against a decision more often before the first was
/// told of, within a second or the grace above, is told of a hundred times; what is beyond is in the trail, and no more.
/// Without a bound one client could keep the findings of all others waiting: a request has a thousand events, and a
/// hundred are told of in a second.
pub const WAITING_PER_DECISION_MAX: u32 = 100;

/// Something that was done though it was not allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub org: OrgId,
    /// The event that says that it was done.
    pub event: EventId,
    pub received_at: Timestamp,
    pub decision: DecisionId,
    pub decided: NotAllowed,
    pub event_type: String,
    pub agent_id: String,
    pub action: String,
    pub session_id: Option<String>,
}

/// How it had been decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotAllowed {
    Denied,
    /// A person was asked, who did not approve.
    Escalated,
}

impl NotAllowed {
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
        .filter(|(_, decision)| is_ours(*decision))
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
    let names = done.iter().map(|(_, decision)| decision.to_string());
    let times = done.iter().map(|(row, _)| to_database(row.received_at));
    // `OFFSET 0` has each decision looked up by its key, on its day; joined, all days would be looked at.
    sqlx::query(
        "INSERT INTO integrity_findings (org_id, event_id, received_at, decision_id, decided, event_type,
                                         agent_id, action, session_id, due_at)
         SELECT org_id, event_id, received_at, decision_id, decided, event_type, agent_id, action, session_id,
                now() + CASE decided WHEN 'escalated' THEN $10 ELSE interval '0' END
         FROM (SELECT done.*, decision.result AS decided,
                      row_number() OVER (PARTITION BY done.org_id, done.decision_id ORDER BY event_id) AS place
               FROM UNNEST($1::uuid[], $2::uuid[], $3::timestamptz[], $4::uuid[], $5::text[], $6::text[],
                           $7::text[], $8::text[], $9::text[])
                    AS done (org_id, event_id, received_at, decided_in, decision_id, event_type, agent_id, action,
                             session_id)
               CROSS JOIN LATERAL (SELECT result FROM audit_events
                                   WHERE org_id = done.org_id AND id = done.decided_in
                                     AND decision_id = done.decision_id
                                     AND event_type = 'decision' AND result IN ('denied', 'escalated')
                                   OFFSET 0) AS decision) AS found
         WHERE place + (SELECT count(*) FROM integrity_findings AS waiting
                        WHERE waiting.org_id = found.org_id AND waiting.decision_id = found.decision_id) <= $11
         ON CONFLICT DO NOTHING",
    )
    .bind(uuids(|row| row.org.uuid()))
    .bind(uuids(|row| row.id.uuid()))
    .bind(times.collect::<Vec<_>>())
    .bind(decisions.collect::<Vec<_>>())
    .bind(names.collect::<Vec<_>>())
    .bind(texts(|row| Some(row.event_type)))
    .bind(texts(|row| Some(row.agent_id)))
    .bind(texts(|row| Some(row.action)))
    .bind(texts(|row| row.session_id))
    .bind(PgInterval::try_from(APPROVAL_GRACE).expect("whole seconds"))
    .bind(i64::from(WAITING_PER_DECISION_MAX))
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

/// Whether a decision of ours can have this id. One that follows from what a client said can be known before
/// its event is sent, so such an event can name itself.
fn is_ours(decision: DecisionId) -> bool {
    !EventId::from_uuid(decision.uuid()).is_derived()
}

impl Store {
    /// What was to be told before `due_before`, oldest first.
    pub async fn unpublished_findings(
        &self,
        due_before: Timestamp,
        limit: u32,
    ) -> Result<Vec<Finding>, Error> {
        let rows: Vec<Row> = sqlx::query_as(
            "SELECT org_id, event_id, received_at, decision_id, decided, event_type, agent_id, action,
                    session_id
             FROM integrity_findings WHERE due_at < $1 ORDER BY due_at LIMIT $2",
        )
        .bind(to_database(due_before))
        .bind(i64::from(limit))
        .fetch_all(&self.pool)
        .await?;
        rows.into_iter().map(Finding::try_from).collect()
    }

    /// The event of ours that says how the approval of a decision ended. Anybody may send events that say such a
    /// thing; only ours has an id that follows from the decision, which the index alone tells.
    pub async fn end_of_approval(
        &self,
        org: OrgId,
        decision: DecisionId,
    ) -> Result<Option<StoredEvent>, Error> {
        let decided = EventId::from_uuid(decision.uuid());
        let like = EventId::with_tail(decided.time(), approval::event_tail(decision)).uuid();
        let found: Option<Uuid> = sqlx::query_scalar(
            "SELECT id FROM audit_events
             WHERE org_id = $1 AND decision_id = $2 AND id >= $3
               AND substring(uuid_send(id) FROM 7) = substring(uuid_send($4) FROM 7)
             ORDER BY id LIMIT 1",
        )
        .bind(org.uuid())
        .bind(decision.to_string())
        .bind(EventId::first_at(decided.time().minus(BEHIND_MAX)).uuid())
        .bind(like)
        .fetch_optional(&self.pool)
        .await?;
        match found {
            Some(id) => self.event(org, EventId::from_uuid(id)).await,
            None => Ok(None),
        }
    }

    /// The trail has the audit event of this finding, or it was none.
    pub async fn finding_published(&self, finding: &Finding) -> Result<(), Error> {
        sqlx::query(
            "DELETE FROM integrity_findings WHERE org_id = $1 AND decision_id = $2 AND event_id = $3",
        )
        .bind(finding.org.uuid())
        .bind(finding.decision.to_string())
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
        let known = [NotAllowed::Denied, NotAllowed::Escalated];
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
