//! The OpenAPI document: what it says is there is there.

use std::collections::BTreeSet;

use domain::error_code::ErrorCode;
use reqwest::{Method, StatusCode, header};
use serde_json::{Value, json};

use crate::commands::run;
use crate::deployment::{Deployment, Running, http};
use crate::errors::problem;
use crate::people::{PASSWORD, Person};
use crate::secrets::SEALING_KEY;

#[tokio::test]
async fn every_operation_in_the_openapi_document_exists_and_asks_who_is_there_where_it_says_so() {
    let running = Running::start(Deployment::new().with("SECRETS__KEY", SEALING_KEY));
    let customer = &running.customer;
    let mut person = Person::at(&customer.base_url);
    person.register().await;
    person.log_in(PASSWORD).await;

    let document = customer.get_json("/openapi.json").await;
    let mut asked = 0;
    let no_route = customer.get("/v1/no-such-route").await;
    let no_route = problem(no_route, 404).await;
    for (path, operations) in document["paths"].as_object().expect("paths") {
        let address = ["{id}", "{name}", "{version}", "{attempt_id}", "{path}"]
            .iter()
            .fold(path.clone(), |path, value| path.replace(value, "nothing"))
            .replace("{dialect}", "codex");
        assert!(!address.contains('{'), "this test has no value for {path}");
        // A hook tells what is wrong as a refusal, unless it is asked not to.
        let address = if path.starts_with("/v1/hooks/claude-code/") {
            format!("{address}?on_error=pass")
        } else {
            address
        };
        for (method, operation) in operations.as_object().expect("operations") {
            let what = format!("{method} {path}");
            let method: Method = method.to_uppercase().parse().expect("a method");
            asked += 1;
            let url = format!("{}{address}", customer.base_url);
            let stranger = http().request(method.clone(), url).json(&json!({}));
            let answer = stranger.send().await.expect("an answer");
            let Some(security) = operation.get("security") else {
                let status = answer.status();
                assert_documented(operation, status, &what);
                // A link and a public log name what they are for, and these name nothing.
                if path.contains("{id}") && status == 404 {
                    let problem = problem(answer, 404).await;
                    assert_ne!(problem["detail"], no_route["detail"], "{what}");
                    continue;
                }
                let is_there = status.is_success() || status == 422;
                assert!(is_there, "{what}: {status}");
                continue;
            };
            problem(answer, 401).await;

            let by_key = security.to_string().contains("api_key");
            let request = if by_key {
                customer.request(method.clone(), &address)
            } else {
                person.request(method.clone(), &address)
            };
            let answer = request.json(&json!({})).send().await.expect("an answer");
            let status = answer.status();
            assert_documented(operation, status, &what);
            if status.is_success() {
                continue;
            }
            let problem = problem(answer, status.as_u16()).await;
            let is_there = match status.as_u16() {
                400 | 422 => method != Method::GET,
                404 => {
                    let names_something = path.contains("{id}") || path.contains("{version}");
                    // Of what there is one at the most, there is none yet.
                    let is_sole =
                        ["/v1/policies/shadow", "/v1/org/deletion"].contains(&path.as_str());
                    (names_something || is_sole) && problem["detail"] != "There is no such path."
                }
                409 => path == "/v1/policies/rollback",
                // For operators, and nobody here is one.
                403 => path == "/v1/system",
                // Files are kept nowhere here.
                501 => path == "/v1/log" || path.starts_with("/v1/log/"),
                _ => false,
            };
            assert!(is_there, "{what}: {problem}");
        }
    }
    assert!(asked >= 39, "{asked} operations in the document");
}

fn assert_documented(operation: &Value, status: StatusCode, what: &str) {
    let responses = operation["responses"].as_object().expect("responses");
    assert!(responses.contains_key(status.as_str()), "{what}: {status}");
}

#[test]
fn every_operation_has_a_name_of_its_own_a_summary_a_tag_and_its_refusals() {
    let document = printed_document();
    let mut ids = BTreeSet::new();
    for (what, operation) in operations(&document) {
        let id = operation["operationId"].as_str().expect("an id");
        let is_snake = |letter: char| letter.is_ascii_lowercase() || letter == '_';
        assert!(id.chars().all(is_snake), "{what}: {id}");
        assert!(ids.insert(id), "{what}: {id} is there twice");
        let summary = operation["summary"].as_str().expect("a summary");
        assert_eq!(summary.lines().count(), 1, "{what}: {summary}");
        let tags = operation["tags"].as_array().map(Vec::len);
        assert_eq!(tags, Some(1), "{what}");
        let mut statuses = BTreeSet::new();
        if operation.get("security").is_some() {
            statuses.extend(["401", "403", "429"]);
        }
        if operation.get("requestBody").is_some() {
            statuses.extend(["400", "408", "413"]);
        }
        for status in statuses {
            let is_refused = operation["responses"].get(status).is_some();
            assert!(is_refused, "{what}: no {status}");
        }
    }
    for id in [
        "list_audit_events",
        "create_alert_rule",
        "alert_rule_backtest",
    ] {
        assert!(ids.contains(id), "{id} is not there any more");
    }
}

