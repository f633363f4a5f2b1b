//! A caller that always wants more than its limit.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use reqwest::{Method, StatusCode};
use tokio::time::sleep;

use crate::books::Books;
use crate::workload::Customer;

/// Several times what is allowed.
const EVERY: Duration = Duration::from_millis(100);

/// Calls until told to stop, and notes what was admitted. A call that failed was not refused, so it may have counted.
pub(crate) async fn use_up(
    customer: Customer,
    books: Books,
    stop: Arc<AtomicBool>,
) -> anyhow::Result<()> {
    while !stop.load(Ordering::Relaxed) {
        sleep(EVERY).await;
        let sent = Instant::now();
        let answer = customer
            .send(Method::GET, "/v1/audit/stats?by=result", None)
            .await;
        if let Ok(answer) = answer
            && answer.status() == StatusCode::OK
        {
            books.open().admitted.push((sent, Instant::now()));
        }
    }
    Ok(())
}
