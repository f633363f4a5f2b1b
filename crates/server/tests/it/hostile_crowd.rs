//! Eight hostile customers at once, and a ninth who is answered all the same.

use std::fs;
use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, SystemTime};

use futures::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};
use testkit::{Receiver, Stopwatch, eventually};
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpSocket, TcpStream};
use tokio::runtime::Builder;
use tokio::time::{interval, sleep};
use tokio_util::sync::CancellationToken;

use crate::deployment::{Customer, DEADLINE, Deployment, Running, event};
use crate::hostile_tenants::{dear_policies, dear_question};

/// How often the ninth sends, asks and is rung for, alone and in the crowd.
const SAMPLES: usize = 60;
/// How long the ninth may wait while everybody, the crowd itself too, shares the machine's cores.
const PATIENCE: Duration = Duration::from_secs(2);
/// What a process has in the chart.
const MEMORY_MAX_KB: u64 = 1024 * 1024;
/// As many as a process takes.
const IDLE_CONNECTIONS: usize = 10_000;
/// As many as one address may have.
const PER_ADDRESS: usize = 1_000;

/// What 98 of 100 took at most.
#[derive(Debug)]
struct Felt {
    ingest: Duration,
    decision: Duration,
    delivery: Duration,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn eight_hostile_customers_leave_a_ninth_its_answers_and_the_process_its_memory() {
    // What a customer has by default, whatever it wants.
    let mut deployment = Deployment::new();
    for limit in ["INGEST", "LIST", "DECISIONS", "READS", "WRITES", "PUBLIC"] {
        deployment = deployment.without(&format!("LIMITS__{limit}"));
    }
    let mut running = Running::start(deployment);
    let address = running.server.address(DEADLINE);
    let receiver = Receiver::start().expect("a receiver");
    running
        .customer
        .rule(json!({"agent_id": [{"prefix": "ninth"}]}), &receiver.url())
        .await;
    let ninth = &running.customer;
    felt(ninth, &receiver, "ninth-warm").await;
    let alone = felt(ninth, &receiver, "ninth-alone").await;

    let hostile: Vec<Customer> = (0..8)
        .map(|_| running.deployment.customer(&mut running.server))
        .collect();
    for dear in &hostile[..2] {
        dear.put_in_force(&dear_policies(1, 5, 250)).await;
    }
    hostile[4].put_in_force(ESCALATE).await;
    let enough = CancellationToken::new();
    let attack = enough.clone();
    let crowd = thread::spawn(move || {
        // Elsewhere they have machines of their own; here they have what the others leave of this one.
        rustix::process::nice(19).expect("nice");
        let runtime = Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(async {
            tokio::select! {
                () = attack_all(&hostile, address) => {}
                () = attack.cancelled() => {}
            }
        });
    });
    let in_the_crowd = felt(ninth, &receiver, "ninth-in-the-crowd").await;
    let memory = memory_kb(running.server.pid());
    enough.cancel();
    crowd.join().expect("the crowd leaves");
    println!("alone {alone:?}, in the crowd {in_the_crowd:?}, {memory} kB");
    let Felt {
        ingest,
        decision,
        delivery,
    } = in_the_crowd;
    let longest = ingest.max(decision).max(delivery);
    assert!(longest < PATIENCE, "{longest:?}");
    assert!(memory < MEMORY_MAX_KB, "{memory} kB");
}

/// Each of them what it does best.
async fn attack_all(hostile: &[Customer], address: SocketAddr) {
    tokio::join!(
        ask_dear_questions(&hostile[0]),
        ask_dear_questions(&hostile[1]),
        send_half_a_head(address),
        connect_and_say_nothing(address),
        ask_for_approval(&hostile[4]),
        send_packed_floods(&hostile[5]),
        send_slow_bodies(&hostile[6], address),
        list_without_end(&hostile[7]),
    );
}

const ESCALATE: &str = r#"@id("people") @verdict("escalate") forbid (principal, action, resource);
@id("all") permit (principal, action, resource);"#;

/// Sends events, asks for decisions and waits for the webhooks.
#[expect(
    clippy::disallowed_methods,
    reason = "the receiver goes by the same clock"
)]
async fn felt(ninth: &Customer, receiver: &Receiver, agent: &str) -> Felt {
    let (mut ingest, mut decision, mut sent) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..SAMPLES {
        let (began, at) = (Stopwatch::start(), SystemTime::now());
        sent.push((ninth.ingest(&event(agent)).await, at));
        ingest.push(began.elapsed());
        let began = Stopwatch::start();
        let question = json!({"agent_id": agent, "action": "files.read"});
        assert_eq!(ninth.decide(&question).await["decision"], "allow");
        decision.push(began.elapsed());
    }
    let delivery = eventually(DEADLINE, "every webhook arrives", async || {
        let arrived = receiver.received_where(|_| true);
        let arrived: Vec<(Option<String>, SystemTime)> = arrived
            .iter()
            .map(|one| (one.event_id(), one.arrived_at))
            .collect();
        let took = sent.iter().map(|(id, at)| {
            let found = arrived.iter().find(|(event, _)| event.as_ref() == Some(id));
            found.map(|(_, arrived)| arrived.duration_since(*at).unwrap_or_default())
        });
        took.collect::<Option<Vec<Duration>>>()
    })
    .await;
    Felt {
        ingest: p98(ingest),
        decision: p98(decision),
        delivery: p98(delivery),
    }
}

