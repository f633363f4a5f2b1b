//! Decisions in the words of AuthZEN 1.0: the certification scenario's levels Basic, Batch and Discovery (Core and
//! Properties; there is no search), and what is ours beside it.

use reqwest::{Method, StatusCode, header};
use serde_json::{Value, json};

use crate::{
    decisions::{PAYMENTS, recorded},
    deployment::{Customer, Deployment, Running, http, ok},
    errors::problem,
};

pub(crate) const ONE: &str = "/access/v1/evaluation";
pub(crate) const MANY: &str = "/access/v1/evaluations";

/// The scenario's fixture: eight decisions that a decision point must come to.
const RECORDS: &str = r#"
    @id("alice-works-on-records")
    permit (principal == user::"alice", action in [Action::"read", Action::"write"], resource is record);
    @id("bob-reads")
    permit (principal == user::"bob", action == Action::"read", resource is record);
    @id("admins-mend-the-archive")
    permit (principal is user, action == Action::"write", resource is record)
    when { principal has role && principal.role == "admin" && resource has status && resource.status == "archived" };
    @id("the-archive-is-closed")
    forbid (principal is user, action == Action::"write", resource is record)
    when { resource has status && resource.status == "archived" }
    unless { principal has role && principal.role == "admin" };
    @id("alice-deletes-softly")
    permit (principal == user::"alice", action == Action::"delete", resource is record)
    when { context has action && context.action has soft && context.action.soft };
"#;

pub(crate) fn alice() -> Value {
    json!({"type": "user", "id": "alice"})
}

fn bob() -> Value {
    json!({"type": "user", "id": "bob"})
}

fn admin() -> Value {
    json!({"type": "user", "id": "bob", "properties": {"role": "admin"}})
}

pub(crate) fn record(number: u8) -> Value {
    json!({"type": "record", "id": format!("record-{number}")})
}

fn record_that_is(number: u8, status: &str) -> Value {
    json!({"type": "record", "id": format!("record-{number}"), "properties": {"status": status}})
}

pub(crate) fn name(name: &str) -> Value {
    json!({"name": name})
}

