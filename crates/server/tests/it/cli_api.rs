//! `watchbell api`: any request, and what its exit code says of the answer.

use serde_json::{Value, json};

use crate::cli::{Terminal, closed, reads_as_before};
use crate::cli_events::lines;
use crate::deployment::{Deployment, Running};

#[tokio::test]
async fn any_request_is_sent_and_its_answer_is_printed_whatever_it_is() {
    let running = Running::start(Deployment::new());
    let (customer, terminal) = (&running.customer, Terminal::of(&running.customer));
    let rule = json!({"name": "Denied", "match": {"result": ["denied"]}, "url": "http://127.0.0.1:9/hook"});
    let id = customer.make_rule(&rule).await;
    terminal.write("rule.json", &rule.to_string());
    terminal.write("events.ndjson", &lines(2));
    let one = format!("/v1/alert-rules/{id}");
    let unknown = "/v1/alert-rules/rul_01m7eh678ef4hb9dyv15c8d0vs";
    let disable = [
        "api",
        "PATCH",
        &one,
        "-d",
        r#"{"enabled": false}"#,
        "-H",
        r#"If-Match: "1""#,
    ];
    let said = [
        terminal.run(&["api", "GET", "/v1/alert-rules?limit=1"]),
        terminal.run(&["api", "POST", "/v1/alert-rules", "--data", "@rule.json"]),
        terminal.run_with(
            &rule.to_string(),
            &["api", "post", "/v1/alert-rules", "-d", "-"],
        ),
        terminal.run(&disable),
        terminal.run(&disable),
        terminal.run(&["api", "DELETE", &one]),
        terminal.run(&["api", "GET", unknown]),
        terminal.run(&["api", "POST", "/v1/alert-rules", "-d", "{"]),
        terminal.run(&["api", "POST", "/v1/alert-rules", "-d", "@none.json"]),
        terminal.run(&["api", "GET", "/v1/members"]),
        terminal.run(&[
            "api",
            "POST",
            "/v1/audit/events",
            "-H",
            "Content-Type: application/x-ndjson",
            "-d",
            "@events.ndjson",
        ]),
        terminal.run(&["api", "GET", "v1/alert-rules"]),
        terminal.run(&["api", "/v1/alert-rules", "GET"]),
        terminal.run(&["api", "GET", "/v1/alert-rules", "-H", "Authorization: x"]),
    ];
    reads_as_before("api", &terminal.shown(&said));
    let codes: Vec<Option<i32>> = said.iter().map(|said| said.code).collect();
    let expected = [0, 0, 0, 0, 14, 0, 13, 12, 12, 10, 0, 2, 2, 2];
    assert_eq!(codes, expected.map(Some));
    // Why it was refused is for programs, too, and nobody reading it makes it no better.
    let refusal: Value = serde_json::from_str(&said[6].stdout).expect("JSON");
    assert_eq!(refusal["code"], "NOT_FOUND");
    let unread = terminal.run_into(closed(), "", &["api", "GET", unknown]);
    assert_eq!(unread.code, Some(13));
    // A file is passed on as it is.
    terminal.settled(&["events", "list"]);
    let request = r#"{"format": "ndjson", "event_type": ["tool_call"]}"#;
    let export = terminal.run(&["api", "POST", "/v1/audit/export", "-d", request]);
    assert_eq!((export.code, export.stdout.lines().count()), (Some(0), 3));
    assert!(export.stdout.ends_with("}}\n") && !export.stdout.ends_with("\n\n"));
}
