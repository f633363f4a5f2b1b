//! Sends a backtest as lines of JSON: how far it is, every second, and in the end what came of it.

use std::time::Duration;

use axum::{
    body::Body,
    http::header,
    response::{IntoResponse as _, Response},
};
use bytes::Bytes;
use domain::{
    Timestamp,
    rule::backtest::{Backtest, Counts, DayCounts},
};
use futures::stream;
use runtime::error_chain::chain;
use serde::Serialize;
use serde_json::value::RawValue;
use tokio::{
    sync::watch,
    task::{JoinError, JoinSet},
    time::{Instant, sleep_until},
};
use utoipa::ToSchema;

use super::run::{self, Progress, run};
use crate::{
    edge::{
        caller::RulesWrite,
        recheck_auth::{ASK_EVERY, AuthRecheck},
        slots::Slot,
    },
    events::schema::Event,
    exports::plan::Plan,
    planes::ControlPlane,
};

/// How often it is told how far a backtest is.
const TELL_EVERY: Duration = Duration::from_secs(1);

/// The progress of a backtest: every line except the last.
#[derive(Serialize, ToSchema)]
#[schema(as = BacktestProgress)]
pub struct ProgressLine {
    /// From 0 to 1, measured by the time at which events occurred.
    progress: f64,
    scanned: u64,
    matched: u64,
    /// From the days processed so far.
    alerts: u64,
    /// The point the trail has been read to: the oldest day first, each day from its end.
    #[schema(value_type = Option<String>, format = DateTime)]
    at: Option<Timestamp>,
}

/// The result of a backtest: the last line.
#[derive(Serialize, ToSchema)]
#[schema(as = BacktestResult)]
pub struct LastLine {
    /// Always true: a backtest that was cut short has no such line.
    done: bool,
    /// How many events the rule was evaluated on. Events that the store could rule out from its columns are not
    /// included.
    scanned: u64,
    matched: u64,
    /// Deliveries that would have been made.
    alerts: u64,
    /// Alerts that would have been suppressed (`suppress`).
    suppressed: u64,
    /// Days (UTC) on which something matched, oldest first.
    #[schema(value_type = Vec<BacktestDay>)]
    by_day: Vec<DayCounts>,
    /// The newest events that matched, at most 10, newest first.
    #[schema(value_type = Vec<Event>)]
    samples: Vec<Box<RawValue>>,
    took_ms: u64,
    /// False if `alerts` and `suppressed` do not cover everything that matched; `incomplete_because` says why.
    complete: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    incomplete_because: Option<String>,
}

/// A day on which something matched.
#[derive(ToSchema)]
#[expect(dead_code, reason = "describes `domain::rule::backtest::DayCounts`")]
pub struct BacktestDay {
    #[schema(example = "2026-11-15")]
    day: String,
    matched: u64,
    alerts: u64,
}

/// Why a backtest was cut off.
#[derive(Debug, thiserror::Error)]
enum CutOff {
    #[error(transparent)]
    Running(#[from] run::Error),
    #[error("the caller is no longer authorized")]
    Revoked,
    #[error("the backtest stopped")]
    Stopped(#[from] JoinError),
}

/// The answer, whose body tells of the backtest as it goes on.
pub(super) fn answer(
    plane: ControlPlane,
    plan: Plan,
    backtest: Backtest,
    standing: AuthRecheck<RulesWrite>,
    slot: Slot,
) -> Response {
    let (tell, progress) = watch::channel(Progress::default());
    let mut running = JoinSet::new();
    running.spawn(run(plane, plan, backtest, tell, slot));
    let began = Instant::now();
    let telling = ProgressLines {
        running,
        progress,
        standing,
        began,
        told_at: began,
        asked_at: began,
    };
    let lines = stream::try_unfold(telling, async |telling| {
        telling.line().await.inspect_err(|error| {
            tracing::warn!(error = chain(error), "a backtest was cut short");
        })
    });
    let body = Body::from_stream(Box::pin(lines));
    ([(header::CONTENT_TYPE, "application/x-ndjson")], body).into_response()
}

/// A backtest whose client is there.
struct ProgressLines {
    /// One task, or none once it has ended; gone when this is dropped.
    running: JoinSet<Result<Backtest, run::Error>>,
    progress: watch::Receiver<Progress>,
    standing: AuthRecheck<RulesWrite>,
    began: Instant,
    told_at: Instant,
    /// When it was last asked whether the key or the session holds.
    asked_at: Instant,
}

impl ProgressLines {
    /// The next line and how to go on. An error breaks the connection.
    async fn line(mut self) -> Result<Option<(Bytes, Self)>, CutOff> {
        if self.asked_at.elapsed() >= ASK_EVERY {
            self.asked_at = Instant::now();
            if !self.standing.still_holds().await {
                return Err(CutOff::Revoked);
            }
        }
        let line = match next(&mut self.running, self.told_at).await {
            Next::Nothing => return Ok(None),
            Next::Last(backtest) => last_line(&backtest??, self.began.elapsed()),
            Next::Progress => {
                self.told_at = Instant::now();
                progress_line(*self.progress.borrow())
            }
        };
        Ok(Some((line, self)))
    }
}

/// What is told next.
#[derive(Debug)]
enum Next<T> {
    Progress,
    Last(T),
    Nothing,
}

/// How far it is may be due when it has ended, and is not told after the end.
async fn next<T: 'static>(
    running: &mut JoinSet<T>,
    told_at: Instant,
) -> Next<Result<T, JoinError>> {
    tokio::select! {
        biased;
        ended = running.join_next() => ended.map_or(Next::Nothing, Next::Last),
        () = sleep_until(told_at + TELL_EVERY) => Next::Progress,
    }
}

fn progress_line(progress: Progress) -> Bytes {
    let Counts {
        scanned,
        matched,
        alerts,
        suppressed: _,
    } = progress.counts;
    written(&ProgressLine {
        progress: progress.share,
        scanned,
        matched,
        alerts,
        at: progress.at,
    })
}

fn last_line(backtest: &Backtest, took: Duration) -> Bytes {
    let counts = backtest.counts();
    let samples = backtest.samples();
    let incomplete_because = backtest.incomplete_because();
    written(&LastLine {
        done: true,
        scanned: counts.scanned,
        matched: counts.matched,
        alerts: counts.alerts,
        suppressed: counts.suppressed,
        by_day: backtest.by_day().to_vec(),
        samples: samples
            .filter_map(|json| RawValue::from_string(json.replace('\n', " ")).ok())
            .collect(),
        took_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        complete: incomplete_because.is_none(),
        incomplete_because,
    })
}

fn written(line: &impl Serialize) -> Bytes {
    let mut text = serde_json::to_vec(line).expect("a line is plain JSON");
    text.push(b'\n');
    Bytes::from(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn nothing_is_told_after_the_last_line_however_long_nothing_was() {
        let told_at = Instant::now();
        tokio::time::advance(2 * TELL_EVERY).await;
        for _ in 0..64 {
            let mut running = JoinSet::new();
            running.spawn(async {});
            while matches!(next(&mut running, told_at).await, Next::Progress) {
                tokio::task::yield_now().await;
            }
            let after = next(&mut running, told_at).await;
            assert!(matches!(after, Next::Nothing), "{after:?}");
        }
    }
}
