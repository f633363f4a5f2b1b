//! What the transparency log costs: the indexer with and without it, how old checkpoints get under a steady load, and how
//! long an export of all of it takes to verify.

use std::{
    fs::File,
    io::Write as _,
    path::Path,
    process::{Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use testkit::{folder::TestFolder, own};
use tokio::time::sleep;

use crate::{
    Arguments, Verdict,
    events::History,
    lanes, load,
    process::{self, cpu},
    rounds::Rounds,
    server::{Customer, Settings},
    usage::Watched,
};

const ROUNDS: usize = 3;
/// The log may cost the index path 5 % (issue 26): of the bare index's pace at least this much is left.
const INDEX_AIM: f64 = 0.95;
const INDEX_FLOOR: f64 = 0.3;
/// A checkpoint is at most so old (issue 26).
const LAG_AIM_S: f64 = 5.0;
const LAG_CEILING_S: f64 = 120.0;
/// For a million events (issue 26).
const VERIFY_AIM_S: f64 = 60.0;
const VERIFY_CEILING_S: f64 = 3_600.0;
/// The largest backlog of a round: enough for a steady pace, and there are six rounds.
const BACKLOG_MAX: usize = 300_000;
/// What is sent for the lag.
const EVENTS_PER_S: usize = 10_000;
/// How often the checkpoint is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// The events are of the last hour, as they are in an indexer that is a little behind.
const SPAN: Duration = Duration::from_secs(3600);
/// How long the log may take for what is left when the load has ended.
const PATIENCE: Duration = Duration::from_secs(600);

pub(crate) async fn measure(arguments: &Arguments) -> anyhow::Result<Verdict> {
    let engines = own::durable_engines()?;
    let folder = TestFolder::create()?;
    let without = Settings::prepare(&arguments.binary()?, &engines)?;
    let with = without.keeping_logs(&folder.path().join("files"));
    let api = with.serve("api")?;
    let customer = with.customer("bench", &api)?;
    let mut verdict = Verdict::default();

    let history = Arc::new(History::of(SPAN));
    let backlog = arguments.events.min(BACKLOG_MAX);
    let mut rounds = Rounds::default();
    println!("one partition, {backlog} events of backlog each round");
    for _ in 0..ROUNDS {
        let mut paces = [0.0; 2];
        for (pace, (name, settings)) in paces
            .iter_mut()
            .zip([("without a log", &without), ("with one", &with)])
        {
            load::send(&customer, &history, backlog, arguments.lanes).await?;
            let index = settings.serve("index")?;
            let mut watched = Watched::new(&engines)?;
            watched.add("index", index.pid());
            let before = watched.usage()?;
            let took = index.wait_until_indexed(as_f64(backlog)).await;
            let used = watched.used_since(&before)?;
            *pace = as_f64(backlog) / took.as_secs_f64();
            println!(
                "  {name:<14} {pace:>8.0} events/s   {}",
                used.for_each(backlog),
            );
            index.stop()?;
        }
        rounds.add(paces[0], paces[1]);
    }
    println!("with a log to without: {}", rounds.ratio());
    let left = rounds.ratio().median;
    verdict.at_least("index with a log to without", left, INDEX_AIM, INDEX_FLOOR);

    let index = with.serve("index")?;
    let lag = lag(&customer, arguments).await?;
    let at = |share: usize| lag[(lag.len() * share / 100).min(lag.len() - 1)].as_secs_f64();
    println!(
        "\n{EVENTS_PER_S} events/s: accepted to in a signed checkpoint p50 {:.2} s, p99 {:.2} s, at most {:.2} s",
        at(50),
        at(99),
        at(100)
    );
    verdict.at_most(
        "lag of the checkpoint, p99 in s",
        at(99),
        LAG_AIM_S,
        LAG_CEILING_S,
    );

    let file = folder.path().join("all.bundle");
    let (took, seconds) = exported_and_verified(&customer, arguments, &file).await?;
    println!("{took}");
    verdict.at_most(
        "a million events verified, in s",
        seconds,
        VERIFY_AIM_S,
        VERIFY_CEILING_S,
    );
    drop(index);
    Ok(verdict)
}

/// How long each request's events waited for a checkpoint that has them, sorted.
async fn lag(customer: &Customer, arguments: &Arguments) -> anyhow::Result<Vec<Duration>> {
    // All that was sent before is in the log first.
    let size = settled(customer).await?;
    let history = Arc::new(History::of(SPAN));
    let requests = arguments.events.div_ceil(History::PER_BODY);
    let per_s = as_f64(EVENTS_PER_S) / as_f64(History::PER_BODY);
    let duration = Duration::from_secs_f64(as_f64(requests) / per_s);
    let began = Instant::now();
    let accepted = Arc::new(AtomicU64::new(0));
    let (sending, counted) = (customer.clone(), Arc::clone(&accepted));
    let number = Arc::new(AtomicU64::new(0));
    let load = lanes::run_at(per_s, arguments.lanes, duration, move || {
        let (customer, history) = (sending.clone(), Arc::clone(&history));
        let (counted, number) = (Arc::clone(&counted), Arc::clone(&number));
        async move {
            let place = number.fetch_add(1, Ordering::Relaxed);
            let place = usize::try_from(place)?;
            customer.ingest(history.body(place, requests)).await?;
            counted.fetch_add(History::PER_BODY as u64, Ordering::Relaxed);
            Ok(())
        }
    });
    let looking = async {
        // How many were accepted, and how many the checkpoint had, at each look.
        let mut looks = Vec::new();
        let all = (requests * History::PER_BODY) as u64;
        while began.elapsed() < duration + PATIENCE {
            let (at, sent) = (began.elapsed(), accepted.load(Ordering::Relaxed));
            let signed = size_of(&customer.text("/v1/log/checkpoint").await?)? - size;
            looks.push((at, sent, began.elapsed(), signed));
            if signed >= all {
                return Ok(looks);
            }
            sleep(LOOK_EVERY).await;
        }
        anyhow::bail!("the log has not what was accepted")
    };
    let (_, looks) = tokio::try_join!(load, looking)?;
    let mut lags = Vec::with_capacity(looks.len());
    for (place, (at, sent, ..)) in looks.iter().enumerate() {
        let mut later = looks[place..].iter();
        if let Some((.., seen_at, _)) = later.find(|(.., signed)| signed >= sent) {
            lags.push(seen_at.saturating_sub(*at));
        }
    }
    lags.sort_unstable();
    ensure!(!lags.is_empty(), "nothing was sent");
    Ok(lags)
}

/// The size of the log once it has everything that was accepted.
async fn settled(customer: &Customer) -> anyhow::Result<u64> {
    let deadline = Instant::now() + PATIENCE;
    let mut last = None;
    while Instant::now() < deadline {
        let text = customer.text("/v1/log/checkpoint").await;
        let size = text.ok().map(|text| size_of(&text)).transpose()?;
        if size.is_some() && size == last {
            return size.context("a size");
        }
        last = size;
        sleep(Duration::from_secs(5)).await;
    }
    anyhow::bail!("the log has no end")
}

/// The second line of a checkpoint.
fn size_of(checkpoint: &str) -> anyhow::Result<u64> {
    let size = checkpoint.lines().nth(1).context("a size")?;
    Ok(size.parse()?)
}

/// Exports the trail into a file and verifies it; what that took, and the seconds for a million events.
async fn exported_and_verified(
    customer: &Customer,
    arguments: &Arguments,
    path: &Path,
) -> anyhow::Result<(String, f64)> {
    let mut file = File::create(path)?;
    let began = Instant::now();
    let wanted = json!({"format": "bundle"});
    customer
        .export_to(&wanted, |bytes| file.write_all(bytes))
        .await?;
    let exported = began.elapsed();
    let size = file.metadata()?.len();
    let keys = customer.get("/v1/log/keys").await?;
    let key = keys["keys"][0]["verifier"].as_str().context("a key")?;

    let began = Instant::now();
    let mut verifying = Command::new(arguments.binary()?)
        .args(["trail", "verify", "--key", key, "--output", "json"])
        .arg(path)
        .stdout(Stdio::piped())
        .spawn()?;
    let (mut peak, mut used) = (0.0, Duration::ZERO);
    while verifying.try_wait()?.is_none() {
        let pid = verifying.id();
        peak = process::peak_memory_mib(pid).unwrap_or(peak);
        used = cpu(pid).unwrap_or(used);
        sleep(Duration::from_millis(20)).await;
    }
    let took = began.elapsed();
    let output = verifying.wait_with_output()?;
    let report: Value = serde_json::from_slice(&output.stdout)?;
    ensure!(report["verdict"] == "proven", "{report}");
    let events = report["counts"]["events"].as_f64().context("events")?;
    let seconds = took.as_secs_f64() * 1e6 / events;
    let text = format!(
        "\nan export of {events} events, {} MiB: written in {:.1} s, verified in {:.1} s ({:.1} s of processor time, {peak:.0} MiB); \
         {seconds:.1} s a million",
        size >> 20,
        exported.as_secs_f64(),
        took.as_secs_f64(),
        used.as_secs_f64(),
    );
    Ok((text, seconds))
}

#[expect(clippy::cast_precision_loss, reason = "figures for people")]
fn as_f64(count: usize) -> f64 {
    count as f64
}
