//! How far a long job is, on standard error, and only if somebody looks: not drawn where that is no terminal.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

const REDRAWN_EVERY: Duration = Duration::from_millis(100);

/// Counts something whose end is not known.
pub(crate) fn counting(what: &'static str) -> ProgressBar {
    let bar = ProgressBar::new_spinner().with_message(what);
    drawn(bar, "{spinner} {human_pos} {msg}, {elapsed}")
}

/// Bytes of something whose end is not known, and a message.
pub(crate) fn bytes() -> ProgressBar {
    drawn(
        ProgressBar::new_spinner(),
        "{spinner} {bytes} ({bytes_per_sec}), {elapsed} {msg}",
    )
}

/// How much of `whole` is done, and a message.
pub(crate) fn of(whole: u64) -> ProgressBar {
    drawn(ProgressBar::new(whole), "[{bar:30}] {percent}% {msg}")
}

fn drawn(bar: ProgressBar, template: &str) -> ProgressBar {
    let style =
        ProgressStyle::with_template(template).expect("the templates above are well formed");
    bar.set_style(style);
    bar.enable_steady_tick(REDRAWN_EVERY);
    bar
}
