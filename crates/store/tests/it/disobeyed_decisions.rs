//! Decisions that were not obeyed: found once, told of unless a person had approved.

use std::time::Duration;

use domain::{DecisionId, EventId, OrgId, Timestamp, approval};
use store::{
    Store,
    disobeyed_decisions::{APPROVAL_GRACE, Finding, NotAllowed, WAITING_PER_DECISION_MAX},
    events::{EventIndex, EventRow},
    watermark::{Source, Span},
};
use testkit::Database;
use trail_proof::leaf::Salt;
use uuid::Uuid;

use crate::{NOW, store};

const ORG: OrgId = OrgId::from_uuid(Uuid::from_u128(1));
const OTHER: OrgId = OrgId::from_uuid(Uuid::from_u128(2));

/// An index and how far it is.
struct Log {
    index: EventIndex,
    at: u64,
    created: &'static str,
}

impl Log {
    async fn of(store: &Store) -> Self {
        Self {
            index: store.event_index().await.expect("an index"),
            at: 0,
            created: "1",
        }
    }

    async fn apply(&mut self, rows: &[EventRow<'_>]) {
        let source = Source {
            stream: String::from("EVENTS_0"),
            created: self.created.to_owned(),
        };
        let span = Span::new(self.at, self.at + 1);
        self.at += 1;
        self.index
            .apply(&source, span, rows)
            .await
            .expect("applied");
    }
}

fn decided(number: u8) -> (EventId, String) {
    let id = EventId::new(NOW, [number; 10]);
    (id, DecisionId::from_uuid(id.uuid()).to_string())
}

fn row<'a>(id: EventId, event_type: &'a str, result: &'a str, decision: &'a str) -> EventRow<'a> {
    EventRow {
        org: ORG,
        id,
        received_at: NOW,
        event_type,
        agent_id: "agent-1",
        action: "payments.refund",
        result,
        severity: None,
        session_id: Some("session-1"),
        trace_id: None,
        decision_id: Some(decision),
        source: None,
        json: "{}",
        salt: Salt([0; 16]),
    }
}

fn done(number: u8) -> EventId {
    EventId::new(NOW.plus(Duration::from_secs(2)), [number; 10])
}

/// All that are to be told of, whenever they were found.
async fn found(store: &Store) -> Vec<Finding> {
    let later = Timestamp::from_unix_millis(4_000_000_000_000);
    store
        .unpublished_findings(later, 1_000)
        .await
        .expect("findings")
}

fn pass_the_grace(database: &Database) {
    let seconds = APPROVAL_GRACE.as_secs();
    let sql =
        format!("UPDATE integrity_findings SET due_at = due_at - interval '{seconds} seconds'");
    database.query(&sql).expect("time passes");
}

#[tokio::test]
async fn what_was_denied_and_done_is_found_once_however_often_the_log_is_applied() {
    let (store, _database) = store().await;
    let mut log = Log::of(&store).await;
    let (decision, name) = decided(1);
    let rows = [
        row(decision, "decision", "denied", &name),
        row(done(1), "tool_call", "success", &name),
    ];
    log.apply(&rows).await;
    let findings = found(&store).await;
    let [finding] = findings.as_slice() else {
        panic!("{findings:?}")
    };
    assert_eq!((finding.org, finding.event), (ORG, done(1)));
    assert_eq!(finding.decision.to_string(), name);
    assert_eq!(finding.decided, NotAllowed::Denied);
    assert_eq!(finding.received_at, NOW);
    assert_eq!(finding.session_id.as_deref(), Some("session-1"));
    store.finding_published(finding).await.expect("noted");
    assert_eq!(found(&store).await, []);
    // The stream was made anew, and has what it had.
    log.created = "2";
    log.at = 0;
    log.apply(&rows).await;
    assert_eq!(found(&store).await, []);
}

#[tokio::test]
async fn nothing_is_found_of_what_was_allowed_or_not_done_or_is_somebody_elses() {
    let (store, _database) = store().await;
    let mut log = Log::of(&store).await;
    let ((denied, denied_name), (allowed, allowed_name)) = (decided(1), decided(2));
    let foreign = EventRow {
        org: OTHER,
        ..row(done(1), "tool_call", "success", &denied_name)
    };
    log.apply(&[
        row(denied, "decision", "denied", &denied_name),
        row(allowed, "decision", "allowed", &allowed_name),
        row(done(2), "tool_call", "success", &allowed_name),
        row(done(3), "tool_call", "denied", &denied_name),
        row(done(4), "tool_call", "error", &denied_name),
        row(done(5), "approval", "success", &denied_name),
        row(done(6), "tool_call", "success", "dec_whatever"),
        row(done(7), "tool_call", "success", &decided(9).1),
        foreign,
    ])
    .await;
    assert_eq!(found(&store).await, []);
}

