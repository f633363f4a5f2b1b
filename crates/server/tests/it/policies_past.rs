//! What a version would have decided, what a watched one says, and what was decided made again without a server.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use reqwest::StatusCode;
use serde_json::{Value, json};
use testkit::{eventually, folder::TestFolder};
use tokio::time::Instant;

use crate::approvals::again;
use crate::commands::{run, stdout};
use crate::decisions::PAYMENTS;
use crate::deployment::{BINARY, Customer, DEADLINE, Deployment, Running, event, ok};
use crate::errors::problem;
use crate::policies::{NO_DELETIONS, NO_REFUNDS};

/// How long after an activation every node decides by it.
const SECOND: Duration = Duration::from_secs(1);

impl Customer {
    /// Asks for a decision on each, and returns the verdicts.
    async fn ask_all(&self, questions: &[Value]) -> Vec<String> {
        let mut verdicts = Vec::new();
        for question in questions {
            let decided = self.decide(question).await;
            verdicts.push(decided["decision"].as_str().expect("a verdict").to_owned());
        }
        verdicts
    }

    /// Asks what every version allows until the node decides by this one; for a moment it goes on by the one before.
    /// Returns how often it asked.
    async fn wait_for_version(&self, version: u64) -> u64 {
        let mut asked = 0;
        eventually(DEADLINE, "the node decides by it", async || {
            asked += 1;
            let decided = self.decide(&asks("files.read")).await;
            (decided["policy_version"] == version).then_some(())
        })
        .await;
        asked
    }

    /// Puts a version before the decisions of the last day.
    async fn backtest_version(&self, version: u64) -> Value {
        let path = format!("/v1/policies/versions/{version}/backtest");
        ok(self.post(&path, &json!({})).await).await
    }
}

fn asks(action: &str) -> Value {
    json!({"agent_id": "billing", "action": action, "resource": "invoice:1"})
}

/// A payment, with what is about to be sent.
fn payment(action: &str, resource: &str, amount: u32) -> Value {
    json!({"agent_id": "billing", "action": format!("payments.{action}"), "resource": resource,
           "context": {"amount": amount}, "payload": {"amount": amount, "card": "4111"}})
}

/// One of each verdict by [`PAYMENTS`], and one that its payload denies.
fn payments() -> Vec<Value> {
    let mut without_payload = payment("export", "account:1", 1);
    without_payload
        .as_object_mut()
        .expect("fields")
        .remove("payload");
    vec![
        payment("refund", "account:1", 10),
        payment("export", "account:1", 10),
        payment("refund", "account:1", 2_000),
        payment("refund", "account:blocked", 10),
        without_payload,
    ]
}

#[tokio::test]
async fn a_backtest_counts_by_transition_what_would_have_been_decided_otherwise() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    customer.write_policies(NO_REFUNDS).await;
    let nothing = customer.backtest_version(2).await;
    assert_eq!(
        (&nothing["evaluated"], &nothing["samples"]),
        (&json!(0), &json!([]))
    );
    let refund = asks("payments.refund");
    let verdicts = customer
        .ask_all(&[refund.clone(), asks("files.read"), refund.clone()])
        .await;
    assert_eq!(verdicts, ["allow"; 3]);
    customer.allow_shadow_mode().await;
    customer.activate(2).await;
    let waited = customer.wait_for_version(2).await;
    let mut shadowed = refund.clone();
    shadowed["mode"] = "shadow".into();
    assert_eq!(
        customer.ask_all(&[refund, shadowed]).await,
        ["deny", "allow"]
    );
    // What a client says is no decision.
    let mut forged = event("agent-1");
    forged["event_type"] = "decision".into();
    problem(customer.post("/v1/audit/events", &forged).await, 422).await;

    let told = customer.backtest_version(2).await;
    assert_eq!(
        [
            &told["evaluated"],
            &told["changed"],
            &told["would_have_denied"],
            &told["skipped"]
        ],
        [5 + waited, 2, 2, 0],
        "{told}"
    );
    assert_eq!(told["by_transition"], json!({"allow->deny": 2}));
    assert_eq!(told["searched_to"], Value::Null);
    let sample = &told["samples"][0];
    assert_eq!(
        [&sample["before"], &sample["after"], &sample["reason"]],
        ["allow", "deny", "Refunds are for people."]
    );
    assert_eq!(
        [&sample["principal"], &sample["action"], &sample["resource"]],
        ["Agent:billing", "payments.refund", "invoice:1"]
    );
    let id = sample["decision_id"].as_str().expect("an id");
    let listed = format!("/v1/audit/events?decision_id={id}");
    let listed = customer.get_json(&listed).await;
    assert_eq!(
        listed["data"][0]["result"], "allowed",
        "it can be looked at"
    );

    let starter = customer.backtest_version(1).await;
    assert_eq!(starter["by_transition"], json!({"deny->allow": 2}));
    assert_eq!(starter["would_have_denied"], 0);
    problem(
        customer
            .post("/v1/policies/versions/9/backtest", &json!({}))
            .await,
        404,
    )
    .await;
    let wrong = json!({"from": "2026-01-02T00:00:00Z", "to": "2026-01-01T00:00:00Z"});
    let wrong = customer
        .post("/v1/policies/versions/2/backtest", &wrong)
        .await;
    assert_eq!(problem(wrong, 422).await["errors"][0]["pointer"], "/from");
}

