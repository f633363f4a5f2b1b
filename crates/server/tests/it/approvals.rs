//! A decision waits for a person: approved it happens once, denied or too late it does not.

use std::time::{Duration, Instant};

use domain::Timestamp;
use reqwest::{Response, StatusCode};
use serde_json::{Value, json};
use testkit::{Receiver, Stopwatch, Watchbell, eventually};
use webhook_signature::{SIGNATURE_HEADER, TIMESTAMP_HEADER, Verifier};

use crate::{
    decisions::{PAYMENTS, recorded},
    deployment::{Customer, DEADLINE, Deployment, Running, SECRET, http, ok},
    errors::problem,
    people::Town,
    tail::patient,
};

/// A refund that [`PAYMENTS`] asks a person about.
pub(crate) fn refund() -> Value {
    json!({
        "agent_id": "billing", "action": "payments.refund", "resource": "account:1",
        "context": {"amount": 2000}, "payload": {"amount": 2000, "to": "Ann"},
    })
}

/// The same question once more, with an approval.
pub(crate) fn again(question: &Value, approval: &str) -> Value {
    let mut again = question.clone();
    again["approval"] = json!(approval);
    again
}

impl Customer {
    /// Asks what is escalated; the decision's id.
    pub(crate) async fn escalate(&self, question: &Value) -> String {
        let decision = self.decide(question).await;
        assert_eq!(decision["decision"], "escalate", "{decision}");
        decision["decision_id"].as_str().expect("an id").to_owned()
    }

    /// Lets the only key of a test approve what it asked for, from the next version on that is put in force.
    pub(crate) async fn approve_alone(&self) {
        let allowed = json!({"self_approval_allowed": true});
        self.patch("/v1/policies", &allowed).await;
    }

    pub(crate) async fn resolve(&self, id: &str, said: &Value) -> Value {
        let path = format!("/v1/runtime/decisions/{id}/resolve");
        ok(self.post(&path, said).await).await
    }

    /// An answer that has begun, and goes on once the decision has ended or 30 s are over.
    pub(crate) async fn begin_to_wait(&self, id: &str) -> Response {
        let url = format!("{}/v1/runtime/decisions/{id}?wait=30", self.base_url);
        let answer = patient().get(url).bearer_auth(&self.api_key).send().await;
        answer.expect("an answer")
    }

    /// The decision, once it has ended or 30 s are over.
    pub(crate) async fn wait_for(&self, id: &str) -> Value {
        ok(self.begin_to_wait(id).await).await
    }

    /// The events of the trail that say how approvals ended.
    pub(crate) async fn ends(&self) -> Vec<Value> {
        let page = self.get_json("/v1/audit/events?event_type=approval").await;
        page["data"].as_array().expect("data").clone()
    }

    pub(crate) async fn pending(&self) -> Vec<Value> {
        let page = self.get_json("/v1/runtime/approvals?status=pending").await;
        assert_eq!(page["fresh"], true);
        page["data"].as_array().expect("data").clone()
    }
}

