//! Every route asks who is there: nothing is forgotten, because the list of routes is the server's own.

use std::collections::{BTreeMap, BTreeSet};

use domain::account::Scope;
use reqwest::Method;
use serde_json::{Value, json};
use testkit::{Receiver, folder::TestFolder};

use crate::deployment::{Customer, DEADLINE, Deployment, Running, event, http, ok};
use crate::errors::problem;
use crate::people::Person;
use crate::secrets::SEALING_KEY;

/// What anybody may ask. Whoever adds to it says why nobody need be known.
const OPEN: [&str; 17] = [
    // The standard has it public; it says where the server is, which who asks knows.
    "GET /.well-known/authzen-configuration",
    "GET /healthz/live",
    "GET /healthz/ready",
    "GET /metrics",
    // What a browser must know before anybody logs in; none of it is anybody's.
    "GET /v1/about",
    // A link: who has it was given it, and its signature is what is asked for.
    "GET /v1/audit/exports/{id}/files/{name}",
    // Logs that an owner made public.
    "GET /v1/public-logs/{id}/checkpoint",
    "GET /v1/public-logs/{id}/keys",
    "GET /v1/public-logs/{id}/tile/{path}",
    "POST /v1/auth/accept-invitation",
    "POST /v1/auth/login",
    "POST /v1/auth/logout",
    "POST /v1/auth/password-reset",
    "POST /v1/auth/password-reset/confirm",
    "POST /v1/auth/register",
    "POST /v1/auth/verify-email",
    "GET /openapi.json",
];

/// One operation of the document.
struct Operation {
    method: Method,
    path: String,
    /// What an API key needs for it first; `None` if it takes no key.
    scope: Option<String>,
    /// All that it needs.
    scopes: Vec<String>,
    takes_session: bool,
}

impl Operation {
    fn name(&self) -> String {
        format!("{} {}", self.method, self.path)
    }

    /// A hook is told by the status what others are told by it only if it says so.
    fn address(&self) -> String {
        let path = self.path.replace("{id}", "x");
        if path.ends_with("/pre-tool-use") {
            return format!("{path}?on_error=pass");
        }
        path
    }

    fn is_open(&self) -> bool {
        self.scope.is_none() && !self.takes_session
    }
}

async fn operations(base_url: &str) -> Vec<Operation> {
    let document = http().get(format!("{base_url}/openapi.json")).send().await;
    let document: Value = ok(document.expect("an answer")).await;
    let mut operations = Vec::new();
    for (path, methods) in document["paths"].as_object().expect("paths") {
        for (method, operation) in methods.as_object().expect("operations") {
            let security = operation["security"]
                .as_array()
                .cloned()
                .unwrap_or_default();
            let of_key = security.iter().find_map(|one| one["api_key"].as_array());
            let named = of_key.into_iter().flatten().filter_map(Value::as_str);
            let scopes: Vec<String> = named.map(str::to_owned).collect();
            operations.push(Operation {
                method: method.to_uppercase().parse().expect("a method"),
                path: path.clone(),
                scope: scopes.first().cloned(),
                scopes,
                takes_session: security.iter().any(|one| one.get("session").is_some()),
            });
        }
    }
    operations
}

/// A body that the operation could read, whatever it does with it.
fn body(operation: &Operation) -> Value {
    match operation.path.as_str() {
        "/v1/alert-rules/{id}" if operation.method == Method::PUT => {
            json!({"name": "Taken", "match": {}, "url": "https://example.com/hook"})
        }
        "/v1/alert-rules/{id}" => json!({"name": "Taken"}),
        "/v1/members/{id}" => json!({"role": "viewer"}),
        "/v1/alert-rules/{id}/recover" => json!({"since": "2020-01-01T00:00:00Z"}),
        "/v1/runtime/decisions/{id}/resolve" => json!({"approve": true}),
        _ => json!({}),
    }
}

/// What has no limit. Whoever adds to it says why it needs none.
const UNLIMITED: [&str; 3] = [
    // Answered from memory; `http.admin_listen` takes them off the public port.
    "GET /healthz/live",
    "GET /healthz/ready",
    "GET /metrics",
];

