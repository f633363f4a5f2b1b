//! Rules that count and rules that keep back: what arrives at the receiver, against a model, while
//! matchers die.

use std::collections::BTreeMap;
use std::time::Duration;

use domain::Timestamp;
use serde_json::{Value, json};
use testkit::{Dice, Received, Receiver, Watchbell, eventually};
use tokio::time::sleep;

use crate::deployment::{Customer, DEADLINE, Deployment, Running, ok};

const SEED: u64 = 5;
/// Short enough that a rule's window or period of a second or two has several events of an agent.
const PAUSE_MS_MAX: u64 = 175;

/// An event as it was accepted.
struct Accepted {
    id: String,
    agent: u64,
    received_at: Timestamp,
}

/// Posts one event after the other, from a few agents, after random pauses; `between` is called
/// before each.
async fn post_at_random(
    customer: &Customer,
    count: usize,
    mut between: impl AsyncFnMut(usize),
) -> Vec<Accepted> {
    let mut dice = Dice(SEED);
    let mut agents = BTreeMap::new();
    for number in 0..count {
        between(number).await;
        let agent = dice.below(3u64);
        let id = customer.ingest(&event(agent)).await;
        agents.insert(id, (number, agent));
        // waits for: events at random times
        sleep(Duration::from_millis(dice.below(PAUSE_MS_MAX))).await;
    }
    let mut accepted: Vec<(usize, Accepted)> = Vec::new();
    for listed in customer.all_events().await {
        let id = listed["id"].as_str().expect("an id").to_owned();
        let received_at = listed["received_at"].as_str().expect("a time");
        let (number, agent) = agents[&id];
        let event = Accepted {
            id,
            agent,
            received_at: Timestamp::parse(received_at).expect("a time"),
        };
        accepted.push((number, event));
    }
    accepted.sort_unstable_by_key(|(number, _)| *number);
    assert_eq!(accepted.len(), count);
    accepted.into_iter().map(|(_, event)| event).collect()
}

fn event(agent: u64) -> Value {
    json!({"event_type": "tool_call", "agent_id": format!("agent-{agent}"),
           "action": "payments.refund", "result": "denied"})
}

/// The alerts that arrived: each event once, however often it was sent, by its cause.
fn arrived(receiver: &Receiver, cause: &str) -> BTreeMap<String, u64> {
    let is_meant = |received: &Received| {
        // A delivery that failed at first is of the same cause.
        let is_summary = received.header("x-service-suppressed").is_some();
        is_summary == (cause == "summary")
    };
    let received = receiver.received_where(is_meant);
    let suppressed = |received: &Received| {
        let header = received.header("x-service-suppressed").unwrap_or("0");
        header.parse().expect("a number")
    };
    let alert = |received: &std::sync::Arc<Received>| {
        (received.event_id().expect("an event"), suppressed(received))
    };
    received.iter().map(alert).collect()
}

/// Two matchers beside the rest. One of them dies now and then, and comes back.
struct Matchers {
    deployment: Deployment,
    running: Vec<Watchbell>,
}

impl Matchers {
    fn new(deployment: Deployment) -> Self {
        let running = vec![deployment.serve("match"), deployment.serve("match")];
        Self {
            deployment,
            running,
        }
    }

    fn kill_one_and_start_another(&mut self) {
        let mut victim = self.running.remove(0);
        victim.kill();
        self.running.push(self.deployment.serve("match"));
    }
}

