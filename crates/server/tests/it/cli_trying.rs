//! `watchbell rules` and `watchbell deliveries`, as somebody reads them.

use serde_json::json;
use testkit::{Receiver, eventually};

use crate::cli::{Terminal, closed, reads_as_before};
use crate::deployment::{Customer, DEADLINE, Deployment, Running, event};

#[tokio::test]
async fn rules_are_listed_and_tried() {
    let running = Running::start(Deployment::new());
    let (customer, terminal) = (&running.customer, Terminal::of(&running.customer));
    let empty = terminal.run(&["rules", "list"]);
    let pattern = json!({"event_type": ["tool_call"], "result": ["denied"]});
    let rule = customer
        .rule(pattern.clone(), "http://127.0.0.1:9/hook")
        .await;
    let other = json!({"name": "Off", "match": {}, "url": "http://127.0.0.1:9/", "enabled": false, "tags": ["quiet"]});
    customer.make_rule(&other).await;
    customer.ingest(&event("agent-1")).await;
    eventually(DEADLINE, "the match is counted", async || {
        let rule = customer.get_json(&format!("/v1/alert-rules/{rule}")).await;
        rule["stats"]["alerts_24h"] == 1
    })
    .await;
    terminal.write(
        "rule.json",
        &json!({"match": pattern, "except": [{"agent_id": ["agent-2"]}]}).to_string(),
    );
    terminal.write(
        "wrong.json",
        &json!({"match": {"result": "denied"}}).to_string(),
    );
    let made = json!({"name": "Denied", "match": pattern, "url": "http://127.0.0.1:9/hook"});
    terminal.write("made.json", &made.to_string());
    terminal.write("event.json", &event("agent-1").to_string());
    terminal.write("excepted.json", &event("agent-2").to_string());
    let unknown = "rul_01m7eh678ef4hb9dyv15c8d0vs";
    let said = [
        empty,
        terminal.run(&["rules", "list"]),
        terminal.run(&["rules", "list", "--tag", "quiet", "-o", "json"]),
        terminal.run(&["rules", "test", "rule.json", "--event", "event.json"]),
        terminal.run(&["rules", "test", "rule.json", "--event", "excepted.json"]),
        terminal.run(&[
            "rules",
            "test",
            &rule,
            "--event",
            "event.json",
            "-o",
            "json",
        ]),
        terminal.run(&["rules", "test", "wrong.json", "--event", "event.json"]),
        terminal.run(&["rules", "test", unknown, "--event", "event.json"]),
        terminal.run(&["rules", "backtest", &rule, "--from", "1h"]),
        terminal.run(&["rules", "backtest", "rule.json", "-o", "json"]),
        terminal.run(&["rules", "backtest", unknown]),
        terminal.run(&["rules", "create", "made.json"]),
        terminal.run(&["rules", "create", "made.json", "-o", "json"]),
        terminal.run(&["rules", "create", "wrong.json"]),
        terminal.run(&["rules", "create", "none.json"]),
    ];
    reads_as_before("rules", &terminal.shown(&said));
    let unwanted = ["rules", "test", "rule.json", "--event", "excepted.json"];
    assert_eq!(terminal.run_into(closed(), "", &unwanted).code, Some(1));
}

