//! Exports of format `bundle`: what the server writes, `watchbell trail verify` proves without the server.

use std::{collections::BTreeSet, io::Read as _, time::Duration};

use domain::EventId;
use reqwest::StatusCode;
use serde_json::{Value, json};
use testkit::{Receiver, eventually, folder::TestFolder};
use trail_proof::leaf::{Commitment, Kind, Leaf, Salt};

use crate::api_keys::{make, with_key};
use crate::archive::{archive, day, ingest};
use crate::cli::Terminal;
use crate::deployment::{Customer, DEADLINE, Deployment, Running, event, http, ok};
use crate::errors::problem;
use crate::people::Person;
use crate::transparency::{Auditor, kept_in, send};

/// What an auditor has: a file, and the log's key from elsewhere.
pub(crate) struct Audit {
    pub(crate) terminal: Terminal,
    pub(crate) key: String,
}

impl Audit {
    pub(crate) async fn of(customer: &Customer) -> Self {
        let auditor = Auditor::of(customer).await;
        Self {
            terminal: Terminal::of(customer),
            key: auditor.key(),
        }
    }

    /// Exports into a file, as a person would.
    pub(crate) fn export(&self, file: &str, filter: &[&str]) {
        let path = self.terminal.path(file);
        let path = path.to_str().expect("UTF-8");
        let arguments = ["export", "--format", "bundle", "--file", path];
        let said = self.terminal.run(&[&arguments, filter].concat());
        assert_eq!(said.code, Some(0), "{}{}", said.stdout, said.stderr);
    }

    /// What the verifier reports of a file, with more options.
    pub(crate) fn report(&self, file: &str, options: &[&str]) -> Value {
        let path = self.terminal.path(file);
        let path = path.to_str().expect("UTF-8");
        let arguments = [
            "trail", "verify", path, "--key", &self.key, "--output", "json",
        ];
        let said = self.terminal.run(&[&arguments, options].concat());
        let report: Value = serde_json::from_str(&said.stdout).expect("JSON");
        let code = match report["verdict"].as_str() {
            Some("proven") => 0,
            Some("not_proven") => 1,
            _ => 2,
        };
        assert_eq!(said.code, Some(code), "{report}");
        report
    }

    pub(crate) fn is_proven(&self, file: &str) -> Value {
        let report = self.report(file, &[]);
        assert_eq!(report["verdict"], "proven", "{report}");
        report
    }

    /// The events that a file shows, by their ids.
    pub(crate) fn shown(&self, file: &str) -> BTreeSet<String> {
        let text = std::fs::read_to_string(self.terminal.path(file)).expect("a file");
        let lines = text
            .lines()
            .map(|line| serde_json::from_str(line).expect("JSON"));
        let id = |line: Value| {
            let stored: Value = serde_json::from_str(line["event"].as_str()?).expect("JSON");
            Some(stored["id"].as_str().expect("an id").to_owned())
        };
        lines.filter_map(id).collect()
    }
}

/// The codes of what was found or remarked.
pub(crate) fn codes(report: &Value, of: &str) -> Vec<String> {
    let all = report[of].as_array().expect("a list").iter();
    all.map(|one| one["code"].as_str().expect("a code").to_owned())
        .collect()
}

