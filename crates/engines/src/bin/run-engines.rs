//! Runs private engines in a folder until its standard input closes:
//!
//! ```text
//! cargo run -p engines --bin run-engines -- <folder>
//! ```
//!
//! It prints one `NAME=address` per line and then `ready`, for scripts and for tests in other
//! languages. Missing engines are installed first.

#![allow(
    clippy::print_stdout,
    reason = "its output is what this program is for"
)]
#![allow(
    clippy::print_stderr,
    reason = "a program started by hand says what it does"
)]
#![allow(
    clippy::disallowed_methods,
    reason = "a main program may read its environment"
)]

use std::env;
use std::io::{self, Read, Write};
use std::path::PathBuf;

use anyhow::Context;
use engines::{Engines, Options, Search, install};

fn main() -> anyhow::Result<()> {
    let folder = env::args_os()
        .nth(1)
        .map(PathBuf::from)
        .context("usage: run-engines <folder>")?;
    let search = Search {
        named: env::var_os("WATCHBELL_ENGINES").unwrap_or_default(),
        path: env::var_os("PATH").unwrap_or_default(),
        home: env::var_os("HOME").context("HOME is not set")?.into(),
        cache: env::var_os("XDG_CACHE_HOME").map(PathBuf::from),
        ..Search::default()
    };
    let binaries = install::ensure(&search, |missing| eprintln!("{missing}; installing"))?;
    let mut engines = Engines::start_with(&folder, &binaries, &Options::default())?;
    println!("POSTGRES_URL={}", engines.postgres.url());
    println!("POSTGRES_PID={}", engines.postgres.pid()?);
    println!("NATS_URL={}", engines.nats.url());
    println!("NATS_PID={}", engines.nats.pid()?);
    if let Some(redis) = &engines.redis {
        println!("REDIS_URL={}", redis.url());
        println!("REDIS_PID={}", redis.pid()?);
    }
    println!("ready");
    io::stdout().flush()?;
    io::stdin()
        .read_to_end(&mut Vec::new())
        .context("wait for standard input to close")?;
    engines.stop_all();
    Ok(())
}
