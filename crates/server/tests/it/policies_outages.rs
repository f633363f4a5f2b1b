//! Changing policies while something is missing: what is saved takes effect later, and the client is told so.

use serde_json::{Value, json};
use testkit::{eventually, own};

use crate::deployment::{DEADLINE, Deployment};
use crate::errors::problem;
use crate::policies::NO_REFUNDS;

#[tokio::test]
async fn what_is_activated_without_the_journal_is_in_force_and_in_the_trail_when_it_is_back() {
    let mut nats = own::nats().expect("NATS");
    let deployment = Deployment::on_journal(&nats.url());
    let mut server = deployment.serve_all();
    let customer = deployment.customer(&mut server);
    customer.write_policies(NO_REFUNDS).await;
    let refund = json!({"agent_id": "billing", "action": "payments.refund"});
    assert_eq!(customer.decide(&refund).await["decision"], "allow");
    nats.kill();

    let activate = "/v1/policies/versions/2/activate";
    let saved = problem(customer.post(activate, &json!({})).await, 503).await;
    assert_eq!(saved["code"], "NOT_IN_EFFECT_YET", "{saved}");
    let standing = customer.get_json("/v1/policies").await;
    assert_eq!(standing["active"]["version"], 2, "it is saved");

    nats.restart().expect("NATS starts again");
    eventually(DEADLINE, "it is in force", async || {
        let answer = customer.post("/v1/runtime/decisions", &refund).await;
        let answer: Value = answer.json().await.ok()?;
        (answer["decision"] == "deny").then_some(())
    })
    .await;
    eventually(DEADLINE, "it is in the trail", async || {
        let path = "/v1/audit/events?event_type=policy_change&action=policy.activated";
        let page = customer.get(path).await.json::<Value>().await.ok()?;
        (page["data"].as_array()?.len() == 1).then_some(())
    })
    .await;
}
