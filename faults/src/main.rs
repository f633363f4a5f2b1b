//! Breaks a whole fleet on purpose, again and again, under load, and then compares what it did with what it promised. How
//! to run it: faults/README.md.
#![allow(clippy::print_stdout, reason = "the figures are what it is for")]

mod audit;
mod books;
mod fault;
mod fleet;
mod receivers;
mod report;
mod workload;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use clap::Parser;
use domain::Timestamp;
use testkit::{Clock, Disk, Network, folder::TestFolder};
use tokio::time::sleep;

use crate::audit::Wrong;
use crate::books::Books;
use crate::fault::{ActiveFault, Deck, Fault, PastFault};
use crate::fleet::Fleet;
use crate::receivers::Receivers;
use crate::workload::{CUSTOMERS, Workload};

/// Everybody must have an alert again so soon after a fault was mended.
const RECOVERED_WITHIN: Duration = Duration::from_secs(180);
/// Everything that is due has arrived so soon after the last fault: retries wait for minutes.
const SETTLED_WITHIN: Duration = Duration::from_secs(900);
const LOOK: Duration = Duration::from_millis(20);

/// Breaks a fleet under load and compares what it did with what it promised.
#[derive(Parser)]
struct Arguments {
    /// The binary of Watchbell; the one built beside this program unless given.
    #[arg(long)]
    binary: Option<PathBuf>,
    /// What half of the processes run after a rolling restart; the same unless given.
    #[arg(long)]
    other_binary: Option<PathBuf>,
    /// Decides which faults come in which order; the same seed is the same schedule.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many faults at least.
    #[arg(long, default_value_t = 200)]
    faults: usize,
    /// How many events at least.
    #[arg(long, default_value_t = 1_000_000)]
    events: usize,
    /// How many events are sent in a second.
    #[arg(long, default_value_t = 500)]
    events_per_s: u32,
    /// Only faults of these classes, such as `clock` or "power cut".
    #[arg(long)]
    only: Vec<String>,
    /// Have NATS acknowledge before it syncs, as it does by default: a power cut of everything must then be found to have
    /// lost something, or this finds nothing at all.
    #[arg(long)]
    without_sync: bool,
    /// The page to write the figures into.
    #[arg(long)]
    write: Option<PathBuf>,
}

