//! Deliveries that wait: how many the server holds, what they cost it, and how late they are due.

use std::{
    collections::HashSet,
    time::{Duration, Instant},
};

use anyhow::{Context as _, ensure};
use async_nats::jetstream::Message;
use bytes::Bytes;
use domain::Timestamp;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use testkit::{Nats, Own, own};

use super::{flow, streams::Streams};
use crate::{Verdict, events, process};

/// Published at the same time, whatever the layout.
const IN_FLIGHT: usize = 512;
/// After this long without one, those that are missing are lost. A server that was killed with a million
/// of them needs half a minute to come back.
const LOST: Duration = Duration::from_secs(180);
const HOUR_MS: i64 = 3_600_000;

pub(super) async fn measure(
    count: usize,
    held: usize,
    verdict: &mut Verdict,
) -> anyhow::Result<()> {
    let mut nats = own::nats()?;
    let streams = Streams::make(&nats.url(), count).await?;
    let before = process::memory_mib(nats.pid()?)?;
    let started = Instant::now();
    let tomorrow = events::now() + 24 * HOUR_MS;
    schedule(&streams, held, |number| tomorrow + number % HOUR_MS).await?;
    #[expect(clippy::cast_precision_loss, reason = "figures for people")]
    let rate = held as f64 / started.elapsed().as_secs_f64();
    let after = process::memory_mib(nats.pid()?)?;
    println!(
        "{count} streams: {held} scheduled at {rate:.0} msg/s; NATS {before:.0} -> {after:.0} MiB"
    );
    let took = restart(&mut nats)?;
    let kept = streams.held().await?;
    let again = process::memory_mib(nats.pid()?)?;
    println!("{count} streams: killed and back in {took:.1} s with {kept} of them, {again:.0} MiB");
    ensure!(kept == held as u64, "{kept} of {held} kept");

    let begin = events::now() + 25_000;
    let spread = lateness(&streams, 100_000, |number| {
        begin + number * 60_000 / 100_000
    })
    .await?;
    println!("{count} streams: 100,000 over 60 s {spread}");
    verdict.at_most(
        &format!("{count} streams, spread, p99 late s"),
        spread.p99,
        1.0,
        30.0,
    );
    let begin = events::now() + 10_000;
    let burst = lateness(&streams, 20_000, |_| begin).await?;
    println!("{count} streams: 20,000 in one instant {burst}");

    let begin = events::now() + 10_000;
    let waiting = 20_000;
    schedule(&streams, waiting, |number| begin + number).await?;
    let collecting = collect(&streams, waiting);
    let killing = async {
        wait_until(begin + 5_000).await;
        let took = tokio::task::block_in_place(|| restart(&mut nats))?;
        println!("{count} streams: killed while they fell due, back in {took:.1} s");
        anyhow::Ok(())
    };
    let (late, killed) = futures::future::join(collecting, killing).await;
    killed?;
    println!(
        "{count} streams: 20,000 over 20 s across that kill {}",
        late?
    );
    let peak = process::memory_mib(nats.pid()?)?;
    println!("{count} streams: NATS at the end {peak:.0} MiB");
    Ok(())
}

struct Late {
    p50: f64,
    p99: f64,
    max: f64,
    twice: usize,
    early: usize,
}

impl std::fmt::Display for Late {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "late p50 {:.3} s, p99 {:.3} s, at most {:.3} s; {} early, {} came twice",
            self.p50, self.p99, self.max, self.early, self.twice
        )
    }
}

async fn lateness(
    streams: &Streams,
    wanted: usize,
    due: impl Fn(i64) -> i64,
) -> anyhow::Result<Late> {
    schedule(streams, wanted, due).await?;
    collect(streams, wanted).await
}

async fn schedule(
    streams: &Streams,
    wanted: usize,
    due: impl Fn(i64) -> i64,
) -> anyhow::Result<()> {
    let due = &due;
    stream::iter((0..wanted).map(Ok))
        .try_for_each_concurrent(IN_FLIGHT, |number| async move {
            let due = due(i64::try_from(number)?);
            let mut payload = format!("{due} {number} ").into_bytes();
            payload.resize(flow::JOB_BYTES, b'x');
            let at = Timestamp::from_unix_millis(due);
            streams.publish_later(at, Bytes::from(payload)).await
        })
        .await
}

async fn collect(streams: &Streams, wanted: usize) -> anyhow::Result<Late> {
    let (sender, mut receiver) = tokio::sync::mpsc::channel(1_024);
    let taking = (0..streams.count()).map(|index| take(streams, index, sender.clone()));
    let counting = async {
        let (mut late, mut seen, mut twice) = (Vec::new(), HashSet::new(), 0);
        while seen.len() < wanted {
            let next = tokio::time::timeout(LOST, receiver.recv()).await;
            let (number, by) = next
                .with_context(|| format!("{} of {wanted} came", seen.len()))?
                .context("the consumers ended")?;
            if seen.insert(number) {
                late.push(by);
            } else {
                twice += 1;
            }
        }
        anyhow::Ok((late, twice))
    };
    let (mut late, twice) = tokio::select! {
        counted = counting => counted?,
        ended = futures::future::try_join_all(taking) => anyhow::bail!("the consumers ended: {ended:?}"),
    };
    late.sort_unstable();
    #[expect(clippy::cast_precision_loss, reason = "figures for people")]
    let at = |share: usize| late[(late.len() * share / 1_000).min(late.len() - 1)] as f64 / 1e3;
    Ok(Late {
        p50: at(500),
        p99: at(990),
        max: at(1_000),
        twice,
        early: late.iter().filter(|by| **by < 0).count(),
    })
}

/// Takes what is due for ever, also when the server was away.
async fn take(
    streams: &Streams,
    index: usize,
    to: tokio::sync::mpsc::Sender<(u64, i64)>,
) -> anyhow::Result<()> {
    loop {
        let Ok(consumer) = streams.due(index).await else {
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let pulling = consumer
            .stream()
            .max_messages_per_batch(256)
            .heartbeat(Duration::from_secs(1));
        let mut messages = pulling.expires(Duration::from_secs(5)).messages().await?;
        while let Some(Ok(message)) = messages.next().await {
            if let Some(seen) = read(&message) {
                to.send(seen).await?;
            }
            let _ = flow::told(&message).await;
        }
    }
}

fn read(message: &Message) -> Option<(u64, i64)> {
    let text = std::str::from_utf8(&message.payload).ok()?;
    let mut words = text.split(' ');
    let due: i64 = words.next()?.parse().ok()?;
    Some((words.next()?.parse().ok()?, events::now() - due))
}

fn restart(nats: &mut Own<Nats>) -> anyhow::Result<f64> {
    nats.kill();
    let started = Instant::now();
    nats.restart()?;
    Ok(started.elapsed().as_secs_f64())
}

async fn wait_until(moment: i64) {
    let left = u64::try_from(moment - events::now()).unwrap_or(0);
    tokio::time::sleep(Duration::from_millis(left)).await;
}
