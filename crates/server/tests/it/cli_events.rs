//! `watchbell events`: sent, listed and watched, as somebody reads it.

use std::fmt::Write as _;
use std::net::TcpListener;
use std::time::Duration;

use serde_json::json;
use testkit::Signal;

use crate::cli::{Terminal, Way, closed, full, proxy, reads_as_before};
use crate::deployment::{DEADLINE, Deployment, Running, event};
use crate::load::now;

const ONE: [&str; 10] = [
    "events",
    "send",
    "--type",
    "tool_call",
    "--agent",
    "mail-agent",
    "--action",
    "mail.send",
    "--result",
    "success",
];

/// Less than what the server refuses.
const CLOCK_AHEAD: Duration = Duration::from_secs(240);

/// So many events, one a line.
pub(crate) fn lines(count: usize) -> String {
    let mut lines = String::new();
    for number in 0..count {
        writeln!(lines, "{}", event(&format!("agent-{number}"))).expect("written");
    }
    lines
}

#[test]
fn events_are_sent_and_listed() {
    let running = Running::start(Deployment::new());
    let terminal = Terminal::of(&running.customer);
    terminal.write(
        "event.json",
        &serde_json::to_string_pretty(&event("pretty-agent")).expect("JSON"),
    );
    let bad = json!({"event_type": "tool_call", "agent_id": "a", "action": "files.read", "result": "success", "color": "red"});
    let some = json!({"events": [event("first"), bad, {"event_type": "tool_call"}]}).to_string();
    let more = [
        &ONE[..],
        &[
            "--resource",
            "mailbox:1",
            "--severity",
            "low",
            "--metadata",
            r#"{"to": 3}"#,
            "-o",
            "json",
        ],
    ]
    .concat();
    let sent = [
        terminal.run(&ONE),
        terminal.run(&more),
        terminal.run(&["events", "send", "event.json"]),
        terminal.run_with(&some, &["events", "send", "-"]),
        terminal.run_with(&some, &["events", "send", "--output", "json"]),
        terminal.run_with(&lines(2), &["events", "send"]),
        terminal.run(&["events", "send"]),
        terminal.run_with("{}\n{\"half\":", &["events", "send"]),
        terminal.run(&["events", "send", "none.json"]),
        terminal.run(&["events", "send", "--type", "tool_call"]),
    ];
    reads_as_before("events_send", &terminal.shown(&sent));
    let listed = [
        terminal.settled(&[
            "events",
            "list",
            "--order",
            "asc",
            "--agent",
            "first",
            "--agent",
            "mail-agent",
            "--from",
            "1h",
        ]),
        terminal.settled(&["events", "list", "--agent", "pretty-agent", "-o", "json"]),
        terminal.settled(&[
            "events", "list", "--all", "--result", "denied", "--action", "files.*", "--agent",
            "agent-0", "-o", "json",
        ]),
        terminal.settled(&["events", "list", "--agent", "nobody"]),
        terminal.run(&["events", "list", "--from", "lately"]),
        terminal.run(&["events", "list", "--limit", "0"]),
        terminal.run(&["events", "list", "--type", "No Type"]),
    ];
    reads_as_before("events_list", &terminal.shown(&listed));
}

#[tokio::test]
async fn an_event_is_shown() {
    let running = Running::start(Deployment::new());
    let terminal = Terminal::of(&running.customer);
    let mut sent = event("agent-1");
    sent["metadata"] = json!({"path": "/srv/report.pdf", "hostile": "\u{1b}[31m"});
    let id = running.customer.ingest(&sent).await;
    terminal.settled(&["events", "list"]);
    let said = [
        terminal.run(&["events", "show", &id]),
        terminal.run(&["events", "show", &id, "-o", "json"]),
        terminal.run(&["events", "show", "evt_01m7eh678ef4hb9dyv15c8d0vs"]),
        terminal.run(&["events", "show", "4711"]),
    ];
    reads_as_before("events_show", &terminal.shown(&said));
}

#[test]
fn more_events_than_a_request_takes_are_sent_in_batches_that_wait_when_they_are_told_to() {
    let running = Running::start(Deployment::new().with("LIMITS__INGEST", "2/3s"));
    let terminal = Terminal::of(&running.customer);
    let said = terminal.run_with(&lines(2_500), &["events", "send"]);
    assert_eq!(
        (said.code, said.stdout.as_str()),
        (Some(0), "2500 events accepted.\n"),
        "{}",
        said.stderr
    );
    assert!(
        said.stderr.contains("429 Too Many Requests; continuing in"),
        "{}",
        said.stderr
    );
    let all = terminal.settled(&["events", "list", "--all", "-o", "json"]);
    assert_eq!(all.stdout.lines().count(), 2_500);
    let mut page = terminal.settled(&["events", "list", "--limit", "2"]);
    assert_eq!(page.stdout.lines().count(), 3, "{}", page.stdout);
    let cursor = page
        .stderr
        .split_once("--cursor ")
        .expect("there is more")
        .1;
    let cursor = cursor.split_once(',').expect("an end").0.to_owned();
    page = terminal.settled(&["events", "list", "--limit", "1", "--cursor", &cursor]);
    assert_eq!(page.stdout.lines().count(), 2, "{}", page.stdout);
}

