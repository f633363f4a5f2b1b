//! The `watchbell` binary: parses the command line and runs one command.

use std::process::ExitCode;

use clap::Parser as _;
use server::commands::Cli;
use tikv_jemallocator::Jemalloc;

/// Buffers of some ten kilobytes come and go with every request; this one keeps them at hand.
#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

#[expect(
    clippy::print_stderr,
    reason = "the last word of a command that failed"
)]
fn main() -> ExitCode {
    match Cli::parse().run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("watchbell: {error}");
            ExitCode::FAILURE
        }
    }
}
