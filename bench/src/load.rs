//! Sends a number of events through the front door, several requests in flight, and says how it goes.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use tokio::task::JoinSet;

use crate::{events::History, server::Customer};

/// A long load says how far it is every so many requests.
const REQUESTS_PER_LINE: usize = 10_000;

/// Sends at least `events` events of a history, in their order; how long that took.
pub(crate) async fn send(
    customer: &Customer,
    history: &Arc<History>,
    events: usize,
    lanes: usize,
) -> anyhow::Result<Duration> {
    let started = Instant::now();
    let requests = events.div_ceil(History::PER_BODY);
    let next = Arc::new(AtomicUsize::new(0));
    let mut set = JoinSet::new();
    for _ in 0..lanes {
        let (customer, history) = (customer.clone(), Arc::clone(history));
        let next = Arc::clone(&next);
        set.spawn(async move {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= requests {
                    return anyhow::Ok(());
                }
                customer.ingest(history.body(number, requests)).await?;
                if (number + 1).is_multiple_of(REQUESTS_PER_LINE) {
                    let sent = (number + 1) * History::PER_BODY;
                    println!(
                        "  {sent} events sent, {:.0} s",
                        started.elapsed().as_secs_f64()
                    );
                }
            }
        });
    }
    while let Some(lane) = set.join_next().await {
        lane??;
    }
    Ok(started.elapsed())
}
