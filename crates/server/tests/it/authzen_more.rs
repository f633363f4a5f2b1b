//! What AuthZEN does not have and we do: approvals that are spent, and bodies that are bounded.

use serde_json::json;

use crate::{
    authzen::{MANY, ONE, alice, decisions, fixture, name, question, record, with},
    decisions::{PAYMENTS, recorded},
    deployment::{Deployment, Running, ok},
    errors::problem,
};

#[tokio::test]
async fn what_a_person_approved_is_allowed_once_by_the_same_question() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    customer.approve_alone().await;
    customer.put_in_force(PAYMENTS).await;
    let ask = json!({
        "subject": {"type": "agent", "id": "billing", "properties": {"team": "finance"}},
        "action": {"name": "payments.refund", "properties": {"retry": false}},
        "resource": {"type": "account", "id": "1", "properties": {"status": "open"}},
        "context": {"amount": 2000},
    });
    let escalated = ok(customer.post(ONE, &ask).await).await;
    let id = escalated["context"]["access_request"]["decision_id"].clone();
    let id = id.as_str().expect("an id");
    customer.resolve(id, &json!({"approve": true})).await;
    let approved = with(ask.clone(), "approval", json!(id));
    let batch = json!({"evaluations": [approved, approved]});
    assert_eq!(decisions(customer, &batch).await, [true, false]);
    let wrong = with(ask, "approval", json!("dec_none"));
    problem(customer.post(ONE, &wrong).await, 400).await;
}

#[tokio::test]
async fn a_body_is_as_large_as_its_questions_may_be_and_what_is_shared_counts_for_each() {
    let running = fixture().await;
    let customer = &running.customer;
    let first = question(alice(), name("read"), record(1));
    let padded = |bytes: usize| with(first.clone(), "ignored", json!("x".repeat(bytes)));
    ok(customer.post(ONE, &padded(50_000)).await).await;
    problem(customer.post(ONE, &padded(65_536)).await, 413).await;
    let many = |bytes: usize| json!({"evaluations": [padded(bytes)]});
    ok(customer.post(MANY, &many(200_000)).await).await;
    problem(customer.post(MANY, &many(262_144)).await, 413).await;
    let mut shared = with(first.clone(), "context", json!({"a": "x".repeat(200_000)}));
    shared["evaluations"] = json!(vec![json!({}); 100]);
    problem(customer.post(MANY, &shared).await, 413).await;
}

#[tokio::test]
async fn a_gateway_that_asks_as_coaz_says_has_the_agent_and_the_tool_in_the_trail() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let policies = r#"
        @id("alice-reads") permit (principal == identity::"alice", action == Action::"tools/call", resource == tool::"Read_Customer")
        when { context.agent == "editor" };
    "#;
    customer.put_in_force(policies).await;
    let alice = json!({"type": "identity", "id": "alice"});
    let tool = |name: &str| json!({"type": "tool", "id": name});
    let agent = json!({"agent": "editor"});
    let coaz = with(
        question(alice, name("tools/call"), tool("Read_Customer")),
        "context",
        agent.clone(),
    );
    let delete = with(coaz.clone(), "resource", tool("customers/delete all"));
    let server = json!({"type": "mcp_server", "id": "https://mcp.example.com"});
    let list = with(
        with(coaz.clone(), "action", name("tools/list")),
        "resource",
        server,
    );
    let nobody = with(coaz.clone(), "context", json!({}));
    let by_agent = with(
        coaz.clone(),
        "subject",
        json!({"type": "agent", "id": "clerk"}),
    );
    // Whoever is no identity does not act through an agent only because the context has one.
    let user = with(
        coaz.clone(),
        "subject",
        json!({"type": "user", "id": "alice"}),
    );
    let cases = [
        (&coaz, true, "editor", "mcp.read_customer"),
        (&delete, false, "editor", "mcp.customers_delete_all"),
        (&list, false, "editor", "access.tools_list"),
        (&nobody, false, "identity:alice", "mcp.read_customer"),
        (&by_agent, false, "clerk", "mcp.read_customer"),
        (&user, false, "user:alice", "mcp.read_customer"),
    ];
    for (ask, is_allowed, agent_id, action) in cases {
        let answer = ok(customer.post(ONE, ask).await).await;
        assert_eq!(answer["decision"], is_allowed, "{ask}: {answer}");
        let event = recorded(customer, &answer["context"]).await;
        assert_eq!(event["agent_id"], agent_id, "{ask}");
        assert_eq!(event["action"], action, "{ask}");
        // On record is what was asked.
        let asked = &event["metadata"]["question"];
        assert_eq!(asked["principal"]["id"], ask["subject"]["id"]);
        assert_eq!(asked["action"], ask["action"]["name"]);
    }
    let batch = json!({"subject": coaz["subject"], "context": agent, "action": coaz["action"],
        "evaluations": [{"resource": tool("Read_Customer")}, {"resource": tool("b")}]});
    assert_eq!(decisions(customer, &batch).await, [true, false]);
    let found = customer
        .get_json("/v1/audit/events?agent_id=editor&action=mcp.b")
        .await;
    assert_eq!(found["data"].as_array().expect("data").len(), 1);
}
