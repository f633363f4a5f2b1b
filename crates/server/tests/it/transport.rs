//! One attempt on the wire: what it costs at most, what is kept of it, and what is said when it fails.

use std::net::{IpAddr, Ipv4Addr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use domain::{DeliveryId, delivery::Outcome};
use futures::future::join_all;
use journal::{
    record::{self, Attempted, OutcomeRecord},
    streams::Log,
};
use serde_json::json;
use testkit::{Answer, NameServer, Receiver, eventually};

use crate::deployment::{Customer, DEADLINE, Deployment, Running, event};
use crate::retries::raw_receiver;

/// Every attempt so far of the delivery that an event made for a rule, as the journal has it, once there
/// is one.
pub(crate) async fn attempts(deployment: &Deployment, delivery: &str) -> Vec<Attempted> {
    let delivery: DeliveryId = delivery.parse().expect("an id");
    let journal = deployment.journal().await;
    eventually(DEADLINE, "it was attempted", async || {
        let mut found = Vec::new();
        for partition in journal.partitions().all() {
            let mut follower = journal.follow(Log::Outcomes(partition), 0);
            let state = journal.log_state(Log::Outcomes(partition)).await.ok()?;
            while follower.position() < state.last_sequence {
                for entry in follower.next(100).await.ok()? {
                    let records = record::outcomes(&entry.payload).ok()?;
                    found.extend(records.into_iter().filter_map(|record| match record {
                        OutcomeRecord::Attempted(attempted) if attempted.delivery == delivery => {
                            Some(*attempted)
                        }
                        _ => None,
                    }));
                }
            }
        }
        (!found.is_empty()).then_some(found)
    })
    .await
}

/// Makes a rule for each URL and one event for all; the id of the delivery to each.
pub(crate) async fn deliver_to(customer: &Customer, urls: &[String]) -> Vec<String> {
    for url in urls {
        customer.rule(json!({}), url).await;
    }
    customer.ingest(&event("agent-1")).await;
    let deliveries = eventually(DEADLINE, "the deliveries are on record", async || {
        let deliveries = customer.all_deliveries().await;
        (deliveries.len() == urls.len()).then_some(deliveries)
    })
    .await;
    let delivery_to = |url: &String| {
        let found = deliveries.iter().find(|one| one["url"] == url.as_str());
        let id = found.expect("one for each rule")["id"].as_str();
        id.expect("an id").to_owned()
    };
    urls.iter().map(delivery_to).collect()
}

pub(crate) fn error(attempt: &Attempted) -> &str {
    attempt.error.as_deref().expect("an error")
}

#[tokio::test]
async fn a_receiver_that_hangs_trickles_or_never_ends_costs_no_more_than_its_limits() {
    let running = Running::start(Deployment::new());
    let receiver = Receiver::start().expect("a receiver");
    let second = Duration::from_secs(1);
    receiver.answer_at("/hang", Answer::never());
    receiver.answer_at("/trickle", Answer::status(200).trickled(second));
    receiver.answer_at("/endless", Answer::status(200).endless(1 << 30));
    let urls = ["/hang", "/trickle", "/endless"].map(|path| receiver.url_of(path));
    let ids = deliver_to(&running.customer, &urls).await;
    let [hung, trickled, endless] = ids.as_slice() else {
        panic!("{ids:?}");
    };

    let endless = &attempts(&running.deployment, endless).await[0];
    assert_eq!(endless.outcome, Outcome::Delivered);
    assert_eq!(endless.answer.len(), 8 * 1024);
    // 64 KiB, and what the network had under way.
    let taken = receiver.bytes_handed_over();
    assert!(taken < 32 << 20, "{taken} of 1 GiB");

    let trickled = &attempts(&running.deployment, trickled).await[0];
    assert_eq!(trickled.outcome, Outcome::Delivered);
    assert!(
        trickled.answer.starts_with('.'),
        "what came in time is kept"
    );
    let took = trickled.finished_at.since(trickled.started_at);
    assert!(took >= 2 * second && took < 5 * second, "{took:?}");

    let hung = &attempts(&running.deployment, hung).await[0];
    assert_eq!(hung.outcome, Outcome::Transient);
    assert_eq!(hung.status, None);
    assert!(error(hung).contains("10 s"), "{}", error(hung));
    let took = hung.finished_at.since(hung.started_at);
    assert!(took >= 10 * second && took < 13 * second, "{took:?}");
    assert!(hung.timings.sent_us.is_some());
    assert_eq!(hung.timings.answered_us, None);
    let address = receiver.address().to_string();
    assert_eq!(hung.remote_address, Some(address));
}

#[tokio::test]
async fn the_steps_of_an_attempt_are_timed_and_a_connection_is_used_again() {
    const DELIVERIES: usize = 20;
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let receiver = Receiver::start().expect("a receiver");
    let slow = Duration::from_millis(100);
    let answer = Answer::status(200)
        .header("server", "receiver/1")
        .header("set-cookie", "session=secret")
        .after(slow);
    receiver.answer_always(answer);
    customer.rule(json!({}), &receiver.url()).await;
    for number in 1..=DELIVERIES {
        customer.ingest(&event(&format!("agent-{number}"))).await;
        let received = receiver.wait_for(number, DEADLINE).await;
        let id = received[number - 1].delivery_id().expect("an id");
        customer.delivery_in_state(id, "delivered").await;
    }
    let connections = receiver.connections();
    assert!(connections <= 3, "{connections} for {DELIVERIES}");

    let received = receiver.received();
    let of = async |number: usize| {
        let id = received[number].delivery_id().expect("an id");
        attempts(&running.deployment, id).await.remove(0)
    };
    let (first, last) = (of(0).await, of(DELIVERIES - 1).await);
    let timings = first.timings;
    let steps = [
        timings.resolved_us,
        timings.connected_us,
        timings.sent_us,
        timings.answered_us,
    ];
    let steps = steps.map(|step| step.expect("a time"));
    assert!(steps.is_sorted(), "{steps:?}");
    assert!(
        u128::from(steps[3] - steps[2]) >= slow.as_micros(),
        "{steps:?}"
    );
    assert_eq!(timings.secured_us, None, "it is plain HTTP");
    assert_eq!(last.timings.connected_us, None, "it was connected before");
    assert!(last.timings.sent_us < last.timings.answered_us);
    let kept = &last.answer_headers;
    assert!(kept.contains(&("server".to_owned(), "receiver/1".to_owned())));
    assert!(kept.iter().all(|(name, _)| name != "set-cookie"));
}

#[tokio::test]
async fn every_request_that_a_receiver_sees_is_an_attempt_on_record() {
    const DELIVERIES: usize = 30;
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    // One closes each connection after the answer without a word; the other hangs up on every third
    // delivery, too few for its breaker, on a connection that was used before, instead of answering.
    let seen = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&seen);
    let silent = raw_receiver(move |connection| {
        counter.fetch_add(1, Ordering::SeqCst);
        let _ = connection.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    });
    let receiver = Receiver::start().expect("a receiver");
    let mut number = 0;
    receiver.answer_by(move |received| {
        if received.header("x-service-attempt") != Some("1") {
            return Answer::status(200);
        }
        number += 1;
        if number % 3 == 0 {
            Answer::hang_up()
        } else {
            Answer::status(200)
        }
    });
    let wanted = json!({"event_type": ["tool_call"]});
    let silent = format!("http://{silent}/");
    customer.rule(wanted.clone(), &silent).await;
    customer.rule(wanted, &receiver.url()).await;
    for number in 1..=DELIVERIES {
        customer.ingest(&event(&format!("agent-{number}"))).await;
        eventually(DEADLINE, "both are sent", async || {
            let sent = seen.load(Ordering::SeqCst) >= number && receiver.count() >= number;
            sent.then_some(())
        })
        .await;
    }
    let deliveries = eventually(DEADLINE, "all are delivered", async || {
        let deliveries = customer.all_deliveries().await;
        let are_delivered = deliveries.iter().all(|one| one["state"] == "delivered");
        (are_delivered && deliveries.len() == 2 * DELIVERIES).then_some(deliveries)
    })
    .await;
    let on_record: u64 = deliveries
        .iter()
        .map(|one| one["attempts"].as_u64().expect("a number"))
        .sum();
    let seen = seen.load(Ordering::SeqCst) + receiver.count();
    assert_eq!(on_record, seen as u64);
    assert!(seen > 2 * DELIVERIES, "some were sent again");
}