#[tokio::test]
async fn an_export_of_everything_is_proven_to_have_every_event_and_attempt() {
    let folder = TestFolder::create().expect("a folder");
    let deployment = kept_in(&folder);
    let mut server = deployment.serve_all();
    let customer = deployment.customer(&mut server);
    let receiver = Receiver::start().expect("a receiver");
    customer
        .rule(json!({"agent_id": ["agent-7"]}), &receiver.url())
        .await;
    let sent = send(&customer, 700).await;
    let received = receiver.wait_for(1, DEADLINE).await;
    let delivery = received[0].delivery_id().expect("an id").to_owned();
    customer.delivery_in_state(&delivery, "delivered").await;

    let audit = Audit::of(&customer).await;
    audit.export("all.bundle", &[]);

    let report = audit.is_proven("all.bundle");
    let shown = audit.shown("all.bundle");
    assert!(sent.iter().all(|id| shown.contains(id)));
    assert_eq!(report["counts"]["events"], shown.len());
    assert_eq!(report["counts"]["attempts"], 1);
    assert_eq!(report["counts"]["withheld"], 0);
    assert_eq!(codes(&report, "notes"), ["no_witness"]);
    // What is listed is what is proven.
    let listed = customer.all("/v1/audit/events").await;
    let id = |event: &Value| event["id"].as_str().expect("an id").to_owned();
    let listed: BTreeSet<String> = listed.iter().map(id).collect();
    assert!(shown.is_subset(&listed));

    // Compressed it is the same file.
    let packed = json!({"format": "bundle", "compression": "gzip"});
    let answer = customer.post("/v1/audit/export", &packed).await;
    assert_eq!(answer.headers()["content-type"], "application/gzip");
    let packed = answer.bytes().await.expect("a body");
    let mut text = String::new();
    flate2::read::GzDecoder::new(&*packed)
        .read_to_string(&mut text)
        .expect("gzip");
    audit.terminal.write("unpacked.bundle", &text);
    let report = audit.is_proven("unpacked.bundle");
    // The export itself is an event.
    let events = u64::try_from(shown.len()).expect("small") + 1;
    assert!(
        report["counts"]["events"].as_u64() >= Some(events),
        "{report}"
    );
}

#[tokio::test]
async fn a_filtered_export_shows_how_many_it_withholds() {
    let folder = TestFolder::create().expect("a folder");
    let deployment = kept_in(&folder);
    let mut server = deployment.serve("api,index");
    let customer = deployment.customer(&mut server);
    let sent = send(&customer, 600).await;
    let audit = Audit::of(&customer).await;

    audit.export(
        "some.bundle",
        &["--agent", "agent-3", "--agent", "agent-300"],
    );

    let report = audit.is_proven("some.bundle");
    let expected: BTreeSet<String> = [sent[3].clone(), sent[300].clone()].into();
    assert_eq!(audit.shown("some.bundle"), expected);
    assert_eq!(report["counts"]["events"], 2);
    assert!(
        report["counts"]["withheld"].as_u64() >= Some(598),
        "{report}"
    );
    assert_eq!(codes(&report, "notes"), ["no_witness", "withheld"]);

    // By time, in a day that all of them are in: so is every leaf.
    audit.export("today.bundle", &["--from", "1h"]);
    let report = audit.is_proven("today.bundle");
    let shown = audit.shown("today.bundle");
    assert!(sent.iter().all(|id| shown.contains(id)), "{report}");
    audit.export("before.bundle", &["--to", "1h"]);
    let report = audit.is_proven("before.bundle");
    assert_eq!(report["counts"]["events"], 0);
    assert!(
        report["counts"]["withheld"].as_u64() >= Some(600),
        "{report}"
    );
    // What was received long before is not in the file at all.
    let older = "UPDATE transparency_bundles SET first_at = first_at - interval '2 days', last_at = last_at - interval '2 days' WHERE number < 2";
    deployment.sql(older);
    audit.export("late.bundle", &["--from", "1h"]);
    let report = audit.is_proven("late.bundle");
    assert_eq!(report["covered"]["first"], 512);
    assert_eq!(codes(&report, "notes"), ["no_witness", "part_of_log"]);
}

