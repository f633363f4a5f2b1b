//! A key that is bound to agents speaks for no other, whichever door it takes.

use serde_json::{Value, json};

use crate::api_keys::{make, with_key};
use crate::deployment::{DEADLINE, Deployment, event, ok};
use crate::errors::{pointers, problem};
use crate::people::Person;

const EVENTS: &str = "/v1/audit/events";

fn evaluation(agent: &str) -> Value {
    json!({"subject": {"type": "agent", "id": agent}, "action": {"name": "files.read"},
        "resource": {"type": "file", "id": "1"}})
}

#[tokio::test]
async fn a_key_that_is_bound_to_agents_neither_sends_nor_asks_for_another() {
    let deployment = Deployment::new();
    let mut server = deployment.serve("api,index");
    let base_url = server.url(DEADLINE);
    let owner = Person::founder(&base_url).await;
    let wanted = json!({"name": "billing", "agents": ["billing-*", "mail"],
        "scopes": ["events:write", "events:read", "decisions:write"]});
    let made = make(&owner, &wanted).await;
    assert_eq!(made["agents"], wanted["agents"]);
    let id = made["id"].as_str().expect("an id");
    let rotate = format!("/v1/api-keys/{id}/rotate");
    let successor = ok(owner.post(&rotate, &json!({})).await).await;
    assert_eq!(
        successor["agents"], wanted["agents"],
        "rotated, it stays bound"
    );

    let hook = |agent: &str| {
        let call = json!({"session_id": "s", "hook_event_name": "PostToolUse",
            "tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_response": {}});
        let before = json!({"session_id": "s", "hook_event_name": "PreToolUse",
            "tool_name": "Bash", "tool_input": {"command": "ls"}});
        [
            (
                format!("/v1/hooks/claude-code/post-tool-use?agent_id={agent}&on_error=pass"),
                call,
            ),
            (
                format!("/v1/hooks/claude-code/pre-tool-use?agent_id={agent}&on_error=pass"),
                before,
            ),
        ]
    };
    let doors = |agent: &str| {
        let question = json!({"agent_id": agent, "action": "files.read"});
        let batch = json!({"events": [event("mail"), event(agent)]});
        let many = json!({"evaluations": [evaluation("mail"), evaluation(agent)]});
        let mut doors = vec![
            (EVENTS.to_owned(), event(agent)),
            (EVENTS.to_owned(), batch),
            ("/v1/runtime/decisions".to_owned(), question),
            ("/access/v1/evaluation".to_owned(), evaluation(agent)),
            ("/access/v1/evaluations".to_owned(), many),
        ];
        doors.extend(hook(agent));
        doors
    };
    for key in [&made, &successor] {
        let customer = with_key(&base_url, key);
        for (path, body) in doors("billing-7") {
            let status = customer.post(&path, &body).await.status();
            assert!(status.is_success(), "{path}: {status}");
        }
        for (path, body) in doors("hr") {
            let refused = problem(customer.post(&path, &body).await, 403).await;
            let detail = refused["detail"].as_str().expect("a text");
            assert!(
                detail.contains("`billing-*`, `mail`, and `hr` is none"),
                "{path}: {detail}"
            );
        }
    }
    let customer = with_key(&base_url, &made);
    let foreign = customer.get_json(&format!("{EVENTS}?agent_id=hr")).await;
    assert_eq!(foreign["data"], json!([]), "nothing of it is recorded");
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
