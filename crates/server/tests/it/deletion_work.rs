//! The end of an organization, when it is due: nothing of it is left or comes back.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use domain::delivery::ownership::Ownership;
use domain::{DecisionId, EndpointId, OrgId, Timestamp};
use journal::Journal;
use journal::streams::Log;
use reqwest::StatusCode;
use serde_json::json;
use testkit::{Receiver, eventually, folder::TestFolder, namespace};

use crate::approvals::refund;
use crate::decisions::PAYMENTS;
use crate::deletion::Doomed;
use crate::deployment::{DEADLINE, Deployment, Running, event, ok};
use crate::errors::problem;
use crate::people::PASSWORD;
use crate::secrets::SEALING_KEY;
/// What has rows of an organization that has used everything.
const USED: [&str; 20] = [
    "alert_rule_versions",
    "alert_rules",
    "api_keys",
    "audit_events",
    "deliveries",
    "delivery_attempts",
    "delivery_counts",
    "endpoint_notices",
    "endpoints",
    "event_counts",
    "export_files",
    "exports",
    "invitations",
    "policy_guards",
    "policy_versions",
    "recoveries",
    "rule_counts",
    "sessions",
    "signing_secrets",
    "views",
];

impl Doomed {
    /// Leaves something in every table; the decision that waits for a person, and the endpoint that is paused.
    async fn use_everything(&self, receiver: &Receiver) -> (DecisionId, EndpointId) {
        let key = &self.key;
        let rule = key.rule(json!({}), &receiver.url()).await;
        key.ingest(&event("doomed")).await;
        let received = receiver.wait_for(1, DEADLINE).await;
        let delivery = received[0].delivery_id().expect("an id");
        let delivery = key.delivery_in_state(delivery, "delivered").await;
        let recover = format!("/v1/alert-rules/{rule}/recover");
        let wanted = json!({"since": "2020-01-01T00:00:00Z"});
        ok(key.post(&recover, &wanted).await).await;
        let endpoint = delivery["endpoint_id"].as_str().expect("an id");
        let pause = format!("/v1/endpoints/{endpoint}/pause");
        ok(key.post(&pause, &json!({})).await).await;
        key.put_in_force(PAYMENTS).await;
        let decision = key.escalate(&refund()).await;
        let staged = self.owner.post("/v1/signing-secrets", &json!({})).await;
        ok(staged).await;
        let guest = format!("{}@example.com", namespace());
        self.owner.invite(&guest, "viewer").await;
        let view = json!({"list": "events", "name": "Denied", "search": {}, "shared": true});
        ok(self.owner.post("/v1/views", &view).await).await;
        let wanted = json!({"async": true});
        let export = ok(key.post("/v1/audit/export", &wanted).await).await;
        let export = export["id"].as_str().expect("an id").to_owned();
        eventually(DEADLINE, "the export is made", async || {
            let path = format!("/v1/audit/exports/{export}");
            key.get_json(&path).await["state"] == "done"
        })
        .await;
        let decision = decision.parse().expect("an id");
        (decision, endpoint.parse().expect("an id"))
    }
}

fn at_once() -> Deployment {
    Deployment::new().with("ACCOUNTS__DELETION_DELAY_DAYS", "0")
}

/// The tables that have rows of an organization, by their number. The list of tables is the database's own: one that comes
/// later is not forgotten.
fn rows_of(deployment: &Deployment, org: OrgId) -> BTreeMap<String, u64> {
    let tables = deployment.sql(
        "SELECT table_name FROM information_schema.columns JOIN information_schema.tables USING (table_schema, table_name)
         WHERE column_name = 'org_id' AND table_schema = 'public' AND table_type = 'BASE TABLE'",
    );
    let org = org.uuid();
    let count =
        |table: &str| format!("SELECT '{table}', count(*) FROM {table} WHERE org_id = '{org}'");
    let counts: Vec<String> = tables.split_whitespace().map(count).collect();
    let counts = deployment.sql(&counts.join(" UNION ALL "));
    let read = |line: &str| {
        let (table, rows) = line.split_once('|')?;
        Some((table.to_owned(), rows.parse::<u64>().expect("a number")))
    };
    let counts = counts.lines().filter_map(read);
    counts.filter(|(_, rows)| *rows > 0).collect()
}

