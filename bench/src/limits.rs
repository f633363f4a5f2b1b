//! Rate limit checks beside the bare Redis: the same connection settings, one small script.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::{Context as _, ensure};
use domain::limit::{Operation, Quota};
use limits::{CALL_BUDGET, Limits, Options};
use redis::{IntoConnectionInfo as _, aio::MultiplexedConnection, io::tcp::TcpSettings};
use testkit::{eventually, own};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::lanes::{self, Figures};

/// Requests in flight.
const LANES: [usize; 2] = [1, 64];
/// Callers that take turns; each makes several requests in a window, as real ones do.
const CALLERS: u64 = 10_000;
/// Callers in memory when their size is taken.
const WINDOWS: u32 = 900_000;
/// Checks in memory that are timed.
const IN_MEMORY: u32 = 2_000_000;
/// Every measurement is made so often, in turn with the others, and the best is shown: a busy
/// machine only ever makes them slower.
const ROUNDS: usize = 5;

pub(crate) async fn measure(duration: Duration) -> anyhow::Result<()> {
    in_memory()?;
    let engine = own::redis()?;
    let url = engine.url();
    let bare = Bare::connect(&url).await?;
    let options = Options {
        redis_url: Some(&url),
        namespace: "bench",
        call_budget: CALL_BUDGET,
    };
    let node = Limits::new(&options)?;
    let mut running = JoinSet::new();
    running.spawn(node.clone().run(CancellationToken::new()));
    let deadline = Duration::from_secs(10);
    eventually(deadline, "the node is connected", async || node.is_shared()).await;

    println!(
        "{:<44} {:>12} {:>9} {:>9} {:>7}",
        "", "calls/s", "p50 us", "p99 us", "ratio"
    );
    let each = duration / u32::try_from(ROUNDS)?;
    for lanes in LANES {
        let mut best: [Option<Figures>; 5] = [const { None }; 5];
        for _ in 0..ROUNDS {
            let figures = [
                bare.ping(lanes, each).await?,
                bare.small_script(lanes, each).await?,
                bare.our_script(lanes, each).await?,
                checks(&node, lanes, each, Callers::Many).await?,
                checks(&node, lanes, each, Callers::One).await?,
            ];
            for (best, figures) in best.iter_mut().zip(figures) {
                if best
                    .as_ref()
                    .is_none_or(|best| figures.events_per_s > best.events_per_s)
                {
                    *best = Some(figures);
                }
            }
        }
        println!("{lanes} in flight");
        let base = best[1].as_ref().map_or(1.0, |script| script.events_per_s);
        let names = [
            "  bare PING",
            "  bare EVALSHA of `return {1, 2, 3}`",
            "  bare EVALSHA of the limiter's script",
            "  check, 10,000 callers in turn",
            "  check, one caller",
        ];
        for (name, figures) in names.iter().zip(best.iter().flatten()) {
            println!(
                "{name:<44} {:>12.0} {:>9.1} {:>9.1} {:>7.2}",
                figures.events_per_s,
                figures.p50_ms * 1e3,
                figures.p99_ms * 1e3,
                base / figures.events_per_s
            );
        }
    }
    ensure!(node.is_shared(), "Redis went away during the measurement");
    Ok(())
}

/// What a check costs without Redis, and what a caller takes in memory.
fn in_memory() -> anyhow::Result<()> {
    let options = Options {
        redis_url: None,
        namespace: "",
        call_budget: CALL_BUDGET,
    };
    let node = Limits::new(&options)?;
    let runtime = tokio::runtime::Handle::current();
    let check = |subject: &str, limit| {
        tokio::task::block_in_place(|| {
            runtime.block_on(node.check(Operation::Ingest, limit, subject))
        })
    };
    let roomy: Quota = "100000/1s".parse()?;
    let subjects: Vec<String> = (0..1_000)
        .map(|number| format!("key_{number:026}"))
        .collect();
    let timed = |limit: Quota| {
        let started = Instant::now();
        tokio::task::block_in_place(|| {
            runtime.block_on(async {
                for subject in subjects.iter().cycle().take(IN_MEMORY as usize) {
                    node.check(Operation::List, limit, subject).await;
                }
            });
        });
        started.elapsed().as_nanos() / u128::from(IN_MEMORY)
    };
    println!("in memory: {} ns for one that is admitted", timed(roomy));
    println!(
        "           {} ns for one that is refused",
        timed("1/24h".parse()?)
    );

    let before = resident_bytes()?;
    for number in 0..WINDOWS {
        check(&format!("key_{number:026}"), "5/1h".parse()?);
    }
    let bytes = resident_bytes()?.saturating_sub(before);
    println!(
        "           {} bytes for each of {WINDOWS} callers\n",
        bytes / u64::from(WINDOWS)
    );
    Ok(())
}

