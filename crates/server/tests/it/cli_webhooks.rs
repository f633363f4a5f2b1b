//! `watchbell listen`, `trigger`, `verify` and `sign`: webhooks from the receiver's side.

use serde_json::{Value, json};
use testkit::{Receiver, Signal, Watchbell, eventually};

use crate::cli::{Terminal, closed, full, reads_as_before};
use crate::deployment::{DEADLINE, Deployment, Running, SECRET, event, http};

const SIGNED_AT: &str = "2026-11-15T09:30:00.000Z";

fn address(listen: &mut Watchbell) -> String {
    let line = listen.wait_for_line(DEADLINE, |line| line.contains("listening on"));
    line.rsplit(' ').next().expect("a URL").to_owned()
}

#[test]
fn a_body_is_signed_and_verified_without_a_server() {
    let terminal = Terminal::bare().with("WATCHBELL_SIGNING_SECRET", SECRET);
    let body = r#"{"rule_id":"rul_1"}"#;
    terminal.write("body.json", body);
    terminal.write("secrets", &format!("another-secret\n{SECRET}\n"));
    terminal.write("other", "another-secret");
    let signed = terminal.run(&["sign", "body.json", "--timestamp", SIGNED_AT, "-o", "json"]);
    let headers: Value = serde_json::from_str(&signed.stdout).expect("JSON");
    let signature = headers["signature"]
        .as_str()
        .expect("a signature")
        .to_owned();
    let verify = |more: &[&str]| {
        let arguments = [
            &[
                "verify",
                "body.json",
                "--timestamp",
                SIGNED_AT,
                "--signature",
                &signature,
            ][..],
            more,
        ]
        .concat();
        terminal.run(&arguments)
    };
    let at = ["--at", "2026-11-15T09:34:59Z"];
    let said = [
        terminal.run_with(body, &["sign", "--timestamp", SIGNED_AT]),
        verify(&at),
        verify(&[&at[..], &["-o", "json"]].concat()),
        verify(&[&at[..], &["--secret-file", "secrets"]].concat()),
        verify(&[&at[..], &["--secret-file", "other"]].concat()),
        verify(&["--at", "2026-11-15T09:35:01Z", "-o", "json"]),
        terminal.run_with(
            "{}",
            &[
                "verify",
                "--timestamp",
                SIGNED_AT,
                "--signature",
                &signature,
                "--at",
                SIGNED_AT,
            ],
        ),
        terminal.run(&["verify", "body.json", "--signature", &signature]),
        terminal.run(&[
            "verify",
            "body.json",
            "--timestamp",
            "yesterday",
            "--signature",
            &signature,
        ]),
        terminal.run(&[
            "verify",
            "body.json",
            "--timestamp",
            SIGNED_AT,
            "--at",
            SIGNED_AT,
        ]),
        Terminal::bare().run(&["sign"]),
    ];
    reads_as_before("verify", &terminal.shown(&said));
    let forged = ["verify", "body.json", "--timestamp", SIGNED_AT];
    assert_eq!(terminal.run_into(closed(), "", &forged).code, Some(1));
    assert_eq!(terminal.run_into(full(), "", &forged).code, Some(1));
}

#[tokio::test]
async fn what_is_heard_is_verified_shown_and_its_rule_goes_when_it_ends() {
    let running = Running::start(Deployment::new());
    let (customer, terminal) = (&running.customer, Terminal::of(&running.customer));
    for signal in [Signal::Interrupt, Signal::Hangup, Signal::Terminate] {
        let mut listen = terminal.start(&[
            "listen",
            "--port",
            "0",
            "--match",
            r#"{"agent_id": ["heard"]}"#,
        ]);
        listen.wait_for_line(DEADLINE, |line| {
            line.contains("points here until you stop this command")
        });
        customer.ingest(&event("heard")).await;
        listen.wait_for_line(DEADLINE, |line| line.contains("attempt 1 (match)"));
        listen.signal(signal);
        assert_eq!(listen.wait_until_ended(DEADLINE).code(), Some(0));
        let rules = customer.get_json("/v1/alert-rules").await;
        assert_eq!(rules["data"], json!([]));
        if signal == Signal::Terminate {
            reads_as_before("listen", &listen.stdout().join("\n"));
        }
    }
    let refused = terminal.run(&[
        "listen",
        "--port",
        "0",
        "--match",
        r#"{"result": "denied"}"#,
    ]);
    let said = [
        refused,
        Terminal::bare().run(&["listen", "--port", "0"]),
        terminal.run(&["listen", "--forward-to", "ftp://localhost"]),
    ];
    reads_as_before("listen_refused", &terminal.shown(&said));
    let receiver = Receiver::start().expect("a receiver");
    let taken = terminal.run(&["listen", "--port", &receiver.address().port().to_string()]);
    assert!(
        taken.code == Some(1) && taken.stderr.contains("choose another port with --port"),
        "{}",
        taken.stderr
    );
}

