//! The way back when the journal's last values or the database's rows are lost: `watchbell admin announce` makes both say the
//! same again.

use reqwest::StatusCode;
use serde_json::{Value, json};
use testkit::{Receiver, eventually};

use crate::dead_letters::{namespace, publish};
use crate::deployment::{Customer, DEADLINE, Deployment, Running, event, ok};

/// Runs the command, and returns what it prints.
pub(crate) fn announce(deployment: &Deployment, options: &[&str]) -> Value {
    let arguments = [&["admin", "announce"], options].concat();
    let mut command = deployment.command(&arguments);
    let line = command.wait_for_line(DEADLINE, |line| line.contains("\"differences\""));
    assert!(command.wait_until_ended(DEADLINE).success());
    serde_json::from_str(&line).expect("JSON")
}

/// As if the journal had lost what was announced.
fn empty(deployment: &Deployment, bucket: &str) {
    let stream = format!("KV_{}_{bucket}", namespace(deployment));
    publish(&format!("$JS.API.STREAM.PURGE.{stream} _INBOX.purged"), b"");
}

pub(crate) fn counts(printed: &Value) -> [u64; 3] {
    ["missing", "stale", "unknown"].map(|state| printed[state].as_u64().expect("a number"))
}

/// What the trail says of it.
async fn in_trail(customer: &Customer) -> Vec<Value> {
    let page = customer
        .get_json("/v1/audit/events?event_type=permission_change")
        .await;
    let events = page["data"].as_array().expect("data").iter();
    let is_it = |event: &&Value| event["action"] == "organisation.announce";
    events.filter(is_it).cloned().collect()
}

async fn accepts(customer: &Customer) -> bool {
    let answer = customer.post("/v1/audit/events", &event("any")).await;
    answer.status() == StatusCode::ACCEPTED
}

#[tokio::test]
async fn what_the_journal_lost_is_in_force_again() {
    let Running {
        server,
        customer,
        deployment,
    } = Running::start(Deployment::new());
    let receiver = Receiver::start().expect("a receiver");
    customer
        .rule(json!({"agent_id": ["agent"]}), &receiver.url())
        .await;
    assert_eq!(counts(&announce(&deployment, &["--dry-run"])), [0, 0, 0]);

    drop(server);
    for bucket in ["keys", "rules"] {
        empty(&deployment, bucket);
    }
    for _ in 0..2 {
        let looked = announce(&deployment, &["--dry-run"]);
        assert_eq!(
            (counts(&looked), &looked["announced"]),
            ([2, 0, 0], &json!(false)),
            "looking changes nothing"
        );
    }
    let told = announce(&deployment, &[]);
    assert_eq!(
        (counts(&told), &told["announced"]),
        ([2, 0, 0], &json!(true))
    );
    let mut server = deployment.serve_all();
    let customer = customer.at(&mut server);
    assert!(accepts(&customer).await);
    customer.ingest(&event("agent")).await;
    receiver.wait_for(1, DEADLINE).await;
    assert_eq!(counts(&announce(&deployment, &[])), [0, 0, 0]);
}

