//! What the server says of itself: to anybody, and to those who run it.

use serde_json::{Value, json};
use testkit::eventually;

use crate::deployment::{DEADLINE, Deployment, Running, event, http, ok};
use crate::errors::problem;
use crate::people::{Person, Town};

const OPERATOR: &str = "op@example.com";

async fn operator(deployment: &Deployment, base_url: &str) -> Person {
    Person::made_by_command(deployment, base_url, OPERATOR).await
}

#[tokio::test]
async fn anybody_may_ask_what_this_server_is() {
    let deployment = Deployment::new().with("HTTP__PUBLIC_URL", "https://wb.example.com/");
    let mut server = deployment.serve("api");
    let about = |base_url: String| async move {
        let answer = http().get(format!("{base_url}/v1/about")).send().await;
        let answer = answer.expect("an answer");
        assert_eq!(answer.headers()["cache-control"], "no-store");
        ok(answer).await
    };
    let expected = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "public_url": "https://wb.example.com",
        "sends_mail": false,
        "registration": "open",
        "receiver_url": null,
    });
    assert_eq!(about(server.url(DEADLINE)).await, expected);

    let receiver = "http://127.0.0.1:9999/webhooks";
    let town = Town::with(Deployment::new().with("CONSOLE__RECEIVER_URL", receiver));
    let said: Value = about(town.base_url.clone()).await;
    assert_eq!(said["sends_mail"], true);
    assert_eq!(said["receiver_url"], receiver);
}

#[tokio::test]
async fn people_are_told_whether_they_are_operators() {
    let deployment = Deployment::new().with("ACCOUNTS__OPERATORS", "Op@Example.com, eve@b.example");
    let mut server = deployment.serve("api");
    let base_url = server.url(DEADLINE);
    let operator = operator(&deployment, &base_url).await;
    let me = operator.get_json("/v1/me").await;
    assert_eq!(me["user"]["operator"], true);

    let founder = Person::founder(&base_url).await;
    let me = founder.get_json("/v1/me").await;
    assert_eq!(me["user"]["operator"], false);
}

#[tokio::test]
async fn only_operators_see_how_the_deployment_is() {
    let deployment = Deployment::new().with("ACCOUNTS__OPERATORS", OPERATOR);
    let running = Running::start(deployment);
    let base_url = &running.customer.base_url;
    let founder = Person::founder(base_url).await;
    let refused = problem(founder.get("/v1/system").await, 403).await;
    assert_eq!(refused["code"], "FORBIDDEN");
    problem(running.customer.get("/v1/system").await, 403).await;

    let operator = operator(&running.deployment, base_url).await;
    let said = operator.get_json("/v1/system").await;
    assert_eq!(said["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(said["roles"], json!(["api", "index", "match", "deliver"]));
    assert_eq!(said["pending_migrations"], 0);
    let dependencies = said["dependencies"].as_array().expect("dependencies");
    let names: Vec<_> = dependencies.iter().map(|one| &one["name"]).collect();
    assert_eq!(names, ["postgres", "journal"], "there is no Redis here");
    for one in dependencies {
        assert_eq!(one["up"], true, "{one}");
        assert!(one["took_ms"].as_f64().is_some_and(|took| took < 1_000.0));
    }
    let days = said["days"].as_array().expect("days");
    let is_today = |day: &&Value| day["state"] == "current";
    assert_eq!(days.iter().filter(is_today).count(), 3, "one of each table");
}

#[tokio::test]
async fn an_operator_sees_how_far_the_journal_is_applied_and_what_was_put_aside() {
    let deployment = Deployment::new().with("ACCOUNTS__OPERATORS", OPERATOR);
    let mut api = deployment.serve("api");
    let customer = deployment.customer(&mut api);
    let operator = operator(&deployment, &customer.base_url).await;
    deployment.sql(
        "ALTER TABLE audit_events ADD CONSTRAINT no_poison CHECK (agent_id <> 'poison') NOT VALID",
    );
    for _ in 0..3 {
        customer.ingest(&event("agent-1")).await;
    }
    customer.ingest(&event("poison")).await;
    let behind = |said: &Value| {
        let logs = said["logs"].as_array().expect("logs").clone();
        assert_eq!(logs.len(), 4, "two logs of two partitions");
        logs.iter()
            .map(|log| {
                let number = |name: &str| log[name].as_u64().expect("a number");
                assert_eq!(
                    number("behind"),
                    number("last_sequence") - number("applied_sequence")
                );
                number("behind")
            })
            .sum::<u64>()
    };
    // Nobody applies what is in the journal.
    let said = operator.get_json("/v1/system").await;
    assert!(behind(&said) >= 4, "{said}");
    assert_eq!(said["dead_letters"], json!({"count": 0, "newest": []}));

    let _index = deployment.serve("index");
    let said = eventually(DEADLINE, "all is applied", async || {
        let said = operator.get_json("/v1/system").await;
        if behind(&said) == 0 {
            Ok(said)
        } else {
            Err(said)
        }
    })
    .await;
    assert_eq!(said["dead_letters"]["count"], 1, "{said}");
    let letter = &said["dead_letters"]["newest"][0];
    let reason = letter["reason"].as_str().expect("a reason");
    assert!(reason.contains("no_poison"), "{letter}");
    assert!(
        letter["log"]
            .as_str()
            .is_some_and(|log| log.contains("EVENTS"))
    );
}

#[tokio::test]
async fn without_postgres_nobody_is_known_and_so_nobody_is_told() {
    let (mut postgres, deployment) = Deployment::on_own_postgres();
    let deployment = deployment.with("ACCOUNTS__OPERATORS", OPERATOR);
    let mut api = deployment.serve("api");
    let operator = operator(&deployment, &api.url(DEADLINE)).await;
    operator.get_json("/v1/system").await;
    postgres.stop();
    problem(operator.get("/v1/system").await, 503).await;
}
