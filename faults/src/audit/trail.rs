//! Every accepted event is listed exactly once, by its own organization, and nothing is listed that nobody sent.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use anyhow::ensure;
use domain::{EventId, RuleId};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::audit::{Findings, Wrong};
use crate::books::Pages;
use crate::workload::Customer;

const LOOK: Duration = Duration::from_secs(1);

/// How often each of an organization's events is in its export.
pub(crate) type Listed = HashMap<EventId, usize>;

/// The exports of all organizations; events that the server made itself are left out.
pub(crate) async fn read(
    customers: &[(Customer, RuleId)],
    deadline: Instant,
    findings: &mut Findings,
) -> anyhow::Result<Vec<Listed>> {
    let mut all = Vec::new();
    for (customer, _) in customers {
        let mut listed = Listed::new();
        let mut strangers = Vec::new();
        let prefix = format!("org{}-", customer.org);
        for line in export(customer, deadline).await?.lines() {
            let Ok(event) = serde_json::from_str::<Value>(line) else {
                strangers.push(format!("not JSON: {line}"));
                continue;
            };
            let Some(id) = event["id"].as_str().and_then(|id| id.parse().ok()) else {
                continue; // the last line, which counts
            };
            match event["client_event_id"].as_str() {
                Some(name) if name.starts_with(&prefix) => *listed.entry(id).or_default() += 1,
                Some(_) => strangers.push(line.to_owned()),
                None if event["event_type"] == "tool_call" => strangers.push(line.to_owned()),
                None => {}
            }
        }
        findings.note(
            Wrong::Foreign,
            "listed events that this organization did not send",
            &strangers,
        );
        all.push(listed);
    }
    Ok(all)
}

/// Asks until a whole export that is fresh has arrived.
async fn export(customer: &Customer, deadline: Instant) -> anyhow::Result<String> {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let page = customer.read("/v1/audit/events?limit=1", left).await?;
        if page["fresh"] == true {
            let answer = customer
                .send_slowly(Method::POST, "/v1/audit/export", &json!({}))
                .await;
            if let Ok(answer) = answer
                && answer.status().is_success()
                && let Ok(text) = answer.text().await
                && is_whole(&text)
            {
                return Ok(text);
            }
        }
        ensure!(
            Instant::now() < deadline,
            "there is no whole export: {page}"
        );
        sleep(LOOK).await;
    }
}

/// Whether the last line counts what is before it.
fn is_whole(export: &str) -> bool {
    let last = export.lines().last().unwrap_or_default();
    let last: Value = serde_json::from_str(last).unwrap_or_default();
    last["export"]["events"] == export.lines().count().saturating_sub(1)
}

pub(crate) fn check(pages: &Pages, listed: &[Listed], findings: &mut Findings) {
    let (mut lost, mut doubled, mut elsewhere) = (Vec::new(), Vec::new(), Vec::new());
    for (id, accepted) in &pages.accepted {
        match listed[accepted.org].get(id) {
            None => lost.push(format!("{id} of organization {}", accepted.org)),
            Some(1) => {}
            Some(times) => doubled.push(format!("{id}: {times} times")),
        }
        for (org, others) in listed.iter().enumerate() {
            if org != accepted.org && others.contains_key(id) {
                elsewhere.push(format!("{id} of {} at {org}", accepted.org));
            }
        }
    }
    findings.note(Wrong::Lost, "accepted events that are not listed", &lost);
    findings.note(
        Wrong::Doubled,
        "events that are listed more than once",
        &doubled,
    );
    findings.note(
        Wrong::Foreign,
        "events that another organization can see",
        &elsewhere,
    );
    // What was sent and never acknowledged would be no fault, but everybody sent until it was.
    let unknown = |(org, listed): (usize, &Listed)| -> Vec<String> {
        let unknown = listed.keys().filter(|id| !pages.accepted.contains_key(id));
        unknown.map(|id| format!("{id} at {org}")).collect()
    };
    let unknown: Vec<String> = listed.iter().enumerate().flat_map(unknown).collect();
    findings.note(
        Wrong::Untrue,
        "listed events under an id that nobody was told",
        &unknown,
    );
}
