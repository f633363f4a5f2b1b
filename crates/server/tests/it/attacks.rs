//! Attacks on the trail by somebody with root on every machine but the auditor's, and the command that finds each. The table
//! in `docs/explanation/proof.md` has one row for each test here.

use std::{fs, path::Path, process::Command};

use archive::{
    Bucket, Events,
    bucket::S3Options,
    days::{self, DayWriter, Found},
};
use domain::{EventId, OrgId};
use reqwest::StatusCode;
use serde_json::{Value, json};
use testkit::{Receiver, Watchbell, folder::TestFolder};
use uuid::Uuid;

use crate::archive::{archive, day, ingest};
use crate::deployment::{Customer, DEADLINE, Deployment, Running, event};
use crate::proven_exports::{Audit, codes};
use crate::transparency::{Auditor, kept_in, send};

/// A log of some events, and an auditor who kept the checkpoint of then.
struct Scene {
    // In this order: the process ends before its database and its files go.
    server: Watchbell,
    customer: Customer,
    sent: Vec<String>,
    audit: Audit,
    deployment: Deployment,
    folder: TestFolder,
}

impl Scene {
    async fn with_events(count: usize) -> Self {
        let folder = TestFolder::create().expect("a folder");
        let deployment = kept_in(&folder);
        let mut server = deployment.serve("api,index");
        let customer = deployment.customer(&mut server);
        let sent = send(&customer, count).await;
        let audit = Audit::of(&customer).await;
        let scene = Self {
            server,
            customer,
            sent,
            audit,
            deployment,
            folder,
        };
        scene.audit.export("before.bundle", &[]);
        scene.audit.is_proven("before.bundle");
        scene
    }

    /// Does something to the database as its superuser.
    fn sql(&self, sql: &str) {
        self.deployment.sql(sql);
    }

    /// What is found in an export of now.
    fn findings(&self, options: &[&str]) -> Vec<String> {
        self.audit.export("after.bundle", &[]);
        let report = self.audit.report("after.bundle", options);
        codes(&report, "findings")
    }

    /// Keeps the checkpoint of now, as an auditor does.
    async fn keep_checkpoint(&self) -> String {
        let note = self.customer.get("/v1/log/checkpoint").await;
        let note = note.text().await.expect("a text");
        self.audit.terminal.write("kept.checkpoint", &note);
        let path = self.audit.terminal.path("kept.checkpoint");
        path.to_str().expect("UTF-8").to_owned()
    }

    /// The files of the log and what PostgreSQL knows of it, as they are now, under a name.
    fn save(&self, name: &str) {
        copy(&self.files(), &self.folder.path().join(name));
        for table in LOG_TABLES {
            self.sql(&format!("CREATE TABLE {name}_{table} AS TABLE {table}"));
        }
    }

    /// Puts back what was saved, while nobody runs, and goes on from there.
    fn put_back(&mut self, name: &str) {
        self.server.kill();
        fs::remove_dir_all(self.files()).expect("deleted");
        copy(&self.folder.path().join(name), &self.files());
        for table in LOG_TABLES {
            self.sql(&format!("DELETE FROM {table}"));
            let put_back =
                format!("INSERT INTO {table} OVERRIDING SYSTEM VALUE TABLE {name}_{table}");
            self.sql(&put_back);
        }
        self.start();
    }

    fn start(&mut self) {
        self.server = self.deployment.serve("api,index");
        self.customer = self.customer.at(&mut self.server);
        let url = &self.customer.base_url;
        self.audit.terminal.set("WATCHBELL_URL", url);
    }

    fn files(&self) -> std::path::PathBuf {
        self.folder.path().join("files").join("transparency")
    }
}

const LOG_TABLES: [&str; 4] = [
    "transparency_logs",
    "transparency_outbox",
    "transparency_bundles",
    "transparency_keys",
];

fn copy(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg("-r").arg(from).arg(to).status();
    assert!(copied.expect("cp runs").success());
}

#[tokio::test]
async fn an_event_that_was_edited_in_postgresql_is_found() {
    let scene = Scene::with_events(300).await;
    scene.sql("UPDATE audit_events SET body = replace(body, 'agent-7\"', 'agent-8\"')");
    assert_eq!(scene.findings(&[]), ["commitment_mismatch"]);
}

/// A day that is only in the archive, of a server that archives what is older than a day.
struct Archived {
    running: Running,
    audit: Audit,
    bucket: Bucket,
    name: String,
    org: OrgId,
    events: Vec<Found>,
    _folder: TestFolder,
}

