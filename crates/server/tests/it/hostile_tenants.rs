//! Nobody stops the others: what strangers and customers may ask for without end, and who does not wait for it.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use domain::account::{SecretToken, TokenKind};
use futures::future::join_all;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use testkit::{Stopwatch, eventually};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::deployment::{Customer, DEADLINE, Deployment, Running, event, http, ok};
use crate::errors::problem;
use crate::timing::median;

/// Patterns that a text of `a`s keeps busy from its first character to its last, so many bytes together in each policy.
pub(crate) fn dear_policies(policies: usize, patterns: usize, bytes: usize) -> String {
    let mut text = "@id(\"all\") permit (principal, action, resource);\n".to_owned();
    for policy in 0..policies {
        let likes = (0..patterns).map(|pattern| {
            let number = format!("{policy}x{pattern}");
            let long = "a".repeat(bytes - 1 - number.len());
            format!("context.text like \"*{long}{number}\"")
        });
        let likes: Vec<String> = likes.collect();
        writeln!(
            text,
            "@id(\"dear-{policy}\") forbid (principal, action, resource) when {{ {} }};",
            likes.join(" || ")
        )
        .expect("a text takes anything");
    }
    text
}

pub(crate) fn dear_question() -> Value {
    json!({"agent_id": "a", "action": "files.read", "context": {"text": "a".repeat(10_500)}})
}

#[tokio::test]
async fn policies_that_would_take_long_are_not_saved_and_their_author_is_told_what_they_cost() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let save = async |policies: String| {
        let request = customer.request(Method::POST, "/v1/policies/versions");
        let answer = request.json(&json!({ "policies": policies })).send().await;
        answer.expect("an answer")
    };
    // Each policy may be, but not all of them together.
    let refused = problem(save(dear_policies(10, 10, 250)).await, 422).await;
    assert_eq!(refused["errors"][0]["pointer"], "/policies");
    let detail = refused["errors"][0]["detail"].as_str().expect("a text");
    assert!(
        detail.contains("cost 25000 in total, and the limit is 1500"),
        "{detail}"
    );

    let request = customer.request(Method::POST, "/v1/policies/validate");
    let body = json!({"policies": dear_policies(1, 5, 250)});
    let report: Value = ok(request.json(&body).send().await.expect("an answer")).await;
    assert_eq!(report["valid"], true, "{report}");
    assert_eq!(report["cost"], 1_250);

    // Those that no question meets together do not add up.
    let apart = (0..20).map(|number| {
        let pattern = "x".repeat(200);
        format!(
            "@id(\"p{number}\") permit (principal, action == Action::\"files.a{number}\", resource) \
             when {{ context.text like \"*{pattern}*\" }};"
        )
    });
    let saved = save(apart.collect::<Vec<_>>().join("\n")).await;
    assert_eq!(saved.status(), StatusCode::CREATED);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dear_questions_of_some_keep_nobody_else_waiting() {
    let mut running = Running::start(Deployment::new());
    let others: Vec<Customer> = (0..4)
        .map(|_| running.deployment.customer(&mut running.server))
        .collect();
    for hostile in &others {
        hostile.put_in_force(&dear_policies(1, 5, 250)).await;
    }
    let health = format!("{}/healthz/live", running.customer.base_url);
    let flood = others.iter().flat_map(|hostile| {
        (0..4).map(async move |_| {
            let mut took = Vec::new();
            let began = Instant::now();
            while began.elapsed() < Duration::from_secs(4) {
                let asked = Instant::now();
                let answer = hostile.decide(&dear_question()).await;
                took.push(asked.elapsed());
                assert_eq!(
                    answer["decision"],
                    if answer["policies"][0].is_null() {
                        "deny"
                    } else {
                        "allow"
                    }
                );
            }
            took
        })
    });
    let honest = async {
        let mut took = Vec::new();
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(4) {
            let asked = Instant::now();
            let question = json!({"agent_id": "a", "action": "files.read"});
            let answer = running.customer.decide(&question).await;
            assert_eq!(answer["decision"], "allow");
            let alive = http().get(&health).send().await.expect("an answer");
            assert!(alive.status().is_success());
            took.push(asked.elapsed());
        }
        took
    };
    let (theirs, ours) = tokio::join!(join_all(flood), honest);
    let longest = ours.iter().max().expect("some");
    assert!(*longest < Duration::from_secs(2), "{longest:?}");
    // Theirs stand in line for each other; ours stand behind none of them, however slow the machine is.
    let (theirs, ours) = (median(theirs.concat()), median(ours));
    assert!(ours * 4 < theirs, "{ours:?} beside {theirs:?}");
}

