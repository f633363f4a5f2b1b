//! Signing while something is missing: PostgreSQL, or the key that unseals.

use serde_json::Value;
use testkit::eventually;

use crate::deployment::{DEADLINE, Deployment, SECRET, event};
use crate::secrets::{Office, SEALING_KEY};

#[tokio::test]
async fn without_postgresql_signing_goes_on_also_on_a_node_that_starts_meanwhile() {
    let (mut postgres, deployment) = Deployment::on_own_postgres();
    let deployment = deployment.with("SECRETS__KEY", SEALING_KEY);
    let mut api = deployment.serve("api,index,match");
    let mut deliver = deployment.serve("deliver");
    let office = Office::open(&api.url(DEADLINE)).await;
    let (id, text) = office.stage().await;
    office.promote(&id, 20).await;
    office.signed([Some(&text), Some(SECRET), None]).await;

    postgres.kill();

    office.signed([Some(&text), Some(SECRET), None]).await;
    deliver.kill();
    let _deliver = deployment.serve("deliver");
    // The overlap ends by the clock, whoever is away.
    office.signed([Some(&text), None, None]).await;
}

#[tokio::test]
async fn a_node_that_cannot_unseal_a_secret_sends_nothing_rather_than_something_else() {
    const OTHER_KEY: &str = "QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUE=";
    let deployment = Deployment::new().with("SECRETS__KEY", SEALING_KEY);
    let mut api = deployment.serve("api,index,match");
    let office = Office::open(&api.url(DEADLINE)).await;
    let (id, text) = office.stage().await;
    office.promote(&id, 0).await;

    let deployment = deployment.with("SECRETS__KEY", OTHER_KEY);
    let mut blind = deployment.serve("deliver");
    blind.wait_for_line(DEADLINE, |line| {
        line.contains("ERROR") && line.contains("cannot unseal a signing secret")
    });
    let sent = office.customer.ingest(&event("agent-1")).await;
    let error = eventually(DEADLINE, "the attempt is on record", async || {
        let deliveries = office.customer.all_deliveries().await;
        let one = deliveries
            .iter()
            .find(|one| one["event_id"] == sent.as_str())?;
        let path = format!("/v1/deliveries/{}", one["id"].as_str()?);
        let delivery: Value = office.customer.get_json(&path).await;
        Some(delivery["attempt_log"][0]["error"].as_str()?.to_owned())
    })
    .await;
    assert!(
        error.contains("could not sign") && error.contains(&id),
        "{error}"
    );
    assert_eq!(
        office.receiver.count(),
        0,
        "neither unsigned nor with another secret"
    );

    blind.kill();
    let deployment = deployment.with("SECRETS__KEY", SEALING_KEY);
    let _deliver = deployment.serve("deliver");
    let received = office.receiver.wait_for(1, DEADLINE).await;
    assert_eq!(received[0].event_id(), Some(sent), "it was tried again");
    office.signed([Some(&text), None, None]).await;
}
