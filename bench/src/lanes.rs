//! Runs the same request again and again in a number of lanes, for a fixed time, as fast as it goes or at a
//! steady rate, and sums up.

use std::{
    pin::Pin,
    time::{Duration, Instant},
};

use tokio::{task::JoinSet, time};

/// What a measurement came to.
pub(crate) struct Figures {
    pub(crate) events: usize,
    pub(crate) events_per_s: f64,
    pub(crate) p50_ms: f64,
    pub(crate) p99_ms: f64,
}

/// A request that is being made.
pub(crate) type Requesting = Pin<Box<dyn Future<Output = anyhow::Result<()>> + Send>>;

/// `request` is made by each lane, one after the other, and stands for `events` events.
pub(crate) async fn run<R, F>(
    lanes: usize,
    duration: Duration,
    events: usize,
    request: R,
) -> anyhow::Result<Figures>
where
    R: Fn() -> F + Clone + Send + 'static,
    F: Future<Output = anyhow::Result<()>> + Send,
{
    let started = Instant::now();
    let took = in_lanes(lanes, |_| {
        let request = request.clone();
        async move {
            let mut took = Vec::new();
            while started.elapsed() < duration {
                let began = Instant::now();
                request().await?;
                took.push(began.elapsed());
            }
            Ok(took)
        }
    });
    Ok(figures(took.await?, events, started.elapsed()))
}

/// The same at a steady rate. A request that has to wait for its lane took that long as well.
#[expect(clippy::cast_precision_loss, reason = "figures for people")]
pub(crate) async fn run_at<R, F>(
    per_s: f64,
    lanes: usize,
    duration: Duration,
    request: R,
) -> anyhow::Result<Figures>
where
    R: Fn() -> F + Clone + Send + 'static,
    F: Future<Output = anyhow::Result<()>> + Send,
{
    let started = Instant::now();
    let took = in_lanes(lanes, |lane| {
        let request = request.clone();
        async move {
            let mut took = Vec::new();
            for number in (lane..).step_by(lanes) {
                let due = Duration::from_secs_f64(number as f64 / per_s);
                if due >= duration {
                    break;
                }
                let mut began = started + due;
                if Instant::now() < began {
                    time::sleep_until(began.into()).await;
                    // A timer that is late is not the request's fault.
                    began = Instant::now();
                }
                request().await?;
                took.push(began.elapsed());
            }
            Ok(took)
        }
    });
    Ok(figures(took.await?, 1, started.elapsed()))
}

/// What each request of all lanes took.
async fn in_lanes<F>(lanes: usize, lane: impl Fn(usize) -> F) -> anyhow::Result<Vec<Duration>>
where
    F: Future<Output = anyhow::Result<Vec<Duration>>> + Send + 'static,
{
    let mut set: JoinSet<_> = (0..lanes).map(lane).collect();
    let mut took = Vec::new();
    while let Some(lane) = set.join_next().await {
        took.extend(lane??);
    }
    Ok(took)
}

#[expect(clippy::cast_precision_loss, reason = "figures for people")]
fn figures(mut took: Vec<Duration>, events: usize, elapsed: Duration) -> Figures {
    took.sort_unstable();
    let at = |share: usize| {
        took.get(took.len() * share / 100)
            .map_or(0.0, |one| one.as_secs_f64() * 1e3)
    };
    Figures {
        events: took.len() * events,
        events_per_s: (took.len() * events) as f64 / elapsed.as_secs_f64(),
        p50_ms: at(50),
        p99_ms: at(99),
    }
}
