//! How the process lives and ends.
//!
//! Every task is started here and none is forgotten: one that ends before it was asked to, by error
//! or panic, takes the process down, loudly. An orderly end has two steps. *Draining*: readiness
//! says 503 while everything still works, so that a load balancer looks elsewhere. *Stopping*: no
//! new work is taken, what is in flight finishes, and the last task to end lets the process go.

use std::{
    panic::AssertUnwindSafe,
    sync::{Arc, OnceLock},
    time::Duration,
};

use anyhow::{Context as _, anyhow, bail};
use domain::partition::Partition;
use futures::FutureExt as _;
use journal::{Journal, appenders::Appenders, streams::Log};
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    time::{sleep, timeout},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::service_manager;

/// How long stopping may take. A send in flight (10 s) and its record fit, and with the default drain
/// it stays below the 30 s after which an orchestrator kills.
const STOP_TIMEOUT: Duration = Duration::from_secs(24);

/// The wish to end: SIGTERM or Ctrl-C. Listened for before anything is started, because a signal that
/// nobody listens for ends the process on the spot.
pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    pub fn listen() -> anyhow::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate()).context("listen for SIGTERM")?,
            interrupt: signal(SignalKind::interrupt()).context("listen for SIGINT")?,
        })
    }

    pub async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

/// Starts tasks and knows when to stop. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Tasks {
    tracker: TaskTracker,
    draining: CancellationToken,
    stopping: CancellationToken,
    failure: Arc<OnceLock<String>>,
}

impl Tasks {
    /// Starts a task that runs until [`Tasks::stopping`] is canceled. Ending earlier is a failure.
    pub fn spawn<T>(&self, name: impl Into<String>, task: T)
    where
        T: Future<Output = anyhow::Result<()>> + Send + 'static,
    {
        let (name, tasks) = (name.into(), self.clone());
        self.tracker.spawn(async move {
            let problem = match AssertUnwindSafe(task).catch_unwind().await {
                Ok(Ok(())) if tasks.stopping.is_cancelled() => return,
                Ok(Ok(())) => "ended unexpectedly".to_owned(),
                Ok(Err(error)) => format!("failed: {error:#}"),
                Err(_) => "panicked".to_owned(),
            };
            tracing::error!(task = name, problem, "a task died; stopping the process");
            let _ = tasks.failure.set(format!("task {name} {problem}"));
            tasks.stopping.cancel();
        });
    }

    /// The appenders of one kind of log, and the tasks that they need.
    pub fn appenders(&self, journal: &Journal, log: fn(Partition) -> Log) -> Appenders {
        Appenders::start(journal, log, |name, task| {
            self.spawn(name, task.map(Ok));
        })
    }

    /// Canceled when readiness should say no.
    pub fn draining(&self) -> &CancellationToken {
        &self.draining
    }

    /// Canceled when tasks should finish what they hold and end.
    pub fn stopping(&self) -> &CancellationToken {
        &self.stopping
    }

    /// Runs until a signal or a dead task, then ends in order. A second signal ends at once.
    pub async fn run_to_the_end(self, mut signals: Signals, drain: Duration) -> anyhow::Result<()> {
        tokio::select! {
            () = signals.next() => {}
            () = self.stopping.cancelled() => {}
        }
        self.draining.cancel();
        service_manager::stopping();
        let orderly = async {
            if !self.stopping.is_cancelled() {
                tracing::info!(drain_s = drain.as_secs_f64(), "draining");
                sleep(drain).await;
            }
            tracing::info!("stopping");
            self.stopping.cancel();
            self.tracker.close();
            timeout(STOP_TIMEOUT, self.tracker.wait()).await
        };
        let ended = tokio::select! {
            ended = orderly => ended,
            () = signals.next() => bail!("stopped immediately by a second signal"),
        };
        if let Some(failure) = self.failure.get() {
            return Err(anyhow!("{failure}"));
        }
        ended.map_err(|_| anyhow!("{} tasks did not stop in time", self.tracker.len()))?;
        tracing::info!("stopped");
        Ok(())
    }
}