#[tokio::test]
async fn every_route_is_limited() {
    let mut running = Running::start(Deployment::new());
    let base_url = running.server.url(DEADLINE);
    let person = Person::founder(&base_url).await;
    let mut unlimited = Vec::new();
    for operation in operations(&base_url).await {
        let path = operation.address();
        let method = operation.method.clone();
        let request = match (&operation.scope, operation.takes_session) {
            (Some(_), _) => running.customer.request(method, &path),
            (None, true) => person.request(method, &path),
            (None, false) => http().request(method, format!("{base_url}{path}")),
        };
        let request = request.json(&body(&operation));
        let answer = request.send().await.expect("an answer");
        if !answer.headers().contains_key("ratelimit-policy") {
            unlimited.push(operation.name());
        }
    }
    assert_eq!(unlimited, UNLIMITED);
}

#[tokio::test]
async fn the_document_has_every_route_and_every_method_that_the_server_takes() {
    let deployment = Deployment::new();
    let mut server = deployment.serve("api");
    let base_url = server.url(DEADLINE);
    let mut documented = BTreeMap::<String, BTreeSet<String>>::new();
    for operation in operations(&base_url).await {
        let methods = documented.entry(operation.path).or_default();
        if operation.method == Method::GET {
            methods.insert("HEAD".to_owned());
        }
        methods.insert(operation.method.to_string());
    }
    // One parameter may have slashes, which a document cannot say.
    let routes: BTreeSet<String> = include_str!("../../src/routes.rs")
        .split('"')
        .skip(1)
        .step_by(2)
        .filter(|text| text.starts_with('/'))
        .map(|path| path.replace("{*", "{"))
        .collect();
    let described: BTreeSet<String> = documented.keys().cloned().collect();
    assert_eq!(routes, described, "routes.rs and the document");
    for (path, methods) in documented {
        let url = format!("{base_url}{}", path.replace("{id}", "x"));
        let unknown = Method::from_bytes(b"PROPFIND").expect("a method");
        let answer = http()
            .request(unknown, url)
            .send()
            .await
            .expect("an answer");
        let allowed = answer.headers()["allow"]
            .to_str()
            .expect("plain")
            .to_owned();
        problem(answer, 405).await;
        let allowed: BTreeSet<String> = allowed
            .split(',')
            .map(|one| one.trim().to_owned())
            .collect();
        assert_eq!(allowed, methods, "{path}");
    }
}

#[tokio::test]
async fn nothing_is_open_to_strangers_but_what_is_on_the_list() {
    let deployment = Deployment::new();
    let mut server = deployment.serve("api");
    let base_url = server.url(DEADLINE);
    let mut open = BTreeSet::new();
    for operation in operations(&base_url).await {
        if operation.is_open() {
            open.insert(operation.name());
            continue;
        }
        let url = format!("{base_url}{}", operation.address());
        let request = http().request(operation.method.clone(), url);
        let answer = request.json(&body(&operation)).send().await;
        let problem = problem(answer.expect("an answer"), 401).await;
        assert_eq!(problem["code"], "UNAUTHENTICATED", "{}", operation.name());
    }
    let listed = OPEN.map(str::to_owned).into_iter().collect();
    assert_eq!(open, listed, "a new route must ask who is there");
}

#[tokio::test]
async fn no_answer_of_the_api_is_kept_by_a_cache() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let person = Person::founder(&customer.base_url).await;
    let stranger = Person::at(&customer.base_url);
    let mut statuses = BTreeSet::new();
    for operation in operations(&customer.base_url).await {
        if !operation.path.starts_with("/v1/") || operation.path == "/v1/auth/logout" {
            continue;
        }
        let path = operation.path.replace("{id}", "x");
        for request in [
            customer.request(operation.method.clone(), &path),
            person.request(operation.method.clone(), &path),
            stranger.request(operation.method.clone(), &path),
        ] {
            let answer = request.json(&body(&operation)).send().await;
            let answer = answer.expect("an answer");
            assert_eq!(not_kept(&answer), "no-store", "{}", operation.name());
            statuses.insert(answer.status().as_u16());
        }
    }
    assert!(statuses.is_superset(&BTreeSet::from([200, 401, 403, 404])));
    let log_in = person.try_log_in(crate::people::PASSWORD).await;
    let log_out = person.post("/v1/auth/logout", &json!({})).await;
    for answer in [log_in, log_out] {
        assert!(answer.status().is_success());
        assert!(answer.headers().contains_key("set-cookie"));
        assert_eq!(not_kept(&answer), "no-store");
    }
}

fn not_kept(answer: &reqwest::Response) -> &str {
    let value = answer.headers().get("cache-control");
    value.map_or("", |value| value.to_str().expect("plain"))
}