pub async fn wait_until_gone(deployment: &Deployment, org: OrgId) {
    let tombstone = BTreeMap::from([("tombstones".to_owned(), 1)]);
    eventually(DEADLINE, "nothing but a tombstone is left", async || {
        let rows = rows_of(deployment, org);
        let of_org = format!(
            "SELECT count(*) FROM organisations WHERE id = '{}'",
            org.uuid()
        );
        let organizations = deployment.sql(&of_org);
        if rows == tombstone && organizations.trim() == "0" {
            Ok(())
        } else {
            Err(rows)
        }
    })
    .await;
}

async fn wait_until_read(deployment: &Deployment) {
    let journal = deployment.journal().await;
    eventually(DEADLINE, "everything is read", async || {
        is_read(deployment, &journal).await
    })
    .await;
}

/// Whether everything that the journal has was read.
async fn is_read(deployment: &Deployment, journal: &Journal) -> bool {
    for partition in journal.partitions().all() {
        for log in [Log::Events(partition), Log::Outcomes(partition)] {
            let last = journal.log_state(log).await.expect("a state").last_sequence;
            let stream = journal.log_name(log);
            let applied = deployment.sql(&format!(
                "SELECT coalesce(max(applied_sequence), 0) FROM journal_watermark WHERE stream = '{stream}'"
            ));
            let applied: u64 = applied.trim().parse().expect("a number");
            if applied < last {
                return false;
            }
        }
    }
    true
}

fn files_below(folder: &Path) -> usize {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return 0;
    };
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let count = |path: PathBuf| {
        if path.is_dir() { files_below(&path) } else { 1 }
    };
    paths.map(count).sum()
}

#[tokio::test]
async fn when_it_is_due_nothing_is_left_of_it_and_another_organization_goes_on() {
    let folder = TestFolder::create().expect("a folder");
    let url = format!("file://{}", folder.path().join("files").display());
    let deployment = at_once()
        .with("FILES__URL", &url)
        .with("SECRETS__KEY", SEALING_KEY);
    let running = Running::start(deployment);
    let (deployment, other) = (&running.deployment, &running.customer);
    let [others, ours] = [(); 2].map(|()| Receiver::start().expect("a receiver"));
    other.rule(json!({}), &others.url()).await;
    let kept = other.ingest(&event("other")).await;
    others.wait_for(1, DEADLINE).await;

    let doomed = Doomed::found(&other.base_url).await;
    let (decision, endpoint) = doomed.use_everything(&ours).await;
    eventually(DEADLINE, "there is something everywhere", async || {
        let rows = rows_of(deployment, doomed.org);
        USED.iter().all(|table| rows.contains_key(*table))
    })
    .await;
    let files = folder.path().join("files/exports");
    assert!(files_below(&files) > 0);
    let journal = deployment.journal().await;
    let owned = Ownership::new(doomed.org, ours.url(), Timestamp::default());
    let verify = |owned: &mut Ownership| owned.verify(Timestamp::default());
    let verified = journal.change_ownership(&owned, verify).await;
    verified.expect("an answer");
    let columns = deployment.sql(
        "SELECT DISTINCT column_name FROM information_schema.columns
         WHERE table_schema = 'public' AND column_name LIKE '%org%' ORDER BY 1",
    );
    let columns: Vec<&str> = columns.split_whitespace().collect();
    assert_eq!(
        columns,
        ["org_id", "org_name"],
        "whose rows are is in `org_id`"
    );

    doomed.delete().await;
    wait_until_gone(deployment, doomed.org).await;
    for path in ["/v1/audit/events", "/v1/alert-rules"] {
        problem(doomed.key.get(path).await, 401).await;
    }
    let sent = doomed.key.post("/v1/audit/events", &event("late")).await;
    problem(sent, 401).await;
    let asked = doomed.key.post("/v1/runtime/decisions", &refund()).await;
    problem(asked, 401).await;
    assert!(!doomed.owner.is_logged_in().await);
    problem(doomed.owner.try_log_in(PASSWORD).await, 401).await;
    assert_eq!(files_below(&files), 0);
    let guard = journal.guard(doomed.org).await.expect("an answer");
    assert_eq!(guard, None);
    let approval = journal.approval(doomed.org, decision).await;
    assert_eq!(approval.expect("an answer"), None);
    let endpoint = journal.endpoint(doomed.org, endpoint).await;
    let endpoint = endpoint.expect("an answer").expect("it was paused");
    assert_eq!(endpoint.value, None);
    let owned = journal.ownership(doomed.org, owned.id).await;
    let owned = owned.expect("an answer").expect("it was verified");
    assert_eq!(owned.value, None);

    assert!(other.listed_ids().await.contains(&kept));
    other.ingest(&event("other, later")).await;
    others.wait_for(2, DEADLINE).await;
    let mut owner = doomed.owner.clone();
    assert_eq!(owner.register().await.status(), StatusCode::ACCEPTED);
    owner.log_in(PASSWORD).await;
    let (_, org) = owner.ids().await;
    assert_ne!(org, doomed.org.to_string(), "the address is free again");
}

