//! Deliveries a second to healthy endpoints, from the queue and from the front door, beside bare signed
//! POSTs of the same bodies; how long an alert takes at half of that; and what a second worker adds.

use std::time::{Duration, Instant};

use testkit::{Arrival, Receiver, eventually, own};

use crate::{
    Arguments, Verdict, bare_post,
    fleet::{self, Fleet},
    process,
    rounds::Rounds,
    server::{Server, Settings},
};

/// Bare and ours are measured so often, in turn.
const ROUNDS: u32 = 3;
const ENDPOINTS: usize = 100;
/// Bare POSTs on their way at the same time. The product has at most 8 for each endpoint.
const BARE_IN_FLIGHT: usize = 128;
/// Events of one request when a queue is filled, and when an alert's time is taken.
const PER_REQUEST: usize = 100;
const PER_PACED_REQUEST: usize = 5;
/// What we aim at (issue 6), and what only something broken comes to.
const AIM: f64 = 0.4;
const FLOOR: f64 = 0.01;
const AIM_P99_MS: f64 = 50.0;
const CEILING_P99_MS: f64 = 30_000.0;
/// Whatever is to be delivered is, in this time.
const DEADLINE: Duration = Duration::from_secs(600);

pub(crate) async fn measure(arguments: &Arguments) -> anyhow::Result<Verdict> {
    let bench = Bench::start(arguments).await?;
    let mut verdict = Verdict::default();
    println!(
        "{:<44} {:>11} {:>11} {:>9} {:>22}",
        "", "bare /s", "ours /s", "us CPU", "ratio"
    );
    let drained = bench
        .rounds("drained by one worker", 1, Source::Queue)
        .await?;
    let two = bench
        .rounds("drained by two workers", 2, Source::Queue)
        .await?;
    let through = bench
        .rounds("from the front door, one worker", 1, Source::FrontDoor)
        .await?;
    let ratio = drained.ratio().median;
    verdict.at_least("drained, of bare POSTs", ratio, AIM, FLOOR);
    println!("two workers to one: {:.2}", two.ours() / drained.ours());
    let lags = bench.lags(through.ours() / 2.0).await?;
    let (p50, p99) = (fleet::percentile(&lags, 50), fleet::percentile(&lags, 99));
    println!(
        "acknowledged to arrived at {:.0}/s ({} deliveries): p50 {p50:.1} ms, p99 {p99:.1} ms",
        through.ours() / 2.0,
        lags.len()
    );
    verdict.at_most("p99 at half load, ms", p99, AIM_P99_MS, CEILING_P99_MS);
    Ok(verdict)
}

/// Where the deliveries come from.
#[derive(Clone, Copy)]
enum Source {
    /// They are queued before a worker starts.
    Queue,
    /// Their events are sent while it works.
    FrontDoor,
}

struct Bench {
    receiver: Receiver,
    fleet: Fleet,
    deliveries: usize,
    each: Duration,
    match_: Server,
    // In this order: the processes end before their engines.
    _serving: [Server; 2],
    settings: Settings,
    _engines: testkit::Own<testkit::Engines>,
}

impl Bench {
    async fn start(arguments: &Arguments) -> anyhow::Result<Self> {
        let engines = own::durable_engines()?;
        let settings = Settings::prepare(&arguments.binary()?, &engines)?;
        let (api, index) = (settings.serve("api")?, settings.serve("index")?);
        let receiver = Receiver::start_light()?;
        let fleet = Fleet::make("bench", ENDPOINTS, &settings, &api, &receiver).await?;
        Ok(Self {
            receiver,
            fleet,
            deliveries: arguments.deliveries,
            each: Duration::from_secs(arguments.seconds) / ROUNDS,
            match_: settings.serve("match")?,
            _serving: [api, index],
            settings,
            _engines: engines,
        })
    }

    async fn rounds(&self, what: &str, workers: usize, from: Source) -> anyhow::Result<Rounds> {
        let (mut rounds, mut cpu) = (Rounds::default(), 0.0);
        for _ in 0..ROUNDS {
            let event = fleet::example();
            let bare = bare_post::post(&self.receiver, ENDPOINTS, event, BARE_IN_FLIGHT, self.each);
            let bare = bare.await?.events_per_s;
            let (ours, used) = match from {
                Source::Queue => self.drain(workers).await?,
                Source::FrontDoor => self.through(workers).await?,
            };
            cpu = used;
            rounds.add(bare, ours);
        }
        println!(
            "{what:<44} {:>11.0} {:>11.0} {cpu:>9.1} {:>22}",
            rounds.bare(),
            rounds.ours(),
            rounds.ratio().to_string()
        );
        Ok(rounds)
    }

    /// Queues deliveries, then lets workers send them.
    async fn drain(&self, workers: usize) -> anyhow::Result<(f64, f64)> {
        self.receiver.clear();
        let before = self.match_.matched().await?;
        let queued = self.fleet.send(self.deliveries, PER_REQUEST).await?;
        #[expect(clippy::cast_precision_loss, reason = "a count")]
        let aim = before + queued as f64;
        eventually(DEADLINE, "all are queued", async || {
            self.match_
                .matched()
                .await
                .is_ok_and(|matched| matched >= aim)
        })
        .await;
        let workers = self.workers(workers)?;
        let arrivals = self.arrivals(queued).await;
        Ok((fleet::arrivals_per_s(&arrivals), retire(workers, queued)?))
    }

    /// Sends events while workers send their alerts.
    async fn through(&self, workers: usize) -> anyhow::Result<(f64, f64)> {
        self.receiver.clear();
        let workers = self.workers(workers)?;
        let queued = self.fleet.send(self.deliveries, PER_REQUEST).await?;
        let arrivals = self.arrivals(queued).await;
        Ok((fleet::arrivals_per_s(&arrivals), retire(workers, queued)?))
    }

    /// How long alerts took at this rate, in milliseconds.
    async fn lags(&self, per_s: f64) -> anyhow::Result<Vec<f64>> {
        self.receiver.clear();
        let worker = self.workers(1)?;
        let warming_up = self
            .fleet
            .send_at(per_s, PER_PACED_REQUEST, self.each / 2)
            .await?;
        let lasting = self.each * ROUNDS;
        let acknowledged = self
            .fleet
            .send_at(per_s, PER_PACED_REQUEST, lasting)
            .await?;
        let arrivals = self.arrivals(warming_up.len() + acknowledged.len()).await;
        retire(worker, acknowledged.len())?;
        Ok(fleet::lags_ms(&acknowledged, &arrivals))
    }

    fn workers(&self, workers: usize) -> anyhow::Result<Vec<Server>> {
        (0..workers)
            .map(|_| self.settings.serve("deliver"))
            .collect()
    }

    async fn arrivals(&self, deliveries: usize) -> Vec<Arrival> {
        let started = Instant::now();
        self.receiver.wait_for_count(deliveries, DEADLINE).await;
        let arrivals = self.receiver.arrivals();
        if arrivals.len() > deliveries {
            println!(
                "  {} came twice, {:?}",
                arrivals.len() - deliveries,
                started.elapsed()
            );
        }
        arrivals
    }
}

/// Ends workers; microseconds of processor time for each of their deliveries.
#[expect(clippy::cast_precision_loss, reason = "figures for people")]
fn retire(workers: Vec<Server>, deliveries: usize) -> anyhow::Result<f64> {
    let mut used = Duration::ZERO;
    for worker in workers {
        used += process::cpu(worker.pid())?;
        worker.stop()?;
    }
    Ok(used.as_secs_f64() * 1e6 / deliveries as f64)
}
