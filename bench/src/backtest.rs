//! What a rule would have done over a whole trail: how long that takes, beside a bare COPY of the same
//! bodies, and that it takes no more memory for ten times the events.

use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use testkit::own;

use crate::{
    Arguments, Verdict,
    bare_postgres::Bare,
    events, process,
    server::{Customer, Server, Settings},
    trail,
};

/// The other organisation has a tenth of the events: what takes memory by the event shows.
const TENTH: usize = 10;
/// A little more than the events lie back.
const DAYS: i64 = 31;
/// 10 million stored events in a minute (issue 5).
const AIM_EVENTS_PER_S: f64 = 10_000_000.0 / 60.0;
/// Below this something is broken, also in a debug build on a busy machine.
const FLOOR_EVENTS_PER_S: f64 = 2_000.0;
/// More memory than with a tenth of the events: two pieces of the trail may be larger by chance, and a rule
/// with a threshold remembers a day's matches, which are bounded.
const GROWTH_MIB_AIM: f64 = 48.0;
/// A backtest that holds what it reads would pass this by far.
const GROWTH_MIB_MAX: f64 = 128.0;

/// What came of one backtest.
struct Measured {
    result: Value,
    took: Duration,
    peak_mib: f64,
    lines: usize,
}

#[expect(clippy::cast_precision_loss, reason = "figures for people")]
pub(crate) async fn measure(arguments: &Arguments) -> anyhow::Result<Verdict> {
    let engines = own::durable_engines()?;
    let settings = Settings::prepare(&arguments.binary()?, &engines)?;
    let api = settings.serve("api")?;
    let index = settings.serve("index")?;
    let tenth = settings.customer("tenth", &api)?;
    let whole = settings.customer("whole", &api)?;
    trail::fill(arguments, (&api, &index), (&tenth, TENTH), &whole).await?;
    let mut bare = Bare::connect(&settings.postgres).await?;
    bare.vacuum().await?;

    let org = bare.org("whole").await?;
    let (bytes, bare_took) = bare.copy_out(&org).await?;
    let events = arguments.events as f64;
    println!(
        "bare COPY TO of {:.0} MiB: {:.1} s ({:.0} events/s)\n",
        bytes as f64 / (1024.0 * 1024.0),
        bare_took.as_secs_f64(),
        events / bare_took.as_secs_f64(),
    );
    println!(
        "{:<38} {:>10} {:>10} {:>9} {:>7} {:>10} {:>7} {:>6} {:>10} {:>10}",
        "backtest",
        "scanned",
        "matched",
        "alerts",
        "s",
        "stored/s",
        "x bare",
        "lines",
        "MiB, tenth",
        "MiB, whole"
    );
    let mut verdict = Verdict::default();
    for (name, rule) in rules() {
        let small = backtest(&api, &tenth, &rule).await?;
        let large = backtest(&api, &whole, &rule).await?;
        let rate = events / large.took.as_secs_f64();
        println!(
            "{name:<38} {:>10} {:>10} {:>9} {:>7.1} {rate:>10.0} {:>7.2} {:>6} {:>10.0} {:>10.0}",
            figure(&large.result, "scanned"),
            figure(&large.result, "matched"),
            figure(&large.result, "alerts"),
            large.took.as_secs_f64(),
            large.took.as_secs_f64() / bare_took.as_secs_f64(),
            large.lines,
            small.peak_mib,
            large.peak_mib,
        );
        ensure!(
            large.result["complete"] == true,
            "{name} is whole: {}",
            large.result
        );
        verdict.at_least(
            &format!("{name}, stored events/s"),
            rate,
            AIM_EVENTS_PER_S.round(),
            FLOOR_EVENTS_PER_S,
        );
        verdict.at_most(
            &format!("{name}, MiB more than with a tenth of the events"),
            large.peak_mib - small.peak_mib,
            GROWTH_MIB_AIM,
            GROWTH_MIB_MAX,
        );
    }
    Ok(verdict)
}

fn figure(result: &Value, name: &str) -> u64 {
    result[name].as_u64().unwrap_or(0)
}

/// A rule that only a look at every event can judge, one that the store helps with, and one that matches
/// everything and has to be paced.
fn rules() -> [(&'static str, Value); 3] {
    [
        (
            "cannot be narrowed, matches none",
            json!({"match": {"metadata": {"tool": ["delete_object"], "region": ["nowhere"]}}}),
        ),
        (
            "narrowed to one agent",
            json!({"match": {"agent_id": ["agent-0007"], "metadata": {"region": ["eu-central-1"]}}}),
        ),
        (
            "threshold by agent, matches all",
            json!({
                "match": {"metadata": {"region": ["eu-central-1"]}},
                "threshold": {"count": 100, "window_s": 3600, "group_by": ["agent_id"]},
            }),
        ),
    ]
}

async fn backtest(api: &Server, customer: &Customer, rule: &Value) -> anyhow::Result<Measured> {
    process::forget_peak(api.pid())?;
    let body = json!({"rule": rule, "from": events::days_ago(DAYS)});
    let began = Instant::now();
    let lines = customer.lines("/v1/alert-rules/backtest", &body).await?;
    let took = began.elapsed();
    let result = lines.last().context("a backtest has a last line")?.clone();
    ensure!(result["done"] == true, "the backtest is whole: {result}");
    Ok(Measured {
        result,
        took,
        peak_mib: process::peak_memory_mib(api.pid())?,
        lines: lines.len(),
    })
}
