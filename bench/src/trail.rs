//! The trail at its real size: events through the front door, then lists by every filter, counts and an export,
//! for a small organization and a large one in the same database.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::ensure;
use serde_json::{Value, json};
use testkit::{Engines, Own, own};

use crate::{
    Arguments, Verdict,
    bare_postgres::Bare,
    events::{self, History},
    facets, load, process,
    rounds::Rounds,
    server::{Customer, Server, Settings},
    usage::Watched,
};

/// How far back the events lie.
const SPAN: Duration = Duration::from_secs(30 * 24 * 3600);
/// The small organization has a hundredth of the large one's events.
const SMALL: usize = 100;
/// The large organization's p99 may be so much of the small one's (issue 4).
const LIST_AIM: f64 = 1.5;
/// More than this is a cost that grows with history, also on a slow machine and in a small run, where the
/// small organization has fewer events than one page may look at.
const LIST_CEILING: f64 = 10.0;
/// What an export should reach of a bare COPY (issue 4).
const EXPORT_AIM: f64 = 0.6;
const EXPORT_FLOOR: f64 = 0.02;
/// An export that holds what it sends would pass this by far.
const EXPORT_MIB_MAX: f64 = 128.0;
const EXPORT_ROUNDS: usize = 2;

pub(crate) async fn measure(arguments: &Arguments) -> anyhow::Result<Verdict> {
    let engines = own::durable_engines()?;
    let settings = Settings::prepare(&arguments.binary()?, &engines)?;
    let api = settings.serve("api")?;
    let index = settings.serve("index")?;
    let small = settings.customer("small", &api)?;
    let large = settings.customer("large", &api)?;
    let mut watched = watched(&engines, &api)?;
    watched.add("index", index.pid());
    let part = (&small, SMALL);
    fill(arguments, (&api, &index), part, &large, &watched).await?;
    let mut bare = Bare::connect(&settings.postgres).await?;
    bare.vacuum().await?;
    let mut verdict = Verdict::default();
    list(arguments.lists, &small, &large, &mut verdict).await?;
    facets::count(arguments.lists, &large, &mut verdict).await?;
    export(arguments, &mut bare, (&api, &watched), &large, &mut verdict).await?;
    Ok(verdict)
}

/// The engines, and the process that answers.
pub(crate) fn watched(engines: &Own<Engines>, api: &Server) -> anyhow::Result<Watched> {
    let mut watched = Watched::new(engines)?;
    watched.add("api", api.pid());
    Ok(watched)
}

/// Loads both, the large one with `arguments.events` events and the small one with a part of as many.
#[expect(clippy::cast_precision_loss, reason = "figures for people")]
pub(crate) async fn fill(
    arguments: &Arguments,
    (api, index): (&Server, &Server),
    (small, part): (&Customer, usize),
    large: &Customer,
    watched: &Watched,
) -> anyhow::Result<()> {
    let history = Arc::new(History::of(SPAN));
    println!("{} events through the front door", arguments.events);
    let lanes = arguments.lanes;
    load::send(small, &history, arguments.events / part, lanes).await?;
    let (before, began) = (watched.usage()?, Instant::now());
    let took = load::send(large, &history, arguments.events, lanes).await?;
    for customer in [small, large] {
        customer.ingest(events::rare()).await?;
    }
    index.wait_until_indexed(api.ingested().await?).await;
    let events = arguments.events as f64;
    let used = watched.used_since(&before)?;
    println!(
        "accepted in {:.0} s ({:.0} events/s) while being indexed; all indexed after {:.0} s ({:.0} events/s)\n  {}\n",
        took.as_secs_f64(),
        events / took.as_secs_f64(),
        began.elapsed().as_secs_f64(),
        events / began.elapsed().as_secs_f64(),
        used.for_each(arguments.events),
    );
    Ok(())
}

