//! How far a snapshot has got, and waiting until it is far enough.

use std::{sync::Arc, time::Duration};

use tokio::{sync::watch, time::timeout};

/// A snapshot that is not current by then is a failure that an operator must see.
const CATCH_UP_MAX: Duration = Duration::from_secs(8);

/// The sequence of the newest change that a snapshot has applied. Cheap to clone.
#[derive(Clone)]
pub(super) struct Progress(Arc<watch::Sender<u64>>);

impl Progress {
    pub(super) fn new() -> Self {
        Self(Arc::new(watch::Sender::new(0)))
    }

    pub(super) fn applied(&self, position: u64) {
        self.0.send_replace(position);
    }

    /// Returns once the snapshot has applied the change with this sequence.
    pub(super) async fn wait_for(
        &self,
        what: &'static str,
        newest: u64,
    ) -> Result<(), journal::Error> {
        let mut applied = self.0.subscribe();
        // The sender lives as long as `self`.
        let caught_up = applied.wait_for(|applied| *applied >= newest);
        match timeout(CATCH_UP_MAX, caught_up).await {
            Ok(_) => Ok(()),
            Err(_) => Err(journal::Error::behind(what, newest)),
        }
    }
}
