//! A record that cannot be applied is put aside and reported; those behind it are as fresh as ever.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;

use journal::{Journal, dead_letters::Place, record::DeadLetter};
use reqwest::StatusCode;
use serde_json::{Value, json};
use testkit::{Receiver, eventually, shared};

use crate::commands::{run, stdout};
use crate::deployment::{Customer, DEADLINE, Deployment, Running, event};
use crate::telemetry::counted;

/// From now on PostgreSQL refuses events of the agent `poison`.
pub(crate) const REFUSE_POISON: &str =
    "ALTER TABLE audit_events ADD CONSTRAINT no_poison CHECK (agent_id <> 'poison') NOT VALID";

async fn agents(customer: &Customer) -> Vec<String> {
    let page = customer.get_json("/v1/audit/events?limit=1000").await;
    assert_eq!(page["fresh"], true, "the partition goes on");
    let events = page["data"].as_array().expect("data");
    let agent = |event: &Value| event["agent_id"].as_str().expect("an agent").to_owned();
    let mut agents: Vec<String> = events.iter().map(agent).collect();
    agents.sort();
    agents
}

fn listed(deployment: &Deployment) -> Vec<String> {
    let output = run(&["dead-letters", "list"], deployment.variables());
    assert!(output.status.success(), "{output:?}");
    stdout(&output).lines().map(str::to_owned).collect()
}

async fn send(customer: &Customer, agents: impl IntoIterator<Item = &str>) -> Vec<String> {
    let events: Vec<Value> = agents.into_iter().map(event).collect();
    let answer = customer
        .post("/v1/audit/events", &json!({"events": events}))
        .await;
    assert_eq!(answer.status(), StatusCode::ACCEPTED);
    let answer: Value = answer.json().await.expect("JSON");
    let ids = answer["events"].as_array().expect("events");
    let id = |event: &Value| event["id"].as_str().expect("an id").to_owned();
    ids.iter().map(id).collect()
}

#[tokio::test]
async fn an_event_the_database_refuses_holds_up_nobody_and_is_listed_once_redriven() {
    let mut running = Running::start(Deployment::new());
    let (customer, deployment) = (&running.customer, &running.deployment);
    send(customer, ["first"]).await;
    assert_eq!(agents(customer).await, ["first"]);
    deployment.sql(REFUSE_POISON);

    let mut many = vec!["good"; 600];
    many[77] = "poison";
    let poisons = [
        send(customer, ["poison"]).await[0].clone(),
        send(customer, ["a", "poison", "b"]).await[1].clone(),
        send(customer, many.iter().copied()).await[77].clone(),
    ];
    let seen = agents(customer).await;
    assert_eq!(seen.len(), 1 + 2 + 599);
    assert!(!seen.contains(&"poison".to_owned()));

    let lines = listed(deployment);
    assert_eq!(lines.len(), 1 + 3, "{lines:?}");
    for id in &poisons {
        let line = lines.iter().find(|line| line.contains(id));
        assert!(line.expect("the event").contains("no_poison"), "{lines:?}");
        running
            .server
            .wait_for_line(DEADLINE, |line| line.contains(id) && line.contains("ERROR"));
    }
    let put = r#"watchbell_dead_letters_total{log="events"}"#;
    assert!((counted(customer, put).await - 3.0).abs() < 0.5);
    eventually(DEADLINE, "the gauge says 3", async || {
        (counted(customer, "watchbell_dead_letters_waiting").await - 3.0).abs() < 0.5
    })
    .await;
    let doctor = stdout(&run(&["doctor"], deployment.variables()));
    assert!(
        doctor.contains("FAIL  dead letters   3 records"),
        "{doctor}"
    );

    let failed = run(
        &["dead-letters", "redrive", "--all"],
        deployment.variables(),
    );
    assert_eq!(failed.status.code(), Some(1));
    assert!(
        stdout(&failed).ends_with("0 applied, 3 still fail.\n"),
        "{failed:?}"
    );

    deployment.sql("ALTER TABLE audit_events DROP CONSTRAINT no_poison");
    let number = lines[1].split_whitespace().next().expect("a number");
    for (arguments, said) in [
        (
            ["dead-letters", "redrive", number],
            "1 applied, 0 still fail.\n",
        ),
        (
            ["dead-letters", "redrive", "--all"],
            "2 applied, 0 still fail.\n",
        ),
        (
            ["dead-letters", "redrive", "--all"],
            "0 applied, 0 still fail.\n",
        ),
    ] {
        let output = run(&arguments, deployment.variables());
        assert!(stdout(&output).ends_with(said), "{output:?}");
    }
    assert_eq!(listed(deployment), ["There are no dead letters."]);
    let seen = agents(customer).await;
    assert_eq!(seen.iter().filter(|agent| *agent == "poison").count(), 3);
    let counts = "SELECT sum(events) FROM event_counts WHERE field = 'agent_id' AND grain = 'day'
                  AND value = 'poison'";
    assert_eq!(deployment.sql(counts).trim(), "3");
}