#[tokio::test]
async fn what_is_in_the_archive_is_proven_like_the_rest() {
    let folder = TestFolder::create().expect("a folder");
    let mut running = Running::start(kept_in(&folder));
    let other = running.deployment.customer(&mut running.server);
    let customer = running.customer.clone();
    let days: Vec<(String, i64)> = (1..=2).map(|ago| day(&running, ago)).collect();
    for (day, _) in &days {
        ingest(&customer, day, "mine", 400).await;
        ingest(&other, day, "theirs", 100).await;
    }
    // Everybody's events are indexed.
    customer.all_events().await;
    other.all_events().await;
    archive(&running, &days[1].0);
    running
        .deployment
        .sql(&format!("DROP TABLE audit_events_d{}", days[1].1));

    let audit = Audit::of(&customer).await;
    audit.export("all.bundle", &[]);

    let report = audit.is_proven("all.bundle");
    assert!(report["counts"]["events"].as_u64() >= Some(800), "{report}");
    assert_eq!(report["counts"]["gone"], 0);
    audit.export("filtered.bundle", &["--agent", "mine"]);
    let report = audit.is_proven("filtered.bundle");
    assert_eq!(report["counts"]["events"], 800);
}

#[tokio::test]
async fn what_erased_an_event_is_waited_for_however_long_ago_it_was_told_of() {
    let folder = TestFolder::create().expect("a folder");
    let deployment = kept_in(&folder);
    let mut server = deployment.serve("api,index");
    let customer = deployment.customer(&mut server);
    let first = customer.ingest(&event("agent-1")).await;
    let now = first.parse::<EventId>().expect("an id").time();
    let at = now.minus(Duration::from_hours(1));
    let mut doomed = event("doomed");
    doomed["occurred_at"] = json!(at);
    let doomed = customer.ingest(&doomed).await;
    let audit = Audit::of(&customer).await;
    audit.export("before.bundle", &[]);
    audit.is_proven("before.bundle");

    // It is told of, and the store is behind for an hour. Then it has what erased the event, and the log has not yet.
    let by = EventId::new(at, [7; 10]);
    let told = json!({
        "id": by, "occurred_at": at, "received_at": now, "event_type": "erasure", "agent_id": "owner",
        "action": "audit.erase", "result": "success", "metadata": {"ids": [doomed]},
    });
    let told = told.to_string();
    let salt = Salt([5; 16]);
    deployment.sql(&format!(
        "INSERT INTO audit_events (org_id, id, received_at, event_type, agent_id, action, result, source, body, salt)
         SELECT org_id, '{by}', '{now}', 'erasure', 'owner', 'audit.erase', 'success', source, '{told}', '\\x{salt}'
         FROM audit_events WHERE agent_id = 'doomed';
         INSERT INTO erased_events SELECT org_id, id, id, '{by}' FROM audit_events WHERE agent_id = 'doomed';
         DELETE FROM audit_events WHERE agent_id = 'doomed'",
        by = by.uuid(),
        salt = hex::encode(salt.0),
    ));
    let bundle = json!({"format": "bundle"});
    let cut = customer.post("/v1/audit/export", &bundle).await;
    assert!(cut.bytes().await.is_err(), "no file without what erased it");

    let leaf = Leaf {
        kind: Kind::Event,
        id: by.uuid().into_bytes(),
        occurred_ms: at.unix_millis(),
        received_ms: now.unix_millis(),
        commitment: Commitment::to(salt, told.as_bytes()),
    };
    deployment.sql(&format!(
        "INSERT INTO transparency_outbox (org_id, partition, leaves, count)
         SELECT org_id, partition, '\\x{}', 1 FROM transparency_outbox LIMIT 1",
        hex::encode(leaf.encode()),
    ));
    audit.export("after.bundle", &[]);
    let report = audit.is_proven("after.bundle");
    assert_eq!(report["counts"]["erased"], 1, "{report}");
    // Named by an event that was before, it is erased by none, and who verifies the file finds that.
    let before = "SELECT id FROM audit_events WHERE agent_id = 'agent-1'";
    deployment.sql(&format!(
        "UPDATE erased_events SET erasure_event = ({before})"
    ));
    audit.export("forged.bundle", &[]);
    let report = audit.report("forged.bundle", &[]);
    assert_eq!(codes(&report, "findings"), ["erasure_unfounded"]);
}

