//! Policies are checked before they are kept: what is wrong is said with its place, and nothing is saved.

use reqwest::StatusCode;
use serde_json::{Value, json};
use testkit::folder::TestFolder;

use crate::commands::{run, stdout};
use crate::deployment::{Customer, Deployment, Running, ok};
use crate::errors::problem;
use crate::policies::{NO_DELETIONS, NO_REFUNDS};

/// Agents, invoices and two actions.
const SCHEMA: &str = "
    entity Agent;
    entity invoice;
    action \"payments.refund\", \"payments.create\" appliesTo {
        principal: Agent, resource: invoice, context: { amount: Long }
    };
";

/// Small refunds are allowed, by the schema.
const SMALL_REFUNDS: &str = r#"
    @id("small-refunds")
    permit (principal, action == Action::"payments.refund", resource) when { context.amount < 100 };
"#;

/// A test that expects this decision of a refund.
fn refund(name: &str, amount: u32, decision: &str) -> Value {
    json!({
        "name": name,
        "question": {"agent_id": "a", "action": "payments.refund", "resource": "invoice:1",
                     "context": {"amount": amount}},
        "expect": {"decision": decision},
    })
}

async fn validate(customer: &Customer, body: &Value) -> Value {
    ok(customer.post("/v1/policies/validate", body).await).await
}

#[tokio::test]
async fn what_is_wrong_with_policies_is_said_with_its_place_and_nothing_is_saved() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let long = format!("{SMALL_REFUNDS}//{}", "\n".repeat(300 * 1024));
    let cases = [
        (
            json!({"policies": "permit (principal"}),
            "/policies",
            "line 1",
        ),
        (
            json!({"policies": "permit (principal, action, resource);"}),
            "/policies/0",
            "@id",
        ),
        (
            json!({"policies": format!("{SMALL_REFUNDS}// A comment with \0.")}),
            "/policies",
            "NUL",
        ),
        (
            json!({"policies": SMALL_REFUNDS, "schema": format!("{SCHEMA}// \0")}),
            "/schema",
            "NUL",
        ),
        (
            json!({"policies": NO_REFUNDS.replace("no-refunds", "allow-all")}),
            "/policies/allow-all",
            "Two policies have this id",
        ),
        (
            json!({"policies": SMALL_REFUNDS, "schema": "entity Agent in Nowhere;"}),
            "/schema",
            "Nowhere",
        ),
        (
            json!({"policies": SMALL_REFUNDS.replace("amount", "amuont"), "schema": SCHEMA}),
            "/policies/small-refunds",
            "amuont",
        ),
        (
            json!({"policies": SMALL_REFUNDS, "schema": SCHEMA,
                   "tests": [refund("small", 1, "allow"), refund("large", 1_000, "allow")]}),
            "/tests/1",
            "expects allow and gets deny",
        ),
        (
            json!({"policies": SMALL_REFUNDS, "tests": [{"name": "no question"}]}),
            "/tests/0",
            "question",
        ),
        (json!({ "policies": long }), "/policies", "As JSON"),
        (
            json!({"policies": SMALL_REFUNDS, "note": "x".repeat(501)}),
            "/note",
            "500 characters",
        ),
    ];
    for (body, pointer, words) in cases {
        let answer = customer.post("/v1/policies/versions", &body).await;
        let refused = problem(answer, 422).await;
        let first = &refused["errors"][0];
        assert_eq!(first["pointer"], pointer, "{refused}");
        let detail = first["detail"].as_str().expect("a text");
        assert!(detail.contains(words), "{detail}");
        if pointer != "/note" {
            let told = validate(customer, &body).await;
            assert_eq!(told["valid"], false, "{told}");
        }
    }
    for unreadable in [
        json!({"policies": SMALL_REFUNDS, "polices": ""}),
        json!({"policies": 1}),
    ] {
        let answer = customer.post("/v1/policies/versions", &unreadable).await;
        problem(answer, 400).await;
    }
    let twice =
        r#"{"policies": "", "tests": [{"expect": {"decision": "deny", "decision": "allow"}}]}"#;
    let twice = customer
        .request(reqwest::Method::POST, "/v1/policies/versions")
        .header("content-type", "application/json")
        .body(twice);
    let twice = problem(twice.send().await.expect("an answer"), 422).await;
    assert_eq!(twice["errors"][0]["pointer"], "/tests/0/expect/decision");
    let listed = customer.get_json("/v1/policies/versions").await;
    assert_eq!(listed["data"].as_array().expect("data").len(), 1);
}

