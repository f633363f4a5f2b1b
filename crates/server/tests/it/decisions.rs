//! May this agent do this? Asked through HTTP, answered by the policies in force, on record before the answer.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::{
    deployment::{Customer, Deployment, Running, ok},
    errors::problem,
};

/// What an agent may do with payments: four verdicts.
pub(crate) const PAYMENTS: &str = r#"
    @id("may-pay") permit (principal, action in Action::"payments", resource);
    @id("hide-cards")
    @obligation("[{\"op\":\"remove\",\"path\":\"/card\"}]")
    permit (principal, action == Action::"payments.export", resource);
    @id("large")
    @verdict("escalate")
    @reason("A person looks at payments above 1000.")
    forbid (principal, action == Action::"payments.refund", resource) when { context.amount > 1000 };
    @id("embargo")
    @reason("Nothing goes to this account.")
    forbid (principal, action in Action::"payments", resource == account::"blocked");
"#;

#[tokio::test]
async fn each_verdict_is_told_with_the_policies_that_decided_and_is_on_record() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let version = customer.put_in_force(PAYMENTS).await;
    let ask = |action: &str, resource: &str, amount: u32| {
        json!({
            "agent_id": "billing", "action": format!("payments.{action}"), "resource": resource,
            "context": {"amount": amount}, "payload": {"amount": amount, "card": "4111"},
        })
    };
    let cases = [
        (
            ask("refund", "account:1", 10),
            "allow",
            "allowed",
            json!(["may-pay"]),
        ),
        (
            ask("export", "account:1", 10),
            "modify",
            "modified",
            json!(["hide-cards"]),
        ),
        (
            ask("refund", "account:1", 2000),
            "escalate",
            "escalated",
            json!(["large"]),
        ),
        (
            ask("refund", "account:blocked", 2000),
            "deny",
            "denied",
            json!(["embargo"]),
        ),
        (
            json!({"agent_id": "billing", "action": "files.read"}),
            "deny",
            "denied",
            json!([]),
        ),
    ];
    for (question, verdict, result, policies) in cases {
        let decision = customer.decide(&question).await;
        assert_eq!(decision["decision"], verdict, "{decision}");
        let ids: Vec<&Value> = decision["policies"]
            .as_array()
            .expect("policies")
            .iter()
            .map(|one| &one["id"])
            .collect();
        assert_eq!(json!(ids), policies);
        assert_eq!(decision["policy_version"], version);
        assert_eq!(decision["fallback"], false);
        let modified = (verdict == "modify").then(|| json!({"amount": 10}));
        assert_eq!(decision["modified_payload"], json!(modified));

        let event = recorded(customer, &decision).await;
        assert_eq!(event["event_type"], "decision");
        assert_eq!(event["result"], result);
        assert_eq!(event["decision_id"], decision["decision_id"]);
        assert_eq!(event["metadata"]["decision"], verdict);
        assert_eq!(event["metadata"]["reason"], decision["reason"]);
        assert_eq!(event["metadata"]["policies"], policies);
        assert_eq!(
            event["metadata"]["policy_digest"],
            decision["policy_digest"]
        );
        assert_eq!(event["metadata"]["question"]["action"], question["action"]);
        assert!(
            event["metadata"].get("payload").is_none(),
            "only its digest"
        );
    }
}

#[tokio::test]
async fn an_organization_without_policies_of_its_own_is_answered_by_the_starter() {
    let running = Running::start(Deployment::new());
    let question = json!({"agent_id": "a", "action": "files.delete", "resource": "no colon"});
    let decision = running.customer.decide(&question).await;
    assert_eq!(decision["decision"], "allow");
    assert_eq!(decision["policies"][0]["id"], "allow-all");
    assert_eq!(decision["policy_version"], 1);
    let digest = decision["policy_digest"].as_str().expect("a digest");
    assert_eq!(digest.len(), "sha256:".len() + 64, "{digest}");
}

#[tokio::test]
async fn a_policy_that_cannot_be_evaluated_denies_whatever_the_others_permit() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    customer
        .put_in_force(
            r#"@id("all") permit (principal, action, resource);
               @id("limit") forbid (principal, action, resource) when { context.amount > 100 };"#,
        )
        .await;
    let ask = |context: Value| json!({"agent_id": "a", "action": "pay.out", "context": context});
    let allowed = customer.decide(&ask(json!({"amount": 100}))).await;
    assert_eq!(allowed["decision"], "allow");
    for context in [
        json!({}),
        json!({"amount": "99"}),
        json!({"amount": 99.5}),
        json!({"amount": [99]}),
        json!({"amount": {"value": 99}}),
        json!({"amount": true}),
        json!({"amoun\u{0442}": 99}),
    ] {
        let decision = customer.decide(&ask(context)).await;
        assert_eq!(decision["decision"], "deny", "{decision}");
        assert_eq!(decision["errors"][0]["id"], "limit", "{decision}");
        let event = recorded(customer, &decision).await;
        assert_eq!(event["metadata"]["errors"][0]["id"], "limit");
    }
}

