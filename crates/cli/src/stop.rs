//! Being asked to end: Ctrl-C, a terminal that is closed, or SIGTERM from whoever started us.

use std::{fs, future::pending};

use anyhow::Context as _;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Listens from when it is made, so that nothing that must be undone can begin before.
pub(crate) struct Stop {
    interrupt: Signal,
    terminate: Signal,
    /// Nothing under `nohup`, which asks to outlive the terminal.
    hangup: Option<Signal>,
}

impl Stop {
    pub(crate) fn listen() -> anyhow::Result<Self> {
        let listen = |kind| signal(kind).context("listen for signals");
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hangup: (!ignores_hangup())
                .then(|| listen(SignalKind::hangup()))
                .transpose()?,
        })
    }

    /// Waits until somebody asks.
    pub(crate) async fn asked(&mut self) {
        let hung_up = async {
            match &mut self.hangup {
                Some(hangup) => hangup.recv().await,
                None => pending().await,
            }
        };
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = hung_up => {}
        }
    }
}

/// What Linux says of this process; where it says nothing, nobody asked.
fn ignores_hangup() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    // SIGHUP is signal 1, the lowest bit.
    ignored.is_some_and(|mask| mask & 1 == 1)
}
