//! `watchbell decide` and `watchbell policy`, as somebody reads them.

use serde_json::json;
use testkit::eventually;

use crate::cli::{Terminal, closed, full, reads_as_before};
use crate::deployment::{DEADLINE, Deployment, Running, ok};

const POLICIES: &str = r#"@id("may-act") permit (principal, action, resource);
@id("no-deletions") @reason("Agents do not delete files.") forbid (principal, action == Action::"files.delete", resource);
@id("large-refunds") @verdict("escalate") @reason("A person looks at refunds above 1000.")
forbid (principal, action == Action::"payments.refund", resource) when { context.amount > 1000 };
"#;

const REFUND: [&str; 7] = [
    "decide",
    "--agent",
    "billing",
    "--action",
    "payments.refund",
    "--context",
    r#"{"amount": 2000}"#,
];

#[tokio::test]
async fn an_agent_asks_by_the_command_line_and_the_exit_code_answers() {
    let running = Running::start(Deployment::new());
    let (customer, terminal) = (&running.customer, Terminal::of(&running.customer));
    customer.approve_alone().await;
    customer.allow_shadow_mode().await;
    terminal.write("policies.cedar", POLICIES);
    terminal.write("broken.cedar", "permit (principal, action);");
    let save = |more: &[&'static str]| {
        terminal.run(&[&["policy", "save", "policies.cedar"][..], more].concat())
    };
    let saved = [
        terminal.run(&["policy", "save", "broken.cedar"]),
        save(&["--note", "Refunds"]),
        save(&["-o", "json"]),
        save(&["--activate"]),
        save(&["--activate", "-o", "json"]),
    ];
    reads_as_before("policy_save", &terminal.shown(&saved));
    let ask = |action: &'static str, more: &[&'static str]| {
        let arguments = [
            &["decide", "--agent", "janitor", "--action", action][..],
            more,
        ]
        .concat();
        terminal.run(&arguments)
    };
    let said = [
        ask("files.read", &["--resource", "file:a"]),
        ask("files.delete", &["--resource", "file:a"]),
        ask("files.delete", &["-o", "json"]),
        ask("files.delete", &["--mode", "shadow"]),
        terminal.run(&REFUND),
        ask("files", &[]),
        ask("files.read", &["--context", "[1"]),
    ];
    let codes: Vec<Option<i32>> = said.iter().map(|said| said.code).collect();
    assert_eq!(
        codes,
        [
            Some(0),
            Some(3),
            Some(3),
            Some(0),
            Some(4),
            Some(12),
            Some(2)
        ]
    );
    // Somebody approves while it waits, then it is asked again with the approval.
    let mut waiting =
        terminal.start(&[&REFUND[..], &["--payload", r#"{"to": "Ann"}"#, "--wait"]].concat());
    waiting.wait_for_line(DEADLINE, |line| {
        line.contains("is waiting for approval until")
    });
    approve_one_of(customer, 2).await;
    assert_eq!(waiting.wait_until_ended(DEADLINE).code(), Some(0));
    let approved = format!("[after the approval]\n{}\n", waiting.stdout().join("\n"));
    reads_as_before("decide", &(terminal.shown(&said) + &approved));
    // Whatever becomes of the output, what is not allowed does not look so.
    let deny = ["decide", "--agent", "janitor", "--action", "files.delete"];
    let allow = ["decide", "--agent", "janitor", "--action", "files.read"];
    for (question, unread, unwritten) in [(&deny[..], 3, 3), (&REFUND, 4, 4), (&allow, 0, 1)] {
        let codes = [
            terminal.run_into(closed(), "", question).code,
            terminal.run_into(full(), "", question).code,
        ];
        assert_eq!(codes, [Some(unread), Some(unwritten)], "{question:?}");
    }
}

/// Approves the newest as soon as `count` wait.
async fn approve_one_of(customer: &crate::deployment::Customer, count: usize) {
    let newest = eventually(DEADLINE, "it waits for a person", async || {
        let page = customer
            .get_json("/v1/runtime/approvals?status=pending")
            .await;
        let data = page["data"].as_array().cloned().unwrap_or_default();
        let newest = data
            .last()
            .and_then(|one| one["decision_id"].as_str().map(str::to_owned));
        newest.filter(|_| data.len() == count)
    })
    .await;
    let path = format!("/v1/runtime/decisions/{newest}/resolve");
    ok(customer
        .post(&path, &json!({"approve": true, "note": "Known customer."}))
        .await)
    .await;
}

#[test]
fn policies_are_tested_without_a_server() {
    let terminal = Terminal::bare();
    terminal.write("policies.cedar", POLICIES);
    terminal.write("broken.cedar", "permit (principal, action);");
    let test = |name: &str, action: &str, expected: &str| json!({"name": name, "question": {"agent_id": "a", "action": action, "context": {"amount": 1}}, "expect": {"decision": expected}});
    let good = json!([
        test("a deletion", "files.delete", "deny"),
        test("a refund", "payments.refund", "allow")
    ]);
    terminal.write("tests.json", &good.to_string());
    terminal.write(
        "wrong.json",
        &json!([test("a deletion", "files.delete", "allow")]).to_string(),
    );
    let said = [
        terminal.run(&["policy", "test", "policies.cedar", "--tests", "tests.json"]),
        terminal.run(&[
            "policy",
            "test",
            "policies.cedar",
            "--tests",
            "tests.json",
            "-o",
            "json",
        ]),
        terminal.run(&["policy", "test", "policies.cedar", "--tests", "wrong.json"]),
        terminal.run(&["policy", "test", "broken.cedar"]),
        terminal.run(&["policy", "test", "none.cedar"]),
        terminal.run(&["policies", "check", "policies.cedar"]),
    ];
    reads_as_before("policy_test", &terminal.shown(&said));
    let broken = ["policy", "test", "broken.cedar"];
    assert_eq!(terminal.run_into(closed(), "", &broken).code, Some(1));
}