#[test]
fn every_error_lists_its_codes_and_each_of_them_has_its_status() {
    let document = printed_document();
    let mut listed = BTreeSet::new();
    for (what, operation) in operations(&document) {
        for (status, response) in operation["responses"].as_object().expect("responses") {
            let is_error = status.starts_with(['4', '5']);
            // Readiness says no in its own words.
            if !is_error || what == "get /healthz/ready" {
                continue;
            }
            let response = &document.pointer(&reference(response)).expect("a response");
            let schema = &response["content"]["application/problem+json"]["schema"];
            let several = schema["oneOf"].as_array();
            let problems = several.map_or_else(|| vec![schema], |all| all.iter().collect());
            for problem in problems {
                let problem = document.pointer(&reference(problem)).expect("a problem");
                assert_eq!(
                    reference(&problem["allOf"][0]),
                    "/components/schemas/Problem"
                );
                let codes = &problem["allOf"][1]["properties"]["code"]["enum"];
                let code = codes[0].as_str().expect("a code");
                let known = ErrorCode::ALL.iter().find(|known| known.as_str() == code);
                let expected = known.expect("a code of ours").status().to_string();
                assert_eq!(*status, expected, "{what}: {code}");
                listed.insert(code.to_owned());
            }
        }
    }
    // A method that a path does not have is no operation.
    let all = ErrorCode::ALL.iter().map(|code| code.as_str().to_owned());
    let all: BTreeSet<String> = all.filter(|code| code != "METHOD_NOT_ALLOWED").collect();
    assert_eq!(listed, all);
}

fn reference(value: &Value) -> String {
    let path = value["$ref"].as_str().expect("a reference");
    path.trim_start_matches('#').to_owned()
}

#[test]
fn what_is_a_number_is_said_to_be_one_and_of_what_there_are_few_they_are_listed() {
    let document = printed_document();
    for (what, operation) in operations(&document) {
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            let name = parameter["name"].as_str().expect("a name");
            assert_typed(&document, name, &parameter["schema"], &what);
        }
    }
    let schemas = document["components"]["schemas"].as_object();
    for (name, schema) in schemas.expect("schemas") {
        // It counts how often there is which.
        if name == "FacetFields" {
            continue;
        }
        let parts = schema["allOf"].as_array().into_iter().flatten();
        for part in parts.chain([schema]) {
            for (field, schema) in part["properties"].as_object().into_iter().flatten() {
                assert_typed(&document, field, schema, name);
            }
        }
    }
}

#[tokio::test]
async fn what_agents_send_anyway_may_be_any_json_and_the_document_says_so() {
    let document = printed_document();
    for place in [
        "/components/schemas/DecisionRequest/properties/payload",
        "/components/schemas/Decision/properties/modified_payload",
        "/components/schemas/HookCall/properties/tool_response",
    ] {
        let schema = document.pointer(place).expect(place);
        assert_eq!(schema.get("type"), None, "{place}");
    }
    let running = Running::start(Deployment::new());
    let question =
        json!({"agent_id": "agent-1", "action": "files.read", "payload": ["any", 1, null]});
    let answer = running.customer.post("/v1/runtime/decisions", &question);
    assert_eq!(answer.await.status(), 200);
}

fn printed_document() -> Value {
    let printed = run(&["reference", "openapi"], []);
    serde_json::from_slice(&printed.stdout).expect("JSON")
}

/// Every operation, under its method and path.
fn operations(document: &Value) -> impl Iterator<Item = (String, &Value)> {
    let paths = document["paths"].as_object().expect("paths");
    paths.iter().flat_map(|(path, operations)| {
        let operations = operations.as_object().expect("operations");
        operations
            .iter()
            .map(move |(method, operation)| (format!("{method} {path}"), operation))
    })
}

fn assert_typed(document: &Value, name: &str, schema: &Value, what: &str) {
    const NUMBERS: [&str; 3] = ["limit", "wait", "against"];
    const WORDS: [&str; 15] = [
        "severity",
        "order",
        "state",
        "states",
        "interval",
        "format",
        "compression",
        "cause",
        "outcome",
        "effect",
        "fail_mode",
        "trigger",
        "role",
        "scopes",
        "mode",
    ];
    let schema = resolved(document, schema);
    if NUMBERS.contains(&name) {
        let kind = schema["type"].to_string();
        assert!(kind.contains("integer"), "{what}: {name}: {kind}");
    }
    if WORDS.contains(&name) {
        assert!(schema["enum"].is_array(), "{what}: {name}: {schema}");
    }
}

/// The schema that is meant: that of what a list holds, or of what may also be null.
fn resolved<'a>(document: &'a Value, schema: &'a Value) -> &'a Value {
    if let Some(path) = schema["$ref"].as_str() {
        let target = document.pointer(path.trim_start_matches('#'));
        return resolved(document, target.expect("a schema"));
    }
    if let Some(item) = schema.get("items") {
        return resolved(document, item);
    }
    let mut alternatives = schema["oneOf"].as_array().into_iter().flatten();
    match alternatives.find(|one| one["type"] != "null") {
        Some(only) => resolved(document, only),
        None => schema,
    }
}

#[tokio::test]
async fn the_served_openapi_document_is_the_one_that_the_command_prints() {
    let running = Running::start(Deployment::new());
    let response = running.customer.get("/openapi.json").await;
    assert_eq!(response.headers()[header::CONTENT_TYPE], "application/json");
    let served = response.text().await.expect("a text");
    let printed = run(&["reference", "openapi"], []);
    assert!(printed.status.success());
    assert_eq!(served, String::from_utf8(printed.stdout).expect("UTF-8"));
}
