//! Events per second through HTTP, beside the same bytes published to the bare journal; and how long a request takes at half
//! of what requests of its shape can carry at most.

use std::time::Duration;

use bytes::Bytes;
use testkit::own;

use crate::{
    Arguments, Verdict, bare_journal, events,
    lanes::{self, Figures},
    rounds::{Rounds, median},
    server::{Customer, Server, Settings},
    usage::{Used, Watched},
};

/// Bare and ours are measured so often, in turn.
const ROUNDS: u32 = 3;
/// What we aim at (issue 27): one event alone, what most clients send, and the largest batch.
const AIM_ALONE: f64 = 0.6;
const AIM_HUNDRED: f64 = 0.7;
const AIM_THOUSAND: f64 = 0.4;
/// Nobody waits for seconds, however large the batch.
const AIM_P99_MS: f64 = 1_000.0;
/// Beyond these something is broken, however slow the build and the machine.
const FLOOR: f64 = 0.005;
const CEILING_MS: f64 = 60_000.0;

/// How events are sent.
#[derive(Clone, Copy)]
struct Shape {
    per_request: usize,
    in_flight: usize,
}

/// What requests of one shape came to.
struct Measured {
    rounds: Rounds,
    p99_ms: f64,
    /// At half of the most.
    half: Figures,
    /// In the last round.
    used: Used,
    events: usize,
}

struct Bench {
    nats: String,
    customer: Customer,
    watched: Watched,
    each: Duration,
    _api: Server,
}

pub(crate) async fn measure(arguments: &Arguments) -> anyhow::Result<Verdict> {
    let engines = own::durable_engines()?;
    let settings = Settings::prepare(&arguments.binary()?, &engines)?;
    let api = settings.serve("api")?;
    let mut watched = Watched::new(&engines)?;
    watched.add("api", api.pid());
    let bench = Bench {
        nats: engines.nats.url(),
        customer: settings.customer("bench", &api)?,
        watched,
        each: Duration::from_secs(arguments.seconds) / ROUNDS,
        _api: api,
    };
    println!(
        "{:<32} {:>11} {:>11} {:>22} {:>8} {:>8} {:>12} {:>8} {:>8}",
        "",
        "bare ev/s",
        "ours ev/s",
        "ratio",
        "p50 ms",
        "p99 ms",
        "at half ev/s",
        "p50 ms",
        "p99 ms"
    );
    let mut verdict = Verdict::default();
    for per_request in [1, 100, 1_000] {
        for in_flight in [1, arguments.lanes] {
            let shape = Shape {
                per_request,
                in_flight,
            };
            bench.measure(shape).await?.judge(shape, &mut verdict);
        }
    }
    Ok(verdict)
}

impl Bench {
    async fn measure(&self, shape: Shape) -> anyhow::Result<Measured> {
        let Shape {
            per_request,
            in_flight,
        } = shape;
        let body = events::batch(per_request);
        // Connections and pages of memory that are there afterwards.
        self.ingest(&body, shape, self.each / 3).await?;
        let (mut rounds, mut p50, mut p99) = (Rounds::default(), Vec::new(), Vec::new());
        let mut before = self.watched.usage()?;
        let mut events = 0;
        for _ in 0..ROUNDS {
            let bare = body.clone();
            let bare =
                bare_journal::publish(&self.nats, bare, per_request, in_flight, self.each).await?;
            before = self.watched.usage()?;
            let ours = self.ingest(&body, shape, self.each).await?;
            rounds.add(bare.events_per_s, ours.events_per_s);
            p50.push(ours.p50_ms);
            p99.push(ours.p99_ms);
            events = ours.events;
        }
        let used = self.watched.used_since(&before)?;
        let (p50_ms, p99_ms) = (median(&p50), median(&p99));
        #[expect(clippy::cast_precision_loss, reason = "a small number")]
        let requests_per_s = rounds.ours() / per_request as f64 / 2.0;
        let request = self.request(&body);
        let half = lanes::run_at(requests_per_s, in_flight, self.each, request).await?;
        println!(
            "{:<32} {:>11.0} {:>11.0} {:>22} {p50_ms:>8.2} {p99_ms:>8.2} {:>12.0} {:>8.2} {:>8.2}\n  {}",
            shape.to_string(),
            rounds.bare(),
            rounds.ours(),
            rounds.ratio().to_string(),
            rounds.ours() / 2.0,
            half.p50_ms,
            half.p99_ms,
            used.for_each(events),
        );
        Ok(Measured {
            rounds,
            p99_ms,
            half,
            used,
            events,
        })
    }

    async fn ingest(
        &self,
        body: &Bytes,
        shape: Shape,
        lasting: Duration,
    ) -> anyhow::Result<Figures> {
        lanes::run(
            shape.in_flight,
            lasting,
            shape.per_request,
            self.request(body),
        )
        .await
    }

    fn request(&self, body: &Bytes) -> impl Fn() -> lanes::Requesting + Clone + use<> {
        let (customer, body) = (self.customer.clone(), body.clone());
        move || {
            let (customer, body) = (customer.clone(), body.clone());
            Box::pin(async move { customer.ingest(body).await })
        }
    }
}

impl Measured {
    fn judge(&self, shape: Shape, verdict: &mut Verdict) {
        let ratio = self.rounds.ratio().median;
        let name = format!("{shape}, of bare");
        let is_alone = shape.in_flight == 1;
        match (shape.per_request, is_alone) {
            (1, true) => verdict.at_least(&name, ratio, AIM_ALONE, FLOOR),
            (100, false) => verdict.at_least(&name, ratio, AIM_HUNDRED, FLOOR),
            (1_000, false) => {
                verdict.at_least(&name, ratio, AIM_THOUSAND, FLOOR);
                let name = format!("{shape}, p99 ms");
                verdict.at_most(&name, self.p99_ms, AIM_P99_MS, CEILING_MS);
            }
            _ => verdict.tell(&name, ratio),
        }
        let name = format!("{shape}, us CPU an event");
        verdict.tell(&name, self.used.micros_for_each("api", self.events));
        let name = format!("{shape}, p99 ms at half of the most");
        verdict.tell(&name, self.half.p99_ms);
    }
}

impl std::fmt::Display for Shape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            per_request,
            in_flight,
        } = self;
        write!(f, "{per_request} a request, {in_flight} in flight")
    }
}