#[tokio::test]
async fn what_policies_have_no_word_for_is_refused_and_not_left_out() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let mut deep = json!(1);
    for _ in 0..60 {
        deep = json!({"d": deep});
    }
    let refused = [
        (r#"{"amount": null}"#.to_owned(), "/context/amount"),
        (r#"{"a": {"b": [1, null]}}"#.to_owned(), "/context/a/b/1"),
        (
            r#"{"amount": 9223372036854775808}"#.to_owned(),
            "/context/amount",
        ),
        (r#"{"amount": 1e300}"#.to_owned(), "/context/amount"),
        (r#"{"amount": 0.00001}"#.to_owned(), "/context/amount"),
        (
            r#"{"ip": {"__extn": {"fn": "ip", "arg": "nowhere"}}}"#.to_owned(),
            "/context/ip",
        ),
        (format!(r#"{{"deep": {deep}}}"#), "/context/deep"),
    ];
    for (context, pointer) in refused {
        let body = format!(r#"{{"agent_id": "a", "action": "a.b", "context": {context}}}"#);
        let asking = customer.request(Method::POST, "/v1/runtime/decisions");
        let asking = asking.header("content-type", "application/json").body(body);
        let answer = asking.send().await.expect("an answer");
        let problem = problem(answer, 422).await;
        let told = problem["errors"][0]["pointer"].as_str().expect("a pointer");
        assert!(told.starts_with(pointer), "{problem}");
    }
    assert!(
        customer.all_events().await.is_empty(),
        "nothing was decided"
    );
}

#[tokio::test]
async fn what_was_decided_is_on_record_however_much_there_is_to_say_of_it() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let failing: Vec<String> = (10..40)
        .map(|n| {
            let id = format!("p{n}{}", "i".repeat(125));
            format!("@id(\"{id}\") forbid (principal, action, resource) when {{ context.{id} }};")
        })
        .collect();
    let all = r#"@id("all") permit (principal, action, resource);"#;
    customer
        .put_in_force(&format!("{all} {}", failing.concat()))
        .await;
    let ask = |bytes: usize| json!({"agent_id": "a", "action": "a.b", "context": {"text": "x".repeat(bytes)}, "payload": {}});
    let decision = customer.decide(&ask(11_000)).await;
    assert_eq!(decision["decision"], "deny", "{decision}");
    let told = decision["errors"].as_array().expect("errors").len();
    assert_eq!(decision["errors_left_out"], 30 - told, "{decision}");
    let event = recorded(customer, &decision).await;
    let told = event["metadata"]["errors"]
        .as_array()
        .expect("errors")
        .len();
    assert!((1..20).contains(&told), "{event}");
    assert_eq!(event["metadata"]["errors_left_out"], 30 - told);
    assert_eq!(event["metadata"]["has_payload"], true);

    let too_long = customer.post("/v1/runtime/decisions", &ask(11_300)).await;
    let problem = problem(too_long, 422).await;
    assert_eq!(problem["errors"][0]["pointer"], "/context", "{problem}");
    let too_large = customer.post("/v1/runtime/decisions", &ask(70_000)).await;
    assert_eq!(too_large.status(), StatusCode::PAYLOAD_TOO_LARGE);
}

#[tokio::test]
async fn in_shadow_mode_everything_is_allowed_and_it_is_said_what_would_not_have_been() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    customer.allow_shadow_mode().await;
    let version = customer.put_in_force(PAYMENTS).await;
    let question = json!({"agent_id": "a", "action": "files.read", "mode": "shadow"});
    let decision = customer.decide(&question).await;
    assert_eq!(decision["decision"], "allow");
    assert_eq!(decision["shadow"]["decision"], "deny");
    assert_eq!(decision["shadow"]["policy_version"], version);
    assert_eq!(decision["shadow"]["reason"], "No policy permits this.");
    assert_ne!(decision["reason"], decision["shadow"]["reason"]);
    let event = recorded(customer, &decision).await;
    assert_eq!(event["result"], "not_enforced");
    assert_eq!(event["metadata"]["mode"], "shadow");
    assert_eq!(event["metadata"]["shadow"]["decision"], "deny");
}

#[tokio::test]
async fn policies_see_the_payload_and_our_clock_and_no_question_brings_its_own() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    customer
        .put_in_force(
            r#"@id("all") permit (principal, action, resource);
               @id("amount") forbid (principal, action == Action::"payments.create", resource)
               unless { context.payload.amount <= 1000 };
               @id("past") forbid (principal, action == Action::"deployments.create", resource)
               unless { context.server.now > datetime("2020-01-01") };"#,
        )
        .await;
    let pay = |amount: u32, text: &str| {
        json!({
            "agent_id": "a", "action": "payments.create", "context": {"amount": 1},
            "payload": {"amount": amount, "text": text},
        })
    };
    for (amount, text, verdict) in [
        (1_000, String::new(), "allow"),
        (1_000_000, String::new(), "deny"),
        (1_000, "x".repeat(50_000), "allow"),
        (1_000_000, "x".repeat(50_000), "deny"),
    ] {
        let decided = customer.decide(&pay(amount, &text)).await;
        assert_eq!(decided["decision"], verdict, "{decided}");
    }
    let unpaid = json!({"agent_id": "a", "action": "payments.create", "context": {"amount": 1}});
    assert_eq!(customer.decide(&unpaid).await["decision"], "deny");
    let deployed = json!({"agent_id": "a", "action": "deployments.create"});
    assert_eq!(customer.decide(&deployed).await["decision"], "allow");

    for (name, value) in [
        ("server", json!({"now": "2026-11-16"})),
        ("payload", json!({"amount": 1})),
    ] {
        let asked = json!({"agent_id": "a", "action": "files.read", "context": {name: value}});
        let refused = customer.post("/v1/runtime/decisions", &asked).await;
        let refused = problem(refused, 422).await;
        let pointer = format!("/context/{name}");
        assert_eq!(refused["errors"][0]["pointer"], pointer, "{refused}");
        let asked = json!({
            "subject": {"type": "agent", "id": "a"}, "action": {"name": "files.read"},
            "resource": {"type": "file", "id": "a"}, "context": {name: value},
        });
        let refused = customer.post("/access/v1/evaluation", &asked).await;
        assert_eq!(problem(refused, 400).await["errors"][0]["pointer"], pointer);
    }
}

#[tokio::test]
async fn nobody_lets_itself_off_by_asking_in_shadow_mode() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    customer.put_in_force(PAYMENTS).await;
    let question = json!({"agent_id": "a", "action": "files.read", "mode": "shadow"});
    let refused = customer.post("/v1/runtime/decisions", &question).await;
    let refused = problem(refused, 403).await;
    assert_eq!(refused["code"], "FORBIDDEN");
    let detail = refused["detail"].as_str().expect("a text");
    assert!(detail.contains("shadow_mode_allowed"), "{detail}");
    // The mode that is there anyway may be named.
    let plain = json!({"agent_id": "a", "action": "files.read", "mode": "enforce"});
    assert_eq!(customer.decide(&plain).await["decision"], "deny");
    let page = customer
        .get_json("/v1/audit/events?event_type=decision")
        .await;
    let decisions = page["data"].as_array().expect("data");
    assert_eq!(
        decisions.len(),
        1,
        "what was refused is no decision: {page}"
    );
}

#[tokio::test]
async fn an_organization_with_a_thousand_policies_is_answered_by_the_one_that_applies() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let policies: Vec<String> = (0..1_000)
        .map(|n| format!("@id(\"p{n}\") permit (principal == Agent::\"a{n}\", action == Action::\"area{n}.do\", resource);\n"))
        .collect();
    customer.put_in_force(&policies.concat()).await;
    let own = json!({"agent_id": "a731", "action": "area731.do"});
    let decision = customer.decide(&own).await;
    assert_eq!(decision["decision"], "allow");
    assert_eq!(decision["policies"][0]["id"], "p731");
    let others = json!({"agent_id": "a731", "action": "area730.do"});
    assert_eq!(customer.decide(&others).await["decision"], "deny");
}

#[tokio::test]
async fn a_decision_of_another_organization_uses_its_own_policies() {
    let running = Running::start(Deployment::new());
    let mut server = running.deployment.serve("api");
    let other = running.deployment.customer(&mut server);
    running
        .customer
        .put_in_force(r#"@id("none") forbid (principal, action, resource);"#)
        .await;
    let question = json!({"agent_id": "a", "action": "files.read"});
    assert_eq!(running.customer.decide(&question).await["decision"], "deny");
    assert_eq!(other.decide(&question).await["decision"], "allow");
}

impl Customer {
    /// Saves policies as a new version and activates it; its number.
    pub(crate) async fn put_in_force(&self, policies: &str) -> Value {
        let version = self.write_policies(policies).await["version"].clone();
        self.activate(version.as_u64().expect("a number")).await;
        version
    }

    /// Lets agents ask in shadow mode, from the next version on that is put in force.
    pub(crate) async fn allow_shadow_mode(&self) {
        let allowed = json!({"shadow_mode_allowed": true});
        self.patch("/v1/policies", &allowed).await;
    }

    pub(crate) async fn decide(&self, question: &Value) -> Value {
        ok(self.post("/v1/runtime/decisions", question).await).await
    }
}

/// The event that a decision is: its id is the decision's.
pub(crate) async fn recorded(customer: &Customer, decision: &Value) -> Value {
    let id = decision["decision_id"].as_str().expect("an id");
    let event = id.replacen("dec_", "evt_", 1);
    customer
        .get_json(&format!("/v1/audit/events/{event}"))
        .await
}

#[tokio::test]
async fn what_is_said_twice_is_refused_at_every_door() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    for (path, body, status, pointer) in [
        (
            "/v1/runtime/decisions",
            r#"{"agent_id":"a","action":"b.c","context":{"amount":1,"amount":1000000}}"#,
            422,
            "/context/amount",
        ),
        (
            "/v1/runtime/decisions",
            r#"{"agent_id":"a","action":"b.c","payload":{"to":[{"account":1,"account":2}]}}"#,
            422,
            "/payload/to/0/account",
        ),
        (
            "/access/v1/evaluation",
            r#"{"subject":{"type":"agent","id":"a"},"action":{"name":"b"},"resource":{"type":"x","id":"y","id":"z"}}"#,
            400,
            "/resource/id",
        ),
        (
            "/v1/hooks/claude-code/pre-tool-use?on_error=pass",
            r#"{"hook_event_name":"PreToolUse","session_id":"s","tool_name":"Bash","tool_input":{"command":"ls","command":"rm -rf /"}}"#,
            422,
            "/tool_input/command",
        ),
        (
            "/v1/hooks/claude-code/post-tool-use?on_error=pass",
            r#"{"hook_event_name":"PostToolUse","session_id":"s","tool_name":"Bash","tool_input":{"command":"ls","command":"rm -rf /"}}"#,
            422,
            "/tool_input/command",
        ),
        (
            "/access/v1/evaluations",
            r#"{"subject":{"type":"agent","id":"a"},"action":{"name":"b"},"resource":{"type":"x","id":"y"},
                "evaluations":[{},{"context":{"amount":1,"\u0061mount":1000000}}]}"#,
            400,
            "/evaluations/1/context/amount",
        ),
        (
            "/access/v1/evaluations",
            r#"{"subject":{"type":"agent","id":"a"},"action":{"name":"b"},"resource":{"type":"x","id":"y"},
                "context":{"amount":1,"amount":2},"evaluations":[{}]}"#,
            400,
            "/context/amount",
        ),
        (
            "/v1/policies/test",
            r#"{"question":{"agent_id":"a","action":"b.c","context":{"amount":1,"amount":2}}}"#,
            422,
            "/question/context/amount",
        ),
        (
            "/v1/policies/validate",
            r#"{"policies":"","tests":[{"name":"t","question":{"agent_id":"a","action":"b.c"},
                "payload":{"amount":1,"amount":2},"expect":{"decision":"deny"}}]}"#,
            422,
            "/tests/0/payload/amount",
        ),
    ] {
        let request = customer
            .request(Method::POST, path)
            .header("content-type", "application/json")
            .body(body);
        let refused = problem(request.send().await.expect("an answer"), status).await;
        assert_eq!(refused["errors"][0]["pointer"], pointer, "{refused}");
        assert_eq!(
            refused["errors"][0]["code"], "FIELD_DUPLICATED",
            "{refused}"
        );
    }
}

#[tokio::test]
async fn a_decision_is_on_record_with_the_run_that_it_is_a_part_of() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let mut question = json!({
        "agent_id": "billing", "action": "files.read",
        "session_id": "s-1", "trace_id": "t-1", "span_id": "p-1",
    });
    let decided = customer.decide(&question).await;
    for by in ["session_id=s-1", "trace_id=t-1"] {
        let found = customer.get_json(&format!("/v1/audit/events?{by}")).await;
        let event = &found["data"][0];
        assert_eq!(
            event["decision_id"], decided["decision_id"],
            "{by}: {found}"
        );
        assert_eq!(event["span_id"], "p-1", "{event}");
    }
    question["session_id"] = json!("x".repeat(129));
    let refused = customer.post("/v1/runtime/decisions", &question).await;
    let refused = problem(refused, 422).await;
    assert_eq!(refused["errors"][0]["pointer"], "/session_id", "{refused}");
}
