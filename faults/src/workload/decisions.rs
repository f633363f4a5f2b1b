//! "May this agent do this?", asked all the time, while the policies change.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::books::{Activation, Books, Decision};
use crate::workload::{AGAIN_AFTER, Customer};

const ASK_EVERY: Duration = Duration::from_millis(100);
const CHANGE_EVERY: Duration = Duration::from_secs(4);

/// Versions that allow are even, those that forbid are odd; version 1, the starter, allows.
const ALLOW: &str = r#"@id("all") permit (principal, action, resource);"#;
const FORBID: &str = r#"@id("none") forbid (principal, action, resource);"#;

/// Whether a version allows what is asked.
pub(crate) fn allows(version: u64) -> bool {
    version == 1 || version.is_multiple_of(2)
}

/// Asks until told to stop.
pub(crate) async fn ask(
    customer: Customer,
    books: Books,
    stop: Arc<AtomicBool>,
) -> anyhow::Result<()> {
    let question = json!({"agent_id": "agent-0", "action": "files.delete"});
    while !stop.load(Ordering::Relaxed) {
        sleep(ASK_EVERY).await;
        let asked = Instant::now();
        let answer = customer
            .ask(Method::POST, "/v1/runtime/decisions", Some(&question))
            .await;
        // An answer that is not given allows nothing.
        let Ok(answer) = answer else { continue };
        let version = answer["policy_version"].as_u64().context("a version")?;
        let allowed = answer["decision"] == "allow";
        books.open().decisions.push(Decision {
            asked,
            answered: Instant::now(),
            version,
            allowed,
        });
    }
    Ok(())
}

/// Puts one version after the other in force until told to stop.
pub(crate) async fn change(
    customer: Customer,
    books: Books,
    stop: Arc<AtomicBool>,
) -> anyhow::Result<()> {
    let allow = write(&customer, ALLOW).await?;
    let forbid = write(&customer, FORBID).await?;
    anyhow::ensure!(allows(allow) && !allows(forbid), "{allow} and {forbid}");
    for version in [forbid, allow].into_iter().cycle() {
        sleep(CHANGE_EVERY).await;
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let path = format!("/v1/policies/versions/{version}/activate");
        let began = Instant::now();
        let answer = customer.ask(Method::POST, &path, Some(&json!({}))).await;
        let returned = answer.is_ok().then(Instant::now);
        books.open().activations.push(Activation {
            version,
            began,
            returned,
        });
    }
    Ok(())
}

async fn write(customer: &Customer, policies: &str) -> anyhow::Result<u64> {
    let body = json!({"policies": policies});
    loop {
        let made: Option<Value> = customer
            .ask(Method::POST, "/v1/policies/versions", Some(&body))
            .await
            .ok();
        match made {
            Some(made) => return made["version"].as_u64().context("a version"),
            None => sleep(AGAIN_AFTER).await,
        }
    }
}