#[tokio::test]
async fn a_threshold_fires_exactly_when_the_model_says_while_matchers_die() {
    const COUNT: usize = 3;
    const WINDOW: Duration = Duration::from_secs(1);
    let deployment = Deployment::new();
    let mut server = deployment.serve("api,index,deliver");
    let customer = deployment.customer(&mut server);
    let receiver = Receiver::start().expect("a receiver");
    let rule = json!({
        "name": "Denied again and again", "match": {"result": ["denied"]}, "url": receiver.url(),
        "threshold": {"count": COUNT, "window_s": WINDOW.as_secs(), "group_by": ["agent_id"]},
    });
    let rule = customer.make_rule(&rule).await;
    let mut matchers = Matchers::new(deployment);
    let accepted = post_at_random(&customer, 120, async |number| {
        if number % 20 == 10 {
            matchers.kill_one_and_start_another();
        }
    })
    .await;

    let mut counted: BTreeMap<u64, Vec<Timestamp>> = BTreeMap::new();
    let mut expected = BTreeMap::new();
    for event in &accepted {
        let times = counted.entry(event.agent).or_default();
        times.retain(|time| time.plus(WINDOW) > event.received_at);
        times.push(event.received_at);
        if times.len() == COUNT {
            times.clear();
            expected.insert(event.id.clone(), 0);
        }
    }
    assert!(
        expected.len() >= 5,
        "{} alerts are too few to tell",
        expected.len()
    );
    let all_matched = async || {
        let shown = customer.get_json(&format!("/v1/alert-rules/{rule}")).await;
        let stats = &shown["stats"];
        let counts = (stats["matched_24h"].as_u64(), stats["alerts_24h"].as_u64());
        if counts == (Some(120), Some(expected.len() as u64)) {
            Ok(())
        } else {
            Err((counts, expected.len()))
        }
    };
    eventually(DEADLINE, "every match counts once", all_matched).await;
    let all_arrived = async || (arrived(&receiver, "match").len() >= expected.len()).then_some(());
    eventually(DEADLINE, "the alerts", all_arrived).await;
    assert_eq!(arrived(&receiver, "match"), expected);
    println!("{} alerts of 120 events, 6 matchers killed", expected.len());
}

#[tokio::test]
async fn alerts_kept_back_are_on_record_and_one_delivery_says_how_many_while_matchers_die() {
    const PERIOD: Duration = Duration::from_secs(2);
    let deployment = Deployment::new();
    let mut server = deployment.serve("api,index,deliver");
    let customer = deployment.customer(&mut server);
    let receiver = Receiver::start().expect("a receiver");
    let rule = json!({
        "name": "Denied, once in a while", "match": {"result": ["denied"]}, "url": receiver.url(),
        "suppress": {"for_s": PERIOD.as_secs(), "group_by": ["agent_id"]},
    });
    customer.make_rule(&rule).await;
    let mut matchers = Matchers::new(deployment);
    let accepted = post_at_random(&customer, 90, async |number| {
        if number % 20 == 10 {
            matchers.kill_one_and_start_another();
        }
    })
    .await;

    // The period of each agent: since when, how many were kept back, the last of them.
    let mut periods: BTreeMap<u64, (Timestamp, u64, String)> = BTreeMap::new();
    let (mut alerts, mut summaries) = (BTreeMap::new(), BTreeMap::new());
    for event in &accepted {
        match periods.get_mut(&event.agent) {
            Some((since, kept_back, last)) if event.received_at < since.plus(PERIOD) => {
                *kept_back += 1;
                last.clone_from(&event.id);
            }
            _ => {
                let period = (event.received_at, 0, String::new());
                let before = periods.insert(event.agent, period);
                summaries.extend(before.map(|(_, kept_back, last)| (last, kept_back)));
                alerts.insert(event.id.clone(), 0);
            }
        }
    }
    summaries.extend(
        periods
            .into_values()
            .map(|(_, kept_back, last)| (last, kept_back)),
    );
    summaries.retain(|_, kept_back| *kept_back > 0);
    assert!(
        summaries.len() >= 5,
        "{} summaries are too few to tell",
        summaries.len()
    );
    let all_arrived = async || {
        let both = (arrived(&receiver, "match"), arrived(&receiver, "summary"));
        (both.0.len() >= alerts.len() && both.1.len() >= summaries.len()).then_some(both)
    };
    let both = eventually(DEADLINE, "alerts and summaries", all_arrived).await;
    assert_eq!(both, (alerts.clone(), summaries.clone()));

    let deliveries = eventually(DEADLINE, "all of it is on record", async || {
        let all = customer.all_deliveries().await;
        let is_pending = |it: &Value| it["state"] == "pending";
        (!all.iter().any(is_pending)).then_some(all)
    })
    .await;
    let of = |cause: &str, state: &str| {
        let is_it = |it: &&Value| it["cause"] == cause && it["state"] == state;
        deliveries.iter().filter(is_it).count()
    };
    assert_eq!(of("match", "suppressed"), 90 - alerts.len());
    assert_eq!(of("match", "suppressed") + of("match", "delivered"), 90);
    assert_eq!(of("summary", "delivered"), summaries.len());
    let told: u64 = deliveries
        .iter()
        .filter_map(|it| it["suppressed"].as_u64())
        .sum();
    assert_eq!(told, of("match", "suppressed") as u64);
    println!(
        "{} alerts and {} summaries of 90 events",
        alerts.len(),
        summaries.len()
    );
}