#[tokio::test]
async fn an_attempt_the_database_refuses_holds_up_no_other() {
    let running = Running::start(Deployment::new());
    let (customer, deployment) = (&running.customer, &running.deployment);
    let receiver = Receiver::start().expect("a receiver");
    customer.rule(json!({}), &receiver.url()).await;
    let refused =
        "ALTER TABLE deliveries ADD CONSTRAINT no_poison CHECK (event_type <> 'poison') NOT VALID";
    deployment.sql(refused);
    let mut poison = event("agent");
    poison["event_type"] = json!("poison");
    customer.ingest(&poison).await;
    customer.ingest(&event("agent")).await;
    receiver.wait_for(2, DEADLINE).await;
    let deliveries = eventually(DEADLINE, "the other is on record", async || {
        let page = customer.get_json("/v1/deliveries").await;
        let fresh = page["fresh"] == true;
        (fresh && page["data"][0]["state"] == "delivered").then_some(page["data"].clone())
    })
    .await;
    assert_eq!(deliveries.as_array().expect("data").len(), 1);
    let lines = listed(deployment);
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(
        lines[1].contains("OUTCOMES") && lines[1].contains("dlv_"),
        "{lines:?}"
    );

    deployment.sql("ALTER TABLE deliveries DROP CONSTRAINT no_poison");
    let output = run(
        &["dead-letters", "redrive", "--all"],
        deployment.variables(),
    );
    assert!(output.status.success(), "{output:?}");
    assert_eq!(customer.all_deliveries().await.len(), 2);
}

/// Puts a letter back, as if whoever applied it had died before it was removed.
async fn put_back(journal: &Journal, letter: &DeadLetter, number: usize) {
    let log = journal.log_named(&letter.log).expect("a log");
    let place = Place {
        log,
        created: journal.log_state(log).await.expect("a state").created,
        sequence: letter.sequence,
        number,
    };
    let put = journal.put_dead_letter(&place, letter.at, &letter.reason, &letter.payload);
    put.await.expect("put");
}

#[tokio::test]
async fn an_alert_that_is_redriven_twice_is_counted_once() {
    let running = Running::start(Deployment::new());
    let (customer, deployment) = (&running.customer, &running.deployment);
    let receiver = Receiver::start().expect("a receiver");
    let rule = customer.rule(json!({}), &receiver.url()).await;
    let refused =
        "ALTER TABLE deliveries ADD CONSTRAINT no_poison CHECK (event_type <> 'poison') NOT VALID";
    deployment.sql(refused);
    let mut poison = event("agent");
    poison["event_type"] = json!("poison");
    customer.ingest(&poison).await;
    let journal = deployment.journal().await;
    let letters = eventually(DEADLINE, "it is put aside", async || {
        let letters = journal.dead_letters(0, 10).await.expect("letters");
        (letters.len() == 1).then_some(letters)
    })
    .await;
    deployment.sql("ALTER TABLE deliveries DROP CONSTRAINT no_poison");

    let balance = format!("/v1/alert-rules/{rule}/balance");
    for _ in 0..2 {
        let output = run(
            &["dead-letters", "redrive", "--all"],
            deployment.variables(),
        );
        assert!(
            stdout(&output).ends_with("1 applied, 0 still fail.\n"),
            "{output:?}"
        );
        let balance = customer.get_json(&balance).await;
        assert_eq!(
            (&balance["matched"], &balance["balanced"]),
            (&json!(1), &json!(true)),
            "{balance}"
        );
        let shown = customer.get_json(&format!("/v1/alert-rules/{rule}")).await;
        assert_eq!(shown["stats"]["matched_24h"], 1, "{shown}");
        // Behind the word of how far the matcher is, which is the first record of its message.
        put_back(&journal, &letters[0].letter, 1).await;
    }
}

pub(crate) fn namespace(deployment: &Deployment) -> &str {
    let mut variables = deployment.variables();
    let namespace = variables.find(|(name, _)| *name == "WATCHBELL__JOURNAL__NAMESPACE");
    namespace.expect("a namespace").1
}

/// Publishes bytes as anybody with access to NATS could.
pub(crate) fn publish(subject: &str, payload: &[u8]) {
    let address = shared().nats_url.trim_start_matches("nats://").to_owned();
    let mut stream = TcpStream::connect(address).expect("NATS runs");
    let mut lines = BufReader::new(stream.try_clone().expect("a handle")).lines();
    let message = [
        format!(
            "CONNECT {{\"verbose\":false}}\r\nPUB {subject} {}\r\n",
            payload.len()
        )
        .as_bytes(),
        payload,
        b"\r\nPING\r\n",
    ]
    .concat();
    stream.write_all(&message).expect("sent");
    let answered = lines.any(|line| line.expect("a line") == "PONG");
    assert!(answered, "NATS has read it");
}

#[tokio::test]
async fn bytes_that_are_no_record_hold_up_nobody_and_stay_to_be_looked_at() {
    let running = Running::start(Deployment::new());
    let (customer, deployment) = (&running.customer, &running.deployment);
    let namespace = namespace(deployment);
    send(customer, ["before"]).await;
    for partition in 0..2 {
        publish(&format!("{namespace}.ev.{partition}"), b"\x01garbage");
        publish(&format!("{namespace}.out.{partition}"), b"");
    }
    send(customer, ["after"]).await;
    assert_eq!(agents(customer).await, ["after", "before"]);
    let lines = eventually(DEADLINE, "all are put aside", async || {
        let lines = listed(deployment);
        (lines.len() == 1 + 4).then_some(lines)
    })
    .await;
    let corrupt = |line: &&String| line.contains("decode event record");
    assert_eq!(lines.iter().filter(corrupt).count(), 2, "{lines:?}");
    let failed = run(
        &["dead-letters", "redrive", "--all"],
        deployment.variables(),
    );
    assert!(
        stdout(&failed).ends_with("0 applied, 4 still fail.\n"),
        "{failed:?}"
    );
}