/// The same `lists` of both organizations, in turn.
async fn list(
    lists: usize,
    small: &Customer,
    large: &Customer,
    verdict: &mut Verdict,
) -> anyhow::Result<()> {
    let within = format!("from={}", events::days_ago(5));
    let filters = [
        "",
        "order=asc",
        &within,
        "agent_id=agent-0007",
        "agent_id=agent-0007&agent_id=agent-0008",
        "action=payments.refund",
        "action=payments.*",
        "event_type=api_request",
        "result=denied",
        "result=quarantined",
        "severity=high",
        "session_id=session-000123",
        "trace_id=trace-00001234",
        "agent_id=agent-0000&result=denied",
        "q=203.0.113.7",
        "q=haystack&result=quarantined",
        "q=nowhere%20to%20be%20found",
    ];
    println!(
        "{:<44} {:>10} {:>10} {:>10} {:>10} {:>8}",
        "list, 100 a page", "small p50", "p99 ms", "large p50", "p99 ms", "p99 x"
    );
    for filter in filters {
        let (mut of_small, mut of_large) = (Vec::new(), Vec::new());
        let path = format!("/v1/audit/events?{filter}");
        for _ in 0..lists {
            of_small.push(time(small, &path).await?);
            of_large.push(time(large, &path).await?);
        }
        let (small_p99, large_p99) = (at(&mut of_small, 99), at(&mut of_large, 99));
        let ratio = large_p99 / small_p99;
        println!(
            "{:<44} {:>10.2} {small_p99:>10.2} {:>10.2} {large_p99:>10.2} {ratio:>8.2}",
            if filter.is_empty() { "all" } else { filter },
            at(&mut of_small, 50),
            at(&mut of_large, 50),
        );
        verdict.at_most(&format!("list {filter}"), ratio, LIST_AIM, LIST_CEILING);
    }
    let found = large.get("/v1/audit/events?result=quarantined").await?;
    ensure!(
        found["data"].as_array().is_some_and(|data| data.len() == 3),
        "the rare ones are found on the first page: {found}"
    );
    Ok(())
}

pub(crate) async fn time(customer: &Customer, path: &str) -> anyhow::Result<Duration> {
    let began = Instant::now();
    customer.get(path).await?;
    Ok(began.elapsed())
}

pub(crate) fn at(took: &mut [Duration], share: usize) -> f64 {
    took.sort_unstable();
    took.get(took.len() * share / 100)
        .map_or(0.0, |one| one.as_secs_f64() * 1e3)
}

/// The whole large organization as NDJSON, beside a bare COPY of the same bytes.
#[expect(clippy::cast_precision_loss, reason = "figures for people")]
async fn export(
    arguments: &Arguments,
    bare: &mut Bare,
    (api, watched): (&Server, &Watched),
    large: &Customer,
    verdict: &mut Verdict,
) -> anyhow::Result<()> {
    const MIB: f64 = 1024.0 * 1024.0;
    let org = bare.org("large").await?;
    let mut rounds = Rounds::default();
    let mut most: f64 = 0.0;
    println!("\nexport of {} events", arguments.events);
    for _ in 0..EXPORT_ROUNDS {
        let (bare_bytes, bare_took) = bare.copy_out(&org).await?;
        let before = process::memory_mib(api.pid())?;
        process::forget_peak(api.pid())?;
        let (usage, began) = (watched.usage()?, Instant::now());
        let (bytes, last) = large.export(&json!({"format": "ndjson"})).await?;
        let (took, used) = (began.elapsed(), watched.used_since(&usage)?);
        let peak = process::peak_memory_mib(api.pid())?;
        most = most.max(peak - before);
        let line = last.strip_suffix(b"\n").unwrap_or(&last);
        let line = line.rsplit(|byte| *byte == b'\n').next().unwrap_or(line);
        let summary: Value = serde_json::from_slice(line)?;
        ensure!(
            summary["export"]["events"].as_u64() >= Some(arguments.events as u64),
            "the export is whole: {summary}"
        );
        let rate = |bytes: u64, took: Duration| bytes as f64 / MIB / took.as_secs_f64();
        rounds.add(rate(bare_bytes, bare_took), rate(bytes, took));
        println!(
            "  bare COPY TO {:>6.0} MiB/s   export {:>6.0} MiB/s ({:.0} events/s), memory {before:.0} MiB before, {peak:.0} MiB at most   {}",
            rate(bare_bytes, bare_took),
            rate(bytes, took),
            arguments.events as f64 / took.as_secs_f64(),
            used.for_each(arguments.events),
        );
    }
    println!("export to bare COPY TO: {}", rounds.ratio());
    verdict.at_least(
        "export, NDJSON",
        rounds.ratio().median,
        EXPORT_AIM,
        EXPORT_FLOOR,
    );
    verdict.at_most(
        "memory an export adds, MiB",
        most,
        EXPORT_MIB_MAX,
        EXPORT_MIB_MAX,
    );
    Ok(())
}
