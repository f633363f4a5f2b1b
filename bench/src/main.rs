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
        "{:<44} {:>12} {:>9} {:>9} {:>7} {:>13}",
        "", "events/s", "p50 ms", "p99 ms", "ratio", "us CPU/event"
    );
    for per_request in [1, 100, 1_000] {
        for lanes in [1, arguments.lanes] {
            let journal = bare::publish(&engines.nats.url(), per_request, lanes, duration).await?;
            let cpu_before = server.cpu_time()?;
            let ingest = server.ingest(per_request, lanes, duration).await?;
            let cpu = server.cpu_time()?.saturating_sub(cpu_before);
            print_pair(per_request, lanes, &journal, &ingest, cpu);
        }
    }
    let (rate, took) = server.drained().await?;
    println!(
        "\nindex: {rate:.0} events/s while catching up, done {:.1} s after the last request",
        took.as_secs_f64()
    );
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "figures for people")]
fn print_pair(
    per_request: usize,
    lanes: usize,
    journal: &Figures,
    ingest: &Figures,
    cpu: Duration,
) {
    println!("{per_request} events a request, {lanes} in flight");
    print_row("  bare journal, synced, one message each", journal, "");
    let ratio = ingest.events_per_s / journal.events_per_s;
    let cpu_us = cpu.as_secs_f64() * 1e6 / ingest.events as f64;
    let compared = format!("{ratio:>7.2} {cpu_us:>13.2}");
    print_row("  POST /v1/audit/events", ingest, &compared);
}

fn print_row(what: &str, figures: &Figures, compared: &str) {
    println!(
        "{what:<44} {:>12.0} {:>9.2} {:>9.2} {compared}",
        figures.events_per_s, figures.p50_ms, figures.p99_ms
    );
}