#[tokio::test]
async fn a_head_that_is_too_long_is_refused_before_it_takes_memory() {
    let deployment = Deployment::new();
    let mut server = deployment.serve("api");
    let address = server.address(DEADLINE);
    let mut connection = TcpStream::connect(address).await.expect("a connection");
    let head = format!("GET /v1/about HTTP/1.1\r\nHost: {address}\r\nX-Long: ");
    connection.write_all(head.as_bytes()).await.expect("sent");
    // Far more than is taken: either it is answered, or the connection is closed under the writer.
    let sending = async {
        for _ in 0..100 {
            if connection.write_all(&[b'a'; 4096]).await.is_err() {
                return;
            }
        }
        let mut answer = Vec::new();
        let _ = connection.read_to_end(&mut answer).await;
        let answer = String::from_utf8_lossy(&answer);
        assert!(
            answer.is_empty() || answer.starts_with("HTTP/1.1 431 "),
            "{answer}"
        );
    };
    // Sooner than who says nothing is let go.
    timeout(Duration::from_secs(5), sending)
        .await
        .expect("it is refused at once");
}

#[tokio::test]
async fn who_connects_and_says_nothing_is_let_go_soon() {
    let deployment = Deployment::new();
    let mut server = deployment.serve("api");
    let mut connection = TcpStream::connect(server.address(DEADLINE))
        .await
        .expect("a connection");
    let began = Instant::now();
    let mut nothing = [0; 1];
    let read = timeout(DEADLINE, connection.read(&mut nothing)).await;
    assert_eq!(read.expect("in time").expect("closed in order"), 0);
    assert!(
        began.elapsed() >= Duration::from_secs(9),
        "{:?}",
        began.elapsed()
    );
}

#[tokio::test]
async fn one_address_has_its_share_of_the_connections_and_probes_have_a_port_of_their_own() {
    let deployment = Deployment::new()
        .with("HTTP__CONNECTIONS_PER_ADDRESS_MAX", "5")
        .with("HTTP__ADMIN_LISTEN", "127.0.0.1:0");
    let mut server = deployment.serve("api");
    let address = server.address(DEADLINE);
    let line = server.wait_for_line(DEADLINE, |line| line.contains("health and metrics"));
    let line: Value = serde_json::from_str(&line).expect("JSON");
    let admin: SocketAddr = line["address"]
        .as_str()
        .expect("an address")
        .parse()
        .expect("one");

    let idle = join_all((0..5).map(|_| TcpStream::connect(address))).await;
    let mut sixth = TcpStream::connect(address).await.expect("a connection");
    let mut nothing = [0; 1];
    let read = timeout(Duration::from_secs(5), sixth.read(&mut nothing)).await;
    assert!(
        matches!(read.expect("at once"), Ok(0) | Err(_)),
        "it is closed"
    );

    for path in ["/healthz/live", "/healthz/ready", "/metrics"] {
        let answer = http().get(format!("http://{admin}{path}")).send().await;
        assert!(answer.expect("an answer").status().is_success(), "{path}");
    }
    drop(idle);
    let public = format!("http://{address}/metrics");
    eventually(DEADLINE, "there is a seat again", async || {
        match http().get(&public).send().await {
            Ok(answer) if answer.status() == StatusCode::NOT_FOUND => Ok(()),
            other => Err(format!("{other:?}")),
        }
    })
    .await;
}

