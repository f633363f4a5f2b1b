//! A key that is bound to agents speaks for no other, whichever door it takes.

use reqwest::Method;
use serde_json::{Value, json};

use crate::api_keys::{make, with_key};
use crate::deployment::{Customer, DEADLINE, Deployment, event, ok};
use crate::errors::{pointers, problem};
use crate::people::Person;

const EVENTS: &str = "/v1/audit/events";
const SCOPES: [&str; 3] = ["events:write", "events:read", "decisions:write"];

fn evaluation(agent: &str) -> Value {
    json!({"subject": {"type": "agent", "id": agent}, "action": {"name": "files.read"},
        "resource": {"type": "file", "id": "1"}})
}

/// Where somebody asks as an agent, or a hook tells.
fn questions(agent: &str) -> [(String, Value); 7] {
    let hook = |name: &str| {
        json!({"session_id": "s", "hook_event_name": name, "tool_name": "Bash",
            "tool_input": {"command": "ls"}, "tool_response": {}})
    };
    let at = |door: &str| {
        format!("/v1/hooks/claude-code/{door}-tool-use?agent_id={agent}&on_error=pass")
    };
    let by_command = |moment: &str| format!("/v1/hooks/codex/{moment}?agent_id={agent}");
    let many = json!({"evaluations": [evaluation("mail"), evaluation(agent)]});
    [
        (
            "/v1/runtime/decisions".to_owned(),
            json!({"agent_id": agent, "action": "files.read"}),
        ),
        ("/access/v1/evaluation".to_owned(), evaluation(agent)),
        ("/access/v1/evaluations".to_owned(), many),
        (at("pre"), hook("PreToolUse")),
        (at("post"), hook("PostToolUse")),
        (by_command("before"), hook("PreToolUse")),
        (by_command("after"), hook("PostToolUse")),
    ]
}

/// An event in the name of another is rejected in every form, and takes none of its batch with it.
async fn sends_for_its_agents_only(customer: &Customer) {
    let refused = problem(customer.post(EVENTS, &event("hr")).await, 422).await;
    assert_eq!(pointers(&refused), ["/agent_id"]);
    let cloud = json!({"specversion": "1.0", "id": "1", "source": "/a", "type": "t",
        "data": event("hr")});
    let request = customer.request(Method::POST, EVENTS);
    let request = request.header("Content-Type", "application/cloudevents+json");
    let answer = request.body(cloud.to_string()).send().await;
    let refused = problem(answer.expect("an answer"), 422).await;
    assert_eq!(pointers(&refused), ["/data/agent_id"]);

    let batch = json!({"events": [event("mail"), event("hr"), event("billing-7")]});
    let answer = ok(customer.post(EVENTS, &batch).await).await;
    assert_eq!(answer["ingested"], 2, "{answer}");
    let [rejected] = answer["rejected"].as_array().expect("a list").as_slice() else {
        panic!("{answer}");
    };
    assert_eq!(rejected["index"], 1);
    assert_eq!(rejected["pointer"], "/agent_id");
    let atomic = format!("{EVENTS}?atomic=true");
    let refused = problem(customer.post(&atomic, &batch).await, 422).await;
    assert_eq!(pointers(&refused), ["/events/1/agent_id"]);
}

#[tokio::test]
async fn a_key_that_is_bound_to_agents_neither_sends_nor_asks_for_another() {
    let deployment = Deployment::new();
    let mut server = deployment.serve("api,index");
    let base_url = server.url(DEADLINE);
    let owner = Person::founder(&base_url).await;
    let wanted = json!({"name": "billing", "agents": ["billing-*", "mail"], "scopes": SCOPES});
    let made = make(&owner, &wanted).await;
    assert_eq!(made["agents"], wanted["agents"]);
    let id = made["id"].as_str().expect("an id");
    let rotate = format!("/v1/api-keys/{id}/rotate");
    let successor = ok(owner.post(&rotate, &json!({})).await).await;
    assert_eq!(
        successor["agents"], wanted["agents"],
        "rotated, it stays bound"
    );
    for key in [&made, &successor] {
        let customer = with_key(&base_url, key);
        for (path, body) in questions("billing-7") {
            let status = customer.post(&path, &body).await.status();
            assert!(status.is_success(), "{path}: {status}");
        }
        for (path, body) in questions("hr") {
            let refused = problem(customer.post(&path, &body).await, 403).await;
            let detail = refused["detail"].as_str().expect("a text");
            assert!(
                detail.contains("`billing-*`, `mail`, and `hr` is not one"),
                "{path}: {detail}"
            );
        }
        sends_for_its_agents_only(&customer).await;
    }
    let customer = with_key(&base_url, &made);
    let foreign = customer.get_json(&format!("{EVENTS}?agent_id=hr")).await;
    assert_eq!(foreign["data"], json!([]), "nothing of it is recorded");
}

#[tokio::test]
async fn a_key_that_is_bound_to_agents_sees_no_decision_of_another() {
    let deployment = Deployment::new();
    let mut server = deployment.serve("api,index");
    let base_url = server.url(DEADLINE);
    let owner = Person::founder(&base_url).await;
    let free = make(&owner, &json!({"name": "free", "scopes": SCOPES})).await;
    let free = with_key(&base_url, &free);
    let wanted = json!({"name": "mail", "agents": ["mail"], "scopes": SCOPES});
    let bound = with_key(&base_url, &make(&owner, &wanted).await);
    for (agent, may_see) in [("mail", true), ("hr", false)] {
        let question = json!({"agent_id": agent, "action": "files.read"});
        let decided = free.decide(&question).await;
        let id = decided["decision_id"].as_str().expect("an id");
        for path in ["", "/stream"] {
            let path = format!("/v1/runtime/decisions/{id}{path}");
            assert!(free.get(&path).await.status().is_success(), "{path}");
            let answer = bound.get(&path).await;
            if may_see {
                assert!(answer.status().is_success(), "{path}");
            } else {
                problem(answer, 403).await;
            }
        }
    }
}

#[tokio::test]
async fn agents_that_cannot_be_are_pointed_at() {
    let deployment = Deployment::new();
    let mut server = deployment.serve("api");
    let owner = Person::founder(&server.url(DEADLINE)).await;
    let wanted = json!({"name": "x", "scopes": ["events:write"], "agents": ["a*b", "ok", ""]});
    let refused = problem(owner.post("/v1/api-keys", &wanted).await, 422).await;
    assert_eq!(pointers(&refused), ["/agents/0", "/agents/2"]);
}
