//! Alerts at a pace: events posted one by one or in a crowd, and how long each alert took from the
//! acknowledgment of its event to its arrival.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use domain::{DeliveryId, EventId, RuleId};
use serde_json::{Value, json};
use testkit::{Receiver, eventually};
use tokio::time::interval;

use crate::deployment::{Customer, ok};

/// Events of one request of a crowd.
const CROWD_REQUEST: usize = 100;

/// A rule of one agent's own: what that agent does goes to one endpoint.
pub(crate) struct Alarm {
    customer: Customer,
    agent: String,
    rule: RuleId,
}

/// When the event of each delivery was acknowledged.
pub(crate) type Acknowledged = HashMap<String, Instant>;

/// How long alerts took.
#[derive(Debug)]
pub(crate) struct Lags {
    pub(crate) count: usize,
    pub(crate) p50: Duration,
    pub(crate) p99: Duration,
    pub(crate) max: Duration,
}

impl Alarm {
    pub(crate) async fn set(customer: &Customer, agent: &str, url: &str) -> Self {
        let rule = customer.rule(json!({"agent_id": [agent]}), url).await;
        Self {
            customer: customer.clone(),
            agent: agent.to_owned(),
            rule: rule.parse().expect("a rule's id"),
        }
    }

    /// One event each `every`.
    pub(crate) async fn raise(&self, count: usize, every: Duration) -> Acknowledged {
        let (mut acknowledged, mut ticks) = (Acknowledged::new(), interval(every));
        for _ in 0..count {
            ticks.tick().await;
            let event = self.customer.ingest(&self.event()).await;
            acknowledged.insert(self.delivery(&event), Instant::now());
        }
        acknowledged
    }

    /// All at once.
    pub(crate) async fn raise_crowd(&self, count: usize) -> Acknowledged {
        let mut acknowledged = Acknowledged::new();
        while acknowledged.len() < count {
            let size = CROWD_REQUEST.min(count - acknowledged.len());
            let events = json!({"events": vec![self.event(); size]});
            let answer = ok(self.customer.post("/v1/audit/events", &events).await).await;
            let ids = answer["events"].as_array().expect("ids").iter();
            let ids = ids.map(|event| self.delivery(event["id"].as_str().expect("an id")));
            acknowledged.extend(ids.map(|id| (id, Instant::now())));
        }
        acknowledged
    }

    fn event(&self) -> Value {
        crate::deployment::event(&self.agent)
    }

    fn delivery(&self, event: &str) -> String {
        let event: EventId = event.parse().expect("an event's id");
        DeliveryId::of(event, self.rule).to_string()
    }
}

/// How long the alerts took, once the receiver has all of them.
pub(crate) async fn lags(
    acknowledged: &Acknowledged,
    receiver: &Receiver,
    deadline: Duration,
) -> Lags {
    let mut lags = eventually(deadline, "every alert arrived", async || {
        let mut first = HashMap::new();
        for arrival in receiver.arrivals() {
            first.entry(arrival.delivery_id).or_insert(arrival.at);
        }
        let lag = |(id, at): (&String, &Instant)| {
            let arrived = first.get(id.as_str())?;
            Some(arrived.saturating_duration_since(*at))
        };
        let lags: Vec<Duration> = acknowledged.iter().filter_map(lag).collect();
        let missing = acknowledged.len() - lags.len();
        (missing == 0).then_some(lags).ok_or(missing)
    })
    .await;
    lags.sort_unstable();
    let at = |percent: usize| lags[(lags.len() * percent / 100).min(lags.len() - 1)];
    Lags {
        count: lags.len(),
        p50: at(50),
        p99: at(99),
        max: at(100),
    }
}

impl std::fmt::Display for Lags {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (count, p50, p99, max) = (self.count, self.p50, self.p99, self.max);
        write!(
            f,
            "{count} alerts: p50 {p50:.1?}, p99 {p99:.1?}, at most {max:.1?}"
        )
    }
}
