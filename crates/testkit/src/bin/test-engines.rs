//! Starts the engines that the tests of one run share. Nextest runs this before the tests that need
//! engines (see `.config/nextest.toml`).
//!
//! It leaves a copy of itself behind that holds the engines, and that stops them and removes their
//! folder when nextest has ended, however it ended. Called by hand it prints the variables instead,
//! and the engines last as long as the calling shell:
//!
//! ```text
//! export $(cargo run -q -p testkit --bin test-engines)
//! ```

#![allow(
    clippy::print_stdout,
    reason = "its output is what this program is for"
)]

use std::env;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::{CommandExt, parent_id};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, bail};
use engines::leftover::is_running;
use testkit::shared::Started;
use testkit::{environment, folder};

/// The last line of the one that stays; whatever else it prints instead is why it could not start.
const READY: &str = "ready";

/// Nobody waits for the end of the engines, so this need not be short.
const LOOK: Duration = Duration::from_millis(200);

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => set_up(),
        ["hold", run] => {
            hold(run.parse().context("the process id of the test run")?);
            Ok(())
        }
        _ => bail!("usage: test-engines"),
    }
}

/// Starts the one that stays, and passes on where the engines are.
fn set_up() -> anyhow::Result<()> {
    // Here, where its output can be seen.
    environment::binaries()?;
    let mut holder = Command::new(env::current_exe().context("find this program")?)
        .args(["hold", &parent_id().to_string()])
        .current_dir("/")
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        // Nextest would wait for who keeps our standard error open.
        .stderr(Stdio::null())
        .spawn()
        .context("start the process that holds the engines")?;
    let output = holder.stdout.take().context("its output is piped")?;
    let mut lines = Vec::new();
    let mut is_ready = false;
    for line in BufReader::new(output).lines() {
        let line = line.context("read what the process that holds the engines says")?;
        if line == READY {
            is_ready = true;
            break;
        }
        lines.push(line);
    }
    if !is_ready {
        bail!(
            "the engines for the tests did not start: {}",
            lines.join("\n")
        );
    }
    if let Some(path) = environment::path(environment::NEXTEST_ENV) {
        let mut file = File::options()
            .append(true)
            .create(true)
            .open(&path)
            .with_context(|| format!("open {}", path.display()))?;
        writeln!(file, "{}", lines.join("\n")).context("tell nextest about the engines")
    } else {
        writeln!(io::stdout(), "{}", lines.join("\n")).context("print the variables")
    }
}

/// Holds the engines until the test run with this process id has ended.
fn hold(run: u32) {
    let started = match environment::binaries().and_then(|binaries| Started::start(&binaries)) {
        Ok(started) => started,
        Err(error) => {
            println!("{error:?}");
            return;
        }
    };
    for (name, value) in started.shared().variables() {
        println!("{name}={value}");
    }
    println!("{READY}"); // the last: after this nobody reads
    folder::sweep();
    while is_running(run) {
        std::thread::sleep(LOOK);
    }
    drop(started);
}