fn main() -> anyhow::Result<ExitCode> {
    let arguments = Arguments::parse();
    let unavailable = [Network::unavailable(), Disk::unavailable()];
    if let Some(why) = unavailable.into_iter().flatten().next() {
        println!("faults: skipped, {why}\n0 passed, 0 failed, 1 skipped");
        return Ok(ExitCode::SUCCESS);
    }
    // First of all: only this thread moves, and those that it starts.
    let network = Network::create()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let is_well = runtime.block_on(run(&arguments, network))?;
    println!(
        "{} passed, {} failed, 0 skipped",
        usize::from(is_well),
        usize::from(!is_well)
    );
    Ok(if is_well {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

async fn run(arguments: &Arguments, network: Network) -> anyhow::Result<bool> {
    let binary = match &arguments.binary {
        Some(binary) => binary.canonicalize()?,
        None => fleet::binary_beside()?,
    };
    let folder = TestFolder::create()?;
    let mut fleet = Fleet::start(network, folder.path(), &binary, !arguments.without_sync).await?;
    println!("the fleet is up; seed {}", arguments.seed);
    if let Some(why) = Clock::unavailable() {
        println!("skipped: faults of clocks, {why}");
    }
    let ran = break_and_compare(arguments, &mut fleet).await;
    if !matches!(ran, Ok(true)) {
        println!("the logs are in {}", fleet.keep_logs()?.display());
    }
    ran
}

/// What runs: the version that the fleet starts with, and the one that restarts exchange it for.
fn versions(fleet: &Fleet, other_binary: Option<&Path>) -> anyhow::Result<String> {
    let version = fleet.run(&["--version"])?.trim().to_owned();
    let Some(other) = other_binary else {
        return Ok(version);
    };
    let other = Command::new(other).arg("--version").output()?;
    let other = String::from_utf8(other.stdout)?;
    Ok(format!("{version} in turn with {}", other.trim()))
}

async fn break_and_compare(arguments: &Arguments, fleet: &mut Fleet) -> anyhow::Result<bool> {
    let version = versions(fleet, arguments.other_binary.as_deref())?;
    let (books, started) = (Books::default(), Instant::now());
    let (mut workload, receivers) = Workload::start(fleet, &books, arguments.events_per_s).await?;
    wait_until_recovered(&books, started, fleet).await?;
    let mut deck = Deck::new(arguments.seed, arguments.only.clone())?;
    let mut faults: Vec<PastFault> = Vec::new();
    while faults.len() < arguments.faults || books.open().accepted.len() < arguments.events {
        workload.check()?;
        sleep(deck.pause()).await;
        let drawn = deck.draw();
        let at = started.elapsed().as_secs_f64();
        for (number, fault) in (faults.len() + 1..).zip(&drawn) {
            println!("{at:>6.0} s {number:>4}  {}", fault.kind);
        }
        let other_binary = arguments.other_binary.as_deref();
        let past = break_and_mend(&drawn, fleet, &receivers, &books, other_binary).await?;
        println!("{}", progress(&past[0], &books));
        faults.extend(past);
    }
    let lasted = started.elapsed();
    fleet.wait_until_ready().await?;
    let customers = workload.stop().await?;
    println!("nothing more breaks; comparing");
    let (counts, mut findings) =
        audit::compare(&customers, &books, &faults, SETTLED_WITHIN).await?;
    findings.note(Wrong::Untrue, "panics of Watchbell", &fleet.panics());
    let run = report::Run {
        version: &version,
        seed: arguments.seed,
        events_per_s: arguments.events_per_s,
        lasted,
        counts: &counts,
        faults: &faults,
        findings: &findings,
    };
    let figures = report::text(&run, &books);
    println!("\n{figures}");
    for line in findings.lines() {
        println!("WRONG {line}");
    }
    if let Some(page) = &arguments.write {
        report::write(page, &figures)?;
    }
    Ok(findings.is_empty())
}

/// Breaks all of these, mends them in the opposite order, and waits until the fleet has recovered.
async fn break_and_mend(
    faults: &[Fault],
    fleet: &mut Fleet,
    receivers: &Receivers,
    books: &Books,
    other_binary: Option<&Path>,
) -> anyhow::Result<Vec<PastFault>> {
    let began = Instant::now();
    let mut broken = Vec::new();
    for fault in faults {
        broken.push(ActiveFault::begin(*fault, fleet, receivers, other_binary).await?);
    }
    let lasts = faults.iter().map(|fault| fault.lasts).max();
    sleep(lasts.unwrap_or_default()).await;
    for active in broken.iter().rev() {
        active.mend(fleet, receivers)?;
    }
    let mut exits = fleet.start_what_is_down()?;
    let healed = Instant::now();
    let (recovered, exits_later) = wait_until_recovered(books, healed, fleet).await?;
    exits += exits_later;
    let past = |active: ActiveFault| PastFault {
        fault: active.fault,
        reach: active.reach,
        began,
        healed,
        recovered,
        exits,
    };
    Ok(broken.into_iter().map(past).collect())
}

/// Waits until every organization has got an alert about an event that was sent after `since`, and says when that was; and
/// until the NATS servers agree again, because faults come one at a time. Starts processes that ended by themselves, and
/// says how many did.
async fn wait_until_recovered(
    books: &Books,
    since: Instant,
    fleet: &mut Fleet,
) -> anyhow::Result<(Instant, usize)> {
    let deadline = Instant::now() + RECOVERED_WITHIN;
    let mut exits = 0;
    loop {
        let alerted: Option<Vec<Instant>> = (0..CUSTOMERS)
            .map(|org| books.has_arrived_since(org, since))
            .collect();
        let recovered = alerted.and_then(|at| at.into_iter().max());
        if let Some(recovered) = recovered
            && fleet.nats_agrees().await
        {
            return Ok((recovered, exits));
        }
        anyhow::ensure!(
            Instant::now() < deadline,
            "not within {RECOVERED_WITHIN:?}: {}",
            if recovered.is_some() {
                "the NATS servers agree"
            } else {
                "every organization gets alerts"
            },
        );
        exits += fleet.supervise()?;
        sleep(LOOK).await;
    }
}

fn progress(past: &PastFault, books: &Books) -> String {
    let pages = books.open();
    format!(
        "               lasted {:.1} s, alerts of what was sent later {:.1} s after it; {} processes ended by themselves; {} events, {} deliveries",
        (past.healed - past.began).as_secs_f64(),
        (past.recovered - past.healed).as_secs_f64(),
        past.exits,
        pages.accepted.len(),
        pages.arrivals.len(),
    )
}

/// Events occur at the time that the fleet knows.
#[expect(
    clippy::disallowed_methods,
    reason = "the fleet compares it with its own clock"
)]
pub(crate) fn now() -> Timestamp {
    let since = std::time::SystemTime::now().duration_since(std::time::SystemTime::UNIX_EPOCH);
    let millis = since.map_or(0, |since| since.as_millis());
    Timestamp::from_unix_millis(i64::try_from(millis).unwrap_or_default())
}