#[tokio::test]
async fn an_export_made_in_the_background_is_one_file_that_proves_itself() {
    let folder = TestFolder::create().expect("a folder");
    // However many events a file of another format has.
    let deployment = kept_in(&folder).with("FILES__EXPORT_EVENTS_MAX", "100");
    let mut server = deployment.serve("api,index");
    let customer = deployment.customer(&mut server);
    send(&customer, 500).await;
    let audit = Audit::of(&customer).await;
    let asked = json!({"format": "bundle", "async": true});
    let answer = customer.post("/v1/audit/export", &asked).await;
    assert_eq!(answer.status(), StatusCode::ACCEPTED);
    let export = ok(answer).await;
    let path = format!(
        "/v1/audit/exports/{}",
        export["id"].as_str().expect("an id")
    );
    let done = eventually(DEADLINE, "it is done", async || {
        let export = customer.get_json(&path).await;
        (export["state"] == "done").then_some(export)
    })
    .await;
    let files = done["files"].as_array().expect("files");
    assert_eq!(files.len(), 1);
    assert_eq!(files[0]["name"], "audit-events-0001.bundle");
    let url = files[0]["url"].as_str().expect("a link");
    let at = url.find("/v1/").expect("a path");
    let link = format!("{}{}", customer.base_url, &url[at..]);
    let file = http().get(link).send().await.expect("an answer");
    let text = file.text().await.expect("a text");
    audit.terminal.write("job.bundle", &text);
    let report = audit.is_proven("job.bundle");
    assert!(report["counts"]["events"].as_u64() >= Some(500), "{report}");
}

#[tokio::test]
async fn an_export_has_the_policies_that_its_decisions_were_made_by() {
    let folder = TestFolder::create().expect("a folder");
    let deployment = kept_in(&folder);
    let mut server = deployment.serve("api,index");
    let customer = deployment.customer(&mut server);
    let question = json!({"agent_id": "a", "action": "files.delete"});
    customer.decide(&question).await;
    customer
        .put_in_force(r#"@id("read") permit (principal, action == Watchbell::Action::"files.read", resource);"#)
        .await;
    customer.decide(&question).await;
    customer.decide(&question).await;
    let audit = Audit::of(&customer).await;
    eventually(DEADLINE, "the decisions are in the trail", async || {
        let decisions = customer.all_events().await;
        decisions
            .iter()
            .filter(|event| event["event_type"] == "decision")
            .count()
            == 3
    })
    .await;

    audit.export("all.bundle", &[]);

    let report = audit.is_proven("all.bundle");
    assert_eq!(
        report["policies"], 2,
        "the starter and the one that was written: {report}"
    );
}

#[tokio::test]
async fn who_may_not_see_deliveries_and_policies_may_not_have_them_in_a_file() {
    let folder = TestFolder::create().expect("a folder");
    let deployment = kept_in(&folder);
    let mut server = deployment.serve("api,index");
    let base_url = server.url(DEADLINE);
    let person = Person::founder(&base_url).await;
    let made = json!({"name": "Exports", "scopes": ["events:write", "events:export"]});
    let limited = with_key(&base_url, &make(&person, &made).await);
    limited.ingest(&event("agent-1")).await;
    let answer = limited
        .post("/v1/audit/export", &json!({"format": "bundle"}))
        .await;
    let problem = problem(answer, 403).await;
    let detail = problem["detail"].as_str().expect("a detail");
    assert!(detail.contains("deliveries:read"), "{detail}");
    let answer = limited.post("/v1/audit/export", &json!({})).await;
    assert_eq!(
        answer.status(),
        StatusCode::OK,
        "other formats have neither"
    );
}

#[tokio::test]
async fn without_a_log_there_is_no_export_that_proves_itself_and_the_answer_says_why() {
    let running = Running::start(Deployment::new());
    let answer = running
        .customer
        .post("/v1/audit/export", &json!({"format": "bundle"}))
        .await;
    let problem = problem(answer, 501).await;
    let detail = problem["detail"].as_str().expect("a detail");
    assert!(detail.contains("files.url"), "{detail}");
}
