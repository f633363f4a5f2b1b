//! Being asked to end: Ctrl-C, or SIGTERM from whoever started us.

use anyhow::Context as _;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Listens from when it is made, so that nothing that must be undone can begin before.
pub(crate) struct Stop {
    interrupt: Signal,
    terminate: Signal,
}

impl Stop {
    pub(crate) fn listen() -> anyhow::Result<Self> {
        let listen = |kind| signal(kind).context("listen for signals");
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
        })
    }

    /// Waits until somebody asks.
    pub(crate) async fn asked(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}