#[tokio::test]
async fn large_bodies_that_arrive_slowly_keep_only_their_own_organization_waiting() {
    let mut running = Running::start(Deployment::new());
    let other = running.deployment.customer(&mut running.server);
    let (address, key) = (running.server.address(DEADLINE), &running.customer.api_key);
    let megabytes = 5 * 1024 * 1024 - 1;
    let slow = (0..7).map(async |_| {
        let mut connection = TcpStream::connect(address).await.expect("a connection");
        let head = format!(
            "POST /v1/audit/events HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {key}\r\n\
             Content-Type: application/json\r\nContent-Length: {megabytes}\r\n\r\n{{"
        );
        connection.write_all(head.as_bytes()).await.expect("sent");
        connection
    });
    let slow = join_all(slow).await;
    // One of the seven has no room, and is told so.
    let refusals = slow.into_iter().map(async |mut connection| {
        let mut answer = vec![0; 4096];
        let read = timeout(Duration::from_secs(10), connection.read(&mut answer)).await;
        match read {
            Ok(Ok(bytes)) => String::from_utf8_lossy(&answer[..bytes]).contains("OVERLOADED"),
            _ => false,
        }
    });
    let others = async {
        let request = other.request(Method::POST, "/v1/audit/events");
        let answer = request
            .json(&event("agent"))
            .send()
            .await
            .expect("an answer");
        assert_eq!(answer.status(), StatusCode::ACCEPTED);
    };
    // Most of these come when the seventh waits for room already; they must not wait behind it.
    let own = async {
        let question = json!({"agent_id": "a", "action": "files.read"});
        let all = Instant::now();
        while all.elapsed() < Duration::from_secs(2) {
            let began = Stopwatch::start();
            running.customer.decide(&question).await;
            assert!(
                began.elapsed() < Duration::from_secs(2),
                "its guard waits too"
            );
        }
    };
    let (refusals, (), ()) = tokio::join!(join_all(refusals), others, own);
    assert_eq!(refusals.into_iter().filter(|refused| *refused).count(), 1);
}

#[tokio::test]
async fn logging_out_with_invented_sessions_ends_like_any_other_guessing() {
    let deployment = Deployment::new().with("LIMITS__KEY_LOOKUPS", "5/1h");
    let mut server = deployment.serve("api");
    let url = format!("{}/v1/auth/logout", server.url(DEADLINE));
    let mut answers = Vec::new();
    for number in 0..7 {
        let invented = SecretToken::new(TokenKind::Session, [number; 32]);
        let cookie = format!("watchbell_session={}", invented.reveal());
        let request = http().post(&url).header("cookie", cookie);
        answers.push(request.send().await.expect("an answer").status());
    }
    assert_eq!(answers[..5], [StatusCode::NO_CONTENT; 5]);
    assert_eq!(answers[5..], [StatusCode::TOO_MANY_REQUESTS; 2]);
}

#[tokio::test]
async fn bytes_are_limited_as_they_are_stored_and_not_as_they_are_sent() {
    let deployment = Deployment::new().with("EVENTS__BYTES_PER_MINUTE_MAX", "1000000");
    let mut running = Running::start(deployment);
    let other = running.deployment.customer(&mut running.server);
    let mut large = event("agent");
    large["metadata"] = json!({"text": "a".repeat(10_000)});
    let batch = serde_json::to_vec(&json!({"events": vec![large; 60]})).expect("JSON");
    let packed = zstd::encode_all(batch.as_slice(), 3).expect("packed");
    assert!(
        packed.len() * 100 < batch.len(),
        "{} of {}",
        packed.len(),
        batch.len()
    );
    let send = async |customer: &Customer| {
        let request = customer
            .request(Method::POST, "/v1/audit/events")
            .header("content-type", "application/json")
            .header("content-encoding", "zstd")
            .body(packed.clone());
        request.send().await.expect("an answer")
    };
    assert_eq!(send(&running.customer).await.status(), StatusCode::ACCEPTED);
    let refused = send(&running.customer).await;
    assert!(refused.headers().contains_key("retry-after"));
    assert_eq!(problem(refused, 429).await["code"], "RATE_LIMITED");
    assert_eq!(send(&other).await.status(), StatusCode::ACCEPTED);
}