#[tokio::test]
async fn a_journal_that_lost_everything_is_told_by_itself() {
    let Running {
        server,
        customer,
        deployment,
    } = Running::start(Deployment::new());
    let receiver = Receiver::start().expect("a receiver");
    customer
        .rule(json!({"agent_id": ["agent"]}), &receiver.url())
        .await;
    customer
        .rule(json!({"agent_id": ["quiet"]}), &receiver.url_of("/paused"))
        .await;
    customer.ingest(&event("quiet")).await;
    receiver.wait_for(1, DEADLINE).await;
    let endpoint = eventually(DEADLINE, "the delivery is listed", async || {
        let listed = customer.all_deliveries().await;
        Some(listed.first()?["endpoint_id"].as_str()?.to_owned())
    })
    .await;
    ok(customer
        .post(&format!("/v1/endpoints/{endpoint}/pause"), &json!({}))
        .await)
    .await;
    eventually(DEADLINE, "the database knows", async || {
        deployment.sql("SELECT count(*) FROM endpoints") == "1"
    })
    .await;
    drop(server);
    for bucket in ["keys", "rules", "secrets", "guards", "endpoints"] {
        let stream = format!("KV_{}_{bucket}", namespace(&deployment));
        publish(
            &format!("$JS.API.STREAM.DELETE.{stream} _INBOX.deleted"),
            b"",
        );
    }
    // Both find it at the same time.
    let roles = ["api,index,match,deliver", "api"];
    let mut nodes = roles.map(|roles| deployment.command(&["serve", "--role", roles]));
    let customer = customer.at(&mut nodes[0]);
    eventually(DEADLINE, "the key works again", async || {
        accepts(&customer).await
    })
    .await;
    let quiet = customer.ingest(&event("quiet")).await;
    customer.ingest(&event("agent")).await;
    receiver.wait_for(2, DEADLINE).await;
    eventually(DEADLINE, "what is paused is held", async || {
        let held = format!("/v1/deliveries?state=held&event_id={quiet}");
        let held = customer.get_json(&held).await;
        held["data"].as_array().is_some_and(|held| held.len() == 1)
    })
    .await;
    assert_eq!(counts(&announce(&deployment, &["--dry-run"])), [0, 0, 0]);
    let [event] = &eventually(DEADLINE, "the trail says so", async || {
        let told = in_trail(&customer).await;
        let waiting = deployment.sql("SELECT count(*) FROM account_changes");
        (!told.is_empty() && waiting == "0").then_some(told)
    })
    .await[..] else {
        panic!("it is told once");
    };
    assert_eq!(event["agent_id"], "watchbell");
    assert_eq!(
        event["metadata"]["missing"],
        json!({"endpoints": 1, "keys": 1, "rules": 2}),
        "{event}"
    );
}

#[tokio::test]
async fn what_only_the_journal_knows_is_out_of_force() {
    let running = Running::start(Deployment::new());
    let (customer, deployment) = (&running.customer, &running.deployment);
    let receiver = Receiver::start().expect("a receiver");
    let kept = customer
        .rule(json!({"agent_id": ["kept"]}), &receiver.url())
        .await;
    let newer = customer
        .rule(json!({"agent_id": ["newer"]}), &receiver.url())
        .await;
    // As if the database had been restored from a backup that was made before the second rule, and before the first was
    // changed.
    customer
        .patch(
            &format!("/v1/alert-rules/{kept}"),
            &json!({"name": "Another name"}),
        )
        .await;
    let uuid = |id: &str| format!("(SELECT id FROM alert_rules ORDER BY id {id} LIMIT 1)");
    deployment.sql(&format!(
        "DELETE FROM alert_rules WHERE id = {}",
        uuid("DESC")
    ));
    deployment.sql(&format!(
        "UPDATE alert_rules SET version = 1 WHERE id = {}",
        uuid("ASC")
    ));

    let told = announce(deployment, &[]);
    assert_eq!(counts(&told), [0, 1, 1]);
    let unknown = told["differences"].as_array().expect("a list");
    let is_newer = |one: &&Value| one["state"] == "unknown";
    let key = unknown.iter().find(is_newer).expect("one")["key"].as_str();
    assert!(key.is_some_and(|key| key.ends_with(&newer)), "{key:?}");

    customer.ingest(&event("newer")).await;
    customer.ingest(&event("kept")).await;
    let received = receiver.wait_for(1, DEADLINE).await;
    let body: Value = serde_json::from_slice(&received[0].body).expect("JSON");
    assert_eq!(body["event"]["agent_id"], "kept");
    assert_eq!(counts(&announce(deployment, &[])), [0, 0, 0]);
    let events = eventually(DEADLINE, "the trail says so", async || {
        let told = in_trail(customer).await;
        (!told.is_empty()).then_some(told)
    })
    .await;
    assert_eq!(
        (events.len(), &events[0]["agent_id"]),
        (1, &json!("operator"))
    );
    let rule = json!({"rules": 1});
    let metadata = &events[0]["metadata"];
    assert_eq!((&metadata["stale"], &metadata["unknown"]), (&rule, &rule));
}
