//! The request limits of spec section 8, through HTTP: with short windows to see them roll, and at
//! their full size.

use std::collections::BTreeMap;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use futures::{StreamExt as _, stream};
use reqwest::header::HeaderMap;
use reqwest::{Method, RequestBuilder, StatusCode};
use serde_json::{Value, json};
use testkit::{eventually, namespace, own, shared};
use tokio::time::sleep;

use crate::deployment::{Customer, DEADLINE, Deployment, event, http, ok};
use crate::errors::problem;
use crate::people::{PASSWORD, Person};

/// A row of the table: one operation, its setting, its limit by the contract.
struct Row {
    policy: &'static str,
    setting: &'static str,
    count: usize,
    window_s: u64,
    /// The request number `n` of the operation.
    request: fn(&Customer, usize) -> RequestBuilder,
}

/// Every row of spec section 8.
const ROWS: [Row; 8] = [
    Row {
        policy: "ingest",
        setting: "LIMITS__INGEST",
        count: 600,
        window_s: 60,
        request: |customer, _| {
            let batch = json!({"events": vec![event("agent"); 3]});
            customer
                .request(Method::POST, "/v1/audit/events")
                .json(&batch)
        },
    },
    Row {
        policy: "list",
        setting: "LIMITS__LIST",
        count: 120,
        window_s: 60,
        request: |customer, _| customer.request(Method::GET, "/v1/audit/events?limit=1"),
    },
    Row {
        policy: "export",
        setting: "LIMITS__EXPORT",
        count: 10,
        window_s: 60,
        request: |customer, _| {
            let everything = json!({});
            customer
                .request(Method::POST, "/v1/audit/export")
                .json(&everything)
        },
    },
    Row {
        policy: "decisions",
        setting: "LIMITS__DECISIONS",
        count: 5_000,
        window_s: 60,
        request: |customer, _| {
            let question = json!({"agent_id": "agent", "action": "files.delete"});
            customer
                .request(Method::POST, "/v1/runtime/decisions")
                .json(&question)
        },
    },
    Row {
        policy: "rule_writes",
        setting: "LIMITS__RULE_WRITES",
        count: 20,
        window_s: 60,
        // Created, replaced and changed in turn: they share one window. There is no such rule to
        // replace, and the request counts all the same.
        request: |customer, n| {
            let rule = json!({"name": "Rule", "match": {}, "url": "https://example.com/hook"});
            let (method, path) = match n % 3 {
                0 => (Method::POST, "/v1/alert-rules"),
                1 => (
                    Method::PUT,
                    "/v1/alert-rules/rul_01jcq3k5m8e9ratvw2x4y6z8ab",
                ),
                _ => (
                    Method::PATCH,
                    "/v1/alert-rules/rul_01jcq3k5m8e9ratvw2x4y6z8ab",
                ),
            };
            customer.request(method, path).json(&rule)
        },
    },
    Row {
        policy: "login",
        setting: "LIMITS__LOGIN",
        count: 10,
        window_s: 15 * 60,
        request: |customer, _| {
            let nobody = json!({"email": "nobody@example.com", "password": "not the password"});
            anonymous(customer, "/v1/auth/login", &nobody)
        },
    },
    Row {
        policy: "register",
        setting: "LIMITS__REGISTER",
        count: 3,
        window_s: 3_600,
        request: |customer, n| {
            let email = format!("{}-{n}@example.com", namespace());
            let new = json!({"organisation": "New", "email": email, "password": "a long password"});
            anonymous(customer, "/v1/auth/register", &new)
        },
    },
    Row {
        policy: "password_reset",
        setting: "LIMITS__PASSWORD_RESET",
        count: 3,
        window_s: 3_600,
        request: |customer, _| {
            let nobody = json!({"email": "nobody@example.com"});
            anonymous(customer, "/v1/auth/password-reset", &nobody)
        },
    },
];

fn anonymous(customer: &Customer, path: &str, body: &Value) -> RequestBuilder {
    let url = format!("{}{path}", customer.base_url);
    customer.http.post(url).json(body)
}

/// How many of `count` requests, some at a time, were answered with each status.
async fn answers(row: &Row, customer: &Customer, count: usize) -> BTreeMap<StatusCode, usize> {
    const AT_ONCE: usize = 16;
    let requests = stream::iter(0..count).map(|n| (row.request)(customer, n).send());
    let mut answers = requests.buffer_unordered(AT_ONCE);
    let mut by_status = BTreeMap::new();
    while let Some(answer) = answers.next().await {
        let answer = answer.expect("an answer");
        *by_status.entry(answer.status()).or_default() += 1;
        // Read to the end, so that the connection is used again.
        answer.bytes().await.expect("a body");
    }
    by_status
}

