//! Customers whose alerts go to many endpoints of one receiver, and the events that raise them.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::ensure;
use bytes::Bytes;
use domain::{DeliveryId, RuleId};
use serde_json::json;
use testkit::{Arrival, Receiver, eventually};
use tokio::{task::JoinSet, time};

use crate::server::{Customer, Server, Settings};

/// Enough that several partitions of the journal have something to do.
const CUSTOMERS: usize = 4;
/// Whatever is acknowledged and delivered can be read, in this time.
const RECORDED_WITHIN: Duration = Duration::from_secs(600);

/// How events are sent as fast as they are taken.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) per_request: usize,
    /// Requests on their way.
    pub(crate) at_once: usize,
}

impl Shape {
    /// Fills a queue.
    pub(crate) const LARGE: Self = Self {
        per_request: 100,
        at_once: 4,
    };
    /// Agents that report what they do.
    pub(crate) const SMALL: Self = Self {
        per_request: 5,
        at_once: 64,
    };
}

/// Each event of a fleet raises one alert, at the endpoint whose turn it is.
#[derive(Clone)]
pub(crate) struct Fleet {
    members: Arc<Vec<Member>>,
    sent: Arc<AtomicUsize>,
}

struct Member {
    customer: Customer,
    /// One rule for each of its endpoints.
    rules: Vec<RuleId>,
}

/// When the events of deliveries were acknowledged.
pub(crate) type Acknowledged = HashMap<String, Instant>;

impl Fleet {
    /// With this many endpoints in all, at paths `/{name}/0` and so on of the receiver.
    pub(crate) async fn make(
        name: &str,
        endpoints: usize,
        settings: &Settings,
        api: &Server,
        receiver: &Receiver,
    ) -> anyhow::Result<Self> {
        let customers = CUSTOMERS.min(endpoints);
        let mut members = Vec::new();
        for number in 0..customers {
            let customer = settings.customer(&format!("{name}-{number}"), api)?;
            let mut rules = Vec::new();
            for endpoint in (number..endpoints).step_by(customers) {
                let rule = json!({
                    "name": format!("Endpoint {endpoint}"),
                    "match": {"agent_id": [agent(rules.len())]},
                    "url": receiver.url_of(&format!("/{name}/{endpoint}")),
                });
                rules.push(customer.rule(&rule).await?);
            }
            members.push(Member { customer, rules });
        }
        Ok(Self {
            members: Arc::new(members),
            sent: Arc::default(),
        })
    }