/// A port where nobody listens.
fn unused_port() -> u16 {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    taken.local_addr().expect("an address").port()
}

#[tokio::test]
async fn why_there_was_no_answer_is_told_apart() {
    let names = NameServer::start().expect("a name server");
    let loopback: IpAddr = Ipv4Addr::LOCALHOST.into();
    names.answer("no-address.test", &[]);
    names.fail("failing.test");
    names.keep_silent_about("silent.test");
    names.answer("refusing.test", &[loopback]);
    let receiver = Receiver::start().expect("a receiver");
    receiver.answer_always(Answer::hang_up());
    let nonsense = raw_receiver(|connection| {
        let _ = connection.write_all(b"EHLO there\r\n\r\n");
    });
    let deployment = Deployment::new().with("DELIVERY__NAMESERVERS", &names.address().to_string());
    let running = Running::start(deployment);
    let port = unused_port();
    let cases = [
        (
            "http://unknown.test/".to_owned(),
            "unknown.test",
            Outcome::Transient,
        ),
        (
            "http://no-address.test/".to_owned(),
            "no-address.test",
            Outcome::Transient,
        ),
        (
            "http://failing.test/".to_owned(),
            "failing.test",
            Outcome::Transient,
        ),
        (
            "http://silent.test/".to_owned(),
            "silent.test",
            Outcome::Transient,
        ),
        (
            format!("http://refusing.test:{port}/"),
            "refused",
            Outcome::Transient,
        ),
        (receiver.url(), "closed", Outcome::Transient),
        (format!("http://{nonsense}/"), "HTTP", Outcome::Transient),
    ];
    let urls = cases.clone().map(|(url, ..)| url);
    let ids = deliver_to(&running.customer, &urls).await;
    let all = join_all(ids.iter().map(|id| attempts(&running.deployment, id))).await;
    let mut said = Vec::new();
    for ((url, words, outcome), attempts) in cases.iter().zip(&all) {
        let attempt = &attempts[0];
        assert!(error(attempt).contains(words), "{url}: {}", error(attempt));
        assert_eq!(attempt.outcome, *outcome, "{url}");
        assert_eq!(attempt.status, None, "{url}");
        said.push(error(attempt));
    }
    let refused = &all[4][0];
    assert_eq!(refused.remote_address, Some(format!("127.0.0.1:{port}")));
    said.sort_unstable();
    said.dedup();
    assert_eq!(said.len(), cases.len(), "{said:?}");
}