#[tokio::test]
async fn a_backtest_of_the_version_that_decided_finds_every_verdict_as_it_was() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    customer.put_in_force(PAYMENTS).await;
    let verdicts = customer.ask_all(&payments()).await;
    assert_eq!(verdicts, ["allow", "modify", "escalate", "deny", "deny"]);
    let told = customer.backtest_version(2).await;
    assert_eq!(told["evaluated"], 5);
    assert_eq!(told["by_transition"], json!({}), "{told}");
}

#[tokio::test]
async fn a_watched_version_says_how_often_it_would_have_denied_since_it_is_watched() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    customer.write_policies(NO_REFUNDS).await;
    let refund = asks("payments.refund");
    customer.ask_all(std::slice::from_ref(&refund)).await;
    let watched = customer
        .post("/v1/policies/versions/2/shadow", &json!({}))
        .await;
    assert_eq!(watched.status(), StatusCode::OK);
    eventually(DEADLINE, "the node watches it", async || {
        let decided = customer.decide(&asks("files.read")).await;
        (decided["shadow"]["policy_version"] == 2).then_some(())
    })
    .await;
    let before = customer.get_json("/v1/policies/shadow").await;
    let verdicts = customer
        .ask_all(&[refund.clone(), asks("files.read"), refund])
        .await;
    assert_eq!(verdicts, ["allow"; 3], "it is not obeyed");

    let report = customer.get_json("/v1/policies/shadow").await;
    let of = |name: &str| {
        let figure = |report: &Value| report[name].as_u64().expect("a figure");
        figure(&report) - figure(&before)
    };
    assert_eq!(
        [of("evaluated"), of("changed"), of("would_have_denied")],
        [3, 2, 2]
    );
    assert_eq!(
        report["by_transition"],
        json!({"allow->deny": 2}),
        "{report}"
    );
    assert_eq!(
        (&report["version"], &report["complete"]),
        (&json!(2), &json!(true))
    );
    assert_eq!(report["samples"][0]["action"], "payments.refund");
    customer.activate(2).await;
    problem(customer.get("/v1/policies/shadow").await, 404).await;
}

/// As many policies as there may be, most of them about actions that nobody asks for.
fn thousand(of: &str) -> String {
    let other = |number: u32| {
        format!(
            "@id(\"other-{number}\")\nforbid (principal, action == Action::\"{of}.{number}\", resource);\n"
        )
    };
    let others: Vec<String> = (0..998).map(other).collect();
    format!("{NO_REFUNDS}\n{}", others.concat())
}

/// Activates a version, and returns how long it took until both nodes decided by it.
async fn activated_after(customer: &Customer, elsewhere: &Customer, version: u64) -> Duration {
    customer.activate(version).await;
    let activated = Instant::now();
    for node in [elsewhere, customer] {
        eventually(DEADLINE, "the node decides by it", async || {
            let decided = node.decide(&asks("payments.refund")).await;
            (decided["policy_version"] == version).then_some(())
        })
        .await;
    }
    activated.elapsed()
}