fn refused(answers: &BTreeMap<StatusCode, usize>) -> usize {
    let refused = answers.get(&StatusCode::TOO_MANY_REQUESTS);
    refused.copied().unwrap_or_default()
}

fn header<'h>(headers: &'h HeaderMap, name: &str) -> &'h str {
    headers[name].to_str().expect("text")
}

/// `r` and `t` of `RateLimit: "ingest";r=599;t=59`.
fn rate_limit(headers: &HeaderMap, policy: &str) -> (u64, u64) {
    let text = header(headers, "ratelimit");
    let rest = text.strip_prefix(&format!("\"{policy}\";r=")).expect(text);
    let (remaining, time) = rest.split_once(";t=").expect(text);
    (remaining.parse().expect(text), time.parse().expect(text))
}

/// A gauge of the node that the customer calls.
async fn metric(customer: &Customer, name: &str) -> u64 {
    let text = customer.get("/metrics").await.text().await;
    let text = text.expect("a text");
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.expect("the metric").trim().parse().expect("a number")
}

/// Seconds of a window that a test can wait for, and four requests of each kind fit into.
const SHORT_S: u64 = 5;

/// Short windows, counted in Redis, and one customer.
fn with_short_windows(redis_url: Option<&str>) -> Deployment {
    let deployment = redis_url
        .into_iter()
        .fold(Deployment::new(), |deployment, url| {
            deployment.with("REDIS__URL", url)
        });
    ROWS.iter().fold(deployment, |deployment, row| {
        deployment.with(row.setting, &format!("4/{SHORT_S}s"))
    })
}

#[tokio::test]
async fn each_row_of_section_8_admits_its_number_tells_what_is_left_and_rolls_on() {
    for redis_url in [None, Some(shared().redis_url.as_str())] {
        let deployment = with_short_windows(redis_url);
        let mut server = deployment.serve("api,index");
        let customer = deployment.customer(&mut server);
        let rows = ROWS
            .iter()
            .map(|row| admits_four_and_rolls_on(row, &customer));
        futures::future::join_all(rows).await;
    }
}

async fn admits_four_and_rolls_on(row: &Row, customer: &Customer) {
    let started = Instant::now();
    for left in (0..4).rev() {
        let answer = (row.request)(customer, left)
            .send()
            .await
            .expect("an answer");
        let headers = answer.headers();
        assert_ne!(answer.status(), 429, "{} with {left} left", row.policy);
        let policy = format!("\"{}\";q=4;w={SHORT_S}", row.policy);
        assert_eq!(header(headers, "ratelimit-policy"), policy);
        let (remaining, resets_in) = rate_limit(headers, row.policy);
        assert_eq!(remaining, left as u64, "{}", row.policy);
        assert!(
            (1..=SHORT_S).contains(&resets_in),
            "{}: {resets_in}",
            row.policy
        );
    }
    assert!(
        started.elapsed() < Duration::from_secs(SHORT_S),
        "too slow a machine for so short a window"
    );
    let answer = (row.request)(customer, 4).send().await.expect("an answer");
    let headers = answer.headers().clone();
    let body = problem(answer, 429).await;
    assert_eq!(body["code"], "RATE_LIMITED", "{}", row.policy);
    let (remaining, resets_in) = rate_limit(&headers, row.policy);
    let retry_after: u64 = header(&headers, "retry-after").parse().expect("an integer");
    assert_eq!(remaining, 0, "{}", row.policy);
    assert!((1..=SHORT_S).contains(&retry_after), "{retry_after}");
    assert!(resets_in <= retry_after, "{resets_in} {retry_after}");
    // waits for: the time the server asked for
    sleep(Duration::from_secs(retry_after)).await;
    let answer = (row.request)(customer, 5).send().await.expect("an answer");
    assert_ne!(
        answer.status(),
        429,
        "who waits is admitted: {}",
        row.policy
    );
}

#[tokio::test]
async fn operations_keys_and_refused_requests_never_cost_each_other_anything() {
    let deployment = with_short_windows(None)
        .with("LIMITS__INGEST", "3/1h")
        .with("LIMITS__LIST", "3/1h");
    let mut server = deployment.serve("api,index");
    let customer = deployment.customer(&mut server);
    let other = deployment.customer(&mut server);
    let [ingest, list, ..] = &ROWS;
    assert_eq!(refused(&answers(ingest, &customer, 50).await), 47);
    assert_eq!(refused(&answers(list, &customer, 4).await), 1);
    assert_eq!(refused(&answers(ingest, &other, 4).await), 1);
    let listed = (list.request)(&other, 0).send().await.expect("an answer");
    let listed: Value = ok(listed).await;
    assert_eq!(listed["data"].as_array().map(Vec::len), Some(1));
    let show = "/v1/alert-rules";
    for _ in 0..20 {
        let answer = customer.get(show).await;
        assert_eq!(
            answer.status(),
            200,
            "another operation has a limit of its own"
        );
    }
}