#[tokio::test]
async fn what_was_due_when_it_was_deleted_is_not_sent_any_more() {
    let deployment = at_once();
    let mut api = deployment.serve("api,index,match");
    let other = deployment.customer(&mut api);
    let doomed = Doomed::found(&other.base_url).await;
    let [others, ours] = [(); 2].map(|()| Receiver::start().expect("a receiver"));
    for (customer, receiver) in [(&doomed.key, &ours), (&other, &others)] {
        customer.rule(json!({}), &receiver.url()).await;
        customer.ingest(&event("agent-1")).await;
        eventually(DEADLINE, "the alert waits to be sent", async || {
            !customer.all_deliveries().await.is_empty()
        })
        .await;
    }
    doomed.delete().await;
    wait_until_gone(&deployment, doomed.org).await;

    let _deliver = deployment.serve("deliver");
    others.wait_for(1, DEADLINE).await;
    // What came later is sent later.
    for number in 2..5 {
        other.ingest(&event("agent-1")).await;
        others.wait_for(number, DEADLINE).await;
    }
    assert_eq!(ours.count(), 0);
    wait_until_read(&deployment).await;
    let rows = rows_of(&deployment, doomed.org);
    assert_eq!(rows.len(), 1, "nor is that told: {rows:?}");
}

#[tokio::test]
async fn a_database_that_is_filled_from_the_journal_again_does_not_bring_it_back() {
    let deployment = at_once();
    let mut api = deployment.serve("api,match,deliver");
    let index = deployment.serve("index");
    let other = deployment.customer(&mut api);
    let doomed = Doomed::found(&other.base_url).await;
    let receiver = Receiver::start().expect("a receiver");
    for customer in [&doomed.key, &other] {
        customer.rule(json!({}), &receiver.url()).await;
        customer.ingest(&event("agent-1")).await;
    }
    receiver.wait_for(2, DEADLINE).await;
    doomed.key.all_events().await;
    let before = other.listed_ids().await;
    doomed.delete().await;
    wait_until_gone(&deployment, doomed.org).await;

    drop(index);
    deployment.sql(
        "DELETE FROM journal_watermark; DELETE FROM audit_events; DELETE FROM event_counts;
         DELETE FROM deliveries; DELETE FROM delivery_attempts; DELETE FROM delivery_counts; DELETE FROM rule_counts",
    );
    let _index = deployment.serve("index");
    eventually(DEADLINE, "the other's are back", async || {
        other.listed_ids().await == before && other.all_deliveries().await.len() == 1
    })
    .await;
    wait_until_read(&deployment).await;
    let rows = rows_of(&deployment, doomed.org);
    assert_eq!(rows, BTreeMap::from([("tombstones".to_owned(), 1)]));
}

#[tokio::test]
async fn who_follows_a_process_that_was_killed_half_way_goes_on() {
    let mut running = Running::start(at_once());
    let doomed = Doomed::found(&running.customer.base_url).await;
    doomed.key.ingest(&event("agent-1")).await;
    let kept = running.customer.ingest(&event("other")).await;
    doomed.key.all_events().await;
    // Everybody is out by then, and nothing of the trail is gone.
    running.deployment.sql(
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'not now'; END $$;
         CREATE TRIGGER refuse BEFORE DELETE ON event_counts FOR EACH ROW EXECUTE FUNCTION refuse()",
    );
    doomed.delete().await;
    running.server.wait_for_line(DEADLINE, |line| {
        line.contains("an organization is not completely deleted yet")
    });
    problem(doomed.key.get("/v1/audit/events").await, 401).await;
    assert!(!doomed.owner.is_logged_in().await);
    assert!(rows_of(&running.deployment, doomed.org).contains_key("audit_events"));

    running.server.kill();
    running
        .deployment
        .sql("DROP TRIGGER refuse ON event_counts");
    let mut server = running.deployment.serve_all();
    wait_until_gone(&running.deployment, doomed.org).await;
    let other = running.customer.at(&mut server);
    assert!(other.listed_ids().await.contains(&kept));
}

