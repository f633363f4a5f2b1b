//! What customers do while everything breaks. Each request is sent until it is answered, and every answer goes into the
//! books.

pub(crate) mod decisions;
mod events;
mod limits;
mod rules;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use domain::RuleId;
use reqwest::{Client, Method, Response};
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::books::{Books, Org};
use crate::fleet::Fleet;
use crate::receivers::Receivers;

/// How many organizations there are.
pub(crate) const CUSTOMERS: usize = 3;
/// How many clients of each send events.
const CLIENTS: usize = 2;
/// A client that is refused does not hammer.
const AGAIN_AFTER: Duration = Duration::from_millis(100);
/// An export of everything.
const LONG_ANSWER_WITHIN: Duration = Duration::from_secs(600);
/// How long a patient client waits for an answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);

/// One organization, which knows where the fleet is.
#[derive(Clone)]
pub(crate) struct Customer {
    pub(crate) org: Org,
    http: Client,
    urls: Arc<[String]>,
    key: String,
    /// Counts requests, to turn to the other node each time.
    turn: Arc<AtomicUsize>,
}

/// Everybody at work.
pub(crate) struct Workload {
    /// Each with the rule that every denied tool call must match.
    customers: Vec<(Customer, RuleId)>,
    at_work: JoinSet<anyhow::Result<()>>,
    stop: Arc<AtomicBool>,
}

impl Workload {
    /// Founds the organizations and has them begin. `per_s` is how many events all of them send together.
    pub(crate) async fn start(
        fleet: &Fleet,
        books: &Books,
        per_s: u32,
    ) -> anyhow::Result<(Self, Receivers)> {
        let founded: Vec<(String, String)> = (0..CUSTOMERS)
            .map(|number| fleet.create_organization(&format!("customer-{number}")))
            .collect::<Result<_, _>>()?;
        let secrets: Vec<String> = founded.iter().map(|(_, secret)| secret.clone()).collect();
        let receivers = Receivers::start(books, &secrets)?;
        let http = Client::builder()
            .timeout(ANSWER_WITHIN)
            .no_proxy()
            .build()?;
        let urls: Arc<[String]> = fleet.urls().into();
        let mut customers = Vec::new();
        for (org, (key, _)) in founded.into_iter().enumerate() {
            let customer = Customer {
                org,
                http: http.clone(),
                urls: Arc::clone(&urls),
                key,
                turn: Arc::new(AtomicUsize::new(org)),
            };
            let pattern = json!({"event_type": ["tool_call"], "result": ["denied"]});
            let rule = customer
                .make_rule("Denied", &pattern, &receivers.url(org))
                .await?;
            customers.push((customer, rule));
        }
        let (mut at_work, stop) = (JoinSet::new(), Arc::new(AtomicBool::new(false)));
        let pace = events::Pace::of(per_s, CUSTOMERS * CLIENTS);
        for (customer, rule) in &customers {
            for client in 0..CLIENTS {
                let sender = events::Sender {
                    customer: customer.clone(),
                    rule: *rule,
                    client,
                    pace,
                };
                at_work.spawn(sender.send(books.clone(), Arc::clone(&stop)));
            }
            let url = receivers.url(customer.org);
            at_work.spawn(rules::change(
                customer.clone(),
                url,
                books.clone(),
                Arc::clone(&stop),
            ));
        }
        at_work.spawn(decisions::ask(
            customers[0].0.clone(),
            books.clone(),
            Arc::clone(&stop),
        ));
        at_work.spawn(decisions::change(
            customers[0].0.clone(),
            books.clone(),
            Arc::clone(&stop),
        ));
        at_work.spawn(limits::use_up(
            customers[1].0.clone(),
            books.clone(),
            Arc::clone(&stop),
        ));
        Ok((
            Self {
                customers,
                at_work,
                stop,
            },
            receivers,
        ))
    }

    /// Lets everybody finish what they are about.
    pub(crate) async fn stop(mut self) -> anyhow::Result<Vec<(Customer, RuleId)>> {
        self.stop.store(true, Ordering::Relaxed);
        while let Some(ended) = self.at_work.join_next().await {
            ended.context("a client panicked")??;
        }
        Ok(self.customers)
    }

    /// Fails if somebody gave up.
    pub(crate) fn check(&mut self) -> anyhow::Result<()> {
        match self.at_work.try_join_next() {
            None => Ok(()),
            Some(ended) => ended
                .context("a client panicked")?
                .context("a client gave up")
                .and_then(|()| anyhow::bail!("a client ended early")),
        }
    }
}

impl Customer {
    /// One try, at the node whose turn it is.
    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> reqwest::Result<Response> {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        let url = &self.urls[turn % self.urls.len()];
        let request = self
            .http
            .request(method, format!("{url}{path}"))
            .bearer_auth(&self.key);
        let request = match body {
            Some(body) => request.json(body),
            None => request,
        };
        request.send().await
    }

    /// One try of something that takes minutes.
    pub(crate) async fn send_slowly(
        &self,
        method: Method,
        path: &str,
        body: &Value,
    ) -> reqwest::Result<Response> {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        let url = &self.urls[turn % self.urls.len()];
        let request = self
            .http
            .request(method, format!("{url}{path}"))
            .bearer_auth(&self.key);
        request.timeout(LONG_ANSWER_WITHIN).json(body).send().await
    }

    /// One try whose answer must be a success.
    pub(crate) async fn ask(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> anyhow::Result<Value> {
        let response = self.send(method, path, body).await?;
        let (status, text) = (response.status(), response.text().await?);
        ensure!(status.is_success(), "{path}: {status}: {text}");
        if text.is_empty() {
            return Ok(Value::Null);
        }
        Ok(serde_json::from_str(&text)?)
    }

    /// Asks again and again until there is an answer, within a limit.
    pub(crate) async fn read(&self, path: &str, within: Duration) -> anyhow::Result<Value> {
        let started = Instant::now();
        loop {
            match self.ask(Method::GET, path, None).await {
                Err(error) if started.elapsed() > within => return Err(error),
                Err(_) => sleep(AGAIN_AFTER).await,
                answer => return answer,
            }
        }
    }

    /// Makes a rule that does not match what rules and deliveries themselves leave in the trail.
    pub(crate) async fn make_rule(
        &self,
        name: &str,
        pattern: &Value,
        url: &str,
    ) -> anyhow::Result<RuleId> {
        let body = json!({"name": name, "match": pattern, "url": url});
        let made = self
            .ask(Method::POST, "/v1/alert-rules", Some(&body))
            .await?;
        Ok(made["id"].as_str().context("an id")?.parse()?)
    }
}
