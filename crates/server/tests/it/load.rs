//! Clients that post steadily and remember what they were promised, and the check that every
//! promise was kept.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use domain::Timestamp;
use futures::{StreamExt, stream};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use testkit::{Received, Receiver, eventually};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, sleep};
use webhook_signature::{SIGNATURE_HEADER, TIMESTAMP_HEADER, Verifier};

use crate::deployment::{Customer, DEADLINE, SECRET};

/// How often each client posts: steady work for two busy cores, not a benchmark.
const POST_EVERY: Duration = Duration::from_millis(30);
/// A client that was refused or cut off pauses this long before it sends the same event again.
const AGAIN_AFTER: Duration = Duration::from_millis(50);
/// A delivery whose worker was killed is handed out again after 16 s, and so is one whose second
/// worker was killed.
const DELIVERED_WITHIN: Duration = Duration::from_mins(1);
/// How many requests a check makes at a time.
const CHECKS_AT_ONCE: usize = 8;

/// Clients at work.
pub(crate) struct Load {
    clients: JoinSet<Ledger>,
    stop: watch::Sender<bool>,
    address: watch::Sender<String>,
    accepted: watch::Sender<usize>,
}

/// What clients sent and what they were promised.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    /// Every event sent, by its `client_event_id`.
    pub(crate) sent: BTreeSet<String>,
    /// The id of every event that was accepted, and its `client_event_id`.
    pub(crate) accepted: BTreeMap<String, String>,
    /// What a client saw instead of a 202; it sent the event again.
    pub(crate) troubles: Vec<String>,
    /// The longest a client waited for an answer.
    pub(crate) longest: Duration,
}

impl Load {
    /// Starts `clients` that post as `customer` until [`Load::stop`].
    pub(crate) fn start(customer: &Customer, clients: usize) -> Self {
        let (stop, stopped) = watch::channel(false);
        let address = watch::Sender::new(customer.base_url.clone());
        let accepted = watch::Sender::new(0);
        let mut set = JoinSet::new();
        for client in 0..clients {
            let client = Client {
                name: format!("client-{client}"),
                customer: customer.clone(),
                address: address.subscribe(),
                stopped: stopped.clone(),
                accepted: accepted.clone(),
            };
            set.spawn(client.post_until_stopped());
        }
        Self {
            clients: set,
            stop,
            address,
            accepted,
        }
    }

    /// From now on the clients call this address, as if a load balancer had been told.
    pub(crate) fn call(&self, base_url: &str) {
        self.address.send_replace(base_url.to_owned());
    }

    /// Waits until `more` events have been accepted from now on.
    pub(crate) async fn wait_for_accepted(&self, more: usize) {
        let mut accepted = self.accepted.subscribe();
        let aim = *accepted.borrow_and_update() + more;
        let waited = tokio::time::timeout(DEADLINE, accepted.wait_for(|now| *now >= aim)).await;
        assert!(waited.is_ok(), "{more} more events are accepted in time");
    }

    /// Lets every client finish the event it is about.
    pub(crate) async fn stop(mut self) -> Ledger {
        self.stop.send_replace(true);
        let mut all = Ledger::default();
        while let Some(ledger) = self.clients.join_next().await {
            let ledger = ledger.expect("a client does not panic");
            all.sent.extend(ledger.sent);
            all.accepted.extend(ledger.accepted);
            all.troubles.extend(ledger.troubles);
            all.longest = all.longest.max(ledger.longest);
        }
        all
    }
}

struct Client {
    name: String,
    customer: Customer,
    address: watch::Receiver<String>,
    stopped: watch::Receiver<bool>,
    accepted: watch::Sender<usize>,
}

impl Client {
    async fn post_until_stopped(mut self) -> Ledger {
        let mut ledger = Ledger::default();
        let mut ticks = interval(POST_EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        for number in 0.. {
            ticks.tick().await;
            if *self.stopped.borrow() {
                break;
            }
            let name = format!("{}-{number}", self.name);
            ledger.sent.insert(name.clone());
            let id = self.post_until_accepted(&name, &mut ledger).await;
            ledger.accepted.insert(id, name);
            self.accepted.send_modify(|accepted| *accepted += 1);
        }
        ledger
    }

    /// Sends one event until it is accepted; sent again it is the same event.
    async fn post_until_accepted(&mut self, name: &str, ledger: &mut Ledger) -> String {
        let event = named_event(&self.name, name);
        loop {
            let started = Instant::now();
            self.customer.base_url = self.address.borrow().clone();
            let posted = self.post(&event).await;
            ledger.longest = ledger.longest.max(started.elapsed());
            match posted {
                Ok(id) => return id,
                Err(trouble) => ledger
                    .troubles
                    .push(format!("after {:?}: {trouble}", started.elapsed())),
            }
            // waits for: nothing; a client that is refused does not hammer
            sleep(AGAIN_AFTER).await;
        }
    }

    async fn post(&self, event: &Value) -> Result<String, String> {
        let request = self.customer.request(Method::POST, "/v1/audit/events");
        let answer = request.json(event).send().await;
        let answer = answer.map_err(|error| format!("{error:?}"))?;
        let status = answer.status();
        let body = answer.text().await.map_err(|error| format!("{error:?}"))?;
        if status != StatusCode::ACCEPTED {
            return Err(format!("{status}: {body}"));
        }
        let body: Value = serde_json::from_str(&body).map_err(|error| error.to_string())?;
        let id = body["events"][0]["id"].as_str().ok_or("no id")?;
        Ok(id.to_owned())
    }
}

/// An event that is the same event however often it is sent.
pub(crate) fn named_event(agent: &str, name: &str) -> Value {
    json!({
        "event_type": "tool_call", "agent_id": agent, "action": "files.delete", "result": "denied",
        "client_event_id": name, "occurred_at": now().to_string(),
    })
}

#[expect(
    clippy::disallowed_methods,
    reason = "events occur at the time that the server under test knows"
)]
pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .expect("after 1970");
    Timestamp::from_unix_millis(i64::try_from(since.as_millis()).expect("in range"))
}

