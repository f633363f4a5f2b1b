//! Clients that send events in batches, each until it is accepted.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use domain::{EventId, RuleId};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::time::{MissedTickBehavior, interval, sleep};

use crate::books::{AcceptedEvent, Books, Expected};
use crate::now;
use crate::workload::{AGAIN_AFTER, Customer};

/// One event of so many is denied, and so alerts.
const ALERTS_ONE_IN: usize = 5;
/// How often a client sends a batch.
const EVERY: Duration = Duration::from_millis(300);

/// How much one client sends.
#[derive(Clone, Copy)]
pub(crate) struct Pace {
    batch: usize,
}

impl Pace {
    pub(crate) fn of(per_s: u32, clients: usize) -> Self {
        let per_client =
            f64::from(per_s) * EVERY.as_secs_f64() / f64::from(u32::try_from(clients).unwrap_or(1));
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a small number"
        )]
        let batch = per_client.ceil().max(1.0) as usize;
        Self { batch }
    }
}

/// One client of an organization.
pub(crate) struct Sender {
    pub(crate) customer: Customer,
    /// What every denied tool call must match.
    pub(crate) rule: RuleId,
    pub(crate) client: usize,
    pub(crate) pace: Pace,
}

impl Sender {
    /// Sends batch after batch until told to stop.
    pub(crate) async fn send(self, books: Books, stop: Arc<AtomicBool>) -> anyhow::Result<()> {
        let mut ticks = interval(EVERY);
        // What an outage has held up is made up for.
        ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
        for number in 0.. {
            ticks.tick().await;
            if stop.load(Ordering::Relaxed) {
                break;
            }
            let from = number * self.pace.batch;
            let batch: Vec<NewEvent> = (from..from + self.pace.batch)
                .map(|number| self.event(number))
                .collect();
            send_until_accepted(&self.customer, &batch, &books).await?;
        }
        Ok(())
    }

    fn event(&self, number: usize) -> NewEvent {
        let (result, expected) = if number.is_multiple_of(ALERTS_ONE_IN) {
            ("denied", Expected::Alert(self.rule))
        } else {
            ("success", Expected::Nothing)
        };
        let name = format!("c{}-{number}", self.client);
        NewEvent::new(&self.customer, &name, ("files.delete", result), expected)
    }
}

/// An event, and what must come of it.
pub(crate) struct NewEvent {
    event: Value,
    expected: Expected,
}

impl NewEvent {
    /// The same event however often it is sent: it has a name and a time.
    pub(crate) fn new(
        customer: &Customer,
        name: &str,
        (action, result): (&str, &str),
        expected: Expected,
    ) -> Self {
        let event = json!({
            "event_type": "tool_call", "agent_id": format!("agent-{}", customer.org), "action": action, "result": result,
            "client_event_id": format!("org{}-{name}", customer.org), "occurred_at": now().to_string(),
            "resource": "s3://bucket/objects/1", "metadata": {"tool": "delete_object", "ip": "203.0.113.7"},
        });
        Self { event, expected }
    }
}

/// Sends a batch until all of it is accepted; their ids.
pub(crate) async fn send_until_accepted(
    customer: &Customer,
    batch: &[NewEvent],
    books: &Books,
) -> anyhow::Result<Vec<EventId>> {
    let events: Vec<&Value> = batch.iter().map(|sent| &sent.event).collect();
    let body = json!({"events": events});
    let sent = Instant::now();
    loop {
        let response = customer
            .send(Method::POST, "/v1/audit/events", Some(&body))
            .await;
        let ids = match response {
            Ok(response) if response.status() == StatusCode::ACCEPTED => {
                ids(response.json().await, batch.len())
            }
            // A request that is wrong is not accepted the next time either.
            Ok(response)
                if response.status() == StatusCode::BAD_REQUEST
                    || response.status() == StatusCode::UNAUTHORIZED =>
            {
                anyhow::bail!("refused: {}", response.text().await.unwrap_or_default())
            }
            _ => None,
        };
        let Some(ids) = ids else {
            books.open().repeated += 1;
            sleep(AGAIN_AFTER).await;
            continue;
        };
        for (id, one) in ids.iter().zip(batch) {
            books.accept(
                *id,
                AcceptedEvent {
                    org: customer.org,
                    sent,
                    expected: one.expected,
                },
            );
        }
        return Ok(ids);
    }
}

/// The ids of a batch that was accepted as a whole. A node whose clock is an hour behind refuses what comes from its
/// future, event by event; the other node takes it.
fn ids(answer: reqwest::Result<Value>, count: usize) -> Option<Vec<EventId>> {
    let answer = answer.ok()?;
    let events = answer["events"].as_array()?;
    let ids: Option<Vec<EventId>> = events
        .iter()
        .map(|event| event["id"].as_str()?.parse().ok())
        .collect();
    ids.filter(|ids| ids.len() == count)
}