pub(crate) fn question(subject: Value, action: Value, resource: Value) -> Value {
    let fields = [
        ("subject", subject),
        ("action", action),
        ("resource", resource),
    ];
    let fields = fields.into_iter();
    fields
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

pub(crate) fn with(mut question: Value, field: &str, value: Value) -> Value {
    question[field] = value;
    question
}

fn without(question: &Value, pointer: &str, field: &str) -> Value {
    let mut question = question.clone();
    let object = question.pointer_mut(pointer).expect("it is there");
    object.as_object_mut().expect("an object").remove(field);
    question
}

pub(crate) async fn fixture() -> Running {
    let running = Running::start(Deployment::new());
    running.customer.put_in_force(RECORDS).await;
    running
}

pub(crate) async fn decisions(customer: &Customer, request: &Value) -> Vec<bool> {
    let answer = ok(customer.post(MANY, request).await).await;
    assert!(answer.get("decision").is_none(), "{answer}");
    let evaluations = answer["evaluations"].as_array().expect("evaluations");
    let decision = |one: &Value| one["decision"].as_bool().expect("a decision");
    evaluations.iter().map(decision).collect()
}

#[tokio::test]
async fn basic_every_decision_of_the_fixture_is_as_the_scenario_says() {
    let running = fixture().await;
    let soft = |soft: bool| json!({"name": "delete", "properties": {"soft": soft}});
    let first = question(alice(), name("read"), record(1));
    let more = json!({
        "subject": {"type": "user", "id": "alice", "properties": {"department": "Sales", "role": "manager"}},
        "action": {"name": "read", "properties": {"method": "GET"}},
        "resource": {"type": "record", "id": "record-1", "properties": {"status": "active", "owner": "bob"}},
    });
    let unknown = with(first.clone(), "futureField", json!({"nested": [null]}));
    let context = json!({"time": "2026-06-27T18:03-07:00", "ip": "192.0.2.1"});
    let archived = || record_that_is(2, "archived");
    let cases = [
        ("rule 1", first.clone(), true),
        ("rule 2", question(alice(), name("write"), record(1)), true),
        ("rule 3", question(bob(), name("read"), record(1)), true),
        ("rule 4", question(bob(), name("write"), record(1)), false),
        (
            "rule 5",
            question(alice(), name("write"), archived()),
            false,
        ),
        ("rule 6", question(admin(), name("write"), archived()), true),
        ("rule 7", question(alice(), soft(true), record(1)), true),
        ("rule 8", question(alice(), soft(false), record(1)), false),
        ("context", with(first.clone(), "context", context), true),
        ("more properties", more, true),
        ("unknown fields", unknown, true),
        ("again", first.clone(), true),
        ("and again", first, true),
    ];
    for (case, question, expected) in cases {
        let response = running.customer.post(ONE, &question).await;
        assert_eq!(response.headers()[header::CONTENT_TYPE], "application/json");
        assert_eq!(response.status(), StatusCode::OK);
        let answer: Value = response.json().await.expect("JSON");
        assert_eq!(answer["decision"], expected, "{case}: {answer}");
        assert!(answer["context"].is_object(), "{case}");
    }
}

#[tokio::test]
async fn basic_what_is_malformed_is_a_bad_request() {
    let running = fixture().await;
    let customer = &running.customer;
    let whole = question(alice(), name("read"), record(1));
    let mut malformed = vec![
        with(whole.clone(), "subject", json!("alice")),
        with(whole.clone(), "action", json!({"name": 123})),
        with(whole.clone(), "context", json!("noon")),
        with(
            whole.clone(),
            "subject",
            json!({"type": "not an identifier", "id": "a"}),
        ),
        with(whole.clone(), "context", json!({"nothing": null})),
        with(
            whole.clone(),
            "context",
            json!({"much": "x".repeat(20_000)}),
        ),
        with(whole.clone(), "action", json!({"name": ""})),
    ];
    for field in ["subject", "action", "resource"] {
        malformed.push(without(&whole, "", field));
    }
    for (pointer, fields) in [
        ("/subject", ["type", "id"].as_slice()),
        ("/action", &["name"]),
        ("/resource", &["type", "id"]),
    ] {
        malformed.extend(fields.iter().map(|field| without(&whole, pointer, field)));
    }
    let both = json!({"name": "delete", "properties": {"soft": false}});
    let both = with(whole.clone(), "action", both);
    malformed.push(with(both, "context", json!({"action": {"soft": true}})));
    for path in [ONE, MANY] {
        for request in &malformed {
            let problem = problem(customer.post(path, request).await, 400).await;
            assert_eq!(problem["code"], "INVALID_BODY", "{request}");
        }
        for (media_type, body) in [
            ("text/plain", whole.to_string()),
            ("application/json", "{\"subject\": ".to_owned()),
            ("application/json", String::new()),
        ] {
            let request = customer.request(Method::POST, path).body(body);
            let request = request.header(header::CONTENT_TYPE, media_type);
            problem(request.send().await.expect("an answer"), 400).await;
        }
    }
    let stranger = http()
        .post(format!("{}{ONE}", customer.base_url))
        .json(&whole);
    problem(stranger.send().await.expect("an answer"), 401).await;
    assert!(
        customer
            .all_events()
            .await
            .iter()
            .all(|event| event["event_type"] != "decision")
    );
}

#[tokio::test]
async fn basic_the_request_id_comes_back_whatever_is_in_it() {
    let running = fixture().await;
    let customer = &running.customer;
    let whole = question(alice(), name("read"), record(1));
    let long = "x".repeat(300);
    for id in ["bfe9eb29-ab87-4ca3-be83-a1d5d8305716", "a b; \"c\"", &long] {
        for body in [&whole, &json!({})] {
            let request = customer.request(Method::POST, ONE).json(body);
            let response = request.header("X-Request-ID", id).send().await;
            assert_eq!(response.expect("an answer").headers()["x-request-id"], id);
        }
    }
    let response = customer.post(ONE, &whole).await;
    assert_eq!(response.status(), StatusCode::OK);
    assert!(response.headers().contains_key("x-request-id"));
}

#[tokio::test]
async fn batch_each_is_decided_by_itself_with_what_all_share() {
    let running = fixture().await;
    let customer = &running.customer;
    let archived = || record_that_is(2, "archived");
    let cases = [
        (
            json!({"subject": alice(), "action": name("read"),
                   "evaluations": [{"resource": record(1)}, {"resource": record(2)}]}),
            vec![true, true],
        ),
        (
            json!({"subject": bob(), "resource": record(1),
                   "evaluations": [{"action": name("read")}, {"action": name("write")}]}),
            vec![true, false],
        ),
        (
            json!({"subject": alice(), "action": name("write"),
                   "evaluations": [{"resource": record_that_is(1, "active")}, {"resource": archived()}]}),
            vec![true, false],
        ),
        (
            json!({"action": name("write"), "resource": archived(),
                   "evaluations": [{"subject": alice()}, {"subject": admin()}]}),
            vec![false, true],
        ),
        (
            json!({"evaluations": [question(alice(), name("read"), record(1)),
                                   question(bob(), name("write"), record(1))]}),
            vec![true, false],
        ),
        (
            json!({"subject": alice(), "action": name("read"), "context": {"time": "noon"},
                   "evaluations": [{"resource": record(1)},
                                   {"resource": record(2), "context": {"time": "night", "source": "own"}}]}),
            vec![true, true],
        ),
        (
            json!({"subject": alice(), "action": name("write"), "resource": {"type": "record"},
                   "evaluations": [{"resource": {"id": "record-1", "properties": {"status": "active"}}},
                                   {"resource": archived()}]}),
            vec![true, false],
        ),
    ];
    for (request, expected) in cases {
        assert_eq!(decisions(customer, &request).await, expected, "{request}");
    }
}

#[tokio::test]
async fn batch_one_that_is_no_question_is_a_no_and_the_others_are_answered() {
    let running = fixture().await;
    let customer = &running.customer;
    let much = json!({"much": "x".repeat(20_000)});
    let request = json!({
        "subject": alice(), "action": name("read"),
        "evaluations": [
            {"resource": record(1)}, {}, 7, {"resource": "record-1"},
            {"resource": record(1), "context": {"nothing": null}},
            {"resource": record(1), "context": much},
            {"resource": record(2)},
        ],
    });
    let answer = ok(customer.post(MANY, &request).await).await;
    let evaluations = answer["evaluations"].as_array().expect("evaluations");
    let expected = [true, false, false, false, false, false, true];
    assert_eq!(evaluations.len(), expected.len());
    for (evaluation, expected) in evaluations.iter().zip(expected) {
        assert_eq!(evaluation["decision"], expected, "{evaluation}");
        let error = &evaluation["context"]["error"];
        assert_eq!(error.is_object(), !expected, "{evaluation}");
    }
    let on_record = customer.all_events().await;
    let decided = on_record
        .iter()
        .filter(|event| event["event_type"] == "decision");
    assert_eq!(decided.count(), 2);
}

#[tokio::test]
async fn batch_without_evaluations_is_one_question() {
    let running = fixture().await;
    let customer = &running.customer;
    let one = question(alice(), name("read"), record(1));
    for request in [one.clone(), with(one.clone(), "evaluations", json!([]))] {
        let answer = ok(customer.post(MANY, &request).await).await;
        assert_eq!(answer["decision"], true);
        assert!(answer.get("evaluations").is_none());
    }
    let too_many = json!({"subject": alice(), "evaluations": vec![json!({}); 101]});
    problem(customer.post(MANY, &too_many).await, 400).await;
    let most = json!({"subject": alice(), "action": name("read"), "resource": record(1),
                      "evaluations": vec![json!({}); 100]});
    assert_eq!(decisions(customer, &most).await, [true; 100]);
    for wrong in [
        with(one.clone(), "evaluations", json!({})),
        with(one, "options", json!({"evaluations_semantic": "some"})),
    ] {
        problem(customer.post(MANY, &wrong).await, 400).await;
    }
}

#[tokio::test]
async fn batch_stops_where_it_is_asked_to_and_records_no_more_than_it_answers() {
    let running = fixture().await;
    let customer = &running.customer;
    let (yes, no) = (name("read"), name("write"));
    let cases = [
        (
            "execute_all",
            json!([yes, no, null, yes]),
            vec![true, false, false, true],
        ),
        (
            "deny_on_first_deny",
            json!([yes, no, yes]),
            vec![true, false],
        ),
        (
            "deny_on_first_deny",
            json!([yes, null, yes]),
            vec![true, false],
        ),
        ("deny_on_first_deny", json!([yes, yes]), vec![true, true]),
        (
            "permit_on_first_permit",
            json!([no, null, yes, null, yes]),
            vec![false, false, true],
        ),
        (
            "permit_on_first_permit",
            json!([no, no]),
            vec![false, false],
        ),
    ];
    let mut answered = 0;
    for (semantic, actions, expected) in cases {
        let actions = actions.as_array().expect("a list").iter();
        let items = actions.map(|action| {
            // What has no name is no question.
            let action = if action.is_null() {
                json!({})
            } else {
                action.clone()
            };
            json!({"action": action})
        });
        let request = json!({
            "subject": bob(), "resource": record(1), "evaluations": items.collect::<Vec<_>>(),
            "options": {"evaluations_semantic": semantic, "other": 1},
        });
        assert_eq!(decisions(customer, &request).await, expected, "{request}");
        answered += expected.len();
    }
    let on_record = customer.all_events().await;
    let decided = on_record
        .iter()
        .filter(|event| event["event_type"] == "decision");
    let failed = 3;
    assert_eq!(decided.count(), answered - failed);
}

#[tokio::test]
async fn discovery_the_configuration_says_where_the_endpoints_are() {
    let deployment = Deployment::new().with("HTTP__PUBLIC_URL", "https://pdp.example.com/wb/");
    let running = Running::start(deployment);
    let path = "/.well-known/authzen-configuration";
    let url = format!("{}{path}", running.customer.base_url);
    let response = http().get(url).send().await.expect("an answer");
    assert_eq!(response.headers()[header::CONTENT_TYPE], "application/json");
    assert_eq!(
        response.headers()[header::CACHE_CONTROL],
        "public, max-age=3600"
    );
    let expected = json!({
        "policy_decision_point": "https://pdp.example.com/wb",
        "access_evaluation_endpoint": "https://pdp.example.com/wb/access/v1/evaluation",
        "access_evaluations_endpoint": "https://pdp.example.com/wb/access/v1/evaluations",
    });
    assert_eq!(ok(response).await, expected);
}

#[tokio::test]
async fn only_an_allow_is_a_yes_and_the_trail_has_the_question_whole() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let version = customer.put_in_force(PAYMENTS).await;
    let agent = json!({"type": "agent", "id": "billing", "properties": {"team": "finance"}});
    let ask = |action: &str, account: &str, amount: u32| {
        json!({
            "subject": agent, "action": {"name": format!("payments.{action}"), "properties": {"retry": false}},
            "resource": {"type": "account", "id": account}, "context": {"amount": amount},
        })
    };
    let cases = [
        (
            ask("refund", "1", 10),
            true,
            "allow",
            "allowed",
            json!(["may-pay"]),
        ),
        (
            ask("export", "1", 10),
            false,
            "deny",
            "denied",
            json!(["hide-cards"]),
        ),
        (
            ask("refund", "1", 2000),
            false,
            "escalate",
            "escalated",
            json!(["large"]),
        ),
        (
            ask("refund", "blocked", 10),
            false,
            "deny",
            "denied",
            json!(["embargo"]),
        ),
    ];
    for (request, decision, verdict, result, policies) in cases {
        let answer = ok(customer.post(ONE, &request).await).await;
        let context = &answer["context"];
        assert_eq!(answer["decision"], decision, "{answer}");
        assert_eq!(context["verdict"], verdict);
        assert_eq!(context["policies"], policies);
        assert_eq!(context["policy_version"], version);
        let approvable = &context["access_request"];
        assert_eq!(approvable.is_object(), verdict == "escalate", "{answer}");
        if approvable.is_object() {
            assert_eq!(approvable["decision_id"], context["decision_id"]);
            assert!(approvable["expires_at"].is_string());
        }
        let event = recorded(customer, context).await;
        assert_eq!(event["result"], result);
        assert_eq!(event["agent_id"], "billing");
        assert_eq!(event["action"], request["action"]["name"]);
        let asked = &event["metadata"]["question"];
        assert_eq!(asked["principal"]["type"], "Agent");
        assert_eq!(asked["principal"]["properties"], json!({"team": "finance"}));
        let expected = json!({"amount": request["context"]["amount"], "action": {"retry": false}});
        assert_eq!(asked["context"], expected);
    }
    let user = question(alice(), name("can read"), record(1));
    let answer = ok(customer.post(ONE, &user).await).await;
    let event = recorded(customer, &answer["context"]).await;
    assert_eq!(event["agent_id"], "user:alice");
    assert_eq!(event["action"], "access.can_read");
    assert_eq!(event["resource"], "record:record-1");
    assert_eq!(event["metadata"]["question"]["action"], "can read");
}