fn resident_bytes() -> anyhow::Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status").context("Linux tells")?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().nth(1));
    Ok(kilobytes.context("it says")?.parse::<u64>()? * 1_024)
}

#[derive(Clone, Copy)]
enum Callers {
    One,
    Many,
}

async fn checks(
    node: &Limits,
    lanes: usize,
    duration: Duration,
    callers: Callers,
) -> anyhow::Result<Figures> {
    let next = Arc::new(AtomicU64::new(0));
    let limit: Quota = match callers {
        // A million in a second: every check is admitted.
        Callers::One => "100000/100ms".parse()?,
        Callers::Many => "5000/60s".parse()?,
    };
    let node = node.clone();
    lanes::run(lanes, duration, 1, move || {
        let node = node.clone();
        let number = match callers {
            Callers::One => CALLERS,
            Callers::Many => next.fetch_add(1, Ordering::Relaxed) % CALLERS,
        };
        async move {
            let subject = format!("key_{number:026}");
            let answer = node.check(Operation::Ingest, limit, &subject).await;
            ensure!(answer.admitted, "a check was refused");
            Ok(())
        }
    })
    .await
}

/// Redis without the limiter, on a connection like the limiter's.
struct Bare {
    connection: MultiplexedConnection,
    small_script: String,
    our_script: String,
}

impl Bare {
    async fn connect(url: &str) -> anyhow::Result<Self> {
        let info = url.into_connection_info()?;
        let info = info.set_tcp_settings(TcpSettings::default().set_nodelay(true));
        let config = redis::AsyncConnectionConfig::new().set_response_timeout(None);
        let mut connection = redis::Client::open(info)?
            .get_multiplexed_async_connection_with_config(&config)
            .await?;
        let mut hashes = Vec::new();
        for script in [
            "return {1, 2, 3}",
            include_str!("../../crates/limits/src/exact.lua"),
        ] {
            let mut load = redis::cmd("SCRIPT");
            load.arg("LOAD").arg(script);
            hashes.push(load.query_async::<String>(&mut connection).await?);
        }
        Ok(Self {
            our_script: hashes.pop().context("two were loaded")?,
            small_script: hashes.pop().context("two were loaded")?,
            connection,
        })
    }

    async fn ping(&self, lanes: usize, duration: Duration) -> anyhow::Result<Figures> {
        self.call(lanes, duration, || redis::cmd("PING")).await
    }

    async fn small_script(&self, lanes: usize, duration: Duration) -> anyhow::Result<Figures> {
        let hash = self.small_script.clone();
        self.call(lanes, duration, in_turn(hash)).await
    }

    /// What a check would cost if the limiter were nothing but its script.
    async fn our_script(&self, lanes: usize, duration: Duration) -> anyhow::Result<Figures> {
        let hash = self.our_script.clone();
        self.call(lanes, duration, in_turn(hash)).await
    }

    async fn call(
        &self,
        lanes: usize,
        duration: Duration,
        next: impl Fn() -> redis::Cmd + Clone + Send + 'static,
    ) -> anyhow::Result<Figures> {
        let connection = self.connection.clone();
        lanes::run(lanes, duration, 1, move || {
            let (mut connection, call) = (connection.clone(), next());
            async move {
                call.query_async::<redis::Value>(&mut connection).await?;
                Ok(())
            }
        })
        .await
    }
}

/// A script called for one caller after the other.
fn in_turn(hash: String) -> impl Fn() -> redis::Cmd + Clone + Send + 'static {
    let next = Arc::new(AtomicU64::new(0));
    move || {
        let number = next.fetch_add(1, Ordering::Relaxed) % CALLERS;
        let mut call = redis::cmd("EVALSHA");
        call.arg(&hash)
            .arg(1)
            .arg(format!("bare:rl:{{key_{number:026}}}:ingest"))
            .arg(5_000)
            .arg(60_000)
            .arg(1);
        call
    }
}