#[tokio::test]
async fn a_thousand_policies_that_are_activated_decide_on_every_node_soon() {
    let running = Running::start(Deployment::new());
    let mut second = running.deployment.serve("api");
    let customer = running.customer.clone();
    let elsewhere = customer.at(&mut second);
    for node in [&customer, &elsewhere] {
        node.decide(&asks("payments.refund")).await;
    }
    // Each is read for the first time, which unoptimized and beside other tests takes longer than the second
    // that it may take (`cargo xtask bench decide`).
    let mut took = Vec::new();
    for (version, of) in [(2, "one"), (3, "two"), (4, "three")] {
        customer.write_policies(&thousand(of)).await;
        took.push(activated_after(&customer, &elsewhere, version).await);
    }
    assert!(took.iter().any(|took| *took < 5 * SECOND), "{took:?}");
}

#[tokio::test]
async fn a_version_that_is_activated_decides_on_every_node_within_a_second() {
    let mut running = Running::start(Deployment::new());
    let mut second = running.deployment.serve("api");
    let customer = running.customer.clone();
    let elsewhere = customer.at(&mut second);
    let stranger = running.deployment.customer(&mut running.server);
    let refund = asks("payments.refund");
    customer.write_policies(NO_REFUNDS).await;
    customer.write_policies(NO_DELETIONS).await;
    // Both nodes know the policies that are replaced.
    for node in [&customer, &elsewhere] {
        assert_eq!(node.decide(&refund).await["decision"], "allow");
    }
    let mut took = Vec::new();
    for version in [2, 3, 2, 1, 2] {
        took.push(activated_after(&customer, &elsewhere, version).await);
    }
    assert!(took.iter().all(|took| *took < SECOND), "{took:?}");
    assert_eq!(stranger.decide(&refund).await["policy_version"], 1);
}

/// Saves an export of the trail and these versions, and returns their names.
async fn saved(customer: &Customer, folder: &Path, versions: &[u32]) -> (String, Vec<String>) {
    let wanted = json!({"format": "ndjson"});
    let export = customer.post("/v1/audit/export", &wanted).await;
    let export = export.text().await.expect("a body");
    let decisions = folder.join("decisions.ndjson");
    fs::write(&decisions, export).expect("written");
    let mut files = Vec::new();
    for version in versions {
        let shown = customer
            .get_json(&format!("/v1/policies/versions/{version}"))
            .await;
        let file = folder.join(format!("version-{version}.json"));
        fs::write(&file, shown.to_string()).expect("written");
        files.push(file.display().to_string());
    }
    (decisions.display().to_string(), files)
}

/// Makes decisions again; the exit code and what was said.
fn replay(decisions: &str, versions: &[String]) -> (Option<i32>, String) {
    let mut arguments = vec!["policies", "replay", "--decisions", decisions];
    arguments.extend(versions.iter().map(String::as_str));
    let output = run(&arguments, []);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), format!("{}{errors}", stdout(&output)))
}