fn p98(mut all: Vec<Duration>) -> Duration {
    all.sort();
    all[all.len() * 98 / 100]
}

fn memory_kb(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    number.expect("its memory").parse().expect("a number")
}

/// Whatever the answer is, it asks again: 80 times a second with four lanes, which is about what a key may ask.
async fn without_end(lanes: usize, request: impl AsyncFn()) {
    join_all((0..lanes).map(async |_| {
        let mut pace = interval(Duration::from_millis(50));
        loop {
            pace.tick().await;
            request().await;
        }
    }))
    .await;
}

async fn post(customer: &Customer, path: &str, body: &Value) {
    let request = customer.request(Method::POST, path).json(body);
    let _ = request.send().await;
}

async fn ask_dear_questions(customer: &Customer) {
    let question = dear_question();
    without_end(4, async || {
        post(customer, "/v1/runtime/decisions", &question).await;
    })
    .await;
}

async fn ask_for_approval(customer: &Customer) {
    let question = json!({"agent_id": "a", "action": "payments.refund"});
    without_end(4, async || {
        post(customer, "/v1/runtime/decisions", &question).await;
    })
    .await;
}

async fn list_without_end(customer: &Customer) {
    without_end(4, async || {
        let request = customer.request(Method::GET, "/v1/audit/events?limit=1000");
        let _ = request.send().await;
    })
    .await;
}

async fn send_packed_floods(customer: &Customer) {
    let mut large = event("flood");
    large["metadata"] = json!({"text": "a".repeat(10_000)});
    let batch = serde_json::to_vec(&json!({"events": vec![large; 60]})).expect("JSON");
    let packed = zstd::encode_all(batch.as_slice(), 3).expect("packed");
    without_end(4, async || {
        let request = customer
            .request(Method::POST, "/v1/audit/events")
            .header("content-type", "application/json")
            .header("content-encoding", "zstd")
            .body(packed.clone());
        let _ = request.send().await;
    })
    .await;
}

async fn connect_from(number: usize, address: SocketAddr) -> Option<TcpStream> {
    let host = u8::try_from(2 + number / PER_ADDRESS).expect("few addresses");
    let socket = TcpSocket::new_v4().ok()?;
    socket.bind(SocketAddr::from(([127, 0, 1, host], 0))).ok()?;
    socket.connect(address).await.ok()
}

/// One after the other, and again when it is closed.
async fn connect_and_say_nothing(address: SocketAddr) {
    let lanes = (0..IDLE_CONNECTIONS).map(async |number| {
        // waits for: the others before it, 2,000 of them a second
        sleep(Duration::from_micros(500) * u32::try_from(number).expect("few")).await;
        loop {
            match connect_from(number, address).await {
                Some(connection) => drop(connection.readable().await),
                // waits for: the server to have room
                None => sleep(Duration::from_secs(1)).await,
            }
        }
    });
    join_all(lanes).await;
}

async fn send_half_a_head(address: SocketAddr) {
    let half = format!("GET / HTTP/1.1\r\nX-Long: {}", "a".repeat(15_000));
    without_end(500, async || {
        if let Ok(mut connection) = TcpStream::connect(address).await {
            let _ = connection.write_all(half.as_bytes()).await;
            let _ = connection.readable().await;
        }
    })
    .await;
}

async fn send_slow_bodies(customer: &Customer, address: SocketAddr) {
    let head = format!(
        "POST /v1/audit/events HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {}\r\n\
         Content-Type: application/json\r\nContent-Length: 5000000\r\n\r\n",
        customer.api_key
    );
    let most = vec![b' '; 4_900_000];
    without_end(100, async || {
        if let Ok(mut connection) = TcpStream::connect(address).await {
            let _ = connection.write_all(head.as_bytes()).await;
            let _ = connection.write_all(&most).await;
            let _ = connection.readable().await;
        }
    })
    .await;
}