#[tokio::test]
async fn a_receiver_whose_clock_is_off_is_told_by_how_much_and_one_that_asks_for_a_pause_is_heard()
{
    let running = Running::start(Deployment::new());
    let receiver = Receiver::start().expect("a receiver");
    receiver.answer_at("/busy", Answer::status(429).header("retry-after", "7"));
    receiver.answer_by(|received| {
        let behind = received.arrived_at - Duration::from_secs(600);
        Answer::status(400).header("date", &httpdate::fmt_http_date(behind))
    });
    let urls = ["/late", "/busy"].map(|path| receiver.url_of(path));
    let ids = deliver_to(&running.customer, &urls).await;
    let late = &attempts(&running.deployment, &ids[0]).await[0];
    let skew = late.clock_skew_s.expect("a skew");
    assert!((-602..=-599).contains(&skew), "{skew}");
    let said = format!("{} seconds behind ours", -skew);
    assert!(error(late).contains(&said), "{}", error(late));
    let busy = &attempts(&running.deployment, &ids[1]).await[0];
    assert_eq!(busy.retry_after_s, Some(7));
    assert!(error(busy).contains("7 seconds"), "{}", error(busy));
    assert_eq!(busy.clock_skew_s.map(|skew| skew.abs() <= 1), Some(true));
}

#[tokio::test]
async fn a_receiver_finds_the_delivery_in_its_traces() {
    let running = Running::start(Deployment::new());
    let receiver = Receiver::start().expect("a receiver");
    receiver.answer_sequence([500]);
    deliver_to(&running.customer, &[receiver.url()]).await;
    let received = receiver.wait_for(2, DEADLINE).await;
    let parents: Vec<Vec<&str>> = received
        .iter()
        .map(|one| one.header("traceparent").expect("a trace"))
        .map(|parent| parent.split('-').collect())
        .collect();
    let is_hex = |text: &str| text.bytes().all(|b| b"0123456789abcdef".contains(&b));
    for parent in &parents {
        let lengths: Vec<usize> = parent.iter().map(|field| field.len()).collect();
        assert_eq!(lengths, [2, 32, 16, 2], "{parent:?}");
        assert!(parent.iter().all(|field| is_hex(field)), "{parent:?}");
    }
    assert_eq!(parents[0][1], parents[1][1], "one delivery is one trace");
    assert_ne!(parents[0][2], parents[1][2], "each attempt is a span");
    let agent = received[0].header("user-agent").expect("a name");
    assert!(agent.starts_with("Watchbell/"), "{agent}");
    assert_eq!(received[0].header("content-type"), Some("application/json"));
    assert_eq!(received[0].header("accept-encoding"), Some("identity"));
}
