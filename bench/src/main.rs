//! Measures Watchbell against the bare engines it stands on, in one run, so that the ratio means
//! something on a noisy machine. How to run it: bench/README.md.
#![allow(clippy::print_stdout, reason = "a benchmark is what it prints")]

mod all;
mod backtest;
mod bare_http;
mod bare_journal;
mod bare_post;
mod bare_postgres;
mod decide;
mod deliver;
mod events;
mod facets;
mod fairness;
mod fleet;
mod history;
mod index;
mod ingest;
mod lanes;
mod later;
mod limits;
mod load;
mod mcp;
mod process;
mod proof;
mod queue;
mod rounds;
mod rule_mix;
mod rules;
mod server;
mod share;
mod trail;
mod usage;
mod verdict;

use std::{path::PathBuf, process::ExitCode, time::Duration};

use clap::{Parser, ValueEnum};

use crate::verdict::Verdict;

/// Measures Watchbell beside the bare engines it stands on.
#[derive(Parser)]
struct Arguments {
    #[arg(value_enum)]
    profile: Profile,
    /// The binary to measure; the one built beside this program unless given.
    #[arg(long)]
    binary: Option<PathBuf>,
    /// Seconds for each measurement that takes a fixed time.
    #[arg(long, default_value_t = 9)]
    seconds: u64,
    /// Requests in flight.
    #[arg(long, default_value_t = 16)]
    lanes: usize,
    /// How many events; for `index` (at most 500,000), `trail`, `backtest` and `proof`.
    #[arg(long, default_value_t = 10_000_000)]
    events: usize,
    /// Lists of one kind for each organization; for `trail`.
    #[arg(long, default_value_t = 200)]
    lists: usize,
    /// How many alert rules at most; for `rules`.
    #[arg(long, default_value_t = 100_000)]
    rules: usize,
    /// How many deliveries wait at the same time; for `queue` and `later`.
    #[arg(long, default_value_t = 1_000_000)]
    pending: usize,
    /// How often bare and ours are measured, in turn; for `deliver`.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// How many deliveries in each round; for `deliver`.
    #[arg(long, default_value_t = 20_000)]
    deliveries: usize,
    /// Hold each worker to this much of a core, and only compare two of them with one; for `deliver`.
    #[arg(long)]
    worker_cores: Option<f64>,
    /// How long PostgreSQL is stopped; for `index`.
    #[arg(long, default_value_t = 60)]
    outage_s: u64,
    /// Everything in less than five minutes; for `all`.
    #[arg(long)]
    quick: bool,
    /// Adds the figures to this file; for `all`.
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "bench/history.json")]
    record: Option<PathBuf>,
    /// Where the figures go; for `all`.
    #[arg(long, hide = true)]
    figures: Option<PathBuf>,
}

impl Arguments {
    fn binary(&self) -> anyhow::Result<PathBuf> {
        match &self.binary {
            Some(binary) => Ok(binary.clone()),
            None => Ok(std::env::current_exe()?.with_file_name("watchbell")),
        }
    }
}

#[derive(Clone, Copy, ValueEnum)]
enum Profile {
    /// The profiles that CI and the history know, and one table at the end.
    All,
    /// Events per second and latency through HTTP, beside the bare journal.
    Ingest,
    /// Events per second into PostgreSQL, beside a bare COPY; and an outage.
    Index,
    /// Lists by every filter at two sizes, and an export beside a bare COPY.
    Trail,
    /// What rules would have done over a whole trail, beside a bare COPY.
    Backtest,
    /// Rate limit checks, beside the bare Redis.
    Limits,
    /// Events judged at 10, 1,000 and 100,000 alert rules, beside trying every rule.
    Rules,
    /// The bare journal as a queue of deliveries, in one stream and in eight.
    Queue,
    /// Deliveries per second to healthy endpoints, beside bare signed POSTs.
    Deliver,
    /// Decisions through HTTP at 10, 100 and 1,000 policies, beside a bare echo and the bare journal.
    Decide,
    /// Alerts to healthy endpoints, alone and beside five endpoints in trouble.
    Fairness,
    /// A million retries that wait: memory, lateness, and a crash.
    Later,
    /// Calls of a tool through the guard in front of an MCP server, beside the same calls without it.
    Mcp,
    /// The transparency log: the indexer with and without it, the age of checkpoints, an export verified.
    Proof,
}

#[tokio::main]
async fn main() -> anyhow::Result<ExitCode> {
    let arguments = Arguments::parse();
    let verdict = match arguments.profile {
        Profile::All => return Ok(code(all::measure(&arguments)?)),
        Profile::Ingest => ingest::measure(&arguments).await?,
        Profile::Index => index::measure(&arguments).await?,
        Profile::Trail => trail::measure(&arguments).await?,
        Profile::Rules => rules::measure(arguments.rules, Duration::from_secs(arguments.seconds))?,
        Profile::Queue => queue::measure(&arguments).await?,
        Profile::Deliver => deliver::measure(&arguments).await?,
        Profile::Decide => decide::measure(&arguments).await?,
        Profile::Fairness => fairness::measure(&arguments).await?,
        Profile::Later => later::measure(&arguments).await?,
        Profile::Mcp => mcp::measure(&arguments).await?,
        Profile::Proof => proof::measure(&arguments).await?,
        Profile::Backtest => backtest::measure(&arguments).await?,
        Profile::Limits => {
            limits::measure(Duration::from_secs(arguments.seconds)).await?;
            Verdict::default()
        }
    };
    match &arguments.figures {
        Some(figures) => verdict.write(figures)?,
        None => verdict.print(),
    }
    Ok(code(!verdict.is_broken()))
}

fn code(is_well: bool) -> ExitCode {
    if is_well {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