impl Archived {
    async fn day() -> Self {
        let folder = TestFolder::create().expect("a folder");
        let mut running = Running::start(kept_in(&folder));
        let (long_ago, number) = day(&running, 3);
        ingest(&running.customer, &long_ago, "mine", 50).await;
        running.customer.all_events().await;
        let archived = archive(&running, &long_ago);
        let drop = format!("DROP TABLE audit_events_d{number}");
        running.deployment.sql(&drop);
        running.server.kill();
        running.deployment.set("EVENTS__RETENTION_DAYS", "1");
        running.deployment.set("FILES__ARCHIVE_DAYS", "true");
        running.server = running.deployment.serve_all();
        running.customer = running.customer.at(&mut running.server);
        let audit = Audit::of(&running.customer).await;
        audit.export("before.bundle", &[]);
        audit.is_proven("before.bundle");

        let url = running.deployment.setting("FILES__URL");
        let bucket = Bucket::open(&url, &S3Options::default()).expect("a bucket");
        let name = archived["file"].as_str().expect("a file").to_owned();
        let org = running
            .deployment
            .sql("SELECT org_id FROM transparency_logs");
        let org = OrgId::from_uuid(org.trim().parse().expect("a UUID"));
        let shown = audit.shown("before.bundle");
        let ids: Vec<EventId> = shown.iter().map(|id| id.parse().expect("an id")).collect();
        let found = days::find(&bucket, (&name, 50), org, &ids).await;
        Self {
            running,
            audit,
            bucket,
            name,
            org,
            events: found.expect("rows").into_values().collect(),
            _folder: folder,
        }
    }

    /// What is found in an export of now, after the file was replaced by one of these.
    async fn findings(&self, rows: impl Iterator<Item = Found>) -> Vec<String> {
        rewrite(&self.bucket, &self.name, self.org, rows).await;
        self.audit.export("after.bundle", &[]);
        let report = self.audit.report("after.bundle", &[]);
        codes(&report, "findings")
    }
}

#[tokio::test]
async fn an_event_that_was_edited_in_the_archive_is_found() {
    let day = Archived::day().await;
    let edited = day.events.iter().map(|found| Found {
        event: found.event.replace("mine", "theirs"),
        salt: found.salt,
    });
    assert_eq!(day.findings(edited).await, ["commitment_mismatch"; 50]);
}

#[tokio::test]
async fn an_event_that_was_taken_out_of_the_archive_is_found_however_old_it_is() {
    let day = Archived::day().await;
    let noted = "UPDATE archived_days SET events = 49";
    day.running.deployment.sql(noted);
    let left = day.events.iter().skip(1).cloned();
    assert_eq!(day.findings(left).await, ["record_missing"]);
}

/// A file of these in the place of another.
async fn rewrite(bucket: &Bucket, name: &str, org: OrgId, rows: impl Iterator<Item = Found>) {
    bucket.delete(name).await.expect("deleted");
    let mut writer = DayWriter::create(bucket, name).await.expect("a file");
    let (mut events, mut salts) = (Events::default(), Vec::new());
    for row in rows {
        events.push(&row.event);
        salts.push(row.salt);
    }
    writer.write(org, events, salts).await.expect("written");
    writer.finish().await.expect("a file");
}