#[tokio::test]
async fn rules_are_shown_changed_and_deleted() {
    let running = Running::start(Deployment::new());
    let (customer, terminal) = (&running.customer, Terminal::of(&running.customer));
    let whole = json!({"name": "Denied", "match": {"result": ["denied"]}, "url": "http://127.0.0.1:9/hook"});
    let rule = customer.make_rule(&whole).await;
    terminal.write("whole.json", &whole.to_string());
    terminal.write(
        "changes.json",
        &json!({"severity": "high", "tags": ["money", "files"]}).to_string(),
    );
    let unknown = "rul_01m7eh678ef4hb9dyv15c8d0vs";
    let update =
        |more: &[&'static str]| terminal.run(&[&["rules", "update", &rule][..], more].concat());
    let said = [
        terminal.run(&["rules", "show", &rule]),
        update(&[r#"{"description": "Somebody was stopped."}"#]),
        update(&["@changes.json", "--if-version", "2"]),
        update(&["@changes.json", "--if-version", "2"]),
        update(&[r#"{"match": {"result": "denied"}}"#]),
        update(&["[1"]),
        update(&["@none.json"]),
        terminal.run(&["rules", "show", &rule]),
        update(&["@whole.json", "--replace", "-o", "json"]),
        terminal.run(&["rules", "disable", &rule]),
        terminal.run(&["rules", "disable", &rule]),
        terminal.run(&["rules", "enable", &rule, "-o", "json"]),
        terminal.run(&["rules", "delete", &rule, "--if-version", "1"]),
        terminal.run(&["rules", "delete", &rule]),
        terminal.run(&["rules", "delete", &rule]),
        terminal.run(&["rules", "show", unknown]),
        terminal.run(&["rules", "enable", "4711"]),
    ];
    reads_as_before("rules_change", &terminal.shown(&said));
}

#[tokio::test]
async fn deliveries_are_seen_and_sent_again() {
    let running = Running::start(Deployment::new());
    let (customer, terminal) = (&running.customer, Terminal::of(&running.customer));
    let receiver = Receiver::start().expect("a receiver");
    // A body that is too large for it will not get smaller: failed at once.
    receiver.answer_with(413);
    let rule = customer.rule(json!({}), &receiver.url()).await;
    customer.ingest(&event("agent-1")).await;
    let failed = eventually(DEADLINE, "it has failed", async || {
        let all = customer.all_deliveries().await;
        let failed = all.into_iter().find(|one| one["state"] == "failed");
        failed.and_then(|one| one["id"].as_str().map(str::to_owned))
    })
    .await;
    let unknown = "dlv_01m7eh678ef4hb9dyv15c8d0vs";
    let mut said = vec![
        terminal.settled(&["deliveries", "list", "--state", "failed"]),
        terminal.settled(&[
            "deliveries",
            "list",
            "--rule",
            &rule,
            "--cause",
            "match",
            "-o",
            "json",
        ]),
        terminal.run(&["deliveries", "list", "--state", "lost"]),
        terminal.run(&["deliveries", "show", &failed]),
        terminal.run(&["deliveries", "show", unknown]),
        terminal.run(&["deliveries", "show", "4711"]),
        terminal.run(&[
            "deliveries",
            "recover",
            "--rule",
            &rule,
            "--from",
            "1h",
            "--dry-run",
        ]),
        terminal.run(&[
            "deliveries",
            "recover",
            "--rule",
            &rule,
            "--from",
            "1h",
            "--dry-run",
            "-o",
            "json",
        ]),
    ];
    receiver.answer_with(200);
    said.push(terminal.run(&["deliveries", "resend", &failed]));
    delivered(customer, &failed, 2).await;
    said.push(terminal.run(&["deliveries", "resend", &failed, "-o", "json"]));
    delivered(customer, &failed, 3).await;
    said.push(terminal.run(&["deliveries", "resend", unknown]));
    let recover = [
        "deliveries",
        "recover",
        "--rule",
        &rule,
        "--from",
        "1h",
        "--state",
        "delivered",
    ];
    said.push(terminal.run(&recover));
    delivered(customer, &failed, 4).await;
    said.push(terminal.run(&["deliveries", "show", &failed, "-o", "json"]));
    let text = terminal.shown(&said);
    // How long each step of a send took is different each time.
    let text: Vec<String> = text.lines().map(without_timings).collect();
    reads_as_before("deliveries", &text.join("\n"));
}

/// Waits until the delivery has arrived, on an attempt with this number.
async fn delivered(customer: &Customer, id: &str, attempts: u64) {
    eventually(DEADLINE, "it has arrived", async || {
        let delivery = customer.get_json(&format!("/v1/deliveries/{id}")).await;
        (delivery["state"] == "delivered" && delivery["attempts"] == attempts).then_some(())
    })
    .await;
}

/// The document of a delivery without what a machine's speed decides.
fn without_timings(line: &str) -> String {
    let Ok(mut document) = serde_json::from_str::<serde_json::Value>(line) else {
        return line.to_owned();
    };
    let Some(attempts) = document
        .get_mut("attempt_log")
        .and_then(serde_json::Value::as_array_mut)
    else {
        return line.to_owned();
    };
    for attempt in attempts {
        for field in [
            "timings",
            "answer_headers",
            "remote_address",
            "body_sha256",
            "clock_skew_s",
        ] {
            attempt[field] = json!("...");
        }
    }
    document.to_string()
}
