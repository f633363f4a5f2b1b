//! The `watchbell` binary: parses the command line and runs one command.

use std::process::ExitCode;

use clap::Parser as _;
use server::commands::Cli;
use tikv_jemallocator::Jemalloc;

/// Buffers of some ten kilobytes come and go with every request; this one keeps them at hand.
#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

fn main() -> ExitCode {
    let outcome = Cli::parse().run();
    outcome.unwrap_or_else(|error| cli::failed("watchbell", &error))
}
