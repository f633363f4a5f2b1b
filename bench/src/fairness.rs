//! How long alerts to healthy endpoints take, alone and beside five endpoints in trouble.

use std::time::Duration;

use testkit::{Answer, Receiver, eventually, own};

use crate::{
    Arguments, Verdict,
    fleet::{self, Fleet, Shape},
    rounds::Rounds,
    server::{Server, Settings},
};

/// Each on engines of its own, alone first and then beside the others.
const ROUNDS: usize = 3;
const HEALTHY: usize = 100;
/// Alerts a second to the healthy ones, together: far below what one worker does.
const PER_S: f64 = 200.0;
const PER_REQUEST: usize = 2;
/// What waits for each endpoint in trouble but the one whose queue is long.
const TROUBLED: usize = 1_000;
/// What we aim at (issue 6), and what a pool that all share comes to.
const AIM: f64 = 1.3;
const CEILING: f64 = 30.0;
const DEADLINE: Duration = Duration::from_secs(600);

pub(crate) async fn measure(arguments: &Arguments) -> anyhow::Result<Verdict> {
    let lasting = Duration::from_secs(arguments.seconds);
    let (mut p50, mut p99) = (Rounds::default(), Rounds::default());
    for round in 0..ROUNDS {
        let stage = Stage::set(arguments).await?;
        stage.lags(lasting / 3).await?;
        let alone = stage.lags(lasting).await?;
        let pending = stage.trouble(arguments.pending.min(100_000)).await?;
        // What the crowd costs at first is over; what it costs for good is not.
        stage.lags(lasting / 3).await?;
        let beside = stage.lags(lasting).await?;
        let at = |lags: &[f64], percent| fleet::percentile(lags, percent);
        println!(
            "round {round}: alone p50 {:.1} ms, p99 {:.1} ms; beside {pending} of five in trouble p50 {:.1} ms, p99 {:.1} ms; {} sends to those",
            at(&alone, 50),
            at(&alone, 99),
            at(&beside, 50),
            at(&beside, 99),
            stage.troubled.count()
        );
        p50.add(at(&alone, 50), at(&beside, 50));
        p99.add(at(&alone, 99), at(&beside, 99));
    }
    println!(
        "p50 {:.1} -> {:.1} ms: {}",
        p50.bare(),
        p50.ours(),
        p50.ratio()
    );
    println!(
        "p99 {:.1} -> {:.1} ms: {}",
        p99.bare(),
        p99.ours(),
        p99.ratio()
    );
    let mut verdict = Verdict::default();
    verdict.at_most("p99 beside to alone", p99.ratio().median, AIM, CEILING);
    Ok(verdict)
}

struct Stage {
    well: Receiver,
    troubled: Receiver,
    healthy: Fleet,
    match_: Server,
    // In this order: the processes end before their engines.
    serving: [Server; 3],
    settings: Settings,
    _engines: testkit::Own<testkit::Engines>,
}

impl Stage {
    async fn set(arguments: &Arguments) -> anyhow::Result<Self> {
        let engines = own::durable_engines()?;
        let settings = Settings::prepare(&arguments.binary()?, &engines)?;
        let serving = [
            settings.serve("api")?,
            settings.serve("index")?,
            settings.serve("deliver")?,
        ];
        let (well, troubled) = (Receiver::start_light()?, Receiver::start_light()?);
        let healthy = Fleet::make("well", HEALTHY, &settings, &serving[0], &well).await?;
        Ok(Self {
            well,
            troubled,
            healthy,
            match_: settings.serve("match")?,
            serving,
            settings,
            _engines: engines,
        })
    }

    /// How long alerts to the healthy ones take, in milliseconds.
    async fn lags(&self, lasting: Duration) -> anyhow::Result<Vec<f64>> {
        self.well.clear();
        let acknowledged = self.healthy.send_at(PER_S, PER_REQUEST, lasting).await?;
        self.well.wait_for_count(acknowledged.len(), DEADLINE).await;
        Ok(fleet::lags_ms(&acknowledged, &self.well.arrivals()))
    }

    /// Five endpoints in trouble; how many deliveries wait for them in all.
    async fn trouble(&self, crowd: usize) -> anyhow::Result<usize> {
        let slow = Duration::from_millis(50);
        let trickle = Duration::from_millis(100);
        let before = self.match_.matched().await?;
        let mut pending = 0;
        for (name, answer, waiting) in [
            ("hangs", Answer::never(), TROUBLED),
            ("trickles", Answer::status(200).trickled(trickle), TROUBLED),
            ("never-ends", Answer::status(200).endless(1 << 30), TROUBLED),
            ("too-many", Answer::status(429), TROUBLED),
            ("crowded", Answer::status(200).after(slow), crowd),
        ] {
            self.troubled.answer_at(&format!("/{name}/0"), answer);
            let api = &self.serving[0];
            let fleet = Fleet::make(name, 1, &self.settings, api, &self.troubled).await?;
            pending += fleet.send(waiting, Shape::LARGE).await?;
        }
        #[expect(clippy::cast_precision_loss, reason = "a count")]
        let aim = before + pending as f64;
        eventually(DEADLINE, "all are queued", async || {
            let matched = self.match_.matched().await;
            matched.is_ok_and(|matched| matched >= aim)
        })
        .await;
        let ingested = self.serving[0].ingested().await?;
        self.serving[1].wait_until_indexed(ingested).await;
        Ok(pending)
    }
}