#[tokio::test]
async fn a_journal_that_is_full_takes_no_more_drops_nothing_and_says_so_before() {
    let deployment = Deployment::new().with("JOURNAL__EVENTS_BYTES_MAX", "4000000");
    let mut running = Running::start(deployment);
    let mut large = event("agent");
    large["metadata"] = json!({"text": "a".repeat(10_000)});
    let send = async |events: usize| {
        let request = running.customer.request(Method::POST, "/v1/audit/events");
        let batch = json!({"events": vec![&large; events]});
        request.json(&batch).send().await.expect("an answer")
    };
    // Over the bound in one step: above nine tenths of it whoever fills it is refused otherwise.
    let taken = 170;
    assert_eq!(send(taken).await.status(), StatusCode::ACCEPTED);
    let refused = send(45).await;
    assert_eq!(problem(refused, 503).await["code"], "JOURNAL_UNAVAILABLE");
    let customer = &running.customer;
    eventually(DEADLINE, "all that was taken is listed", async || {
        let listed = ok(customer.get("/v1/audit/events?limit=1000").await).await;
        match listed["data"].as_array().map_or(0, Vec::len) {
            all if all == taken => Ok(()),
            some => Err(format!("{some} of {taken}")),
        }
    })
    .await;
    let metrics = format!("{}/metrics", running.server.url(DEADLINE));
    eventually(DEADLINE, "its size is told", async || {
        let text = http().get(&metrics).send().await.expect("an answer");
        let text = text.text().await.expect("a text");
        let value = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name))?;
            line.trim().parse::<f64>().ok()
        };
        let bytes = value("watchbell_journal_events_bytes ");
        let most = value("watchbell_journal_events_bytes_max ");
        match (bytes, most) {
            // Where the alert rings.
            (Some(bytes), Some(2_000_000.0)) if bytes > 1_600_000.0 => Ok(()),
            other => Err(format!("{other:?}")),
        }
    })
    .await;
}

#[tokio::test]
async fn what_anybody_may_send_is_small() {
    let deployment = Deployment::new();
    let mut server = deployment.serve("api");
    let base_url = server.url(DEADLINE);
    for path in ["login", "register", "password-reset", "accept-invitation"] {
        let long = json!({"email": "a".repeat(17_000)});
        let request = http().post(format!("{base_url}/v1/auth/{path}"));
        let answer = request.json(&long).send().await.expect("an answer");
        assert_eq!(answer.status(), StatusCode::PAYLOAD_TOO_LARGE, "{path}");
    }
}

#[tokio::test]
async fn questions_count_as_bytes_too_however_few_requests_they_come_in() {
    let deployment = Deployment::new().with("EVENTS__BYTES_PER_MINUTE_MAX", "1000000");
    let running = Running::start(deployment);
    let batch = json!({
        "subject": {"type": "agent", "id": "a"},
        "action": {"name": "files.read"},
        "resource": {"type": "file", "id": "/x"},
        "context": {"text": "a".repeat(9_000)},
        "evaluations": vec![json!({}); 100],
    });
    let mut answers = Vec::new();
    for _ in 0..3 {
        let answer = running
            .customer
            .post("/access/v1/evaluations", &batch)
            .await;
        answers.push(answer.status().as_u16());
    }
    assert_eq!(answers, [200, 429, 429]);
}
