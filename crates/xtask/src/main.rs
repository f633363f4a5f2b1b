//! The project's own tasks: regenerate what is generated, check what no other tool checks, test what
//! changed, build the book, measure, and fold the changelog. Run them as `cargo xtask <task>`.
#![expect(clippy::print_stdout, reason = "a command line tool talks to its user")]

mod bench;
mod book;
mod changelog;
mod errors_seen;
mod faults;
mod generate;
mod history;
mod markdown;
mod quick;
mod tidy;

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Parser;

/// The project's own tasks.
#[derive(Parser)]
#[command(name = "cargo xtask")]
enum Task {
    /// Write the reference pages and the OpenAPI document from what the server knows, and the chart of what was measured.
    Generate {
        /// Write nothing; fail if a file is not what it would be.
        #[arg(long)]
        check: bool,
        /// Ask this `watchbell` instead of building one.
        #[arg(long, value_name = "PATH")]
        binary: Option<PathBuf>,
    },
    /// Check the rules that rustc, clippy and cargo-deny cannot express.
    Tidy,
    /// Build the documentation as a book in target/book, and check every link in it.
    Book,
    /// What mdBook runs over the pages; see book.toml.
    #[command(hide = true)]
    BookLinks {
        /// Nothing, or `supports RENDERER`.
        arguments: Vec<String>,
    },
    /// Check and test what changed, in minutes: formatting, house rules, lints, tests.
    Quick {
        /// The commit that it is compared with.
        #[arg(default_value = "HEAD")]
        since: String,
    },
    /// List the error codes that the API document has and no test provoked: run the tests with
    /// `WATCHBELL_TEST_ERRORS_SEEN` set to a folder, then name that folder here.
    ErrorsSeen {
        /// The folder.
        seen: PathBuf,
    },
    /// Measure Watchbell beside the bare engines, or run a scenario at full length (bench/README.md).
    Bench {
        /// The profile and its options.
        #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Break a whole fleet under load and compare what it did with what it promised (faults/README.md).
    Faults {
        /// Its options.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Move the fragments of changelog.d/ into CHANGELOG.md as one release.
    Changelog {
        /// The version being released, such as 0.2.0.
        version: String,
        /// The day of the release, such as 2026-11-20.
        date: String,
    },
}

/// A check that found something ends with a code of 1 and its findings; an error is one of ours.
fn main() -> anyhow::Result<ExitCode> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .context("find the workspace above crates/xtask")?;
    let is_in_order = match Task::parse() {
        Task::Generate {
            check: false,
            binary,
        } => {
            generate::write(root, binary.as_deref())?;
            true
        }
        Task::Generate {
            check: true,
            binary,
        } => generate::check(root, binary.as_deref())?,
        Task::Tidy => tidy::run(root)?,
        Task::Book => book::run(root)?,
        Task::BookLinks { arguments } => {
            book::preprocess(root, &arguments, io::stdin(), io::stdout())?;
            true
        }
        Task::Quick { since } => quick::run(root, &since)?,
        Task::ErrorsSeen { seen } => {
            errors_seen::list(root, &seen)?;
            true
        }
        Task::Bench { arguments } => bench::run(root, &arguments)?,
        Task::Faults { arguments } => faults::run(root, &arguments)?,
        Task::Changelog { version, date } => {
            changelog::fold(root, &version, &date)?;
            true
        }
    };
    Ok(if is_in_order {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
