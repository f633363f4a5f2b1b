//! The `watchbell` binary: parses the command line and runs one command.

use std::process::ExitCode;

use clap::Parser as _;
use server::commands::Cli;

/// Buffers of some ten kilobytes come and go with every request; this one keeps them at hand.
#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    let outcome = Cli::parse().run();
    outcome.unwrap_or_else(|error| cli::failed("watchbell", &error))
}