#[tokio::test]
async fn what_a_person_approves_wakes_the_agent_and_is_allowed_once() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    customer.approve_alone().await;
    let shown = r#"@verdict("escalate") @show("amount, payload.amount, payload.to")"#;
    let policies = PAYMENTS.replace(r#"@verdict("escalate")"#, shown);
    customer.put_in_force(&policies).await;
    let mut question = refund();
    question["session_id"] = json!("run-1");
    let escalated = customer.decide(&question).await;
    assert_eq!(escalated["decision"], "escalate");
    assert!(escalated["expires_at"].is_string());
    let id = escalated["decision_id"].as_str().expect("an id");
    let pending = customer.pending().await;
    assert_eq!(pending.len(), 1);
    assert_eq!(pending[0]["decision_id"], id);
    assert_eq!(pending[0]["expires_at"], escalated["expires_at"]);
    assert!(pending[0].get("payload").is_none(), "in short");
    let facts =
        json!([{"name": "amount", "value": "2000"}, {"name": "payload.to", "value": "Ann"}]);
    assert_eq!(pending[0]["facts"], facts, "as the policy shows them");
    assert_eq!(pending[0]["session_id"], "run-1");
    let shown = customer
        .get_json(&format!("/v1/runtime/approvals/{id}"))
        .await;
    assert_eq!(shown["question"]["context"]["amount"], 2000);
    assert_eq!(shown["payload"], refund()["payload"]);
    assert_eq!(shown["decision"], "escalate");
    assert_eq!(shown["resolution"], Value::Null);

    let waiting = customer.begin_to_wait(id).await;
    let started = Stopwatch::start();
    let said = json!({"approve": true, "note": "Known customer."});
    let resolved = customer.resolve(id, &said).await;
    let woken = ok(waiting).await;
    assert!(started.elapsed() < Duration::from_secs(5), "woken at once");
    for decision in [&woken, &resolved] {
        assert_eq!(decision["decision"], "allow");
        assert_eq!(decision["resolution"]["outcome"], "approved");
        assert_eq!(decision["resolution"]["note"], "Known customer.");
        let by = decision["resolution"]["by"].as_str().expect("who");
        assert!(by.starts_with("key_"), "{by}");
        assert_eq!(decision["payload"], refund()["payload"]);
    }

    let allowed = customer.decide(&again(&refund(), id)).await;
    assert_eq!(allowed["decision"], "allow", "{allowed}");
    let event = recorded(customer, &allowed).await;
    assert_eq!(event["metadata"]["approval"], id);
    let used = customer.decide(&again(&refund(), id)).await;
    assert_eq!(used["decision"], "deny");
    assert!(used["reason"].as_str().expect("why").contains("used"));
    let event = recorded(customer, &used).await;
    assert_eq!(event["metadata"]["refused"]["why"], "approval_used");
    assert!(event["metadata"].get("approval").is_none());
    let spent = customer
        .get_json(&format!("/v1/runtime/decisions/{id}"))
        .await;
    assert_eq!(spent["spent_by"], allowed["decision_id"]);
    assert_eq!(customer.pending().await, Vec::<Value>::new());
    let ends = customer.ends().await;
    assert_eq!(ends.len(), 1);
    assert_eq!(ends[0]["decision_id"], id);
    assert_eq!(ends[0]["result"], "approved");
    assert_eq!(ends[0]["agent_id"], "billing");
    assert_eq!(ends[0]["action"], "payments.refund");
    assert_eq!(ends[0]["metadata"]["by"], woken["resolution"]["by"]);
}

#[tokio::test]
async fn an_approval_is_good_for_the_very_request_it_was_asked_for_and_no_other() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    customer.approve_alone().await;
    customer.put_in_force(PAYMENTS).await;
    let id = customer.escalate(&refund()).await;
    let early = customer.decide(&again(&refund(), &id)).await;
    assert_eq!(early["decision"], "deny", "nobody has approved it");
    customer.resolve(&id, &json!({"approve": true})).await;
    let changes = [
        ("/payload/to", json!("Eve")),
        ("/payload/amount", json!(2000.0)),
        ("/resource", json!("account:2")),
        ("/context/amount", json!(2001)),
        ("/agent_id", json!("billing-2")),
    ];
    for (place, value) in changes {
        let mut other = again(&refund(), &id);
        *other.pointer_mut(place).expect("a place") = value;
        let denied = customer.decide(&other).await;
        assert_eq!(denied["decision"], "deny", "{place}");
        let reason = denied["reason"].as_str().expect("why");
        assert!(reason.contains("another request"), "{place}: {reason}");
    }
    let unknown = "dec_01jcq3k5m8e9ratvw2x4y6z8ab";
    let denied = customer.decide(&again(&refund(), unknown)).await;
    assert_eq!(denied["decision"], "deny");
    assert_eq!(
        customer.pending().await.len(),
        0,
        "nobody is asked for these"
    );
    let mut unrecordable = again(&refund(), &id);
    unrecordable["session_id"] = json!("x".repeat(129));
    let refused = customer.post("/v1/runtime/decisions", &unrecordable).await;
    problem(refused, 422).await;
    let allowed = customer.decide(&again(&refund(), &id)).await;
    assert_eq!(allowed["decision"], "allow", "nothing of it used it up");
}

#[tokio::test]
async fn what_a_person_denies_stays_denied_and_what_is_forbidden_meanwhile_is_not_approved() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    customer.approve_alone().await;
    customer.put_in_force(PAYMENTS).await;
    let (denied, approved) = (
        customer.escalate(&refund()).await,
        customer.escalate(&refund()).await,
    );
    let resolved = customer.resolve(&denied, &json!({"approve": false})).await;
    assert_eq!(resolved["decision"], "deny");
    assert_eq!(customer.wait_for(&denied).await["decision"], "deny");
    let again_denied = customer.decide(&again(&refund(), &denied)).await;
    assert_eq!(again_denied["decision"], "deny");

    customer.resolve(&approved, &json!({"approve": true})).await;
    let stricter = format!(
        "{PAYMENTS} @id(\"stop\") forbid (principal, action == Action::\"payments.refund\", resource);"
    );
    customer.put_in_force(&stricter).await;
    let stopped = eventually(DEADLINE, "the new version is in force", async || {
        let answer = customer.decide(&again(&refund(), &approved)).await;
        (answer["policies"][0]["id"] == "stop").then_some(answer)
    });
    assert_eq!(stopped.await["decision"], "deny");
}

