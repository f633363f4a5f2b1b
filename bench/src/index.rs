//! How fast a backlog gets into PostgreSQL, beside a bare COPY of the same rows into the same table; and
//! how long the backlog of an outage takes.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use testkit::own;

use crate::{
    Arguments, Verdict, bare_postgres::Bare, events::History, load, process, rounds::Rounds,
    server::Settings,
};

const ROUNDS: usize = 3;
/// What we aim at (issue 4).
const AIM: f64 = 0.7;
/// Below this something is broken, however slow the build and the machine.
const FLOOR: f64 = 0.02;
/// The events are of the last hour, as they are in an indexer that is a little behind.
const SPAN: Duration = Duration::from_secs(3600);
/// How much a client sends while PostgreSQL is away, each second.
const OUTAGE_EVENTS_PER_S: usize = 2_000;

#[expect(clippy::cast_precision_loss, reason = "figures for people")]
pub(crate) async fn measure(arguments: &Arguments) -> anyhow::Result<Verdict> {
    let mut engines = own::durable_engines()?;
    let settings = Settings::prepare(&arguments.binary()?, &engines)?;
    let api = settings.serve("api")?;
    let customer = settings.customer("bench", &api)?;
    let history = Arc::new(History::of(SPAN));
    let events = arguments.events.min(500_000);
    let mut bare = Bare::connect(&settings.postgres).await?;
    let org = bare.org("bench").await?;
    let mut rounds = Rounds::default();
    println!("one partition, one writer, {events} events of backlog each round");
    for _ in 0..ROUNDS {
        load::send(&customer, &history, events, arguments.lanes).await?;
        let index = settings.serve("index")?;
        let took = index.wait_until_indexed(events as f64).await;
        let peak = process::peak_memory_mib(index.pid())?;
        drop(index);
        let rows = bare.rows_of(&org, events as u64).await?;
        let bare_took = bare.copy_in(&rows).await?;
        let rate = |took: Duration| events as f64 / took.as_secs_f64();
        rounds.add(rate(bare_took), rate(took));
        println!(
            "  bare COPY {:>8.0} events/s   index {:>8.0} events/s, at most {peak:.0} MiB",
            rate(bare_took),
            rate(took)
        );
    }
    println!("index to bare COPY: {}", rounds.ratio());

    let index = settings.serve("index")?;
    let stop = Duration::from_secs(arguments.outage_s);
    println!("\nPostgreSQL stopped for {} s", arguments.outage_s);
    engines.postgres.stop();
    let stopped = Instant::now();
    let mut sent = 0;
    while stopped.elapsed() < stop {
        let second = Instant::now();
        load::send(&customer, &history, OUTAGE_EVENTS_PER_S, arguments.lanes).await?;
        sent += OUTAGE_EVENTS_PER_S;
        tokio::time::sleep(Duration::from_secs(1).saturating_sub(second.elapsed())).await;
    }
    engines.postgres.restart()?;
    let took = index.wait_until_indexed(sent as f64).await;
    println!(
        "  {sent} events were accepted meanwhile, and indexed {:.1} s after it was back ({:.0} MiB at most)",
        took.as_secs_f64(),
        process::peak_memory_mib(index.pid())?
    );
    let mut verdict = Verdict::default();
    verdict.at_least("index to bare COPY", rounds.ratio().median, AIM, FLOOR);
    Ok(verdict)
}
