//! Events per second through HTTP, beside the same bytes published to the bare journal.

use std::time::Duration;

use bytes::Bytes;
use testkit::own;

use crate::{
    Arguments, Verdict, bare_journal, events,
    lanes::{self, Figures},
    process,
    rounds::Rounds,
    server::{Customer, Settings},
};

/// Bare and ours are measured so often, in turn.
const ROUNDS: u32 = 3;
/// What we aim at for 100 events a request with several in flight (issue 4).
const AIM: f64 = 0.6;
/// Below this something is broken, however slow the build and the machine.
const FLOOR: f64 = 0.005;

pub(crate) async fn measure(arguments: &Arguments) -> anyhow::Result<Verdict> {
    let engines = own::durable_engines()?;
    let settings = Settings::prepare(&arguments.binary()?, &engines)?;
    let api = settings.serve("api")?;
    let customer = settings.customer("bench", &api)?;
    let each = Duration::from_secs(arguments.seconds) / ROUNDS;
    let mut verdict = Verdict::default();
    println!(
        "{:<36} {:>12} {:>12} {:>9} {:>9} {:>7} {:>22}",
        "", "bare ev/s", "ours ev/s", "p50 ms", "p99 ms", "us CPU", "ratio"
    );
    for per_request in [1, 100, 1_000] {
        let body = events::batch(per_request);
        for lanes in [1, arguments.lanes] {
            let mut rounds = Rounds::default();
            let (mut cpu, mut last) = (0.0, None);
            for _ in 0..ROUNDS {
                let url = engines.nats.url();
                let bare =
                    bare_journal::publish(&url, body.clone(), per_request, lanes, each).await?;
                let before = process::cpu(api.pid())?;
                let ours = ingest(&customer, body.clone(), per_request, lanes, each).await?;
                let used = process::cpu(api.pid())?.saturating_sub(before);
                cpu = micros_per_event(used, ours.events);
                rounds.add(bare.events_per_s, ours.events_per_s);
                last = Some(ours);
            }
            let (p50, p99) = last.map_or((0.0, 0.0), |last| (last.p50_ms, last.p99_ms));
            println!(
                "{:<36} {:>12.0} {:>12.0} {p50:>9.2} {p99:>9.2} {cpu:>7.2} {:>22}",
                format!("{per_request} a request, {lanes} in flight"),
                rounds.bare(),
                rounds.ours(),
                rounds.ratio().to_string(),
            );
            if per_request == 100 && lanes > 1 {
                verdict.at_least("ingest, 100 a request", rounds.ratio().median, AIM, FLOOR);
            }
        }
    }
    Ok(verdict)
}

#[expect(clippy::cast_precision_loss, reason = "figures for people")]
fn micros_per_event(used: Duration, events: usize) -> f64 {
    used.as_secs_f64() * 1e6 / events.max(1) as f64
}

async fn ingest(
    customer: &Customer,
    body: Bytes,
    per_request: usize,
    lanes: usize,
    duration: Duration,
) -> anyhow::Result<Figures> {
    let customer = customer.clone();
    lanes::run(lanes, duration, per_request, move || {
        let (customer, body) = (customer.clone(), body.clone());
        async move { customer.ingest(body).await }
    })
    .await
}