/// A key of the person's organization with these scopes.
async fn key(person: &Person, scopes: &[&str]) -> Customer {
    let wanted = json!({"name": "Test", "scopes": scopes});
    let made = ok(person.post("/v1/api-keys", &wanted).await).await;
    Customer {
        http: http(),
        base_url: person.base_url.clone(),
        api_key: made["api_key"].as_str().expect("a key").to_owned(),
    }
}

#[tokio::test]
async fn a_key_may_do_what_its_scopes_say_and_nothing_else_and_is_no_person() {
    let deployment = Deployment::new();
    let mut server = deployment.serve("api,index");
    let base_url = server.url(DEADLINE);
    let person = Person::founder(&base_url).await;
    let all: Vec<&str> = Scope::ALL.iter().map(|scope| scope.as_str()).collect();
    let whole = key(&person, &all).await;
    let mut asked = 0;
    for operation in operations(&base_url).await {
        let (name, path) = (operation.name(), operation.address());
        let send = async |customer: &Customer| {
            let request = customer.request(operation.method.clone(), &path);
            let answer = request.json(&body(&operation)).send().await;
            answer.expect("an answer")
        };
        if operation.is_open() {
            continue;
        }
        let Some(scope) = &operation.scope else {
            assert_eq!(send(&whole).await.status(), 403, "{name} takes people only");
            continue;
        };
        let others: Vec<&str> = all.iter().copied().filter(|one| one != scope).collect();
        let without = problem(send(&key(&person, &others).await).await, 403).await;
        let detail = without["detail"].as_str().expect("a text");
        assert!(detail.contains(scope.as_str()), "{name}: {detail}");
        let scopes: Vec<&str> = operation.scopes.iter().map(String::as_str).collect();
        let with = send(&key(&person, &scopes).await).await.status();
        assert!(with != 401 && with != 403, "{name}: {with}");
        asked += 1;
    }
    assert!(asked >= 12, "{asked} operations take a key");
}