#[test]
fn nobody_who_reads_on_is_no_failure() {
    let running = Running::start(Deployment::new());
    let terminal = Terminal::of(&running.customer);
    assert_eq!(
        terminal.run_with(&lines(1_000), &["events", "send"]).code,
        Some(0)
    );
    terminal.settled(&["events", "list", "--limit", "1"]);
    for arguments in [
        &["events", "list", "--all"][..],
        &["completions", "bash"],
        &["events", "list", "--all", "-o", "json"],
    ] {
        let said = terminal.run_into(closed(), "", arguments);
        assert_eq!((said.code, &*said.stderr), (Some(0), ""), "{arguments:?}");
        let said = terminal.run_into(full(), "", arguments);
        assert_eq!(said.code, Some(1), "{arguments:?}");
        assert!(
            said.stderr.contains("cannot write to standard output"),
            "{}",
            said.stderr
        );
    }
    // Sending goes on.
    let send = ["events", "send", "-o", "json"];
    let unread = terminal.run_into(closed(), &lines(2_001), &send);
    assert_eq!(unread.code, Some(0), "{}", unread.stderr);
    let unwritten = terminal.run_into(full(), &lines(1_001), &send);
    assert_eq!(unwritten.code, Some(1), "{}", unwritten.stderr);
    let all = terminal.settled(&["events", "list", "--all", "-o", "json"]);
    assert_eq!(all.stdout.lines().count(), 1_000 + 2_001 + 1_001);
}

#[test]
fn a_batch_whose_answer_is_lost_is_sent_again_and_accepted_once() {
    let running = Running::start(Deployment::new());
    let terminal = Terminal::of(&running.customer);
    let troubled = proxy(&running.customer.base_url, |number| match number {
        0 => Way::Cut(1_000),
        1 => Way::BadGateway,
        _ => Way::Through,
    });
    let send = ["events", "send", "--url", &troubled];
    let said = terminal.run_with(&lines(1_001), &send);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert_eq!(said.stdout, "1001 events accepted.\n");
    let again = "the server answered 502 Bad Gateway; retrying in 1 s";
    assert!(said.stderr.contains(again), "{}", said.stderr);
    let all = terminal.settled(&["events", "list", "--all", "-o", "json"]);
    assert_eq!(all.stdout.lines().count(), 1_001);
    // One that never answered is rather the wrong one.
    let away = proxy(&running.customer.base_url, |_| Way::BadGateway);
    let said = terminal.run_with(&lines(1), &["events", "send", "--url", &away]);
    assert_eq!(said.code, Some(11));
    assert!(
        said.stderr.contains("Try again in a moment"),
        "{}",
        said.stderr
    );
}

#[tokio::test]
async fn a_tail_shows_what_comes_and_what_came_while_its_server_was_away() {
    let port = TcpListener::bind("127.0.0.1:0")
        .expect("a port")
        .local_addr()
        .expect("an address");
    let deployment = Deployment::new();
    let mut other = deployment.serve_all();
    let customer = deployment.customer(&mut other);
    let watched = Deployment::with(deployment, "HTTP__LISTEN", &port.to_string());
    let first = watched.serve("api");
    let terminal = Terminal::of(&customer).with("WATCHBELL_URL", &format!("http://{port}"));
    let mut tail = terminal.start(&["events", "tail", "--result", "denied"]);
    tail.wait_for_line(DEADLINE, |line| line.contains("watching"));
    // Its agent's clock is ahead; what comes meanwhile is not hidden by that.
    let mut before = event("before");
    before["occurred_at"] = now().plus(CLOCK_AHEAD).to_string().into();
    customer.ingest(&before).await;
    tail.wait_for_line(DEADLINE, |line| {
        line.contains("tool_call files.delete by before: denied")
    });
    drop(first);
    tail.wait_for_line(DEADLINE, |line| line.contains("reconnecting in 2 s"));
    customer.ingest(&event("meanwhile")).await;
    let _second = watched.serve("api");
    tail.wait_for_line(DEADLINE, |line| line.contains("there may be a gap"));
    tail.wait_for_line(DEADLINE, |line| line.contains("by meanwhile: denied"));
    customer.ingest(&event("after")).await;
    tail.wait_for_line(DEADLINE, |line| line.contains("by after: denied"));
    // Each once, in order.
    let agents: Vec<String> = tail
        .stdout()
        .iter()
        .map(|line| line.split(' ').nth(5).expect("an agent").to_owned())
        .collect();
    assert_eq!(agents, ["before:", "meanwhile:", "after:"]);
    tail.signal(Signal::Interrupt);
    tail.wait_until_ended(DEADLINE);

    let mut tail = terminal.start(&["events", "tail", "-o", "json"]);
    tail.wait_for_line(DEADLINE, |line| line.contains("watching"));
    let id = customer.ingest(&event("as-json")).await;
    let line = tail.wait_for_line(DEADLINE, |line| line.contains("as-json"));
    let shown: serde_json::Value = serde_json::from_str(&line).expect("JSON");
    assert_eq!(shown["id"], id);
    let refused = terminal.run(&["events", "tail", "--type", "No Type"]);
    assert_eq!(refused.code, Some(12), "{}", refused.stderr);
}
