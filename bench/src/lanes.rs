//! Runs the same request again and again in a number of lanes, for a fixed time, and sums up.

use std::time::{Duration, Instant};

use tokio::task::JoinSet;

/// What a measurement came to.
pub(crate) struct Figures {
    pub(crate) events: usize,
    pub(crate) events_per_s: f64,
    pub(crate) p50_ms: f64,
    pub(crate) p99_ms: f64,
}

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
    let mut set = JoinSet::new();
    for _ in 0..lanes {
        let request = request.clone();
        set.spawn(async move {
            let mut took = Vec::new();
            while started.elapsed() < duration {
                let began = Instant::now();
                request().await?;
                took.push(began.elapsed());
            }
            anyhow::Ok(took)
        });
    }
    let mut took = Vec::new();
    while let Some(lane) = set.join_next().await {
        took.extend(lane??);
    }
    Ok(figures(took, events, started.elapsed()))
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