#[tokio::test]
async fn what_a_rule_counted_is_forgotten_when_it_counts_otherwise_and_kept_when_it_is_renamed() {
    let deployment = Deployment::new();
    let mut server = deployment.serve("api,index,match,deliver");
    let customer = deployment.customer(&mut server);
    let receiver = Receiver::start().expect("a receiver");
    let rule = json!({
        "name": "Three times", "match": {"result": ["denied"]}, "url": receiver.url(),
        "threshold": {"count": 3, "window_s": 600},
    });
    let path = format!("/v1/alert-rules/{}", customer.make_rule(&rule).await);
    // Tells of every event, and so which ones were counted when the rule is changed.
    let judged = Receiver::start().expect("a receiver");
    customer
        .rule(json!({"result": ["denied"]}), &judged.url())
        .await;
    customer.ingest(&event(1)).await;
    customer.ingest(&event(2)).await;
    customer.patch(&path, &json!({"name": "Thrice"})).await;
    let third = customer.ingest(&event(1)).await;
    let first = receiver.wait_for(1, DEADLINE).await;
    assert_eq!(first[0].event_id(), Some(third));
    assert_eq!(first[0].json()["rule_name"], "Thrice");

    customer.ingest(&event(1)).await;
    customer.ingest(&event(1)).await;
    judged.wait_for(5, DEADLINE).await;
    let threshold = json!({"threshold": {"count": 2, "window_s": 600}});
    customer.patch(&path, &threshold).await;
    customer.ingest(&event(1)).await;
    let second = customer.ingest(&event(1)).await;
    let alerts = receiver.wait_for(2, DEADLINE).await;
    assert_eq!(alerts[1].event_id(), Some(second));
}

#[tokio::test]
async fn a_snoozed_rule_and_a_shadow_rule_put_alerts_on_record_and_send_nothing() {
    let deployment = Deployment::new();
    let mut server = deployment.serve("api,index,match,deliver");
    let customer = deployment.customer(&mut server);
    let receiver = Receiver::start().expect("a receiver");
    let with = |field: &str, value: Value| {
        let mut rule =
            json!({"name": field, "match": {"result": ["denied"]}, "url": receiver.url()});
        rule[field] = value;
        rule
    };
    customer.make_rule(&with("shadow", json!(true))).await;
    customer
        .make_rule(&with("snoozed_until", json!("2999-01-01T00:00:00.000Z")))
        .await;
    customer
        .make_rule(&with("snoozed_until", json!("2020-01-01T00:00:00.000Z")))
        .await;
    customer.ingest(&event(1)).await;
    receiver.wait_for(1, DEADLINE).await;
    let all_on_record = async || {
        let mut states: Vec<String> = customer
            .all_deliveries()
            .await
            .iter()
            .map(|delivery| delivery["state"].as_str().expect("a state").to_owned())
            .collect();
        states.sort_unstable();
        if states == ["delivered", "shadow", "snoozed"] {
            Ok(())
        } else {
            Err(states)
        }
    };
    eventually(DEADLINE, "one of each", all_on_record).await;
    assert_eq!(receiver.count(), 1);
}

