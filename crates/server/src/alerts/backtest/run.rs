//! Puts a rule before the events of a range: reading and judging at the same time.

use std::sync::Arc;

use domain::{
    Day, Timestamp,
    rule::backtest::{Backtest, Counts},
};
use tokio::{sync::watch, task::spawn_blocking};

use crate::{
    edge::slots::Slot,
    exports::{
        plan::{Plan, Range},
        source::{self, Ahead, Batch, Source},
    },
    planes::ControlPlane,
    telemetry::metrics as names,
};

/// How far a backtest is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Progress {
    /// From 0 to 1, by the time that events have.
    pub share: f64,
    pub counts: Counts,
    /// Where it reads.
    pub at: Option<Timestamp>,
}

/// Why a backtest did not come to its end.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error(transparent)]
    Source(#[from] source::Error),
    #[error("judging stopped")]
    Stopped(#[from] tokio::task::JoinError),
}

/// Looks at everything that is planned, and says in `progress` how far it is.
pub(super) async fn run(
    plane: ControlPlane,
    plan: Plan,
    mut backtest: Backtest,
    progress: watch::Sender<Progress>,
    slot: Slot,
) -> Result<Backtest, Error> {
    let slot = Arc::new(slot);
    let Some(range) = plan.range else {
        return Ok(backtest);
    };
    let mut day = Day::of(range.oldest.time());
    let last = Day::of(range.newest.time());
    while day <= last {
        let of_day = plan.of_day(day);
        let files = plane.files.clone();
        // The next piece is read while this one is judged.
        let mut source = Ahead::new(Source::new(plane.store.clone(), files, of_day.clone()));
        while let Some(batch) = source.next().await? {
            let at = batch.below.time();
            backtest = judge(backtest, batch, progress.clone(), Arc::clone(&slot)).await?;
            progress.send_replace(Progress {
                share: of_day.range.map_or(0.0, |part| share(range, part, at)),
                counts: backtest.counts(),
                at: Some(at),
            });
        }
        backtest.end_of(day);
        day = day.next();
    }
    Ok(backtest)
}

/// Parsing and matching some thousand events, which is work for a thread that may be busy. It has the slot
/// for as long as it works, and stops when nobody listens any more.
async fn judge(
    mut backtest: Backtest,
    batch: Batch,
    listeners: watch::Sender<Progress>,
    slot: Arc<Slot>,
) -> Result<Backtest, Error> {
    metrics::counter!(names::EVENTS_BACKTESTED).increment(batch.events.len() as u64);
    let judged = spawn_blocking(move || {
        for json in batch.events.iter() {
            if listeners.is_closed() {
                break;
            }
            backtest.look_at(json);
        }
        drop(slot);
        backtest
    });
    Ok(judged.await?)
}

/// How much of a range is done, when a part of it is read from its end down to a moment.
fn share(range: Range, part: Range, at: Timestamp) -> f64 {
    let length = range.newest.time().since(range.oldest.time());
    let before = part.oldest.time().since(range.oldest.time());
    let within = part.newest.time().since(at.max(part.oldest.time()));
    if length.is_zero() {
        0.0
    } else {
        ((before + within).as_secs_f64() / length.as_secs_f64()).clamp(0.0, 1.0)
    }
}
