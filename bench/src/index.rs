//! How fast a backlog gets into PostgreSQL, beside a bare COPY of the same rows into the same table; what a trickle costs;
//! and how long the backlog of an outage takes.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use testkit::{Engines, Own, own};

use crate::{
    Arguments, Verdict,
    bare_postgres::Bare,
    events::{self, History},
    lanes, load, process,
    rounds::Rounds,
    server::{Customer, Server, Settings},
    usage::Watched,
};

const ROUNDS: usize = 3;
/// What we aim at (issue 27).
const AIM: f64 = 0.8;
/// Below this something is broken, however slow the build and the machine.
const FLOOR: f64 = 0.02;
/// The events are of the last hour, as they are in an indexer that is a little behind.
const SPAN: Duration = Duration::from_secs(3600);
/// What agents do that nobody looks at: so many events a second, so many in a request.
const TRICKLE_PER_S: f64 = 500.0;
const TRICKLE_PER_REQUEST: usize = 5;
/// How much a client sends while PostgreSQL is away, each second.
const OUTAGE_EVENTS_PER_S: usize = 2_000;

struct Bench {
    customer: Customer,
    history: Arc<History>,
    lanes: usize,
    api: Server,
    settings: Settings,
    engines: Own<Engines>,
}

pub(crate) async fn measure(arguments: &Arguments) -> anyhow::Result<Verdict> {
    let engines = own::durable_engines()?;
    let settings = Settings::prepare(&arguments.binary()?, &engines)?;
    let api = settings.serve("api")?;
    let mut bench = Bench {
        customer: settings.customer("bench", &api)?,
        history: Arc::new(History::of(SPAN)),
        lanes: arguments.lanes,
        api,
        settings,
        engines,
    };
    let mut verdict = Verdict::default();
    let events = arguments.events.min(500_000);
    bench.backlogs(events, &mut verdict).await?;
    let lasting = Duration::from_secs(arguments.seconds);
    bench.trickle(lasting, &mut verdict).await?;
    let stop = Duration::from_secs(arguments.outage_s);
    bench.outage(stop, &mut verdict).await?;
    Ok(verdict)
}

impl Bench {
    #[expect(clippy::cast_precision_loss, reason = "figures for people")]
    async fn backlogs(&self, events: usize, verdict: &mut Verdict) -> anyhow::Result<()> {
        let mut bare = Bare::connect(&self.settings.postgres).await?;
        let org = bare.org("bench").await?;
        let mut rounds = Rounds::default();
        println!("one partition, one writer, {events} events of backlog each round");
        for _ in 0..ROUNDS {
            load::send(&self.customer, &self.history, events, self.lanes).await?;
            let index = self.settings.serve("index")?;
            let watched = self.watched(&index)?;
            let (mut before, mut began) = (watched.usage()?, Instant::now());
            // Its first transaction shows that it has started. Where there is no second one, the start is counted.
            let mut first = index.wait_until_some_are_indexed().await;
            if first < events as f64 {
                (before, began) = (watched.usage()?, Instant::now());
            } else {
                first = 0.0;
            }
            index.wait_until_indexed(events as f64).await;
            let (took, used) = (began.elapsed(), watched.used_since(&before)?);
            let peak = process::peak_memory_mib(index.pid())?;
            index.stop()?;
            let rows = bare.rows_of(&org, events as u64).await?;
            let bare_rate = events as f64 / bare.copy_in(&rows).await?.as_secs_f64();
            let rest = events as f64 - first;
            let rate = rest / took.as_secs_f64();
            rounds.add(bare_rate, rate);
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a count"
            )]
            let rest = rest as usize;
            println!(
                "  bare COPY {bare_rate:>8.0} events/s   index {rate:>8.0} events/s, at most {peak:.0} MiB   {}",
                used.for_each(rest)
            );
        }
        let ratio = rounds.ratio();
        println!("index to bare COPY: {ratio}");
        verdict.at_least(
            "backlog with counts, of bare COPY",
            ratio.median,
            AIM,
            FLOOR,
        );
        verdict.tell("backlog, events/s", rounds.ours());
        Ok(())
    }

    /// A few events at a time, while nobody reads.
    async fn trickle(&self, lasting: Duration, verdict: &mut Verdict) -> anyhow::Result<()> {
        let index = self.settings.serve("index")?;
        let watched = self.watched(&index)?;
        self.send_slowly(lasting / 3).await?;
        let before = watched.usage()?;
        let events = self.send_slowly(lasting).await?;
        let used = watched.used_since(&before)?;
        println!(
            "\n{TRICKLE_PER_S} events/s, {TRICKLE_PER_REQUEST} a request: {}; {:.2} syncs an event",
            used.cores(),
            used.syncs_for_each(events)
        );
        verdict.tell(
            "500 events/s, cores of PostgreSQL",
            used.cores_of("PostgreSQL"),
        );
        verdict.tell("500 events/s, cores of the indexer", used.cores_of("index"));
        index.stop()
    }

    /// Returns how many events were sent.
    async fn send_slowly(&self, lasting: Duration) -> anyhow::Result<usize> {
        let (customer, sent) = (self.customer.clone(), Arc::new(AtomicUsize::new(0)));
        let counted = Arc::clone(&sent);
        #[expect(clippy::cast_precision_loss, reason = "a small number")]
        let per_s = TRICKLE_PER_S / TRICKLE_PER_REQUEST as f64;
        lanes::run_at(per_s, self.lanes, lasting, move || {
            let (customer, sent) = (customer.clone(), Arc::clone(&counted));
            async move {
                sent.fetch_add(TRICKLE_PER_REQUEST, Ordering::Relaxed);
                customer.ingest(events::batch(TRICKLE_PER_REQUEST)).await
            }
        })
        .await?;
        Ok(sent.load(Ordering::Relaxed))
    }

    #[expect(clippy::cast_precision_loss, reason = "figures for people")]
    async fn outage(&mut self, stop: Duration, verdict: &mut Verdict) -> anyhow::Result<()> {
        let index = self.settings.serve("index")?;
        println!("\nPostgreSQL stopped for {} s", stop.as_secs());
        self.engines.postgres.stop();
        let stopped = Instant::now();
        let mut sent = 0;
        while stopped.elapsed() < stop {
            let second = Instant::now();
            let (customer, history) = (&self.customer, &self.history);
            load::send(customer, history, OUTAGE_EVENTS_PER_S, self.lanes).await?;
            sent += OUTAGE_EVENTS_PER_S;
            tokio::time::sleep(Duration::from_secs(1).saturating_sub(second.elapsed())).await;
        }
        self.engines.postgres.restart()?;
        let took = index.wait_until_indexed(sent as f64).await.as_secs_f64();
        println!(
            "  {sent} events were accepted meanwhile, and indexed {took:.1} s after it was back ({:.0} MiB at most)",
            process::peak_memory_mib(index.pid())?
        );
        verdict.tell("indexed after an outage, s", took);
        Ok(())
    }

    fn watched(&self, index: &Server) -> anyhow::Result<Watched> {
        let mut watched = Watched::new(&self.engines)?;
        watched.add("api", self.api.pid());
        watched.add("index", index.pid());
        Ok(watched)
    }
}