#[tokio::test]
async fn the_ids_of_another_organization_are_not_found_on_any_route() {
    let folder = TestFolder::create().expect("a folder");
    let url = format!("file://{}", folder.path().display());
    let deployment = Deployment::new().with("FILES__URL", &url);
    let deployment = deployment.with("SECRETS__KEY", SEALING_KEY);
    let mut running = Running::start(deployment);
    let customer = &running.customer;
    let base_url = customer.base_url.clone();
    let receiver = Receiver::start().expect("a receiver");
    let rule = customer.rule(json!({}), &receiver.url()).await;
    let event = customer.ingest(&event("agent-1")).await;
    let received = receiver.wait_for(1, DEADLINE).await;
    let delivery = received[0].delivery_id().expect("an id").to_owned();
    let shown = customer.delivery_in_state(&delivery, "delivered").await;
    let endpoint = shown["endpoint_id"].as_str().expect("an id").to_owned();
    let asked = json!({"since": "2020-01-01T00:00:00Z"});
    let question = json!({"agent_id": "agent-1", "action": "files.read"});
    let decision = ok(customer.post("/v1/runtime/decisions", &question).await).await;
    let decision = decision["decision_id"].as_str().expect("an id").to_owned();
    let recover = format!("/v1/alert-rules/{rule}/recover");
    let recovery = ok(customer.post(&recover, &asked).await).await;
    let recovery = recovery["id"].as_str().expect("an id").to_owned();
    let attempt = shown["attempt_log"][0]["id"].as_str().expect("an id");

    let mine = Person::founder(&base_url).await;
    let text = |value: &Value| value.as_str().expect("an id").to_owned();
    let made = json!({"name": "Mine", "scopes": ["events:read"]});
    let my_key = text(&ok(mine.post("/v1/api-keys", &made).await).await["id"]);
    let secret = text(&ok(mine.post("/v1/signing-secrets", &json!({})).await).await["id"]);
    let invitation = text(&mine.invite("guest@example.com", "viewer").await["id"]);
    let session = text(&mine.get_json("/v1/auth/sessions").await["data"][0]["id"]);
    let view = json!({"list": "events", "name": "Mine", "search": {}, "shared": true});
    let view = text(&ok(mine.post("/v1/views", &view).await).await["id"]);
    let erasure = json!({"ids": [event], "reason": "a test"});
    let erasure = text(&ok(mine.post("/v1/audit/erasures", &erasure).await).await["id"]);
    let (member, _) = mine.ids().await;
    let ids = BTreeMap::from([
        ("/v1/audit/events/{id}", event.clone()),
        ("/v1/audit/events/{id}/proof", event),
        ("/v1/runtime/decisions/{id}", decision.clone()),
        ("/v1/runtime/decisions/{id}/stream", decision.clone()),
        ("/v1/runtime/decisions/{id}/resolve", decision.clone()),
        ("/v1/runtime/approvals/{id}", decision),
        ("/v1/alert-rules/{id}", rule.clone()),
        ("/v1/alert-rules/{id}/backtest", rule.clone()),
        ("/v1/alert-rules/{id}/trigger", rule.clone()),
        ("/v1/alert-rules/{id}/recover", rule.clone()),
        ("/v1/alert-rules/{id}/balance", rule.clone()),
        ("/v1/alert-rules/{id}/versions", rule.clone()),
        ("/v1/alert-rules/{id}/versions/{version}", rule),
        ("/v1/deliveries/{id}", delivery.clone()),
        ("/v1/deliveries/{id}/conditions", delivery.clone()),
        ("/v1/deliveries/{id}/proof", delivery.clone()),
        ("/v1/deliveries/{id}/resend", delivery.clone()),
        ("/v1/deliveries/{id}/cancel", delivery.clone()),
        ("/v1/recoveries/{id}", recovery.clone()),
        ("/v1/recoveries/{id}/cancel", recovery),
        ("/v1/endpoints/{id}", endpoint.clone()),
        ("/v1/endpoints/{id}/pause", endpoint.clone()),
        ("/v1/endpoints/{id}/resume", endpoint.clone()),
        ("/v1/endpoints/{id}/verify", endpoint),
        (
            "/v1/deliveries/{id}/attempts/{attempt_id}/request",
            delivery,
        ),
        ("/v1/signing-secrets/{id}", secret.clone()),
        ("/v1/signing-secrets/{id}/promote", secret),
        ("/v1/api-keys/{id}", my_key.clone()),
        ("/v1/api-keys/{id}/rotate", my_key),
        ("/v1/invitations/{id}", invitation),
        ("/v1/auth/sessions/{id}", session),
        ("/v1/members/{id}", member),
        ("/v1/views/{id}", view),
    ]);

    let wanted = json!({"async": true});
    let export = ok(customer.post("/v1/audit/export", &wanted).await).await;
    let export = text(&export["id"]);
    let ids = {
        let mut ids = ids;
        ids.insert("/v1/audit/erasures/{id}", erasure);
        ids.insert("/v1/audit/exports/{id}", export);
        ids
    };

    let other_customer = running.deployment.customer(&mut running.server);
    let other_person = Person::founder(&base_url).await;
    let mut asked = BTreeSet::new();
    for operation in operations(&base_url).await {
        if !operation.path.contains("{id}") || operation.is_open() {
            continue;
        }
        let id = ids.get(operation.path.as_str());
        let id = id.unwrap_or_else(|| panic!("this test has no id for {}", operation.path));
        let path = operation.path.replace("{id}", id).replace("{version}", "1");
        let path = path.replace("{attempt_id}", attempt);
        let mut requests = Vec::new();
        if operation.scope.is_some() {
            requests.push(other_customer.request(operation.method.clone(), &path));
        }
        if operation.takes_session {
            requests.push(other_person.request(operation.method.clone(), &path));
        }
        for request in requests {
            let answer = request.json(&body(&operation)).send().await;
            let problem = problem(answer.expect("an answer"), 404).await;
            assert_eq!(problem["code"], "NOT_FOUND", "{}", operation.name());
        }
        asked.insert(operation.path);
    }
    assert_eq!(asked.len(), ids.len(), "{asked:?}");
    for (path, id) in ids {
        let reader = ![
            "/v1/invitations/{id}",
            "/v1/auth/sessions/{id}",
            "/v1/members/{id}",
            "/v1/signing-secrets/{id}",
            "/v1/views/{id}",
        ]
        .contains(&path)
            && ![
                "rotate", "backtest", "trigger", "recover", "resend", "cancel", "pause", "resume",
                "promote", "resolve", "verify",
            ]
            .iter()
            .any(|verb| path.ends_with(verb))
            && !path.ends_with("{version}");
        if reader {
            let path = path.replace("{id}", &id).replace("{attempt_id}", attempt);
            let by_key = running.customer.get(&path).await.status();
            let by_session = mine.get(&path).await.status();
            assert!(by_key == 200 || by_session == 200, "{path} is untouched");
        }
    }
    assert!(mine.is_logged_in().await, "nor is the session");
}
