//! Jobs published and acknowledged, then taken and settled.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::ensure;
use async_nats::{Request, jetstream::Message};
use bytes::Bytes;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use testkit::own;

use super::{LAYOUTS, streams::Streams};
use crate::lanes;

/// A job with its event is about so large.
pub(super) const JOB_BYTES: usize = 600;
/// Jobs of one rule that travel together.
const BUNDLE: usize = 32;
/// Messages on their way at the same time, for each stream.
const IN_FLIGHT: usize = 64;
/// Messages taken and settled in one measurement.
const TAKEN: usize = 40_000;

pub(super) async fn measure(each: Duration) -> anyhow::Result<()> {
    println!(
        "{:<52} {:>10} {:>10} {:>9} {:>9}",
        "", "msg/s", "jobs/s", "p50 ms", "p99 ms"
    );
    for streams in LAYOUTS {
        for jobs in [1, BUNDLE] {
            published(streams, jobs, each).await?;
        }
        for settle in [Settle::Told, Settle::Answered] {
            taken(streams, settle).await?;
        }
    }
    Ok(())
}

async fn published(count: usize, jobs: usize, each: Duration) -> anyhow::Result<()> {
    let nats = own::nats()?;
    let streams = Arc::new(Streams::make(&nats.url(), count).await?);
    let payload = Bytes::from(vec![b'x'; JOB_BYTES * jobs]);
    let figures = lanes::run(IN_FLIGHT * count, each, jobs, move || {
        let (streams, payload) = (Arc::clone(&streams), payload.clone());
        async move { streams.publish("due", payload).await }
    })
    .await?;
    #[expect(clippy::cast_precision_loss, reason = "figures for people")]
    let messages = figures.events_per_s / jobs as f64;
    println!(
        "{:<52} {messages:>10.0} {:>10.0} {:>9.2} {:>9.2}",
        format!("{count} streams: published, {jobs} jobs a message"),
        figures.events_per_s,
        figures.p50_ms,
        figures.p99_ms
    );
    Ok(())
}

#[derive(Clone, Copy, Debug)]
enum Settle {
    /// The server is told, and not asked whether it heard.
    Told,
    /// As `journal::Task::settle`.
    Answered,
}

async fn taken(count: usize, settle: Settle) -> anyhow::Result<()> {
    let nats = own::nats()?;
    let streams = Streams::make(&nats.url(), count).await?;
    let payload = Bytes::from(vec![b'x'; JOB_BYTES]);
    stream::iter(0..TAKEN)
        .map(Ok)
        .try_for_each_concurrent(512, |_| streams.publish("due", payload.clone()))
        .await?;
    let started = Instant::now();
    let work = (0..count).map(|index| take(&streams, index, TAKEN / count, settle));
    futures::future::try_join_all(work).await?;
    let took = started.elapsed();
    #[expect(clippy::cast_precision_loss, reason = "figures for people")]
    let rate = TAKEN as f64 / took.as_secs_f64();
    println!(
        "{:<52} {rate:>10.0}",
        format!("{count} streams: taken, settled ({settle:?})")
    );
    Ok(())
}

async fn take(
    streams: &Streams,
    index: usize,
    wanted: usize,
    settle: Settle,
) -> anyhow::Result<()> {
    let consumer = streams.due(index).await?;
    let messages = consumer
        .stream()
        .max_messages_per_batch(256)
        .messages()
        .await?;
    messages
        .take(wanted)
        .map_err(anyhow::Error::from)
        .try_for_each_concurrent(IN_FLIGHT, |message| settle_one(message, settle))
        .await
}

pub(super) async fn told(message: &Message) -> anyhow::Result<()> {
    message.ack().await.map_err(|error| anyhow::anyhow!(error))
}

async fn settle_one(message: Message, settle: Settle) -> anyhow::Result<()> {
    if matches!(settle, Settle::Told) {
        return told(&message).await;
    }
    let Some(reply) = message.reply.clone() else {
        anyhow::bail!("a message to be settled has an address for that")
    };
    let asking = Request::new().payload(Bytes::from_static(b"+ACK"));
    let answer = message.context.client().send_request(reply, asking).await?;
    ensure!(answer.status.is_none(), "not settled");
    Ok(())
}