/// The text with changes in the first line about a decision of version 2 that has this and what is changed.
fn changed(text: &str, of: &str, changes: &[(&str, &str)]) -> String {
    let mut lines: Vec<String> = text.lines().map(|line| format!("{line}\n")).collect();
    let is_it = |line: &&mut String| {
        let parts = changes.iter().map(|(from, _)| *from);
        let mut parts = parts.chain([of, r#""policy_version":2,"#]);
        parts.all(|part| line.contains(part))
    };
    let line = lines.iter_mut().find(is_it);
    let line = line.unwrap_or_else(|| panic!("{of} and {changes:?} in {text}"));
    for (from, to) in changes {
        *line = line.replacen(from, to, 1);
    }
    lines.concat()
}

#[tokio::test]
async fn decisions_are_made_again_from_an_export_and_a_changed_line_is_noticed() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    customer.ask_all(&payments()).await;
    customer.approve_alone().await;
    customer.allow_shadow_mode().await;
    customer.put_in_force(PAYMENTS).await;
    customer.ask_all(&payments()).await;
    let mut shadowed = payment("refund", "account:blocked", 1);
    shadowed["mode"] = "shadow".into();
    assert_eq!(customer.ask_all(&[shadowed]).await, ["allow"]);
    let large = payment("refund", "account:1", 3_000);
    let approved = customer.escalate(&large).await;
    customer.resolve(&approved, &json!({"approve": true})).await;
    let by_approval = again(&large, &approved);
    let used = customer.ask_all(&[by_approval.clone(), by_approval]).await;
    assert_eq!(used, ["allow", "deny"], "it is used up");
    customer.put_in_force(NO_REFUNDS).await;
    customer.ask_all(&payments()).await;
    customer.ingest(&event("agent-1")).await;

    let folder = TestFolder::create().expect("a folder");
    let (decisions, versions) = saved(customer, folder.path(), &[2, 3]).await;
    let (code, said) = replay(&decisions, &versions);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("19 the same, 0 different"), "{said}");
    assert!(said.contains("The file is complete"), "{said}");

    let (code, said) = replay(&decisions, &versions[..1]);
    assert_eq!(code, Some(1));
    assert!(said.contains("Version 3 (sha256:"), "{said}");
    assert!(said.contains("5 by missing versions"), "{said}");

    let text = fs::read_to_string(&decisions).expect("readable");
    let allowed = (r#""decision":"deny""#, r#""decision":"allow""#);
    let as_allowed = (r#""result":"denied""#, r#""result":"allowed""#);
    let is_different = "the same, 1 different";
    let is_forged = "its result is not that of its decision";
    for (of, changes, words) in [
        (r#"["embargo"]"#, vec![allowed, as_allowed], is_different),
        (r#"["embargo"]"#, vec![as_allowed], is_forged),
        (r#""refused":"#, vec![allowed, as_allowed], is_forged),
        (
            r#"["embargo"]"#,
            vec![(r#"["embargo"]"#, r#"["large"]"#)],
            is_different,
        ),
        (
            r#"["large"]"#,
            vec![(r#""amount":2000"#, r#""amount":20"#)],
            is_different,
        ),
        (
            r#"["embargo"]"#,
            vec![(r#""id":"blocked""#, r#""id":"open""#)],
            is_different,
        ),
    ] {
        let file = folder.path().join("changed.ndjson");
        fs::write(&file, changed(&text, of, &changes)).expect("written");
        let (code, said) = replay(&file.display().to_string(), &versions);
        assert_eq!(code, Some(1), "{changes:?}: {said}");
        assert!(said.contains(words), "{changes:?}: {said}");
        assert!(said.contains("the file was altered"), "{said}");
    }
    let version = fs::read_to_string(&versions[0]).expect("readable");
    let other = folder.path().join("other.json");
    fs::write(&other, version.replace("1000 };", "9000 };")).expect("written");
    let (code, said) = replay(&decisions, &[other.display().to_string()]);
    assert_eq!(code, Some(1));
    assert!(said.contains("the file was altered"), "{said}");

    // A line behind the proof, and no proof.
    let first = text.lines().next().expect("a decision");
    let appended = (
        format!("{text}{first}\n"),
        "it continues after the line that proves",
    );
    let cut = (
        format!("{first}\n"),
        "does not end with the line that proves",
    );
    for (text, words) in [appended, cut] {
        let file = folder.path().join("no-end.ndjson");
        fs::write(&file, text).expect("written");
        let (code, said) = replay(&file.display().to_string(), &versions);
        assert_eq!(code, Some(1), "{said}");
        assert!(said.contains(words), "{said}");
        assert!(!said.contains("The file is complete"), "{said}");
    }

    // As it was recorded before there were policies of one's own.
    let older = json!({
        "id": "evt_01jcq3k5m8e9ratvw2x4y6z8ab", "event_type": "decision", "agent_id": "agent-1",
        "action": "files.read", "result": "allowed", "decision_id": "dec_01jcq3k5m8e9ratvw2x4y6z8ab",
        "metadata": {"policies": ["allow-all"], "context": {}},
    });
    let older = older.to_string();
    let piped = Command::new(BINARY)
        .args(["policies", "replay", "--part"])
        .args(&versions)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let mut piped = piped.expect("watchbell starts");
    let mut stdin = piped.stdin.take().expect("a pipe");
    let decisions = text
        .lines()
        .filter(|line| line.contains(r#""event_type":"decision""#));
    let lines: Vec<&str> = decisions.take(3).chain([older.as_str()]).collect();
    stdin
        .write_all(lines.join("\n").as_bytes())
        .expect("written");
    drop(stdin);
    let output = piped.wait_with_output().expect("it ended");
    assert_eq!(output.status.code(), Some(0));
    let said = stdout(&output);
    assert!(said.contains("3 the same"), "{said}");
    assert!(
        said.contains("1 decisions predate custom policies"),
        "{said}"
    );
}