#[tokio::test]
async fn one_with_more_than_a_slice_goes_whole_and_nothing_of_another() {
    let running = Running::start(at_once());
    let (deployment, other) = (&running.deployment, &running.customer);
    let doomed = Doomed::found(&other.base_url).await;
    for customer in [&doomed.key, other] {
        customer.ingest(&event("agent-1")).await;
        customer.all_events().await;
    }
    let kept = other.listed_ids().await;
    let org = doomed.org.uuid();
    // Two slices and a bit, of one day. The last part of the id is free to choose.
    deployment.sql(&format!(
        "INSERT INTO audit_events SELECT (jsonb_populate_record(event, jsonb_build_object(
             'id', left(event.id::text, 24) || lpad(to_hex(number), 12, '0')))).*
         FROM audit_events AS event, generate_series(1, 12000) AS number
         WHERE org_id = '{org}' AND event.id = (SELECT max(id::text)::uuid FROM audit_events WHERE org_id = '{org}')"
    ));
    assert!(rows_of(deployment, doomed.org)["audit_events"] > 12_000);
    doomed.delete().await;
    wait_until_gone(deployment, doomed.org).await;
    assert_eq!(other.listed_ids().await, kept);
}

#[tokio::test]
async fn what_was_written_while_it_went_is_gone_after_the_last_look() {
    let running = Running::start(at_once());
    let deployment = &running.deployment;
    let doomed = Doomed::found(&running.customer.base_url).await;
    doomed.delete().await;
    wait_until_gone(deployment, doomed.org).await;
    let org = doomed.org.uuid();
    // None of these tables refers to the organization, so nothing kept it from going. The trail is told what is in most of
    // them, which then goes by itself; not before tomorrow.
    deployment.sql(&format!(
        "INSERT INTO delivery_counts (org_id, rule_id, bucket, alerts, suppressed, withheld, summaries)
             VALUES ('{org}', '{org}', now(), 1, 0, 0, 0);
         INSERT INTO account_changes (org_id, what, made_by, details, made_at)
             VALUES ('{org}', 'renamed', 'somebody', '{{}}', now() + interval '1 day');
         INSERT INTO policy_changes (org_id, number, what, made_by, made_at)
             VALUES ('{org}', 1, 'policy.activated', 'somebody', now() + interval '1 day');
         INSERT INTO signing_secret_changes (org_id, secret_id, what, made_by, made_at)
             VALUES ('{org}', '{org}', 'staged', '{org}', now() + interval '1 day');
         INSERT INTO integrity_findings (org_id, event_id, decision_id, decided, event_type, agent_id, action,
                                         received_at, due_at)
             VALUES ('{org}', '{org}', 'dec_', 'denied', 'tool_call', 'agent', 'act', now(), now() + interval '1 day')"
    ));
    assert_eq!(rows_of(deployment, doomed.org).len(), 6);
    let is_done = format!("SELECT done_at IS NOT NULL FROM tombstones WHERE org_id = '{org}'");
    assert_eq!(deployment.sql(&is_done).trim(), "f", "it is looked again");

    deployment.sql(&format!(
        "UPDATE tombstones SET gone_at = gone_at - interval '1 day' WHERE org_id = '{org}'"
    ));
    wait_until_gone(deployment, doomed.org).await;
    eventually(DEADLINE, "that was the last look", async || {
        deployment.sql(&is_done).trim() == "t"
    })
    .await;
}

#[tokio::test]
async fn an_end_that_waited_for_somebody_to_begin_with_it_is_looked_at_again_too() {
    let running = Running::start(Deployment::new());
    let deployment = &running.deployment;
    let doomed = Doomed::found(&running.customer.base_url).await;
    let org = doomed.org.uuid();
    // Whoever gave it the tombstone died right after, and everybody was let in since.
    deployment.sql(&format!(
        "INSERT INTO tombstones (org_id, began_at) VALUES ('{org}', now() - interval '1 day')"
    ));
    wait_until_gone(deployment, doomed.org).await;
    let tombstone = deployment.sql(&format!(
        "SELECT gone_at > now() - interval '1 hour', done_at IS NULL FROM tombstones WHERE org_id = '{org}'"
    ));
    assert_eq!(tombstone.trim(), "t|t");
}