/// Asks what is escalated once people have 10 s, and agents as many to use what was approved; the decision's id.
async fn escalate_for_ten_seconds(customer: &Customer) -> String {
    let shortest = json!({"approval_timeout_s": 10, "approval_valid_s": 10});
    customer.patch("/v1/policies", &shortest).await;
    let asked = eventually(DEADLINE, "the setting is in force", async || {
        let id = customer.escalate(&refund()).await;
        let decision = format!("/v1/runtime/decisions/{id}");
        let decision = customer.get_json(&decision).await;
        let time = |field: &str| Timestamp::parse(decision[field].as_str()?);
        let given = time("expires_at")?.since(time("decided_at")?);
        (given == Duration::from_secs(10)).then_some(id)
    });
    asked.await
}

#[tokio::test]
async fn what_was_approved_and_is_not_used_in_time_is_asked_for_again() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    customer.approve_alone().await;
    customer.put_in_force(PAYMENTS).await;
    let approved = escalate_for_ten_seconds(customer).await;
    customer.resolve(&approved, &json!({"approve": true})).await;
    // Asked after the approval was given and open for as long as that is valid: when its time is over, that of the
    // approval is too.
    let later = customer.escalate(&refund()).await;
    assert_eq!(customer.wait_for(&later).await["decision"], "deny");
    let lapsed = customer.decide(&again(&refund(), &approved)).await;
    assert_eq!(lapsed["decision"], "deny", "{lapsed}");
    let event = recorded(customer, &lapsed).await;
    assert_eq!(event["metadata"]["refused"]["why"], "approval_lapsed");
    customer.escalate(&refund()).await;
}

#[tokio::test]
async fn what_nobody_resolves_in_time_is_denied_for_good_and_told_once() {
    let deployment = Deployment::new();
    let mut nodes = [deployment.serve_all(), deployment.serve("api")];
    let customer = deployment.customer(&mut nodes[0]);
    customer.put_in_force(PAYMENTS).await;
    let id = escalate_for_ten_seconds(&customer).await;
    let started = Stopwatch::start();
    let other_node = customer.at(&mut nodes[1]);
    let (one, other) = tokio::join!(customer.wait_for(&id), other_node.wait_for(&id));
    assert!(
        started.elapsed() < Duration::from_secs(25),
        "woken by the end"
    );
    for decision in [one, other] {
        assert_eq!(decision["decision"], "deny");
        assert_eq!(decision["resolution"]["outcome"], "timed_out");
        assert_eq!(decision["resolution"]["at"], decision["expires_at"]);
        assert_eq!(decision["resolution"]["by"], Value::Null);
    }
    let path = format!("/v1/runtime/decisions/{id}/resolve");
    let late = customer.post(&path, &json!({"approve": true})).await;
    assert_eq!(problem(late, 409).await["code"], "STATE_CONFLICT");
    let denied = customer.decide(&again(&refund(), &id)).await;
    assert_eq!(denied["decision"], "deny");
    let told = eventually(DEADLINE, "the trail is told", async || {
        let ends = customer.ends().await;
        let mut ends = ends.into_iter().filter(|end| end["decision_id"] == *id);
        let end = ends.next()?;
        assert!(ends.next().is_none(), "once");
        Some(end)
    })
    .await;
    assert_eq!(told["result"], "timed_out");
    let all_told = eventually(DEADLINE, "nobody waits any more", async || {
        customer.pending().await.is_empty().then_some(())
    });
    all_told.await;
}

