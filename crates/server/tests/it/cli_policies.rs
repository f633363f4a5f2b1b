//! `watchbell policy list`, `show`, `activate`, `shadow` and `rollback`, as somebody reads them.

use serde_json::json;
use testkit::eventually;

use crate::cli::{Terminal, reads_as_before};
use crate::deployment::{DEADLINE, Deployment, Running};

const LENIENT: &str = r#"@id("may-act") permit (principal, action, resource);
"#;

const STRICT: &str = r#"@id("may-act") permit (principal, action, resource);
@id("no-deletions") @reason("Agents do not delete files.") forbid (principal, action == Action::"files.delete", resource);
"#;

#[tokio::test]
async fn a_version_is_watched_activated_and_taken_back() {
    let running = Running::start(Deployment::new());
    let (customer, terminal) = (&running.customer, Terminal::of(&running.customer));
    terminal.write("lenient.cedar", LENIENT);
    terminal.write("strict.cedar", STRICT);
    let mut said = vec![
        terminal.run(&["policy", "list"]),
        terminal.run(&["policy", "save", "lenient.cedar", "--note", "For a start"]),
        terminal.run(&["policy", "activate", "2"]),
        terminal.run(&["policy", "save", "strict.cedar"]),
        terminal.run(&["policy", "show", "3"]),
        terminal.run(&["policy", "show", "2", "-o", "json"]),
        terminal.run(&["policy", "show", "9"]),
        terminal.run(&["policy", "shadow"]),
        terminal.run(&["policy", "shadow", "3"]),
        terminal.run(&["policy", "list"]),
        terminal.run(&["policy", "list", "--limit", "1", "-o", "json"]),
    ];
    // What it would have changed: how often it is asked until it is watched everywhere differs.
    let question = json!({"agent_id": "janitor", "action": "files.delete"});
    eventually(DEADLINE, "the version is watched", async || {
        customer.decide(&question).await["shadow"]["decision"] == "deny"
    })
    .await;
    let report = eventually(DEADLINE, "the decision is reported", async || {
        let report = terminal.run(&["policy", "shadow"]);
        report.stdout.contains("allow->deny  1").then_some(report)
    })
    .await;
    assert!(
        report.stdout.contains("would be denied  1"),
        "{}",
        report.stdout
    );
    said.extend([
        terminal.run(&["policy", "shadow", "--stop"]),
        terminal.run(&["policy", "shadow", "3", "--stop"]),
        terminal.run(&["policy", "activate", "3", "--expect-active", "1"]),
        terminal.run(&["policy", "activate", "3", "--expect-active", "2"]),
        terminal.run(&["policy", "rollback", "-o", "json"]),
        terminal.run(&["policy", "rollback"]),
        terminal.run(&["policy", "activate", "9"]),
        terminal.run(&["policy", "list"]),
    ]);
    reads_as_before("policy_versions", &terminal.shown(&said));
}
