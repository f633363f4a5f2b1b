//! Decisions through HTTP at 10, 100 and 1,000 policies, beside a bare HTTP echo and a bare journal.

use std::{
    fmt::Write as _,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::ensure;
use bytes::Bytes;
use reqwest::Client;
use serde_json::json;
use testkit::own;

use crate::{
    Arguments, Verdict, bare_http, bare_journal,
    lanes::{self, Figures, Requesting},
    rounds::{Rounds, median},
    server::{Customer, Settings},
    usage::{Used, Watched},
};

/// Everything is measured so often, in turn.
const ROUNDS: u32 = 3;
const SIZES: [usize; 3] = [10, 100, 1_000];
/// How many policies of a set no scope keeps away from a question.
const GENERAL: usize = 5;
/// A decision at 1,000 policies beside one at 10, at half of what saturates it (issue 27).
const GROWTH_AIM: f64 = 1.2;
/// A decision beside a bare echo and a bare acknowledgment (issue 27).
const WHOLE_AIM: f64 = 2.0;
/// Processor time of the `api` process for each (issue 27).
const CPU_AIM_US: f64 = 60.0;
/// Beyond these something is broken, however slow the build and the machine.
const GROWTH_CEILING: f64 = 5.0;
const WHOLE_CEILING: f64 = 60.0;
const CPU_CEILING_US: f64 = 30_000.0;
/// About what the record of a decision is.
const RECORD_BYTES: usize = 900;

/// An organization and how many policies it has.
struct Asker {
    policies: usize,
    customer: Customer,
    turn: Arc<AtomicUsize>,
}

/// What the rounds of one size came to.
#[derive(Default)]
struct Measured {
    saturated: Vec<f64>,
    p50: Vec<f64>,
    p99: Vec<f64>,
    /// Beside echo and acknowledgment.
    whole: Rounds,
    /// Of the `api` process, for each.
    cpu_us: Vec<f64>,
    /// By all, while as many as go were made; in the last round.
    used: Option<(Used, usize)>,
}

pub(crate) async fn measure(arguments: &Arguments) -> anyhow::Result<Verdict> {
    let engines = own::durable_engines()?;
    let settings = Settings::prepare(&arguments.binary()?, &engines)?;
    let api = settings.serve("api")?;
    let each = Duration::from_secs(arguments.seconds) / ROUNDS;
    let bare = Bare::start(engines.nats.url())?;
    let mut askers = Vec::new();
    for policies in SIZES {
        let customer = settings.customer(&format!("bench{policies}"), &api)?;
        let version = customer.write_policies(&texts(policies)).await?;
        customer.activate(&version).await?;
        let turn = Arc::default();
        askers.push(Asker {
            policies,
            customer,
            turn,
        });
    }
    let mut watched = Watched::new(&engines)?;
    watched.add("api", api.pid());
    for asker in &askers {
        // The first question reads the policies.
        asker.saturate(arguments.lanes, each / 3).await?;
    }
    let mut measured = SIZES.map(|_| Measured::default());
    let (mut echoes, mut acknowledged, mut rates) = (Vec::new(), Vec::new(), Vec::new());
    let mut alone = Rounds::default();
    for _ in 0..ROUNDS {
        let mut slowest = f64::INFINITY;
        for (asker, measured) in askers.iter().zip(&mut measured) {
            let before = watched.usage()?;
            let saturated = asker.saturate(arguments.lanes, each).await?;
            let used = watched.used_since(&before)?;
            let decisions = saturated.events;
            measured.cpu_us.push(used.micros_for_each("api", decisions));
            measured.used = Some((used, decisions));
            measured.saturated.push(saturated.events_per_s);
            slowest = slowest.min(saturated.events_per_s);
        }
        let rate = slowest / 2.0;
        rates.push(rate);
        let echo = lanes::run_at(rate, arguments.lanes, each, bare.request()).await?;
        let journal = bare.acknowledged(each).await?;
        echoes.push(echo.p50_ms);
        acknowledged.push(journal.p50_ms);
        let lone_echo = lanes::run(1, each, 1, bare.request()).await?;
        let lone = askers[SIZES.len() - 1].saturate(1, each).await?;
        alone.add(lone_echo.p50_ms + journal.p50_ms, lone.p50_ms);
        for (asker, measured) in askers.iter().zip(&mut measured) {
            let ours = asker.ask_at(rate, arguments.lanes, each).await?;
            measured.p50.push(ours.p50_ms);
            measured.p99.push(ours.p99_ms);
            measured
                .whole
                .add(echo.p50_ms + journal.p50_ms, ours.p50_ms);
        }
    }
    println!(
        "bare echo p50 {:.2} ms at {:.0}/s, bare acknowledgment p50 {:.2} ms, one at a time",
        median(&echoes),
        median(&rates),
        median(&acknowledged),
    );
    println!(
        "one decision at a time, 1,000 policies: p50 {:.2} ms, beside echo + acknowledgment {:.2} ms: {}",
        alone.ours(),
        alone.bare(),
        alone.ratio(),
    );
    let mut verdict = told(&askers, &measured, median(&rates));
    let one_at_a_time = "one at a time, p50 beside echo + acknowledgment";
    verdict.tell(one_at_a_time, alone.ratio().median);
    let most = &askers[SIZES.len() - 1];
    let mut activated = Vec::new();
    for round in 0..ROUNDS {
        activated.push(most.activated(round).await?.as_secs_f64());
    }
    println!("1,000 policies activated and asked: {activated:.3?} s");
    let slowest = activated.iter().copied().fold(0.0, f64::max);
    verdict.at_most("seconds until 1,000 policies decide", slowest, 1.0, 15.0);
    Ok(verdict)
}

fn told(askers: &[Asker], measured: &[Measured], rate: f64) -> Verdict {
    println!(
        "\n{:<10} {:>12} {:>9} {:>12} {:>9} {:>9} {:>22}",
        "policies", "most/s", "us CPU", "at /s", "p50 ms", "p99 ms", "echo + ack"
    );
    for (asker, one) in askers.iter().zip(measured) {
        println!(
            "{:<10} {:>12.0} {:>9.1} {rate:>12.0} {:>9.2} {:>9.2} {:>22}",
            asker.policies,
            median(&one.saturated),
            median(&one.cpu_us),
            median(&one.p50),
            median(&one.p99),
            one.whole.ratio().to_string(),
        );
        if let Some((used, decisions)) = &one.used {
            println!("  {}", used.for_each(*decisions));
        }
    }
    let (least, most) = (&measured[0], &measured[measured.len() - 1]);
    let mut growth = Rounds::default();
    for (bare, ours) in least.p50.iter().zip(&most.p50) {
        growth.add(*bare, *ours);
    }
    println!("\np50 at 1,000 policies beside 10: {}", growth.ratio());
    let mut verdict = Verdict::default();
    let growth = growth.ratio().median;
    verdict.at_most(
        "p50, 1,000 policies beside 10",
        growth,
        GROWTH_AIM,
        GROWTH_CEILING,
    );
    let whole = most.whole.ratio().median;
    verdict.at_most(
        "p50 beside echo + acknowledgment",
        whole,
        WHOLE_AIM,
        WHOLE_CEILING,
    );
    let cpu_us = median(&most.cpu_us);
    verdict.at_most("us CPU each", cpu_us, CPU_AIM_US, CPU_CEILING_US);
    verdict.tell("p99 ms at half of the most", median(&most.p99));
    verdict.tell("decisions/s at most", median(&most.saturated));
    verdict
}

/// What a decision is measured beside.
struct Bare {
    client: Client,
    echo: String,
    nats: String,
}

impl Bare {
    fn start(nats: String) -> anyhow::Result<Self> {
        Ok(Self {
            client: Client::builder().no_proxy().build()?,
            echo: format!("http://{}/", bare_http::start()?),
            nats,
        })
    }

    /// The bytes of a question, there and back.
    fn request(&self) -> impl Fn() -> Requesting + Clone + use<> {
        let (client, url) = (self.client.clone(), self.echo.clone());
        let body = Bytes::from(question(0, SIZES[2]));
        move || {
            let asking = client.post(&url).body(body.clone()).send();
            Box::pin(async move {
                ensure!(asking.await?.bytes().await?.len() > 2, "it says it back");
                Ok(())
            })
        }
    }

    /// One at a time: what an acknowledgment takes if nobody else wants one.
    async fn acknowledged(&self, lasting: Duration) -> anyhow::Result<Figures> {
        let payload = Bytes::from(vec![b'x'; RECORD_BYTES]);
        bare_journal::publish(&self.nats, payload, 1, 1, lasting).await
    }
}

impl Asker {
    async fn saturate(&self, lanes: usize, lasting: Duration) -> anyhow::Result<Figures> {
        lanes::run(lanes, lasting, 1, self.request()).await
    }

    async fn ask_at(&self, per_s: f64, lanes: usize, lasting: Duration) -> anyhow::Result<Figures> {
        lanes::run_at(per_s, lanes, lasting, self.request()).await
    }

    /// How long it takes from the call that activates other policies to a decision by them.
    async fn activated(&self, round: u32) -> anyhow::Result<Duration> {
        let text = format!("// {round}\n{}", texts(self.policies));
        let version = self.customer.write_policies(&text).await?;
        let started = Instant::now();
        self.customer.activate(&version).await?;
        loop {
            let decision = self.customer.decide(question(0, self.policies)).await?;
            if decision["policy_version"] == version {
                return Ok(started.elapsed());
            }
        }
    }

    /// Each question is about another agent's action.
    fn request(&self) -> impl Fn() -> Requesting + Clone + use<> {
        let (customer, turn, policies) =
            (self.customer.clone(), Arc::clone(&self.turn), self.policies);
        move || {
            let (customer, number) = (customer.clone(), turn.fetch_add(1, Ordering::Relaxed));
            Box::pin(async move {
                let decision = customer.decide(question(number, policies)).await?;
                ensure!(decision["decision"] == "allow", "{decision}");
                Ok(())
            })
        }
    }
}

/// Policies for agents that may each do one thing, and some that look at every question.
fn texts(policies: usize) -> String {
    let mut text = String::new();
    for number in 0..GENERAL {
        let _ = writeln!(
            text,
            "@id(\"general-{number}\")\nforbid (principal, action, resource) when {{ context.amount > {} }};",
            1_000_000 + number
        );
    }
    for number in 0..policies - GENERAL {
        let _ = writeln!(
            text,
            "@id(\"agent-{number}\")\npermit (principal == Agent::\"agent-{number}\", action == Action::\"area{number}.pay\", resource)\nwhen {{ context.amount <= 1000 && context.region == \"eu\" && [\"EUR\", \"CHF\"].contains(context.currency) }};"
        );
    }
    text
}

fn question(number: usize, policies: usize) -> String {
    let agent = number % (policies - GENERAL);
    json!({
        "agent_id": format!("agent-{agent}"), "action": format!("area{agent}.pay"),
        "resource": format!("invoice:{number}"),
        "context": {"amount": 250, "region": "eu", "currency": "EUR", "ip": "203.0.113.9", "trusted": true},
    })
    .to_string()
}