#[tokio::test]
async fn of_two_nodes_that_resolve_at_the_same_time_one_is_heard_and_agents_on_both_are_woken() {
    let deployment = Deployment::new();
    let mut nodes = [deployment.serve_all(), deployment.serve("api")];
    let customer = deployment.customer(&mut nodes[0]);
    customer.approve_alone().await;
    customer.put_in_force(PAYMENTS).await;
    let other = customer.at(&mut nodes[1]);
    let mut took = Vec::new();
    for _ in 0..10 {
        let id = customer.escalate(&refund()).await;
        let path = format!("/v1/runtime/decisions/{id}/resolve");
        let said = |customer: &Customer, approve: bool| {
            let body = json!({"approve": approve});
            let request = customer.request(reqwest::Method::POST, &path);
            request.json(&body).send()
        };
        let waiting = [
            customer.begin_to_wait(&id).await,
            other.begin_to_wait(&id).await,
        ];
        let (yes, no) = (said(&customer, true), said(&other, false));
        let started = Instant::now();
        let (yes, no) = tokio::join!(yes, no);
        let [woken, woken_there] = waiting.map(ok);
        let (woken, woken_there) = tokio::join!(woken, woken_there);
        took.push(started.elapsed());
        let (yes, no) = (yes.expect("an answer"), no.expect("an answer"));
        let decision = if yes.status() == StatusCode::OK {
            let refused = problem(no, 409).await;
            let detail = refused["detail"].as_str().expect("a text").to_owned();
            assert!(detail.contains("approved by key_"), "{detail}");
            "allow"
        } else {
            let refused = problem(yes, 409).await;
            let detail = refused["detail"].as_str().expect("a text").to_owned();
            assert!(detail.contains("denied by key_"), "{detail}");
            assert_eq!(no.status(), StatusCode::OK);
            "deny"
        };
        assert_eq!(woken["decision"], decision);
        assert_eq!(woken_there["decision"], decision);
    }
    assert_eq!(customer.ends().await.len(), 10);
    took.sort_unstable();
    println!("resolved and woken on both nodes: {took:?}");
    assert!(took[5] < Duration::from_secs(1), "{took:?}");
}

#[tokio::test]
async fn a_viewer_sees_what_waits_and_only_an_admin_or_a_key_for_it_resolves_it() {
    let town = Town::start();
    let owner = town.owner().await;
    let viewer = town.invited(&owner, "viewer").await;
    let key = async |scopes: &[&str]| {
        let wanted = json!({"name": "Agent", "scopes": scopes});
        let made = ok(owner.post("/v1/api-keys", &wanted).await).await;
        Customer {
            http: http(),
            base_url: owner.base_url.clone(),
            api_key: made["api_key"].as_str().expect("a key").to_owned(),
        }
    };
    let admin = key(&["policies:write", "policies:read"]).await;
    admin.put_in_force(PAYMENTS).await;
    let agent = key(&["decisions:write"]).await;
    let id = agent.escalate(&refund()).await;
    let path = format!("/v1/runtime/decisions/{id}/resolve");
    let seen = viewer.get_json("/v1/runtime/approvals").await;
    assert_eq!(seen["data"][0]["decision_id"], id);
    let shown = format!("/v1/runtime/approvals/{id}");
    let seen = viewer.get_json(&shown).await;
    assert_eq!(seen["payload"], refund()["payload"]);
    let said = json!({"approve": true, "note": " "});
    problem(viewer.post(&path, &said).await, 403).await;
    problem(agent.post(&path, &said).await, 403).await;
    let resolved = ok(owner.post(&path, &said).await).await;
    let (user, _) = owner.ids().await;
    assert_eq!(resolved["resolution"]["by"], user);
    assert_eq!(resolved["resolution"]["note"], Value::Null);
    let allowed = agent.decide(&again(&refund(), &id)).await;
    assert_eq!(allowed["decision"], "allow");
}

#[tokio::test]
async fn a_rule_on_approvals_tells_the_agents_webhook() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    customer.put_in_force(PAYMENTS).await;
    let receiver = Receiver::start().expect("a receiver");
    let watched = json!({
        "event_type": ["approval"], "agent_id": ["billing"], "action": ["payments.refund"],
        "result": ["approved", "denied", "timed_out"],
    });
    customer.rule(watched, &receiver.url()).await;
    let id = customer.escalate(&refund()).await;
    let said = json!({"approve": false, "note": "Too much."});
    customer.resolve(&id, &said).await;
    let received = receiver.wait_for(1, DEADLINE).await;
    let told = &received[0];
    let verified = Verifier::new([SECRET]).verify(
        told.header(TIMESTAMP_HEADER),
        told.header(SIGNATURE_HEADER),
        &told.body,
        told.arrived_at,
    );
    assert_eq!(verified, Ok(()));
    let event = &told.json()["event"];
    assert_eq!(event["decision_id"], id);
    assert_eq!(event["result"], "denied");
    assert_eq!(event["metadata"]["decision"], "deny");
    assert_eq!(event["metadata"]["note"], "Too much.");
}