/// The real limits: `count` are admitted, the next one is not.
async fn at_full_size(row: &Row, roles: &str) {
    // The other limits stay as tests have them; this one is the contract's.
    let deployment = Deployment::new().without(row.setting);
    let deployment = deployment.with("REDIS__URL", &shared().redis_url);
    let mut server = deployment.serve(roles);
    let customer = deployment.customer(&mut server);
    let started = Instant::now();
    let first = answers(row, &customer, row.count).await;
    let took = started.elapsed();
    assert!(
        took.as_secs() < row.window_s,
        "the machine is too slow to show it: {took:?}"
    );
    assert_eq!(refused(&first), 0, "{first:?}");
    let next = (row.request)(&customer, row.count)
        .send()
        .await
        .expect("an answer");
    let policy = format!("\"{}\";q={};w={}", row.policy, row.count, row.window_s);
    assert_eq!(header(next.headers(), "ratelimit-policy"), policy);
    let body = problem(next, 429).await;
    assert_eq!(body["code"], "RATE_LIMITED", "{}", row.policy);
}

#[tokio::test]
async fn five_thousand_decisions_are_answered_and_number_5001_is_not() {
    at_full_size(&ROWS[3], "api").await;
}

#[tokio::test]
async fn six_hundred_full_batches_are_taken_in_a_minute_and_number_601_is_not() {
    let [ingest, ..] = ROWS;
    let full = Row {
        request: |customer, _| {
            // As small as an event can be, and made once: the clients share the cores.
            static BATCH: LazyLock<String> = LazyLock::new(|| {
                let event =
                    json!({"event_type": "t", "agent_id": "a", "action": "a.b", "result": "r"});
                json!({"events": vec![event; 1_000]}).to_string()
            });
            let request = customer.request(Method::POST, "/v1/audit/events");
            request
                .header("content-type", "application/json")
                .body(BATCH.as_str())
        },
        ..ingest
    };
    at_full_size(&full, "api").await;
}

#[tokio::test]
async fn the_small_limits_hold_at_full_size() {
    for row in ROWS.iter().filter(|row| row.count <= 120) {
        at_full_size(row, "api,index").await;
    }
}

#[tokio::test]
async fn three_processes_that_share_redis_admit_exactly_the_limit_together() {
    let redis = own::redis().expect("a Redis");
    let deployment = Deployment::new()
        .with("REDIS__URL", &redis.url())
        .with("LIMITS__DECISIONS", "500/1h");
    let mut servers: Vec<_> = (0..3).map(|_| deployment.serve("api")).collect();
    let customer = deployment.customer(&mut servers[0]);
    let customers: Vec<Customer> = servers
        .iter_mut()
        .map(|server| customer.at(server))
        .collect();
    let decisions = &ROWS[3];
    let asked = customers
        .iter()
        .map(|customer| answers(decisions, customer, 400));
    let mut admitted = 0;
    for answers in futures::future::join_all(asked).await {
        admitted += 400 - refused(&answers);
    }
    assert_eq!(admitted, 500);
}

#[tokio::test]
async fn redis_may_be_killed_and_restarted_under_load_and_nobody_gets_a_5xx() {
    const LIMIT: usize = 300;
    const NODES: usize = 3;
    let mut redis = own::redis().expect("a Redis");
    let deployment = Deployment::new()
        .with("REDIS__URL", &redis.url())
        .with("LIMITS__DECISIONS", &format!("{LIMIT}/1h"))
        .with("LIMITS__EXPORT", "10/1h");
    let mut servers: Vec<_> = (0..NODES).map(|_| deployment.serve("api,index")).collect();
    let customer = deployment.customer(&mut servers[0]);
    let customers: Vec<Customer> = servers
        .iter_mut()
        .map(|server| customer.at(server))
        .collect();
    let (decisions, exports) = (&ROWS[3], &ROWS[2]);
    for customer in &customers {
        eventually(DEADLINE, "each node knows of the others", async || {
            metric(customer, "watchbell_limits_nodes").await == 3
        })
        .await;
    }
    let all = async |row: &Row, each: usize| {
        let asked = customers
            .iter()
            .map(|customer| answers(row, customer, each));
        let mut admitted = 0;
        for answers in futures::future::join_all(asked).await {
            assert!(
                answers.keys().all(|status| !status.is_server_error()),
                "{answers:?}"
            );
            admitted += each - refused(&answers);
        }
        admitted
    };
    let mut admitted = all(decisions, 50).await;
    assert_eq!(admitted, 150, "below the limit all are admitted");

    redis.kill();
    admitted += all(decisions, LIMIT).await;
    let bound = NODES * LIMIT;
    assert!(admitted > LIMIT, "each node goes on by itself: {admitted}");
    assert!(admitted <= bound, "{admitted} of at most {bound}");
    let exported = all(exports, 10).await;
    assert!(
        exported < 10 + NODES,
        "each node grants its share: {exported}"
    );

    redis.restart().expect("Redis starts again");
    for customer in &customers {
        eventually(DEADLINE, "limits are shared again", async || {
            metric(customer, "watchbell_limits_shared").await == 1
        })
        .await;
    }
    assert_eq!(
        all(decisions, 20).await,
        0,
        "what was admitted meanwhile counts"
    );
    let fresh = deployment.customer(&mut servers[0]);
    let fresh: Vec<Customer> = servers.iter_mut().map(|server| fresh.at(server)).collect();
    let asked = fresh
        .iter()
        .map(|customer| answers(decisions, customer, LIMIT));
    let mut exact = 0;
    for answers in futures::future::join_all(asked).await {
        exact += LIMIT - refused(&answers);
    }
    assert_eq!(exact, LIMIT, "exact again");
}