    /// Sends at least this many events as fast as they are taken.
    pub(crate) async fn send(&self, events: usize, shape: Shape) -> anyhow::Result<usize> {
        let Shape {
            per_request,
            at_once,
        } = shape;
        let requests = events.div_ceil(per_request);
        let left = Arc::new(AtomicUsize::new(requests));
        let mut set = JoinSet::new();
        for _ in 0..at_once {
            let (fleet, left) = (self.clone(), Arc::clone(&left));
            set.spawn(async move {
                let one_less = |left: usize| left.checked_sub(1);
                while left
                    .fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less)
                    .is_ok()
                {
                    fleet.request(per_request).await?;
                }
                anyhow::Ok(())
            });
        }
        while let Some(lane) = set.join_next().await {
            lane??;
        }
        Ok(requests * per_request)
    }

    /// Sends events at a rate, and notes when each was acknowledged.
    pub(crate) async fn send_at(
        &self,
        per_s: f64,
        per_request: usize,
        lasting: Duration,
    ) -> anyhow::Result<Acknowledged> {
        #[expect(clippy::cast_precision_loss, reason = "a small number")]
        let every = Duration::from_secs_f64(per_request as f64 / per_s);
        let acknowledged = Arc::new(Mutex::new(Acknowledged::new()));
        let (mut ticks, started) = (time::interval(every), Instant::now());
        let mut set = JoinSet::new();
        while started.elapsed() < lasting {
            ticks.tick().await;
            let (fleet, acknowledged) = (self.clone(), Arc::clone(&acknowledged));
            set.spawn(async move {
                let deliveries = fleet.request(per_request).await?;
                let now = Instant::now();
                let mut all = acknowledged.lock().unwrap_or_else(PoisonError::into_inner);
                all.extend(deliveries.into_iter().map(|id| (id, now)));
                anyhow::Ok(())
            });
        }
        while let Some(request) = set.join_next().await {
            request??;
        }
        let mut all = acknowledged.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(std::mem::take(&mut *all))
    }

    /// Sends one event after the other and reads each back, so many times; how long a read took, in milliseconds, sorted.
    pub(crate) async fn read_after_write(&self, times: usize) -> anyhow::Result<Vec<f64>> {
        let member = &self.members[0];
        let mut took = Vec::with_capacity(times);
        for number in 0..times {
            let mut event = event(0);
            let agent = format!("reader-{number}");
            event["agent_id"] = json!(agent);
            let body = Bytes::from(json!({"events": [event]}).to_string());
            let ids = member.customer.ingest_ids(body).await?;
            let (began, path) = (Instant::now(), format!("/v1/audit/events?agent_id={agent}"));
            let list = member.customer.get(&path).await?;
            took.push(began.elapsed().as_secs_f64() * 1e3);
            let found = &list["data"][0]["id"];
            ensure!(*found == json!(ids[0].to_string()), "{path}: {list}");
        }
        took.sort_by(f64::total_cmp);
        Ok(took)
    }

    /// Waits until everything that was acknowledged and delivered can be read.
    pub(crate) async fn wait_until_recorded(&self) {
        for member in self.members.iter() {
            for path in ["/v1/audit/events?limit=1", "/v1/deliveries?limit=1"] {
                let what = format!("{path} is fresh");
                eventually(RECORDED_WITHIN, &what, async || {
                    let list = member.customer.get(path).await;
                    list.is_ok_and(|list| list["fresh"] == json!(true))
                })
                .await;
            }
        }
    }

    /// One request of one of the customers; the deliveries that come of it.
    async fn request(&self, events: usize) -> anyhow::Result<Vec<String>> {
        let number = self.sent.fetch_add(1, Ordering::Relaxed);
        let member = &self.members[number % self.members.len()];
        let first = number / self.members.len() * events;
        let places = (first..first + events).map(|place| place % member.rules.len());
        let body = json!({"events": places.clone().map(event).collect::<Vec<_>>()});
        let body = Bytes::from(body.to_string());
        let ids = member.customer.ingest_ids(body).await?;
        let delivery = |(id, place)| DeliveryId::of(id, member.rules[place]).to_string();
        Ok(ids.into_iter().zip(places).map(delivery).collect())
    }
}

fn agent(place: usize) -> String {
    format!("agent-{place:05}")
}

/// About as large as events are.
fn event(place: usize) -> serde_json::Value {
    json!({
        "event_type": "tool_call", "agent_id": agent(place), "action": "files.delete", "result": "denied",
        "resource": format!("s3://bucket-{place}/objects/{place:016x}"), "latency_ms": 17,
        "metadata": {"tool": "delete_object", "ip": "203.0.113.7", "region": "eu-central-1", "reason": "policy requires an approval"},
    })
}

/// An event as it is stored.
pub(crate) fn example() -> String {
    let mut event = event(17);
    event["id"] = json!("evt_01K9ZQ4J5N7X8Y2B3C4D5E6F7G");
    event["received_at"] = json!("2026-11-15T12:00:00.000Z");
    event.to_string()
}

/// How long after the acknowledgment of its event each delivery arrived first, in milliseconds, sorted.
/// One that was faster than the acknowledgment took no time.
pub(crate) fn lags_ms(acknowledged: &Acknowledged, arrivals: &[Arrival]) -> Vec<f64> {
    let mut first: HashMap<&str, Instant> = HashMap::new();
    for arrival in arrivals {
        first.entry(&arrival.delivery_id).or_insert(arrival.at);
    }
    let lag = |(id, at): (&String, &Instant)| {
        let arrived = first.get(id.as_str())?;
        Some(arrived.saturating_duration_since(*at).as_secs_f64() * 1e3)
    };
    let mut lags: Vec<f64> = acknowledged.iter().filter_map(lag).collect();
    lags.sort_by(f64::total_cmp);
    lags
}

/// The value below which this share of sorted figures lies.
pub(crate) fn percentile(sorted: &[f64], percent: usize) -> f64 {
    let place = (sorted.len() * percent / 100).min(sorted.len().saturating_sub(1));
    sorted.get(place).copied().unwrap_or(f64::NAN)
}

/// Arrivals a second between the first and the last twentieth, so that neither start nor end is in it.
#[expect(clippy::cast_precision_loss, reason = "figures for people")]
pub(crate) fn arrivals_per_s(arrivals: &[Arrival]) -> f64 {
    let (from, to) = (arrivals.len() / 20, arrivals.len() * 19 / 20);
    let took = arrivals[to].at.duration_since(arrivals[from].at);
    (to - from) as f64 / took.as_secs_f64()
}