#[tokio::test]
async fn others_find_nothing_and_what_never_waited_cannot_be_resolved() {
    let mut running = Running::start(Deployment::new());
    let customer = running.customer.clone();
    customer.approve_alone().await;
    customer.put_in_force(PAYMENTS).await;
    let id = customer.escalate(&refund()).await;
    let other = running.deployment.customer(&mut running.server);
    let decision = format!("/v1/runtime/decisions/{id}");
    let said = json!({"approve": true});
    problem(other.get(&decision).await, 404).await;
    problem(other.get(&format!("{decision}/stream")).await, 404).await;
    problem(other.get(&format!("/v1/runtime/approvals/{id}")).await, 404).await;
    problem(other.post(&format!("{decision}/resolve"), &said).await, 404).await;
    assert_eq!(other.pending().await.len(), 0);
    other.put_in_force(PAYMENTS).await;
    customer.resolve(&id, &said).await;
    let stolen = other.decide(&again(&refund(), &id)).await;
    assert_eq!(stolen["decision"], "deny");

    let small =
        json!({"agent_id": "billing", "action": "payments.refund", "context": {"amount": 1}});
    let allowed = customer.decide(&small).await;
    let allowed = allowed["decision_id"].as_str().expect("an id");
    let shown = customer.wait_for(allowed).await;
    assert_eq!(shown["decision"], "allow");
    assert_eq!(shown["policies"], json!(["may-pay"]));
    assert_eq!(shown["question"]["context"]["amount"], 1);
    assert_eq!(shown["expires_at"], Value::Null);
    let resolve = format!("/v1/runtime/decisions/{allowed}/resolve");
    let refused = problem(customer.post(&resolve, &said).await, 409).await;
    assert_eq!(refused["code"], "STATE_CONFLICT");
    let mine = json!({
        "event_type": "tool_call", "agent_id": "a", "action": "a.b", "result": "allowed",
        "metadata": {"decision": "allow"},
    });
    let forged = customer.ingest(&mine).await.replacen("evt_", "dec_", 1);
    let path = format!("/v1/runtime/decisions/{forged}");
    problem(customer.get(&path).await, 404).await;
}

#[tokio::test]
async fn what_cannot_be_read_is_refused_with_its_place() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    customer.put_in_force(PAYMENTS).await;
    let id = customer.escalate(&refund()).await;
    for (query, pointer) in [
        ("wait=31", "?wait"),
        ("wait=x", "?wait"),
        ("wait=1&wait=2", "?wait"),
        ("w=1", "?w"),
    ] {
        let path = format!("/v1/runtime/decisions/{id}?{query}");
        let refused = problem(customer.get(&path).await, 400).await;
        assert_eq!(refused["errors"][0]["pointer"], pointer, "{query}");
    }
    let refused = problem(
        customer.get("/v1/runtime/approvals?status=denied").await,
        400,
    )
    .await;
    assert_eq!(refused["errors"][0]["pointer"], "?status");
    let path = format!("/v1/runtime/decisions/{id}/resolve");
    let long = json!({"approve": true, "note": "x".repeat(501)});
    let refused = problem(customer.post(&path, &long).await, 422).await;
    assert_eq!(refused["errors"][0]["pointer"], "/note");
    let refused = problem(customer.post(&path, &json!({"note": "x"})).await, 422).await;
    assert_eq!(refused["errors"][0]["pointer"], "/approve");
    let asked = json!({"agent_id": "a", "action": "a.b", "approval": "dec_1"});
    problem(customer.post("/v1/runtime/decisions", &asked).await, 400).await;
    let mut large = refund();
    large["payload"] = json!("x".repeat(70_000));
    problem(customer.post("/v1/runtime/decisions", &large).await, 413).await;
}

#[tokio::test]
async fn an_end_of_the_process_does_not_wait_for_those_who_wait() {
    let mut running = Running::start(Deployment::new());
    let customer = running.customer.clone();
    customer.put_in_force(PAYMENTS).await;
    let id = customer.escalate(&refund()).await;
    let waiting = customer.begin_to_wait(&id).await;
    let started = Stopwatch::start();
    end(&mut running.server);
    assert!(
        started.elapsed() < Duration::from_secs(9),
        "{:?}",
        started.elapsed()
    );
    assert_eq!(ok(waiting).await["decision"], "escalate");
}

fn end(server: &mut Watchbell) {
    assert_eq!(server.terminate(DEADLINE).code(), Some(0));
}