#[tokio::test]
async fn an_event_that_was_inserted_is_in_no_proven_export_and_has_no_proof() {
    let scene = Scene::with_events(30).await;
    let real: EventId = scene.sent[0].parse().expect("an id");
    let forged = EventId::from_uuid(Uuid::from_u128(real.uuid().as_u128() ^ 1));
    scene.sql(&format!(
        "INSERT INTO audit_events (org_id, id, received_at, event_type, agent_id, action, result, source, body, salt)
         SELECT org_id, '{}', received_at, event_type, agent_id, action, result, source, replace(body, '{real}', '{forged}'),
                salt FROM audit_events WHERE id = '{}'",
        forged.uuid(),
        real.uuid(),
    ));
    let forged = forged.to_string();
    let listed = scene.customer.listed_ids().await;
    assert!(listed.contains(&forged), "it is listed like any other");
    scene.audit.export("after.bundle", &[]);
    scene.audit.is_proven("after.bundle");
    assert!(!scene.audit.shown("after.bundle").contains(&forged));
    let proof = format!("/v1/audit/events/{forged}/proof");
    let proof = scene.customer.get(&proof).await;
    assert_eq!(proof.status(), StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_tail_that_was_cut_off_is_found() {
    let scene = Scene::with_events(300).await;
    scene.sql(
        "DELETE FROM audit_events WHERE id IN
         (SELECT id FROM audit_events WHERE event_type = 'tool_call' ORDER BY id DESC LIMIT 3)",
    );
    assert_eq!(scene.findings(&[]), ["record_missing"; 3]);
}

#[tokio::test]
async fn an_event_that_was_deleted_from_the_middle_is_found() {
    let scene = Scene::with_events(300).await;
    let uuid = scene.sent[150].parse::<EventId>().expect("an id").uuid();
    scene.sql(&format!("DELETE FROM audit_events WHERE id = '{uuid}'"));
    assert_eq!(scene.findings(&[]), ["record_missing"]);
}

#[tokio::test]
async fn a_log_that_was_swapped_for_a_fresh_one_is_found_by_who_kept_a_checkpoint() {
    let mut scene = Scene::with_events(300).await;
    let kept = scene.keep_checkpoint().await;
    scene.server.kill();
    fs::remove_dir_all(scene.files()).expect("deleted");
    // With the same key, which whoever has root can use.
    for table in &LOG_TABLES[..3] {
        scene.sql(&format!("DELETE FROM {table}"));
    }
    scene.start();
    send(&scene.customer, 400).await;
    assert_eq!(scene.findings(&["--since", &kept]), ["inconsistent"]);
}

#[tokio::test]
async fn a_log_that_was_rolled_back_is_found_by_who_kept_a_checkpoint() {
    let mut scene = Scene::with_events(300).await;
    scene.save("old");
    send(&scene.customer, 200).await;
    let auditor = Auditor::of(&scene.customer).await;
    auditor.checkpoint(500).await;
    let kept = scene.keep_checkpoint().await;
    scene.put_back("old");
    assert_eq!(scene.findings(&["--since", &kept]), ["rolled_back"]);
}

#[tokio::test]
async fn two_logs_for_two_auditors_are_found_when_one_sees_the_others_checkpoint() {
    let mut scene = Scene::with_events(300).await;
    scene.save("fork");
    send(&scene.customer, 200).await;
    let auditor = Auditor::of(&scene.customer).await;
    auditor.checkpoint(500).await;
    let kept = scene.keep_checkpoint().await;
    scene.put_back("fork");
    send(&scene.customer, 400).await;
    assert_eq!(scene.findings(&["--since", &kept]), ["inconsistent"]);
}

#[tokio::test]
async fn a_policy_that_was_changed_afterwards_is_found() {
    let scene = Scene::with_events(1).await;
    let customer = &scene.customer;
    customer
        .put_in_force(r#"@id("read") permit (principal, action == Watchbell::Action::"files.read", resource);"#)
        .await;
    customer
        .decide(&json!({"agent_id": "a", "action": "files.delete"}))
        .await;
    scene.sql("UPDATE policy_versions SET policies = '@id(\"read\") permit (principal, action, resource);'");
    assert_eq!(scene.findings(&[]), ["policy_mismatch"]);
}

#[tokio::test]
async fn a_delivery_that_was_claimed_and_not_made_or_made_and_denied_is_found() {
    let folder = TestFolder::create().expect("a folder");
    let deployment = kept_in(&folder);
    let mut server = deployment.serve_all();
    let customer = deployment.customer(&mut server);
    let receiver = Receiver::start().expect("a receiver");
    customer
        .rule(json!({"event_type": ["tool_call"]}), &receiver.url())
        .await;
    customer.ingest(&event("agent-1")).await;
    let received = receiver.wait_for(1, DEADLINE).await;
    let delivery = received[0].delivery_id().expect("an id").to_owned();
    customer.delivery_in_state(&delivery, "delivered").await;
    let audit = Audit::of(&customer).await;
    audit.export("before.bundle", &[]);
    audit.is_proven("before.bundle");

    // Another one, which nobody made.
    deployment.sql(
        "CREATE TEMP TABLE forged AS TABLE delivery_attempts;
         UPDATE forged SET id = overlay(id::text placing 'ffffffffffff' from 25)::uuid, number = 2;
         INSERT INTO delivery_attempts TABLE forged",
    );
    let proof = customer
        .get_json(&format!("/v1/deliveries/{delivery}/proof"))
        .await;
    let proofs = proof["attempts"].as_array().expect("attempts");
    let without: Vec<bool> = proofs.iter().map(|one| one["proof"].is_null()).collect();
    assert_eq!(without, [false, true], "{proof}");
    audit.export("claimed.bundle", &[]);
    assert_eq!(audit.is_proven("claimed.bundle")["counts"]["attempts"], 1);

    // The one that was made, with another answer.
    deployment.sql("UPDATE delivery_attempts SET status = 204 WHERE number = 1");
    audit.export("changed.bundle", &[]);
    let report: Value = audit.report("changed.bundle", &[]);
    assert_eq!(codes(&report, "findings"), ["commitment_mismatch"]);

    // None at all.
    for attack in [
        "UPDATE delivery_attempts SET salt = NULL",
        "DELETE FROM delivery_attempts",
    ] {
        deployment.sql(attack);
        audit.export("denied.bundle", &[]);
        let report: Value = audit.report("denied.bundle", &[]);
        assert_eq!(codes(&report, "findings"), ["record_missing"], "{attack}");
    }
}