#[tokio::test]
async fn a_shadow_rule_keeps_back_what_it_would_and_sends_no_summary() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let receiver = Receiver::start().expect("a receiver");
    let rule = |shadow: bool| {
        json!({"name": "Once a second", "match": {"result": ["denied"]}, "url": receiver.url(),
               "suppress": {"for_s": 1}, "shadow": shadow})
    };
    let shadow = customer.make_rule(&rule(true)).await;
    customer.make_rule(&rule(false)).await;
    let two = json!({"events": [event(1), event(2)]});
    ok(customer.post("/v1/audit/events", &two).await).await;
    // An alert and the summary of the rule that sends: the second is over, for both.
    let received = receiver.wait_for(2, DEADLINE).await;
    assert_eq!(received[1].header("x-service-suppressed"), Some("1"));
    customer.ingest(&event(3)).await;
    receiver.wait_for(3, DEADLINE).await;

    let path = format!("/v1/alert-rules/{shadow}");
    let stats = eventually(DEADLINE, "all three are counted", async || {
        let stats = customer.get_json(&path).await["stats"].clone();
        (stats["matched_24h"] == 3).then_some(stats)
    })
    .await;
    let counts = ["alerts_24h", "withheld_24h", "suppressed_24h"].map(|name| &stats[name]);
    assert_eq!(counts, [0, 2, 1], "{stats}");
    let deliveries = customer.all_deliveries().await;
    let of_shadow = deliveries.iter().filter(|it| it["rule_id"] == shadow);
    let mut on_record: Vec<Value> = of_shadow
        .map(|it| json!([it["cause"], it["state"]]))
        .collect();
    on_record.sort_unstable_by_key(Value::to_string);
    let expected = json!([
        ["match", "shadow"],
        ["match", "shadow"],
        ["match", "suppressed"]
    ]);
    assert_eq!(json!(on_record), expected);
}

#[tokio::test]
async fn rules_watch_for_deliveries_that_are_given_up_and_for_decisions() {
    let deployment = Deployment::new();
    let mut server = deployment.serve("api,index,match,deliver");
    let customer = deployment.customer(&mut server);
    let (broken, receiver) = (
        Receiver::start().expect("one"),
        Receiver::start().expect("two"),
    );
    broken.answer_with(413);
    // It watches for everything, so also for its own failure: that must come to rest.
    let all = json!({"name": "All", "match": {}, "except": [{"event_type": ["rule_change"]}],
                     "url": broken.url()});
    let all = customer.make_rule(&all).await;
    let watched = json!({"name": "Watch", "match": {"event_type": ["delivery_failure", "decision"]},
                         "url": receiver.url()});
    customer.make_rule(&watched).await;
    let id = customer.ingest(&event(1)).await;
    let alerts = receiver.wait_for(1, DEADLINE).await;
    let failure = &alerts[0].json()["event"];
    assert_eq!(
        alerts[0].header("x-service-event"),
        Some("delivery_failure")
    );
    assert_eq!(failure["action"], "deliveries.fail");
    assert_eq!(failure["metadata"]["event_id"], json!(id));
    assert_eq!(failure["metadata"]["rule_id"], json!(all));
    assert_eq!(failure["metadata"]["status"], 413);
    broken.wait_for(2, DEADLINE).await;

    let question = json!({"agent_id": "agent-1", "action": "payments.refund"});
    ok(customer.post("/v1/runtime/decisions", &question).await).await;
    let alerts = receiver.wait_for(3, DEADLINE).await;
    let mut types: Vec<&str> = alerts
        .iter()
        .filter_map(|alert| alert.header("x-service-event"))
        .collect();
    types.sort_unstable();
    // The event's failure, the decision, and the failure to deliver the decision.
    assert_eq!(types, ["decision", "delivery_failure", "delivery_failure"]);
    let at_rest = async || {
        let deliveries = customer.all_deliveries().await;
        let is_settled = |it: &Value| it["state"] == "failed" || it["state"] == "delivered";
        if deliveries.len() == 7 && deliveries.iter().all(is_settled) {
            Ok(())
        } else {
            Err(deliveries)
        }
    };
    eventually(DEADLINE, "no failure of a failure", at_rest).await;
}
