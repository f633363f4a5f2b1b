//! A request to make a rule, sent again: with a name it makes one rule, whichever node takes it.

use futures::future::join_all;
use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::deployment::{Deployment, answered};
use crate::errors::refused;

const RULES: &str = "/v1/alert-rules";

fn rule(name: &str) -> Value {
    json!({"name": name, "match": {}, "url": "https://example.com/hook"})
}

#[tokio::test]
async fn a_named_request_makes_one_rule_on_whichever_node_and_however_often() {
    let deployment = Deployment::new();
    let mut one = deployment.serve("api");
    let mut other = deployment.serve("api");
    let customer = deployment.customer(&mut one);
    let elsewhere = customer.at(&mut other);
    let (first, is_replayed) = answered(customer.named(RULES, "k", &rule("A"))).await;
    assert!(!is_replayed);
    assert_eq!(
        answered(elsewhere.named(RULES, "k", &rule("A"))).await,
        (first.clone(), true)
    );

    let at_once = (0..8).map(|number| {
        let node = if number % 2 == 0 {
            &customer
        } else {
            &elsewhere
        };
        answered(node.named(RULES, "at once", &rule("B")))
    });
    let answers = join_all(at_once).await;
    let firsts = answers.iter().filter(|(_, is_replayed)| !is_replayed);
    assert_eq!(firsts.count(), 1);
    let same = answers
        .iter()
        .all(|(rule, _)| rule["id"] == answers[0].0["id"]);
    assert!(same, "{answers:?}");
    let (unlike, _) = answered(customer.named(RULES, "another", &rule("A"))).await;
    assert_ne!(unlike["id"], first["id"]);
    let rules = customer.get_json(RULES).await;
    assert_eq!(rules["data"].as_array().expect("data").len(), 3);
}

#[tokio::test]
async fn a_name_that_came_with_another_body_is_refused_and_a_mended_request_is_not() {
    let deployment = Deployment::new();
    let mut server = deployment.serve("api");
    let customer = deployment.customer(&mut server);
    let mut wrong = rule("A");
    wrong["severity"] = json!("urgent");
    refused(customer.named(RULES, "k", &wrong), 422, "VALIDATION_FAILED").await;
    let (made, is_replayed) = answered(customer.named(RULES, "k", &rule("A"))).await;
    assert!(!is_replayed, "what was refused left no mark");
    let code = "IDEMPOTENCY_MISMATCH";
    refused(customer.named(RULES, "k", &rule("B")), 422, code).await;
    refused(
        customer.named(RULES, "", &rule("A")),
        400,
        "INVALID_PARAMETER",
    )
    .await;

    let path = format!("{RULES}/{}", made["id"].as_str().expect("an id"));
    let renamed = customer.patch(&path, &json!({"name": "C"})).await;
    let (again, is_replayed) = answered(customer.named(RULES, "k", &rule("A"))).await;
    assert_eq!(
        (again, is_replayed),
        (renamed, true),
        "the rule is as it is now"
    );
    let again = customer.named(RULES, "k", &rule("A")).send().await;
    assert_eq!(again.expect("an answer").status(), StatusCode::CREATED);
    customer.delete(&path).await;
    refused(customer.named(RULES, "k", &rule("A")), 404, "NOT_FOUND").await;
    assert_eq!(customer.get_json(RULES).await["data"], json!([]));
}
