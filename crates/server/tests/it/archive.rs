//! Days that left the database are still exported, each organization its own, without gaps or doubles.

use serde_json::{Value, json};
use testkit::{eventually, folder::TestFolder};

use crate::deployment::{Customer, DEADLINE, Deployment, Running, ok};
use crate::exports::lines;

const DAY_S: i64 = 86_400;

/// Noon, so many days ago, as RFC 3339 and as the number in a partition's name.
pub(crate) fn day(running: &Running, ago: i64) -> (String, i64) {
    let sql = format!("SELECT floor(extract(epoch FROM now()) / {DAY_S})::bigint - {ago}");
    let number: i64 = running
        .deployment
        .sql(&sql)
        .trim()
        .parse()
        .expect("a number");
    let sql = format!(
        "SELECT to_char(to_timestamp({number} * {DAY_S}) AT TIME ZONE 'UTC', 'YYYY-MM-DD')"
    );
    (running.deployment.sql(&sql).trim().to_owned(), number)
}

pub(crate) async fn ingest(customer: &Customer, day: &str, agent: &str, count: u32) {
    let event = |number: u32| {
        let (minute, second) = (number / 60, number % 60);
        json!({
            "event_type": "tool_call", "agent_id": agent, "action": "files.delete", "result": "denied",
            "occurred_at": format!("{day}T12:{minute:02}:{second:02}.000Z"),
            "client_event_id": format!("{agent}-{number}"),
        })
    };
    let events: Vec<Value> = (0..count).map(event).collect();
    ok(customer
        .post("/v1/audit/events", &json!({"events": events}))
        .await)
    .await;
}

async fn export(customer: &Customer, body: &Value) -> Vec<Value> {
    let answer = customer.post("/v1/audit/export", body).await;
    assert_eq!(answer.status(), 200);
    lines(&answer.bytes().await.expect("a body"))
}

pub(crate) fn archive(running: &Running, day: &str) -> Value {
    let mut command = running.deployment.command(&["admin", "archive-day", day]);
    let line = command.wait_for_line(DEADLINE, |line| line.contains("\"sha256\""));
    assert!(command.wait_until_ended(DEADLINE).success());
    serde_json::from_str(&line).expect("JSON")
}

#[tokio::test]
async fn archived_days_are_exported_in_order_without_gaps_or_doubles_and_to_nobody_else() {
    let folder = TestFolder::create().expect("a folder");
    let url = format!("file://{}", folder.path().join("files").display());
    let mut running = Running::start(Deployment::new().with("FILES__URL", &url));
    let other = running.deployment.customer(&mut running.server);
    let customer = running.customer.clone();
    let days: Vec<(String, i64)> = (1..=3).map(|ago| day(&running, ago)).collect();
    for (day, _) in &days {
        ingest(&customer, day, "mine", 900).await;
        ingest(&other, day, "theirs", 300).await;
    }
    let only = json!({"event_type": "tool_call"});
    let before = export(&customer, &only).await;
    assert_eq!(before.len(), 2_700);
    // Theirs are indexed by now, too.
    assert_eq!(export(&other, &only).await.len(), 900);

    let archived = archive(&running, &days[1].0);
    assert_eq!(archived["events"], 1_200);
    assert_eq!(
        archive(&running, &days[1].0),
        archived,
        "doing it again changes nothing"
    );
    assert_eq!(
        export(&customer, &only).await,
        before,
        "in both places, but once"
    );
    // As for one that does not know of the other: neither touches the other's file.
    running
        .deployment
        .sql("CREATE TABLE noted AS SELECT * FROM archived_days; DELETE FROM archived_days");
    assert_ne!(archive(&running, &days[1].0)["file"], archived["file"]);
    running
        .deployment
        .sql("INSERT INTO archived_days SELECT * FROM noted; DROP TABLE noted");
    assert_eq!(
        export(&customer, &only).await,
        before,
        "in three places, but once"
    );

    running
        .deployment
        .sql(&format!("DROP TABLE audit_events_d{}", days[1].1));
    assert_eq!(
        customer
            .all_events()
            .await
            .iter()
            .filter(|one| one["agent_id"] == "mine")
            .count(),
        1_800
    );
    assert_eq!(export(&customer, &only).await, before, "from the file");
    let theirs = export(&other, &only).await;
    assert_eq!(theirs.len(), 900);
    assert!(theirs.iter().all(|event| event["agent_id"] == "theirs"));

    // Ranges and filters mean the same in a file.
    let (noon, later) = (
        format!("{}T12:00:00Z", days[1].0),
        format!("{}T12:10:00Z", days[1].0),
    );
    let part = export(&customer, &json!({"from": noon, "to": later})).await;
    assert_eq!(part.len(), 600);
    let none = json!({"from": noon, "to": later, "agent_id": "theirs"});
    assert!(export(&customer, &none).await.is_empty());

    // What is sent again, or late, after the day has left: once, and in its place.
    ingest(&customer, &days[1].0, "mine", 10).await;
    ingest(&customer, &days[1].0, "late", 10).await;
    let with_late = export(&customer, &only).await;
    assert_eq!(with_late.len(), 2_710);
    let ids: Vec<&str> = with_late
        .iter()
        .map(|one| one["id"].as_str().expect("an id"))
        .collect();
    assert!(
        ids.windows(2).all(|two| two[0] > two[1]),
        "newest first, none twice"
    );
    let again = archive(&running, &days[1].0);
    assert_ne!(again["file"], archived["file"]);
    running
        .deployment
        .sql(&format!("DROP TABLE audit_events_d{}", days[1].1));
    assert_eq!(export(&customer, &only).await, with_late, "from two files");
}

#[tokio::test]
async fn days_that_are_old_enough_are_archived_before_they_are_dropped_and_exported_ever_after() {
    let folder = TestFolder::create().expect("a folder");
    let url = format!("file://{}", folder.path().join("files").display());
    let running = Running::start(Deployment::new().with("FILES__URL", &url));
    let customer = running.customer.clone();
    let days: Vec<(String, i64)> = [2, 20, 21].map(|ago| day(&running, ago)).into();
    for (day, _) in &days {
        ingest(&customer, day, "mine", 200).await;
    }
    let only = json!({"event_type": "tool_call"});
    let before = export(&customer, &only).await;
    assert_eq!(before.len(), 600);
    let Running {
        server, deployment, ..
    } = running;
    drop(server);

    let deployment = deployment
        .with("EVENTS__RETENTION_DAYS", "10")
        .with("FILES__ARCHIVE_DAYS", "true");
    let mut server = deployment.serve_all();
    eventually(DEADLINE, "old days left the database", async || {
        let left = deployment.sql(
            "SELECT count(*) FROM pg_inherits WHERE inhparent = 'audit_events'::regclass
             AND substring(inhrelid::regclass::text from '[0-9]+$')::int
                 < extract(epoch FROM now()) / 86400 - 11",
        );
        left.trim() == "0"
    })
    .await;
    let customer = customer.at(&mut server);
    let filter = "/v1/audit/events?event_type=tool_call&limit=1000";
    let listed: Value = ok(customer.get(filter).await).await;
    assert_eq!(listed["data"].as_array().map(Vec::len), Some(200));
    assert_eq!(export(&customer, &only).await, before);
}
