//! A field that a body must have and does not: refused the same way everywhere, with a pointer to each.

use reqwest::Method;
use serde_json::{Value, json};

use crate::deployment::{Deployment, Running, http, ok};
use crate::people::Person;

/// What says it otherwise: under which status and code, and why.
const OTHERWISE: [(&str, u16, &str); 1] = [
    // AuthZEN has 400 for whatever is wrong with a body. The fields are pointed at all the same.
    ("access_evaluation", 400, "INVALID_BODY"),
];

#[tokio::test]
async fn every_field_that_a_body_lacks_is_pointed_at_whatever_the_operation() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let person = Person::founder(&customer.base_url).await;
    let rule = customer.rule(json!({}), "http://127.0.0.1:9/").await;
    let question = json!({"agent_id": "agent-1", "action": "files.read"});
    let decision = ok(customer.post("/v1/runtime/decisions", &question).await).await;
    let decision = decision["decision_id"].as_str().expect("an id");
    let (member, _) = person.ids().await;

    let document = customer.get_json("/openapi.json").await;
    let mut asked = 0;
    for (path, operations) in document["paths"].as_object().expect("paths") {
        for (method, operation) in operations.as_object().expect("operations") {
            let required = required(&document, operation);
            if required.is_empty() {
                continue;
            }
            let id = operation["operationId"].as_str().expect("an id");
            let address = match path.as_str() {
                "/v1/members/{id}" => path.replace("{id}", &member),
                one if one.starts_with("/v1/runtime/") => path.replace("{id}", decision),
                // A hook is answered with a denial unless it asks for the status.
                one if one.starts_with("/v1/hooks/") => format!("{path}?on_error=pass"),
                _ => path.replace("{id}", &rule),
            };
            let method: Method = method.to_uppercase().parse().expect("a method");
            let security = operation["security"].to_string();
            let request = if security.contains("api_key") {
                customer.request(method, &address)
            } else if security.contains("session") {
                person.request(method, &address)
            } else {
                http().request(method, format!("{}{address}", customer.base_url))
            };
            let answer = request.json(&json!({})).send().await.expect("an answer");
            let otherwise = OTHERWISE.iter().find(|(other, ..)| *other == id);
            let (status, code) = otherwise.map_or((422, "VALIDATION_FAILED"), |one| (one.1, one.2));
            let given = answer.status();
            let problem: Value = answer.json().await.expect("JSON");
            assert_eq!(
                (given.as_u16(), &problem["code"]),
                (status, &json!(code)),
                "{id}: {problem}"
            );
            let errors = problem["errors"].as_array().expect("errors");
            for field in required {
                let pointer = format!("/{field}");
                let is_told = errors
                    .iter()
                    .any(|one| one["pointer"] == pointer && one["code"] == "FIELD_REQUIRED");
                assert!(is_told, "{id}: {pointer}: {problem}");
            }
            asked += 1;
        }
    }
    assert!(asked >= 20, "{asked} operations need a field");
}

/// The fields that the JSON body of an operation must have.
fn required(document: &Value, operation: &Value) -> Vec<String> {
    let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
    let schema = match schema["$ref"].as_str() {
        Some(path) => document
            .pointer(path.trim_start_matches('#'))
            .expect("a schema"),
        None => schema,
    };
    let fields = schema["required"].as_array().into_iter().flatten();
    fields
        .map(|field| field.as_str().expect("a name").to_owned())
        .collect()
}

/// A batch is told the first fault of each of its events, so that one bad event does not hide the others.
#[tokio::test]
async fn an_event_is_told_the_first_field_that_it_lacks() {
    let running = Running::start(Deployment::new());
    let answer = running.customer.post("/v1/audit/events", &json!({})).await;
    assert_eq!(answer.status(), 422);
    let problem: Value = answer.json().await.expect("JSON");
    assert_eq!(problem["errors"].as_array().map(Vec::len), Some(1));
    assert_eq!(problem["errors"][0]["pointer"], "/event_type");
    assert_eq!(problem["errors"][0]["code"], "FIELD_REQUIRED");
}

#[tokio::test]
async fn a_hook_about_a_tool_that_does_not_name_it_is_told_so() {
    let running = Running::start(Deployment::new());
    let path = "/v1/hooks/claude-code/post-tool-use";
    let body = json!({"hook_event_name": "PostToolUse"});
    let answer = running.customer.post(path, &body).await;
    assert_eq!(answer.status(), 422);
    let problem: Value = answer.json().await.expect("JSON");
    assert_eq!(problem["errors"][0]["pointer"], "/tool_name");
}
