//! Measures Watchbell against the bare engines it stands on, in one run, so that the ratio means
//! something on a noisy machine. How to run it: bench/README.md.
#![allow(clippy::print_stdout, reason = "a benchmark is what it prints")]

mod bare;
mod events;
mod lanes;
mod limits;
mod server;

use std::{path::PathBuf, time::Duration};

use clap::{Parser, ValueEnum};
use testkit::own;

use crate::lanes::Figures;

/// Measures Watchbell beside the bare engines it stands on.
#[derive(Parser)]
struct Arguments {
    #[arg(value_enum, default_value = "ingest")]
    profile: Profile,
    /// The binary to measure; for `ingest`.
    #[arg(long, default_value = "target/fast/watchbell")]
    binary: PathBuf,
    /// Seconds for each measurement.
    #[arg(long, default_value_t = 5)]
    seconds: u64,
    /// Requests in flight; for `ingest`.
    #[arg(long, default_value_t = 16)]
    lanes: usize,
}

#[derive(Clone, Copy, ValueEnum)]
enum Profile {
    /// Events per second and latency through HTTP, beside the bare journal.
    Ingest,
    /// Rate limit checks, beside the bare Redis.
    Limits,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let duration = Duration::from_secs(arguments.seconds);
    match arguments.profile {
        Profile::Ingest => ingest(&arguments, duration).await,
        Profile::Limits => limits::measure(duration).await,
    }
}

async fn ingest(arguments: &Arguments, duration: Duration) -> anyhow::Result<()> {
    let engines = own::engines()?;
    let server = server::start(&arguments.binary, &engines)?;
    println!(
        "{:<44} {:>12} {:>9} {:>9} {:>7}",
        "", "events/s", "p50 ms", "p99 ms", "ratio"
    );
    for per_request in [1, 100, 1_000] {
        for lanes in [1, arguments.lanes] {
            let journal = bare::publish(&engines.nats.url(), per_request, lanes, duration).await?;
            let ingest = server.ingest(per_request, lanes, duration).await?;
            print_pair(per_request, lanes, &journal, &ingest);
        }
    }
    let (rate, took) = server.drained().await?;
    println!(
        "\nindex: {rate:.0} events/s while catching up, done {:.1} s after the last request",
        took.as_secs_f64()
    );
    Ok(())
}

fn print_pair(per_request: usize, lanes: usize, journal: &Figures, ingest: &Figures) {
    println!("{per_request} events a request, {lanes} in flight");
    print_row("  bare journal, synced, one message each", journal, None);
    print_row(
        "  POST /v1/audit/events",
        ingest,
        Some(ingest.events_per_s / journal.events_per_s),
    );
}

fn print_row(what: &str, figures: &Figures, ratio: Option<f64>) {
    let ratio = ratio.map_or(String::new(), |ratio| format!("{ratio:.2}"));
    println!(
        "{what:<44} {:>12.0} {:>9.2} {:>9.2} {ratio:>7}",
        figures.events_per_s, figures.p50_ms, figures.p99_ms
    );
}
