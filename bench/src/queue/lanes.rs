//! A lane for each endpoint: what a consumer of its own costs, and asking which lanes have something.

use std::time::{Duration, Instant};

use anyhow::Context as _;
use bytes::Bytes;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use testkit::own;

use super::{flow, streams::Streams};
use crate::process;

/// Times that one thing is tried.
const TRIES: usize = 200;

pub(super) async fn measure() -> anyhow::Result<()> {
    for lanes in [10, 1_000] {
        consumers(lanes).await?;
    }
    for lanes in [1_000, 100_000] {
        listed(lanes).await?;
    }
    Ok(())
}

async fn consumers(lanes: usize) -> anyhow::Result<()> {
    let nats = own::nats()?;
    let streams = Streams::make(&nats.url(), 1).await?;
    streams.due(0).await?;
    fill(&streams, lanes, 3).await?;
    let before = process::memory_mib(nats.pid()?)?;
    let (mut made, mut consumers) = (Vec::new(), Vec::new());
    for lane in 0..lanes {
        let started = Instant::now();
        consumers.push(
            streams
                .consumer(0, &format!("lane_{lane}"), &subject(lane))
                .await?,
        );
        made.push(started.elapsed());
    }
    let after = process::memory_mib(nats.pid()?)?;
    let (mut full, mut empty) = (Vec::new(), Vec::new());
    for number in 0..TRIES {
        let started = Instant::now();
        let mut messages = consumers[number % lanes]
            .fetch()
            .max_messages(1)
            .messages()
            .await?;
        if let Some(message) = messages.next().await {
            let message = message.map_err(|error| anyhow::anyhow!(error))?;
            full.push(started.elapsed());
            flow::told(&message).await?;
        } else {
            empty.push(started.elapsed());
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "figures for people")]
    let each = (after - before) * 1024.0 / lanes as f64;
    println!(
        "{lanes} lanes: a consumer made {}; {each:.0} KiB each",
        figures(&mut made)
    );
    println!(
        "{lanes} lanes: one message fetched {}; nothing there {}",
        figures(&mut full),
        figures(&mut empty)
    );
    let payload = Bytes::from(vec![b'x'; flow::JOB_BYTES]);
    let started = Instant::now();
    stream::iter((0..10_000).map(Ok))
        .try_for_each_concurrent(64, |_: i32| streams.publish("due", payload.clone()))
        .await?;
    println!(
        "{lanes} lanes: {:.0} msg/s published among the due beside their consumers",
        10_000.0 / started.elapsed().as_secs_f64()
    );
    let mut removed = Vec::new();
    for lane in 0..lanes.min(TRIES) {
        let started = Instant::now();
        let queue = streams.context.get_stream_no_info("q0").await?;
        queue.delete_consumer(&format!("lane_{lane}")).await?;
        removed.push(started.elapsed());
    }
    println!(
        "{lanes} lanes: a consumer removed {}",
        figures(&mut removed)
    );
    Ok(())
}

async fn listed(lanes: usize) -> anyhow::Result<()> {
    let nats = own::nats()?;
    let streams = Streams::make(&nats.url(), 1).await?;
    fill(&streams, lanes, 1).await?;
    let queue = streams.context.get_stream("q0").await?;
    let mut took = Vec::new();
    for _ in 0..5 {
        let started = Instant::now();
        let listed = queue.info_with_subjects("q0.lane.>").await?;
        let listed: Vec<_> = listed.try_collect().await?;
        took.push(started.elapsed());
        anyhow::ensure!(
            listed.len() == lanes,
            "{} of {lanes} lanes listed",
            listed.len()
        );
    }
    println!(
        "{lanes} lanes with something in them listed {}",
        figures(&mut took)
    );
    Ok(())
}

async fn fill(streams: &Streams, lanes: usize, each: usize) -> anyhow::Result<()> {
    let payload = Bytes::from(vec![b'x'; flow::JOB_BYTES]);
    stream::iter((0..lanes * each).map(Ok))
        .try_for_each_concurrent(256, |number| {
            let (payload, subject) = (payload.clone(), subject(number % lanes));
            async move { streams.publish(&subject, payload).await }
        })
        .await
        .context("fill the lanes")
}

fn subject(lane: usize) -> String {
    format!("lane.ep_{lane:020}")
}

fn figures(took: &mut [Duration]) -> String {
    took.sort_unstable();
    let at = |share: usize| {
        took.get(took.len() * share / 100)
            .map_or(0.0, |one| one.as_secs_f64() * 1e3)
    };
    format!("p50 {:.2} ms, p99 {:.2} ms", at(50), at(99))
}
