//! `watchbell approvals` and `watchbell decisions`, as somebody reads them.

use serde_json::Value;

use crate::approvals::refund;
use crate::cli::{Terminal, reads_as_before};
use crate::decisions::PAYMENTS;
use crate::deployment::{Deployment, Running};

/// A refund to this account.
fn refund_to(account: &str) -> Value {
    let mut question = refund();
    question["resource"] = account.into();
    question["session_id"] = "session-1".into();
    question
}

#[tokio::test]
async fn what_waits_for_a_person_is_listed_approved_and_denied() {
    let running = Running::start(Deployment::new());
    let (customer, terminal) = (&running.customer, Terminal::of(&running.customer));
    let none = terminal.settled(&["approvals", "list"]);
    customer.approve_alone().await;
    let shown = r#"@verdict("escalate") @show("amount, payload.to")"#;
    let policies = PAYMENTS.replace(r#"@verdict("escalate")"#, shown);
    customer.put_in_force(&policies).await;
    let first = customer.escalate(&refund_to("account:1")).await;
    let second = customer.escalate(&refund_to("account:2")).await;
    let unknown = "dec_01m7eh678ef4hb9dyv15c8d0vs";
    let mut said = vec![
        none,
        terminal.settled(&["approvals", "list"]),
        terminal.settled(&["approvals", "list", "--limit", "1", "-o", "json"]),
        terminal.run(&["approvals", "show", &first]),
        terminal.run(&["approvals", "show", &first, "-o", "json"]),
        terminal.run(&["approvals", "show", unknown]),
        terminal.run(&["approvals", "show", "4711"]),
    ];
    let approve = ["approvals", "approve", &first, "--note", "Known customer."];
    said.push(terminal.run(&approve));
    said.push(terminal.run(&approve));
    said.push(terminal.run(&["approvals", "deny", &second, "-o", "json"]));
    said.push(terminal.run(&["approvals", "deny", unknown]));
    said.push(terminal.settled(&["approvals", "list"]));
    for (text, sign) in [
        (&said[1], "amount=2000 payload.to=Ann"),
        (&said[3], "session-1"),
    ] {
        assert!(text.stdout.contains(sign), "{}", text.stdout);
    }
    reads_as_before("approvals", &terminal.shown(&said));

    let said = [
        terminal.run(&["decisions", "show", &first]),
        terminal.run(&["decisions", "show", &second]),
        terminal.run(&["decisions", "show", &second, "-o", "json"]),
        terminal.run(&["decisions", "show", unknown]),
        terminal.settled(&["decisions", "list"]),
        terminal.settled(&[
            "decisions",
            "list",
            "--agent",
            "billing",
            "--action",
            "payments.*",
            "--result",
            "escalated",
            "--from",
            "1h",
        ]),
        terminal.settled(&["decisions", "list", "--result", "denied"]),
        terminal.run(&["decisions", "list", "--from", "lately"]),
    ];
    reads_as_before("decisions", &terminal.shown(&said));
}
