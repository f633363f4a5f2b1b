//! Wakes whoever applies a log to the store: it may be waiting for more, and somebody waits to read what is there.
//!
//! Nothing is stored. A call that gets lost costs the reader the rest of that wait.

use std::future::pending;

use async_nats::Subscriber;
use bytes::Bytes;
use futures::StreamExt;
use runtime::error_chain::chain;

use crate::{Error, Journal, streams::Log};

/// Who waits for a log to be applied.
pub struct Wakes {
    calls: Subscriber,
    /// Up to this message.
    wanted: u64,
}

impl Journal {
    /// Says that somebody waits until a log is applied up to a message.
    pub async fn wake(&self, log: Log, sequence: u64) {
        let payload = Bytes::copy_from_slice(&sequence.to_be_bytes());
        let subject = self.names.wake_subject(log);
        if let Err(error) = self.context.client().publish(subject, payload).await {
            tracing::debug!(
                error = chain(&error),
                "could not wake the applier; a reader waits a little longer"
            );
        }
    }

    /// Hears of those who wait for a log.
    pub async fn wakes(&self, log: Log) -> Result<Wakes, Error> {
        let subject = self.names.wake_subject(log);
        let calls = self.context.client().subscribe(subject).await;
        let calls =
            calls.map_err(|source| Error::unavailable("listen for waiting readers", source))?;
        Ok(Wakes { calls, wanted: 0 })
    }
}

impl Wakes {
    /// Returns when somebody waits for more than what is applied, which is the log up to `position`.
    pub async fn beyond(&mut self, position: u64) {
        while self.wanted <= position {
            let Some(call) = self.calls.next().await else {
                return pending().await;
            };
            let sequence = call.payload.as_ref().try_into().map(u64::from_be_bytes);
            self.wanted = self.wanted.max(sequence.unwrap_or_default());
        }
    }
}
