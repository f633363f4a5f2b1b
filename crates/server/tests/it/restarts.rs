//! Random batches over random restarts: what is listed is what was accepted, each event once.

use std::collections::BTreeMap;
use std::time::Duration;

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use testkit::{Dice, Watchbell};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::deployment::{Customer, DEADLINE, Deployment};
use crate::load::{named_event, wait_until_fresh};

const SENDERS: u64 = 4;
const BATCHES: usize = 40;
const EVENTS_MAX: u64 = 12;
const KILLS: usize = 8;
/// A client that was refused or cut off pauses this long before it sends the same again.
const AGAIN_AFTER: Duration = Duration::from_millis(50);
/// Chance, but the same in every run; changed, the test tells another story.
const SEED: u64 = 4;

struct Batch {
    events: Vec<Value>,
    /// The places of the bad ones.
    bad: Vec<u64>,
    /// Without one, every event has a name of its own.
    idempotency_key: Option<String>,
}

impl Batch {
    fn random(name: &str, dice: &mut Dice) -> Self {
        let idempotency_key = dice.one_in(2).then(|| format!("batch {name}"));
        let (mut events, mut bad) = (Vec::new(), Vec::new());
        for number in 0..=dice.below(EVENTS_MAX) {
            let event = named_event(name, &format!("{name}-{number}"));
            let mut event = event.as_object().cloned().expect("an object");
            if idempotency_key.is_some() && dice.one_in(2) {
                event.remove("client_event_id");
                event.remove("occurred_at");
            }
            // The first is good, so that the batch is accepted.
            if number > 0 && dice.one_in(4) {
                bad.push(number);
                event.remove("action");
            }
            events.push(Value::Object(event));
        }
        Self {
            events,
            bad,
            idempotency_key,
        }
    }

    /// Sends it until it is accepted; the ids of its good events, in order.
    async fn send(&self, customer: &Customer, address: &watch::Receiver<String>) -> Vec<String> {
        loop {
            let url = format!("{}/v1/audit/events", address.borrow().clone());
            let mut request = customer
                .http
                .request(Method::POST, url)
                .bearer_auth(&customer.api_key)
                .json(&json!({"events": self.events}));
            if let Some(key) = &self.idempotency_key {
                request = request.header("Idempotency-Key", key);
            }
            if let Ok(answer) = request.send().await
                && answer.status() == StatusCode::ACCEPTED
                && let Ok(answer) = answer.json::<Value>().await
            {
                return self.read(&answer);
            }
            // waits for: nothing; a client that is cut off does not hammer
            sleep(AGAIN_AFTER).await;
        }
    }

    fn read(&self, answer: &Value) -> Vec<String> {
        let list = |field: &str| answer[field].as_array().expect("a list").clone();
        let rejected: Vec<u64> = list("rejected")
            .iter()
            .map(|one| one["index"].as_u64().expect("an index"))
            .collect();
        assert_eq!(rejected, self.bad, "{answer}");
        let ids: Vec<String> = list("events")
            .iter()
            .map(|one| one["id"].as_str().expect("an id").to_owned())
            .collect();
        assert_eq!(ids.len() + rejected.len(), self.events.len());
        ids
    }
}

/// Sends random batches, some of them again; the ids that were promised.
async fn sender(
    number: u64,
    customer: Customer,
    address: watch::Receiver<String>,
    accepted: watch::Sender<usize>,
) -> Vec<String> {
    let mut dice = Dice(SEED.wrapping_mul(1_000) + number);
    let mut promised = Vec::new();
    for batch in 0..BATCHES {
        let batch = Batch::random(&format!("{number}-{batch}"), &mut dice);
        let ids = batch.send(&customer, &address).await;
        while dice.one_in(3) {
            assert_eq!(
                batch.send(&customer, &address).await,
                ids,
                "the same answer"
            );
        }
        promised.extend(ids);
        accepted.send_modify(|accepted| *accepted += 1);
    }
    promised
}

#[tokio::test]
async fn over_random_restarts_the_list_is_exactly_what_was_accepted() {
    let deployment = Deployment::new();
    let mut processes: BTreeMap<&str, Watchbell> = ["api", "index"]
        .into_iter()
        .map(|role| (role, deployment.serve(role)))
        .collect();
    let customer = deployment.customer(processes.get_mut("api").expect("it runs"));
    let address = watch::Sender::new(customer.base_url.clone());
    let accepted = watch::Sender::new(0);
    let mut senders = JoinSet::new();
    for number in 0..SENDERS {
        let sender = sender(
            number,
            customer.clone(),
            address.subscribe(),
            accepted.clone(),
        );
        senders.spawn(sender);
    }

    let mut dice = Dice(SEED);
    let mut progress = accepted.subscribe();
    for _ in 0..KILLS {
        let more = usize::from(dice.below(24_u8));
        let aim = *progress.borrow_and_update() + more;
        let all = BATCHES * usize::try_from(SENDERS).expect("small");
        let waited = progress.wait_for(|now| *now >= aim.min(all));
        let waited = tokio::time::timeout(DEADLINE, waited).await;
        assert!(waited.is_ok(), "batches are accepted in time");
        let role = dice.of(&["api", "index"]);
        processes.get_mut(role).expect("it runs").kill();
        let mut restarted = deployment.serve(role);
        if role == "api" {
            address.send_replace(restarted.url(DEADLINE));
        }
        processes.insert(role, restarted);
    }
    let mut promised: Vec<String> = senders.join_all().await.into_iter().flatten().collect();

    let customer = customer.at(processes.get_mut("api").expect("it runs"));
    wait_until_fresh(&customer, "/v1/audit/events").await;
    promised.sort_unstable();
    assert_eq!(customer.listed_ids().await, promised);
    println!("{KILLS} kills under {} events", promised.len());
}
