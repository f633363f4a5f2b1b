//! The `watchbell` binary: parses the command line and runs one command.

use std::process::ExitCode;

use runtime::error_chain::chain;
use server::commands::Cli;

/// Buffers of some ten kilobytes come and go with every request; this one keeps them at hand.
#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    let outcome = Cli::read().run();
    outcome.unwrap_or_else(|error| cli::failed("watchbell", &error, &chain(error.as_ref())))
}
