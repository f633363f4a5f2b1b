//! Jobs in the background (exports, recoveries, erasures): whichever node is free takes the next one and works on it under
//! a lease, so that another goes on where one died.

use std::time::Duration;

use runtime::{random, retry::Retries};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

/// How long a job is a worker's without a word from it.
pub const LEASE: Duration = Duration::from_secs(15);
/// How often jobs are looked for.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// Works on jobs of one kind.
pub trait Worker: Send + Sync {
    type Job: Send;
    /// What it does, for the log.
    const WHAT: &str;

    /// Takes the next job that nobody works on.
    fn claim(
        &self,
        lease: Uuid,
    ) -> impl Future<Output = Result<Option<Self::Job>, store::Error>> + Send;

    /// Works on a job until it ends, is not ours any more, or we stop.
    fn take_on(
        &self,
        job: Self::Job,
        stopping: &CancellationToken,
    ) -> impl Future<Output = Result<(), store::Error>> + Send;
}

/// Works until stopped.
pub async fn run<W: Worker>(worker: W, stopping: CancellationToken) -> anyhow::Result<()> {
    let mut retries = Retries::new(W::WHAT, &stopping);
    while retries.again(work(&worker, &stopping).await).await {}
    Ok(())
}

async fn work(worker: &impl Worker, stopping: &CancellationToken) -> Result<(), store::Error> {
    while !stopping.is_cancelled() {
        let lease = Uuid::from_bytes(random::bytes());
        if let Some(job) = worker.claim(lease).await? {
            worker.take_on(job, stopping).await?;
            continue;
        }
        tokio::select! {
            () = sleep(LOOK_EVERY) => {}
            () = stopping.cancelled() => {}
        }
    }
    Ok(())
}

/// The pause after a job failed for the `tries`th time: `first`, then twice as long each time.
pub fn pause(first: Duration, tries: u32) -> Duration {
    first * 2_u32.pow(tries.saturating_sub(1))
}
