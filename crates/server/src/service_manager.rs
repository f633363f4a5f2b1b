//! Tells a service manager that waits for it, such as systemd (`Type=notify`), how far this process is. Without one
//! (`NOTIFY_SOCKET`) nothing is told.

use sd_notify::NotifyState;

/// It serves: what was to start after it may start.
pub fn ready() {
    tell(NotifyState::Ready);
}

/// It is on its way out, and not by a fault.
pub fn stopping() {
    tell(NotifyState::Stopping);
}

/// A manager that does not listen is no reason to end.
fn tell(state: NotifyState<'_>) {
    if let Err(error) = sd_notify::notify(&[state]) {
        tracing::warn!(%error, "could not notify the service manager");
    }
}