#[tokio::test]
async fn validating_says_what_saving_would_and_keeps_tests_with_the_version() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let tests = json!([refund("small", 1, "allow"), refund("large", 1_000, "deny")]);
    let body = json!({"policies": SMALL_REFUNDS, "schema": SCHEMA, "tests": tests});
    let told = validate(customer, &body).await;
    assert_eq!(told["valid"], true, "{told}");
    assert_eq!((&told["errors"], &told["size"]), (&json!([]), &json!(1)));
    assert_eq!(told["tests"][1]["passed"], true);
    let made = customer.post("/v1/policies/versions", &body).await;
    assert_eq!(made.status(), StatusCode::CREATED);
    let made = ok(made).await;
    assert_eq!(made["digest"], told["digest"]);
    let shown = customer.get_json("/v1/policies/versions/2").await;
    assert_eq!(shown["tests"], tests);
    assert_eq!(shown["schema"], SCHEMA);
    let loose = json!({ "policies": SMALL_REFUNDS });
    let warned = validate(customer, &loose).await;
    assert_eq!(warned["valid"], true);
    assert_eq!(warned["warnings"][0]["pointer"], "/schema", "{warned}");
    let with_more = json!({"policies": SMALL_REFUNDS, "schema": SCHEMA, "tests": []});
    let other = customer.post("/v1/policies/versions", &with_more).await;
    assert_eq!(other.status(), StatusCode::CREATED, "its tests are others");
}

#[tokio::test]
async fn a_question_can_be_tried_on_a_version_or_on_policies_that_are_not_saved() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let two = customer.write_policies(NO_REFUNDS).await;
    let question =
        json!({"agent_id": "billing", "action": "payments.refund", "resource": "invoice:1"});
    let test = async |more: Value| {
        let mut body = json!({ "question": question });
        let more = more.as_object().expect("fields").clone();
        body.as_object_mut().expect("fields").extend(more);
        customer.post("/v1/policies/test", &body).await
    };
    let active = ok(test(json!({})).await).await;
    assert_eq!(
        (&active["decision"], &active["policy_version"]),
        (&json!("allow"), &json!(1))
    );
    let denied = ok(test(json!({"version": 2})).await).await;
    assert_eq!(denied["decision"], "deny");
    assert_eq!(denied["reason"], "Refunds are for people.");
    assert_eq!(denied["policies"][0]["id"], "no-refunds");
    assert_eq!(denied["policy_digest"], two["digest"]);
    let asks = NO_REFUNDS.replace("@reason", "@verdict(\"escalate\")\n@reason");
    let escalated = ok(test(json!({ "policies": asks })).await).await;
    assert_eq!(escalated["decision"], "escalate");
    assert_eq!(escalated["policy_version"], Value::Null);
    let approved = ok(test(json!({"policies": asks, "approved": true})).await).await;
    assert_eq!(approved["decision"], "allow");
    let whole = json!({"principal": {"type": "Agent", "id": "billing"}, "action": "payments.refund",
                       "resource": {"type": "invoice", "id": "1"}});
    let whole = json!({"version": 2, "question": whole});
    let whole = ok(customer.post("/v1/policies/test", &whole).await).await;
    assert_eq!(whole["decision"], "deny");

    problem(test(json!({"version": 9})).await, 404).await;
    for wrong in [
        json!({"version": 2, "policies": asks}),
        json!({"version": 2, "schema": SCHEMA}),
        json!({"question": {"action": "a.b"}}),
        json!({"question": {"agent_id": "b", "action": "a.b", "context": {"x": null}}}),
        json!({"policies": "permit"}),
    ] {
        problem(test(wrong).await, 422).await;
    }
    let events = customer.all_events().await;
    let is_decision = |event: &Value| event["event_type"] == "decision";
    assert!(!events.iter().any(is_decision), "nothing is recorded");
}

#[tokio::test]
async fn two_versions_are_compared_policy_by_policy() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    customer.write_policies(NO_REFUNDS).await;
    let changed = NO_REFUNDS.replace("Refunds are", "Paying back is");
    customer
        .write_policies(&format!("{changed}{SMALL_REFUNDS}"))
        .await;
    let diff = customer
        .get_json("/v1/policies/versions/3/diff?against=2")
        .await;
    assert_eq!(diff["added"][0]["id"], "small-refunds", "{diff}");
    assert_eq!(diff["changed"][0]["id"], "no-refunds");
    let after = diff["changed"][0]["after"].as_str().expect("a text");
    assert!(after.contains("Paying back is"), "{after}");
    assert_eq!(
        (&diff["removed"], &diff["unchanged"]),
        (&json!([]), &json!(1))
    );
    assert_eq!(diff["schema_changed"], false);
    let with_active = customer.get_json("/v1/policies/versions/2/diff").await;
    assert_eq!(with_active["against"], 1);
    assert_eq!(with_active["added"][0]["id"], "no-refunds");
    problem(
        customer.get("/v1/policies/versions/2/diff?against=9").await,
        404,
    )
    .await;
    for wrong in ["against=x", "with=1", "against=1&against=2"] {
        let path = format!("/v1/policies/versions/2/diff?{wrong}");
        problem(customer.get(&path).await, 400).await;
    }
}