#[tokio::test]
async fn every_event_that_names_a_decision_is_found_and_whoever_wrote_the_decision_is_known_by_its_id()
 {
    let (store, _database) = store().await;
    let mut log = Log::of(&store).await;
    let ((denied, name), (sent, sent_as)) = (decided(1), decided(2));
    let named = EventId::from_client(ORG, &["mine"], NOW);
    let own_name = DecisionId::from_uuid(named.uuid()).to_string();
    log.apply(&[
        row(denied, "decision", "denied", &name),
        row(done(1), "tool_call", "success", &name),
        row(done(2), "tool_call", "success", &name),
        // Sent by a client, which hears of the id only afterwards.
        row(sent, "decision", "denied", &name),
        row(done(3), "tool_call", "success", &sent_as),
        // Sent by a client that knew the id before.
        row(named, "decision", "denied", &own_name),
        row(done(4), "tool_call", "success", &own_name),
    ])
    .await;
    let mut events: Vec<_> = found(&store).await.iter().map(|it| it.event).collect();
    events.sort_unstable();
    assert_eq!(events, [done(1), done(2)]);
    // While those wait.
    log.apply(&[row(done(5), "tool_call", "success", &name)])
        .await;
    assert_eq!(found(&store).await.len(), 3);
}

#[tokio::test]
async fn of_one_decision_only_so_many_wait_at_a_time_and_those_of_others_have_places_of_their_own()
{
    let (store, _database) = store().await;
    let mut log = Log::of(&store).await;
    let ((denied, name), (other, other_name)) = (decided(1), decided(2));
    log.apply(&[
        row(denied, "decision", "denied", &name),
        row(other, "decision", "denied", &other_name),
    ])
    .await;
    let most = usize::try_from(WAITING_PER_DECISION_MAX).expect("small");
    let of = |numbers: std::ops::Range<u8>, name| {
        let rows = numbers.map(|number| row(done(number), "tool_call", "success", name));
        rows.collect::<Vec<_>>()
    };
    log.apply(&of(0..60, name.as_str())).await;
    log.apply(&of(60..160, name.as_str())).await;
    log.apply(&of(160..163, other_name.as_str())).await;
    let findings = found(&store).await;
    assert_eq!(findings.len(), most + 3);
    for told in &findings[..10] {
        store.finding_published(told).await.expect("noted");
    }
    log.apply(&of(163..183, name.as_str())).await;
    assert_eq!(found(&store).await.len(), most + 3, "ten had left");
}

#[tokio::test]
async fn what_waits_for_a_person_is_not_due_at_once() {
    let (store, database) = store().await;
    let mut log = Log::of(&store).await;
    let (escalated, name) = decided(1);
    log.apply(&[
        row(escalated, "decision", "escalated", &name),
        row(done(1), "tool_call", "success", &name),
    ])
    .await;
    let now = database.query("SELECT (extract(epoch FROM now()) * 1000)::bigint");
    let now: i64 = now.expect("a time").trim().parse().expect("a number");
    let soon = Timestamp::from_unix_millis(now + 1000);
    let early = store
        .unpublished_findings(soon, 100)
        .await
        .expect("findings");
    assert_eq!(early, [], "an approval may be on its way");
    pass_the_grace(&database);
    let late = store
        .unpublished_findings(soon, 100)
        .await
        .expect("findings");
    let late: Vec<_> = late.iter().map(|finding| finding.decided).collect();
    assert_eq!(late, [NotAllowed::Escalated]);
}

#[tokio::test]
async fn the_end_of_an_approval_is_the_event_whose_id_follows_from_the_decision() {
    let (store, _database) = store().await;
    let mut log = Log::of(&store).await;
    let (escalated, name) = decided(1);
    let decision = DecisionId::from_uuid(escalated.uuid());
    let forged = EventId::from_client(ORG, &["approved"], NOW);
    log.apply(&[
        row(escalated, "decision", "escalated", &name),
        row(forged, "approval", "approved", &name),
        row(done(1), "approval", "approved", &name),
    ])
    .await;
    let end = async |org| {
        store
            .end_of_approval(org, decision)
            .await
            .expect("an answer")
    };
    assert_eq!(end(ORG).await, None);
    let later = NOW.plus(Duration::from_secs(60));
    let ours = EventId::with_tail(later, approval::event_tail(decision));
    log.apply(&[row(ours, "approval", "denied", &name)]).await;
    assert_eq!(end(ORG).await.map(|event| event.id), Some(ours));
    assert_eq!(end(OTHER).await, None);
}