#[tokio::test]
async fn a_person_counts_as_one_however_often_they_log_in_and_apart_from_every_key() {
    let deployment = Deployment::new().with("LIMITS__LIST", "3/1h");
    let mut server = deployment.serve("api,index");
    let person = Person::founder(&server.url(DEADLINE)).await;
    let mut elsewhere = person.clone();
    elsewhere.log_in(PASSWORD).await;
    let wanted = json!({"name": "Agent", "scopes": ["events:read"]});
    let made = ok(person.post("/v1/api-keys", &wanted).await).await;
    let agent = Customer {
        http: http(),
        base_url: person.base_url.clone(),
        api_key: made["api_key"].as_str().expect("a key").to_owned(),
    };
    let mut statuses = Vec::new();
    for session in [&person, &elsewhere, &person, &elsewhere, &person] {
        statuses.push(session.get("/v1/audit/events").await.status().as_u16());
    }
    assert_eq!(statuses, [200, 200, 200, 429, 429]);
    assert_eq!(agent.get("/v1/audit/events").await.status(), 200);
}

#[tokio::test]
async fn a_client_counts_by_its_address_and_only_a_trusted_proxy_can_say_another() {
    let logins = |deployment: Deployment| deployment.with("LIMITS__LOGIN", "2/1h");
    let trusting = logins(Deployment::new())
        .with("HTTP__TRUSTED_PROXIES", "127.0.0.0/8")
        .with("HTTP__CLIENT_IP_HEADER", "x-forwarded-for");
    // Whom each deployment takes for the client: one after the other, two logins are admitted each.
    for (deployment, distinct) in [(logins(Deployment::new()), false), (trusting, true)] {
        let mut server = deployment.serve("api");
        let customer = deployment.customer(&mut server);
        let mut statuses = Vec::new();
        for client in ["192.0.2.1", "6.6.6.6, 192.0.2.1", "192.0.2.1", "192.0.2.2"] {
            let request = (ROWS[5].request)(&customer, 0).header("x-forwarded-for", client);
            statuses.push(request.send().await.expect("an answer").status().as_u16());
        }
        let last = if distinct { 401 } else { 429 };
        assert_eq!(statuses, [401, 401, 429, last], "trusted: {distinct}");
    }
}

#[tokio::test]
async fn inventing_keys_and_sessions_is_limited_and_who_has_a_key_does_not_notice() {
    let deployment = Deployment::new().with("LIMITS__KEY_LOOKUPS", "5/1h");
    let mut server = deployment.serve("api,index");
    let customer = deployment.customer(&mut server);
    customer.ingest(&event("agent")).await;
    let mut statuses = BTreeMap::<u16, usize>::new();
    for guess in 0..20 {
        let invented = domain::account::ApiKey::new([guess; 20]);
        let request = http()
            .get(format!("{}/v1/audit/events", customer.base_url))
            .bearer_auth(invented.reveal());
        let answer = request.send().await.expect("an answer");
        *statuses.entry(answer.status().as_u16()).or_default() += 1;
    }
    assert_eq!(statuses, BTreeMap::from([(401, 5), (429, 15)]));
    let cookie = format!("watchbell_session=wbs_{}", "0".repeat(64));
    let request = http()
        .get(format!("{}/v1/me", customer.base_url))
        .header("cookie", cookie);
    let answer = request.send().await.expect("an answer");
    assert_eq!(answer.status(), 429, "inventing sessions is the same");
    customer.ingest(&event("agent")).await;
    assert_eq!(customer.all_events().await.len(), 2);
}
