//! Rules that come and go: what is sent after a rule was made alerts, and what is sent after it was deleted does not.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use domain::{DeliveryId, EventId};
use reqwest::{Method, StatusCode};
use serde_json::json;
use tokio::time::sleep;

use crate::books::{Books, Expected};
use crate::workload::Customer;
use crate::workload::events::{NewEvent, send_until_accepted};

/// How many events are sent while a rule is there, and after it.
const EVENTS: usize = 5;
/// Everything of the rule's life has arrived by then, whatever breaks.
const ARRIVED_WITHIN: Duration = Duration::from_secs(600);
const PAUSE: Duration = Duration::from_secs(2);
const LOOK: Duration = Duration::from_millis(200);

/// Makes and deletes one rule after the other until told to stop.
pub(crate) async fn change(
    customer: Customer,
    url: String,
    books: Books,
    stop: Arc<AtomicBool>,
) -> anyhow::Result<()> {
    for number in 0.. {
        sleep(PAUSE).await;
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let action = format!("seasonal.{number}");
        let made = customer
            .make_rule(&action, &json!({"action": [action]}), &url)
            .await;
        books.open().rule_changes += 1;
        let Ok(rule) = made else {
            // It may be there and in force, or come into force later. Its events are its own, so nobody needs to know.
            books.open().unsure_changes += 1;
            continue;
        };
        let alerting = sent(&customer, number, "in", Expected::Alert(rule), &action);
        let ids = send_until_accepted(&customer, &alerting, &books).await?;
        wait_until_arrived(&books, &ids, rule, &stop).await?;

        let path = format!("/v1/alert-rules/{rule}");
        let deleted = customer.send(Method::DELETE, &path, None).await;
        books.open().rule_changes += 1;
        let is_gone = deleted.is_ok_and(|answer| answer.status() == StatusCode::NO_CONTENT);
        let expected = if is_gone {
            Expected::Nothing
        } else {
            Expected::Either(rule)
        };
        if !is_gone {
            books.open().unsure_changes += 1;
        }
        let late = sent(&customer, number, "late", expected, &action);
        send_until_accepted(&customer, &late, &books).await?;
    }
    Ok(())
}

fn sent(
    customer: &Customer,
    number: usize,
    when: &str,
    expected: Expected,
    action: &str,
) -> Vec<NewEvent> {
    (0..EVENTS)
        .map(|event| {
            NewEvent::new(
                customer,
                &format!("r{number}-{when}-{event}"),
                (action, "success"),
                expected,
            )
        })
        .collect()
}

/// A rule that is deleted before its alerts are out cancels them, which is not what this is about.
async fn wait_until_arrived(
    books: &Books,
    events: &[EventId],
    rule: domain::RuleId,
    stop: &AtomicBool,
) -> anyhow::Result<()> {
    let mut wanted: Vec<DeliveryId> = events
        .iter()
        .map(|event| DeliveryId::of(*event, rule))
        .collect();
    let (started, mut looked_at) = (Instant::now(), 0);
    loop {
        {
            let pages = books.open();
            for arrival in &pages.arrivals[looked_at..] {
                wanted.retain(|delivery| *delivery != arrival.delivery);
            }
            looked_at = pages.arrivals.len();
        }
        if wanted.is_empty() {
            return Ok(());
        }
        // Whoever compares in the end says what is missing.
        if stop.load(Ordering::Relaxed) {
            return Ok(());
        }
        anyhow::ensure!(
            started.elapsed() < ARRIVED_WITHIN,
            "{wanted:?} did not arrive within {ARRIVED_WITHIN:?}"
        );
        sleep(LOOK).await;
    }
}
