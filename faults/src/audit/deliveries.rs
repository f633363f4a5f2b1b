//! Every event that must alert has alerted, no other has, and the fleet's own balance agrees.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use domain::{DeliveryId, RuleId, Timestamp};
use serde_json::Value;
use tokio::time::sleep;

use crate::audit::{Findings, Wrong};
use crate::books::{Books, Expected, Pages};
use crate::now;
use crate::workload::Customer;

const LOOK: Duration = Duration::from_secs(1);
/// What a worker held when it died is handed out again after 16 s.
const QUIET: Duration = Duration::from_secs(18);
const AHEAD_MS: i64 = 2 * 60 * 60 * 1_000;

fn wanted(pages: &Pages) -> impl Iterator<Item = DeliveryId> {
    pages
        .accepted
        .iter()
        .filter_map(|(event, accepted)| match accepted.expected {
            Expected::Alert(rule) => Some(DeliveryId::of(*event, rule)),
            _ => None,
        })
}

fn arrived(pages: &Pages) -> HashSet<DeliveryId> {
    let arrivals = pages.arrivals.iter();
    arrivals.map(|arrival| arrival.delivery).collect()
}

/// How many deliveries arrived, each counted once.
pub(crate) fn count(pages: &Pages) -> usize {
    arrived(pages).len()
}

/// Waits until nothing is missing and nothing more comes; what still is missing in the end is for [`check`] to say.
pub(crate) async fn wait_until_arrived(books: &Books, deadline: Instant) {
    while Instant::now() < deadline {
        {
            let pages = books.open();
            let arrived = arrived(&pages);
            let is_quiet = pages
                .arrivals
                .last()
                .is_some_and(|last| last.at.elapsed() > QUIET);
            if is_quiet && wanted(&pages).all(|delivery| arrived.contains(&delivery)) {
                return;
            }
        }
        sleep(LOOK).await;
    }
}

/// The balance of each organization's rule, once nothing is under way.
pub(crate) async fn balances(
    customers: &[(Customer, RuleId)],
    deadline: Instant,
) -> anyhow::Result<Vec<Value>> {
    let mut balances = Vec::new();
    for (customer, rule) in customers {
        // A node whose clock was ahead has matched in the future.
        let to = Timestamp::from_unix_millis(now().unix_millis() + AHEAD_MS);
        let path = format!("/v1/alert-rules/{rule}/balance?to={to}");
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let balance = customer.read(&path, left).await?;
            let is_settled = balance["pending"] == 0
                && balance["scheduled"] == 0
                && balance["delivered"] == balance["matched"];
            if is_settled || Instant::now() > deadline {
                balances.push(balance);
                break;
            }
            sleep(LOOK).await;
        }
    }
    Ok(balances)
}

pub(crate) fn check(
    pages: &Pages,
    customers: &[(Customer, RuleId)],
    balances: &[Value],
    findings: &mut Findings,
) {
    let arrived = arrived(pages);
    let lost = wanted(pages).filter(|delivery| !arrived.contains(delivery));
    let lost: Vec<String> = lost.map(|delivery| delivery.to_string()).collect();
    findings.note(Wrong::Lost, "alerts that never arrived", &lost);

    let (mut uncalled, mut elsewhere) = (Vec::new(), Vec::new());
    for arrival in &pages.arrivals {
        let Some(accepted) = pages.accepted.get(&arrival.event) else {
            uncalled.push(format!(
                "{}: nobody sent {}",
                arrival.delivery, arrival.event
            ));
            continue;
        };
        if accepted.org != arrival.to {
            elsewhere.push(format!(
                "{} of {} at {}",
                arrival.event, accepted.org, arrival.to
            ));
        }
        match accepted.expected {
            Expected::Alert(rule) | Expected::Either(rule) if rule == arrival.rule => {}
            expected => uncalled.push(format!(
                "{} by {}: {expected:?}",
                arrival.event, arrival.rule
            )),
        }
    }
    findings.note(
        Wrong::Untrue,
        "alerts that no rule in force called for",
        &uncalled,
    );
    findings.note(Wrong::Foreign, "alerts at another organization", &elsewhere);

    for (org, balance) in balances.iter().enumerate() {
        let rule = customers[org].1;
        let promised = pages
            .accepted
            .values()
            .filter(|it| it.expected == Expected::Alert(rule))
            .count();
        let agrees = balance["balanced"] == true
            && balance["matched"] == promised
            && balance["delivered"] == promised;
        if !agrees {
            findings.note(
                Wrong::Untrue,
                "rules whose balance does not agree",
                &[format!("{promised} promised: {balance}")],
            );
        }
    }
}