/// What arrived, by delivery.
pub(crate) type Arrived = BTreeMap<String, Vec<Arc<Received>>>;

/// Checks that every promise was kept: each accepted event is listed once, was delivered at least
/// once with a valid signature, and the delivery log says so with every attempt. The customer must
/// have one rule that matches everything and points at `receiver`.
pub(crate) async fn assert_nothing_lost(
    customer: &Customer,
    receiver: &Receiver,
    ledger: &Ledger,
) -> Arrived {
    let listed = assert_listed_once(customer, ledger).await;
    let what = format!("{} events are delivered", listed.len());
    eventually(DELIVERED_WITHIN, &what, async || {
        let arrived: BTreeSet<String> = receiver
            .received()
            .iter()
            .filter_map(|received| received.event_id())
            .collect();
        let missing: Vec<&String> = listed.difference(&arrived).collect();
        match missing.len() {
            0 => Ok(()),
            count => Err(format!("{count} are missing, {:?} among them", missing[0])),
        }
    })
    .await;
    assert_recorded(customer, receiver, &listed).await
}

/// Each accepted event is listed once, and nothing is listed that was not sent.
pub(crate) async fn assert_listed_once(customer: &Customer, ledger: &Ledger) -> BTreeSet<String> {
    wait_until_fresh(customer, "/v1/audit/events").await;
    let events = customer.all_events().await;
    let text = |event: &Value, field: &str| event[field].as_str().unwrap_or_default().to_owned();
    let ids: BTreeSet<String> = events.iter().map(|event| text(event, "id")).collect();
    assert_eq!(ids.len(), events.len(), "each event is listed once");
    let lost: Vec<&String> = ledger
        .accepted
        .keys()
        .filter(|id| !ids.contains(*id))
        .collect();
    assert!(
        lost.is_empty(),
        "{} of {} accepted events are not listed: {lost:?}",
        lost.len(),
        ledger.accepted.len()
    );
    for event in &events {
        let name = text(event, "client_event_id");
        assert!(ledger.sent.contains(&name), "{name} was never sent");
    }
    ids
}

/// Every event has one delivery, which is delivered, and each attempt on record was received.
async fn assert_recorded(
    customer: &Customer,
    receiver: &Receiver,
    listed: &BTreeSet<String>,
) -> Arrived {
    let deliveries = eventually(DELIVERED_WITHIN, "the log says delivered", async || {
        wait_until_fresh(customer, "/v1/deliveries").await;
        let deliveries = customer.all_deliveries().await;
        let open = deliveries
            .iter()
            .find(|delivery| delivery["state"] != "delivered");
        match open {
            None => Ok(deliveries),
            Some(open) => Err(open.clone()),
        }
    })
    .await;
    let events: BTreeSet<String> = deliveries
        .iter()
        .filter_map(|delivery| Some(delivery["event_id"].as_str()?.to_owned()))
        .collect();
    assert_eq!(deliveries.len(), listed.len(), "matched = delivered");
    assert_eq!(events, *listed, "each event matched once");

    let attempts = stream::iter(&deliveries)
        .map(async |delivery| {
            let id = delivery["id"].as_str().expect("an id");
            let detail = customer.get_json(&format!("/v1/deliveries/{id}")).await;
            (id, detail["attempt_log"].clone())
        })
        .buffer_unordered(CHECKS_AT_ONCE)
        .collect::<Vec<_>>()
        .await;
    // Only now: what a killed worker delivered may be sent, and put on record, once more while the log is read.
    let arrived = arrived(receiver);
    for (id, log) in attempts {
        let attempts = log.as_array().map_or(0, Vec::len);
        let arrivals = arrived.get(id).map_or(0, Vec::len);
        assert!(
            (1..=arrivals).contains(&attempts),
            "{id}: {attempts} attempts on record, {arrivals} received: {log:#}"
        );
    }
    arrived
}

/// What the receiver got, by delivery; every one of them signed.
pub(crate) fn arrived(receiver: &Receiver) -> Arrived {
    let verifier = Verifier::new([SECRET]);
    let mut arrived = Arrived::new();
    for received in receiver.received() {
        let (time, signature) = (
            received.header(TIMESTAMP_HEADER),
            received.header(SIGNATURE_HEADER),
        );
        verifier
            .verify(time, signature, &received.body, received.arrived_at)
            .expect("a valid signature");
        let id = received.delivery_id().expect("a delivery id").to_owned();
        arrived.entry(id).or_default().push(received);
    }
    arrived
}

/// How many deliveries came more than once, and how many times too many. Where it is known who died,
/// [`crate::in_hand::Excuses`] says whether they may.
pub(crate) fn duplicates(arrived: &Arrived) -> usize {
    arrived.values().map(|arrivals| arrivals.len() - 1).sum()
}

/// Waits until a list has caught up with the journal.
pub(crate) async fn wait_until_fresh(customer: &Customer, list: &str) {
    let (what, path) = (format!("{list} is fresh"), format!("{list}?limit=1"));
    eventually(DEADLINE, &what, async || {
        let page = customer.get(&path).await.text().await;
        let page = page.map_err(|error| error.to_string())?;
        match serde_json::from_str::<Value>(&page) {
            Ok(body) if body["fresh"] == true => Ok(()),
            _ => Err(page),
        }
    })
    .await;
}
