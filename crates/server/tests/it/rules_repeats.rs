//! A request to make a rule, sent again: with a name it makes one rule, whichever node takes it.

use futures::future::join_all;
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use crate::deployment::{Customer, Deployment, ok};
use crate::errors::refused;

const RULES: &str = "/v1/alert-rules";

fn named(customer: &Customer, key: &str, body: &Value) -> RequestBuilder {
    let request = customer.request(Method::POST, RULES);
    request.header("Idempotency-Key", key).json(body)
}

/// The rule, and whether the answer says that the request came before.
async fn answered(request: RequestBuilder) -> (Value, bool) {
    let response = request.send().await.expect("an answer");
    assert_eq!(response.status(), 201);
    let is_replayed = response.headers().get("idempotency-replayed");
    let is_replayed = is_replayed.is_some_and(|value| value == "true");
    (ok(response).await, is_replayed)
}

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
    let (first, is_replayed) = answered(named(&customer, "k", &rule("A"))).await;
    assert!(!is_replayed);
    assert_eq!(
        answered(named(&elsewhere, "k", &rule("A"))).await,
        (first.clone(), true)
    );

    let at_once = (0..8).map(|number| {
        let node = if number % 2 == 0 {
            &customer
        } else {
            &elsewhere
        };
        answered(named(node, "at once", &rule("B")))
    });
    let answers = join_all(at_once).await;
    let firsts = answers.iter().filter(|(_, is_replayed)| !is_replayed);
    assert_eq!(firsts.count(), 1);
    let same = answers
        .iter()
        .all(|(rule, _)| rule["id"] == answers[0].0["id"]);
    assert!(same, "{answers:?}");
    let (unlike, _) = answered(named(&customer, "another", &rule("A"))).await;
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
    refused(named(&customer, "k", &wrong), 422, "VALIDATION_FAILED").await;
    let (made, is_replayed) = answered(named(&customer, "k", &rule("A"))).await;
    assert!(!is_replayed, "what was refused left no mark");
    let code = "IDEMPOTENCY_MISMATCH";
    refused(named(&customer, "k", &rule("B")), 422, code).await;
    refused(named(&customer, "", &rule("A")), 400, "INVALID_PARAMETER").await;

    let path = format!("{RULES}/{}", made["id"].as_str().expect("an id"));
    let renamed = customer.request(Method::PATCH, &path);
    let renamed = renamed.json(&json!({"name": "C"})).send().await;
    let renamed = ok(renamed.expect("an answer")).await;
    let (again, is_replayed) = answered(named(&customer, "k", &rule("A"))).await;
    assert_eq!(
        (again, is_replayed),
        (renamed, true),
        "the rule is as it is now"
    );
    let deleted = customer.request(Method::DELETE, &path).send().await;
    assert_eq!(deleted.expect("an answer").status(), 204);
    refused(named(&customer, "k", &rule("A")), 404, "NOT_FOUND").await;
    assert_eq!(customer.get_json(RULES).await["data"], json!([]));
}