#[tokio::test]
async fn what_is_heard_is_passed_on_as_it_came_and_answered_as_it_was_answered_there() {
    let terminal = Terminal::bare().with("WATCHBELL_SIGNING_SECRET", SECRET);
    let target = Receiver::start().expect("a receiver");
    target.answer_sequence([202, 503]);
    let arguments = [
        "listen",
        "--port",
        "0",
        "--forward-to",
        &target.url(),
        "-o",
        "json",
    ];
    let mut listen = terminal.start(&arguments);
    let url = address(&mut listen);
    let first = terminal.run(&["trigger", "--to", &url]);
    let second = terminal.run(&["trigger", "--to", &url, "-o", "json"]);
    assert_eq!(
        (first.code, second.code),
        (Some(0), Some(1)),
        "{}{}",
        first.stdout,
        second.stdout
    );
    assert!(
        first.stdout.contains(" answered 202 in "),
        "{}",
        first.stdout
    );
    let answer: Value = serde_json::from_str(&second.stdout).expect("JSON");
    assert_eq!(answer["status"], 503);
    let passed_on = target.wait_for(2, DEADLINE).await;
    let verified = webhook_signature::Verifier::new([SECRET]).verify(
        passed_on[0].header("x-service-timestamp"),
        passed_on[0].header("x-service-signature"),
        &passed_on[0].body,
        passed_on[0].arrived_at,
    );
    assert_eq!(verified, Ok(()));
    assert_eq!(passed_on[0].header("x-service-trigger"), Some("test"));
    let line = listen.wait_for_line(DEADLINE, |line| line.contains("\"status\":503"));
    let shown: Value = serde_json::from_str(&line).expect("JSON");
    assert_eq!(shown["verified"], true);
    assert_eq!(shown["body"], passed_on[1].json());
    assert_eq!(shown["delivery_id"], answer["delivery_id"]);

    // What is refused is not passed on: 400 for the time, 401 for the signature (spec 5.2.8).
    let forged = Terminal::bare()
        .with("WATCHBELL_SIGNING_SECRET", "guessed")
        .run(&["trigger", "--to", &url]);
    assert!(
        forged.stdout.contains(" answered 401 in "),
        "{}",
        forged.stdout
    );
    let unsigned = Terminal::bare().run(&["trigger", "--to", &url]);
    assert!(
        unsigned.stdout.contains(" answered 401 in "),
        "{}",
        unsigned.stdout
    );
    assert!(
        unsigned.stderr.contains("sending unsigned"),
        "{}",
        unsigned.stderr
    );
    let stale = http()
        .post(&url)
        .header("X-Service-Timestamp", SIGNED_AT)
        .body("{}")
        .send()
        .await
        .expect("an answer");
    assert_eq!(stale.status(), 400);
    assert!(
        stale
            .text()
            .await
            .expect("a body")
            .starts_with("refused: the delivery was signed ")
    );
    assert_eq!(target.count(), 2);
    // Nobody at the other end.
    drop(target);
    let gone = terminal.run(&["trigger", "--to", &url]);
    assert!(
        gone.code == Some(1) && gone.stdout.contains(" answered 502 in "),
        "{}",
        gone.stdout
    );
    drop(listen);
    let nobody = terminal.run(&["trigger", "--to", &url]);
    assert!(
        nobody.code == Some(11) && nobody.stderr.contains("cannot reach"),
        "{}",
        nobody.stderr
    );
}

#[tokio::test]
async fn a_rule_is_triggered_by_the_server() {
    let running = Running::start(Deployment::new());
    let (customer, terminal) = (&running.customer, Terminal::of(&running.customer));
    let receiver = Receiver::start().expect("a receiver");
    let rule = customer
        .rule(json!({"result": ["denied"]}), &receiver.url())
        .await;
    let other = json!({"event_type": "tool_call", "agent_id": "a", "action": "files.read", "result": "success"});
    terminal.write("other.json", &other.to_string());
    terminal.write("no-event.json", "{}");
    let said = [
        terminal.run(&["trigger", &rule]),
        terminal.run(&["trigger", &rule, "--event", "other.json"]),
        terminal.run(&["trigger", &rule, "-o", "json"]),
        terminal.run(&["trigger", "rul_01m7eh678ef4hb9dyv15c8d0vs"]),
        terminal.run(&[
            "trigger",
            "--to",
            &receiver.url(),
            "--event",
            "no-event.json",
        ]),
        terminal.run(&["trigger"]),
        terminal.run(&["trigger", &rule, "--to", "http://127.0.0.1:9/"]),
    ];
    reads_as_before("trigger", &terminal.shown(&said));
    eventually(DEADLINE, "three test deliveries", async || {
        receiver.count() == 3
    })
    .await;
}