#[tokio::test]
async fn every_template_can_be_saved_beside_the_starter_with_its_tests() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let starter = customer.get_json("/v1/policies/versions/1").await;
    let starter = starter["policies"].as_str().expect("a text");
    let templates = customer.get_json("/v1/policies/templates").await;
    let templates = templates["data"].as_array().expect("data");
    assert!(templates.len() >= 5, "{templates:?}");
    for template in templates {
        let own = template["policies"].as_str().expect("a text");
        let body = json!({"policies": format!("{starter}\n{own}"), "tests": template["tests"]});
        let told = validate(customer, &body).await;
        assert_eq!(told["valid"], true, "{}: {told}", template["id"]);
        assert!(!told["tests"].as_array().expect("tests").is_empty());
    }
}

#[tokio::test]
async fn an_organization_has_so_many_versions_and_is_told_what_to_do() {
    let deployment = Deployment::new().with("POLICIES__VERSIONS_PER_ORG_MAX", "3");
    let running = Running::start(deployment);
    let customer = &running.customer;
    customer.write_policies(NO_REFUNDS).await;
    customer.write_policies(NO_DELETIONS).await;
    let body = json!({ "policies": SMALL_REFUNDS });
    let full = problem(customer.post("/v1/policies/versions", &body).await, 409).await;
    assert_eq!(full["code"], "LIMIT_REACHED");
    let detail = full["detail"].as_str().expect("a text");
    assert!(detail.contains("policies.versions_per_org_max"), "{detail}");
    let same = customer.write_policies(NO_DELETIONS).await;
    assert_eq!(
        same["version"], 3,
        "what is there already can be said again"
    );
    assert_eq!(customer.activate(2).await["active"]["version"], 2);
}

#[tokio::test]
async fn writing_and_trying_policies_have_limits_of_their_own() {
    let deployment = Deployment::new()
        .with("LIMITS__POLICY_WRITES", "2/1m")
        .with("LIMITS__POLICY_TRIES", "1/1m");
    let running = Running::start(deployment);
    let customer = &running.customer;
    customer.write_policies(NO_REFUNDS).await;
    customer.activate(2).await;
    let rollback = customer.post("/v1/policies/rollback", &json!({})).await;
    assert_eq!(problem(rollback, 429).await["code"], "RATE_LIMITED");
    validate(customer, &json!({ "policies": NO_REFUNDS })).await;
    let path = "/v1/policies/versions/2/backtest";
    problem(customer.post(path, &json!({})).await, 429).await;
    customer.get_json("/v1/policies").await;
}

#[test]
fn policies_are_checked_offline_as_the_server_would() {
    let folder = TestFolder::create().expect("a folder");
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("written");
        path.display().to_string()
    };
    let (policies, schema) = (
        file("p.cedar", SMALL_REFUNDS),
        file("s.cedarschema", SCHEMA),
    );
    let right = json!([refund("small", 1, "allow"), refund("large", 1_000, "deny")]);
    let wrong = json!([refund("small", 1, "deny")]);
    let (right, wrong) = (
        file("right.json", &right.to_string()),
        file("wrong.json", &wrong.to_string()),
    );
    let check = |tests: &str| {
        let arguments = [
            "policies", "check", &policies, "--schema", &schema, "--tests", tests,
        ];
        run(&arguments, [])
    };
    let good = check(&right);
    assert_eq!(good.status.code(), Some(0), "{}", stdout(&good));
    assert!(stdout(&good).contains("1 policies, 0 errors, 0 warnings, 2 tests."));
    let bad = check(&wrong);
    assert_eq!(bad.status.code(), Some(1));
    assert!(stdout(&bad).contains("FAILED   small"), "{}", stdout(&bad));
    let unreadable = file("u.cedar", "permit (");
    let unreadable = run(&["policies", "check", &unreadable], []);
    assert_eq!(unreadable.status.code(), Some(1));
    assert!(stdout(&unreadable).contains("error    /policies"));
}
