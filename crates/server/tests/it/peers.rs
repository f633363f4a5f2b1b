//! Eight scenarios in which another webhook server was measured, run against us. Each prints its figures
//! beside theirs: Svix 1.100 with its defaults, on a machine like this one.
//!
//! In CI they are short; with `WATCHBELL_TEST_FULL` set they last as long as they did for the other.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use domain::Timestamp;
use futures::future::join_all;
use serde_json::Value;
use testkit::{Answer, Receiver, Watchbell, environment, eventually, own};
use tokio::time::sleep;

use crate::deployment::{Customer, DEADLINE, Deployment, Running, http};
use crate::load::now;
use crate::pace::{Alarm, lags};

/// What a loaded machine may add to a figure; the peer's are tens of seconds.
const PROMPT: Duration = Duration::from_secs(3);
const MIB: u64 = 1 << 20;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn t1_a_healthy_endpoint_hears_at_once() {
    let running = Running::start(Deployment::new());
    let receiver = Receiver::start_light().expect("a receiver");
    let alarm = Alarm::set(&running.customer, "agent", &receiver.url()).await;
    let raised = alarm.raise(100, Duration::from_millis(200)).await;
    let lags = lags(&raised, &receiver, DEADLINE).await;
    figures("T1 healthy, 5/s", "p50 6 ms, p99 44 ms", &lags.to_string());
    assert!(lags.p99 < PROMPT, "{lags}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn t2_an_endpoint_that_hangs_does_not_delay_another() {
    let running = Running::start(Deployment::new());
    let (well, hung) = (light(), light());
    hung.answer_always(Answer::never());
    let quick = Alarm::set(&running.customer, "well", &well.url()).await;
    let stuck = Alarm::set(&running.customer, "hung", &hung.url()).await;
    let seconds = length(20, 60);
    let (raised, _) = tokio::join!(
        quick.raise(seconds * 2, Duration::from_millis(500)),
        stuck.raise(seconds * 48, Duration::from_millis(20)),
    );
    let lags = lags(&raised, &well, DEADLINE).await;
    figures(
        "T2 another endpoint hangs",
        "p50 43.4 s, p99 69.7 s",
        &lags.to_string(),
    );
    assert!(lags.p99 < PROMPT, "{lags}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn t3_a_body_that_trickles_does_not_delay_another_and_counts_as_delivered() {
    let running = Running::start(Deployment::new());
    let (well, slow) = (light(), light());
    slow.answer_always(Answer::status(200).trickled(Duration::from_millis(500)));
    let quick = Alarm::set(&running.customer, "well", &well.url()).await;
    let trickled = Alarm::set(&running.customer, "slow", &slow.url()).await;
    let (raised, drops) = tokio::join!(
        quick.raise(30, Duration::from_millis(250)),
        trickled.raise(16, Duration::from_millis(100)),
    );
    let lags = lags(&raised, &well, DEADLINE).await;
    figures(
        "T3 200, then a trickle",
        "the worker stops",
        &lags.to_string(),
    );
    assert!(lags.p99 < PROMPT, "{lags}");
    let states = drops.keys();
    join_all(states.map(|id| running.customer.delivery_in_state(id, "delivered"))).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn t4_answers_of_200_mib_cost_no_memory() {
    let running = Running::start(Deployment::new());
    let receiver = Receiver::start().expect("a receiver");
    let alarm = Alarm::set(&running.customer, "agent", &receiver.url()).await;
    let small = alarm.raise(20, Duration::from_millis(20)).await;
    lags(&small, &receiver, DEADLINE).await;
    let before = memory(&running.server, "VmRSS:");
    receiver.answer_always(Answer::status(200).endless(200 * MIB));
    let large = alarm.raise(5, Duration::from_millis(20)).await;
    let states = large.keys();
    join_all(states.map(|id| running.customer.delivery_in_state(id, "delivered"))).await;
    let peak = memory(&running.server, "VmHWM:");
    let taken = receiver.bytes_handed_over() / MIB;
    figures(
        "T4 five answers of 200 MiB",
        "39 -> 891 MiB",
        &format!("{before} -> {peak} MiB; the network took {taken} MiB of 1,000"),
    );
    assert!(peak < before + 64, "{before} -> {peak} MiB");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn t5_a_queue_whose_consumers_are_lost_while_it_runs_goes_on_unaided() {
    let nats = own::nats().expect("NATS");
    let running = Running::start(Deployment::on_journal(&nats.url()));
    let receiver = light();
    let alarm = Alarm::set(&running.customer, "agent", &receiver.url()).await;
    let before = alarm.raise(10, Duration::from_millis(50)).await;
    lags(&before, &receiver, DEADLINE).await;

    let lost = lose_consumers(nats.port(), &nats.monitor_url()).await;
    let raised = alarm.raise(60, Duration::from_millis(100)).await;
    let lags = lags(&raised, &receiver, DEADLINE).await;
    figures(
        "T5 the queue's consumers are lost",
        "60 accepted, 0 delivered, for ever",
        &format!("{lost} lost; {lags}"),
    );
    assert!(lost > 0, "there were some to lose");
    assert!(lags.max < Duration::from_secs(15), "{lags}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn t6_retry_after_600_quiets_the_endpoint_for_600_seconds() {
    let running = Running::start(Deployment::new());
    let receiver = Receiver::start().expect("a receiver");
    receiver.answer_always(Answer::status(429).header("retry-after", "600"));
    let alarm = Alarm::set(&running.customer, "agent", &receiver.url()).await;
    let waits_until = async |id: &_| -> Timestamp {
        let what = format!("{id} waits");
        eventually(DEADLINE, &what, async || {
            let delivery = delivery(&running.customer, id).await;
            Timestamp::parse(delivery["next_at"].as_str()?)
        })
        .await
    };
    let asked = now();
    let first = alarm.raise(1, Duration::from_millis(1)).await;
    // What is sent before the worker has read the answer cannot know of it.
    for id in first.keys() {
        waits_until(id).await;
    }
    let others = alarm.raise(10, Duration::from_millis(200)).await;
    let mut waits = Vec::new();
    for id in first.keys().chain(others.keys()) {
        waits.push(waits_until(id).await.since(asked));
    }
    let least = waits.iter().min().expect("some");
    figures(
        "T6 Retry-After: 600",
        "11.9 s, then 569.6 s",
        &format!("{least:.1?} at least, {} of 11 were sent", receiver.count()),
    );
    assert!(*least >= Duration::from_secs(600), "{least:?}");
    assert_eq!(receiver.count(), 1, "the endpoint is quiet");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn t6b_410_twice_a_minute_apart_disables_the_endpoint() {
    let running = Running::start(Deployment::new());
    let receiver = Receiver::start().expect("a receiver");
    receiver.answer_with(410);
    let alarm = Alarm::set(&running.customer, "agent", &receiver.url()).await;
    let raised = alarm.raise(1, Duration::from_millis(1)).await;
    let id = raised.keys().next().expect("one");
    receiver.wait_for(2, DEADLINE).await;
    let waiting = running.customer.delivery_in_state(id, "scheduled").await;
    let theirs = "tried on, stays enabled";
    if !environment::is_full_length() {
        // The attempts after 1 s and 5 s may be one deploy; the one after two minutes is not.
        figures(
            "T6b 410",
            theirs,
            &format!("two 410 in 1 s: {}", waiting["state"]),
        );
        return;
    }
    let held = eventually(Duration::from_mins(4), "it is held", async || {
        let delivery = delivery(&running.customer, id).await;
        (delivery["state"] == "held").then_some(delivery)
    })
    .await;
    figures(
        "T6b 410",
        theirs,
        &format!("held after {} attempts", held["attempts"]),
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn t7_retries_that_wait_while_postgresql_is_stopped_are_all_made() {
    const WAITING: usize = 50;
    let (mut postgres, deployment) = Deployment::on_own_postgres();
    let mut server = deployment.serve_all();
    let customer = deployment.customer(&mut server);
    let receiver = Receiver::start().expect("a receiver");
    receiver.answer_by(|received| {
        let is_refused = matches!(received.header("x-service-attempt"), Some("1" | "2"));
        Answer::status(if is_refused { 404 } else { 200 })
    });
    let alarm = Alarm::set(&customer, "agent", &receiver.url()).await;
    alarm.raise_crowd(WAITING).await;
    receiver.wait_for(WAITING * 2, DEADLINE).await;

    postgres.stop();
    let stopped = Instant::now();
    receiver.wait_for(WAITING * 3, DEADLINE).await;
    let made = stopped.elapsed();
    let outage = Duration::from_secs(length(20, 200) as u64);
    // waits for: nothing; the outage is to last this long
    sleep(outage.saturating_sub(stopped.elapsed())).await;
    postgres.restart().expect("PostgreSQL starts again");

    eventually(DEADLINE, "the log says delivered", async || {
        let rows = customer.all_deliveries().await;
        let delivered = rows.iter().filter(|row| row["state"] == "delivered");
        let delivered = delivered.count();
        (delivered == WAITING).then_some(()).ok_or(delivered)
    })
    .await;
    figures(
        "T7 PostgreSQL stopped, 50 retries wait",
        "0 made, 50 in a dead-letter list",
        &format!("50 made within {made:.1?} of the stop, all on record after {outage:?}"),
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn t8_six_senders_are_kept_up_with() {
    const SENDERS: usize = 6;
    let running = Running::start(Deployment::new());
    let receiver = light();
    let mut alarms = Vec::new();
    for number in 0..SENDERS {
        let url = receiver.url_of(&format!("/{number}"));
        alarms.push(Alarm::set(&running.customer, &format!("agent-{number}"), &url).await);
    }
    let (each, started) = (length(200, 2_000), Instant::now());
    let raising = alarms
        .iter()
        .map(|alarm| alarm.raise(each, Duration::from_millis(1)));
    let raised = join_all(raising).await.into_iter().flatten().collect();
    let lags = lags(&raised, &receiver, DEADLINE).await;
    #[expect(clippy::cast_precision_loss, reason = "a figure for people")]
    let rate = raised.len() as f64 / started.elapsed().as_secs_f64();
    figures(
        "T8 six senders",
        "223/s, p50 18 ms, p99 187 ms",
        &format!("{rate:.0}/s; {lags}"),
    );
    assert!(lags.p99 < DEADLINE / 2, "{lags}");
}

#[expect(clippy::print_stdout, reason = "a figure is what it prints")]
fn figures(scenario: &str, theirs: &str, ours: &str) {
    println!("| {scenario} | Svix: {theirs} | ours: {ours} |");
}

fn light() -> Receiver {
    Receiver::start_light().expect("a receiver")
}

fn length(short: usize, full: usize) -> usize {
    if environment::is_full_length() {
        full
    } else {
        short
    }
}

async fn delivery(customer: &Customer, id: &str) -> Value {
    let answer = customer.get(&format!("/v1/deliveries/{id}")).await;
    answer.json().await.unwrap_or_default()
}

/// Memory of a process in MiB, as Linux tells it.
fn memory(process: &Watchbell, which: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", process.pid())).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix(which));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB"));
    kib.and_then(|kib| kib.trim().parse::<u64>().ok())
        .expect("a number")
        / 1024
}

/// Deletes every consumer of the queue, as an operator might by mistake; how many there were.
async fn lose_consumers(port: u16, monitor: &str) -> usize {
    let url = format!("{monitor}/jsz?streams=true&consumers=true");
    let state = http()
        .get(url)
        .send()
        .await
        .expect("an answer")
        .text()
        .await;
    let state: Value = serde_json::from_str(&state.expect("a text")).expect("JSON");
    let streams = state["account_details"][0]["stream_detail"].as_array();
    let mut requests = String::from("CONNECT {\"verbose\":false}\r\n");
    let mut lost = 0;
    for stream in streams.expect("streams") {
        let name = stream["name"].as_str().expect("a name");
        if !name.contains("DELIVERIES") {
            continue;
        }
        for consumer in stream["consumer_detail"].as_array().into_iter().flatten() {
            let consumer = consumer["name"].as_str().expect("a name");
            let ask = [
                "PUB $JS.API.CONSUMER.DELETE.",
                name,
                ".",
                consumer,
                " gone 0\r\n\r\n",
            ];
            requests.extend(ask);
            lost += 1;
        }
    }
    requests.push_str("PING\r\n");
    let mut wire = TcpStream::connect(("127.0.0.1", port)).expect("NATS listens");
    wire.write_all(requests.as_bytes()).expect("sent");
    let (mut answer, mut bytes) = (String::new(), [0; 4096]);
    while !answer.contains("PONG") {
        let read = wire.read(&mut bytes).expect("an answer");
        assert!(read > 0, "NATS closed the connection: {answer}");
        answer.push_str(&String::from_utf8_lossy(&bytes[..read]));
    }
    lost
}
