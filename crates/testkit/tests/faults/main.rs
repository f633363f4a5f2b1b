//! The pieces of the test kit that make faults: does what they break really break, and what they heal heal?
//!
//! They need root and Linux. Where a piece cannot be had, its tests say so and do nothing.

mod clocks;
#[cfg(target_os = "linux")]
mod disks;
mod machines;
#[cfg(target_os = "linux")]
mod power_cuts;
mod wires;

/// Whether a piece can be had here; says by its name why it is skipped if not.
#[expect(clippy::print_stdout, reason = "a test that is skipped says so")]
fn can_be_had(piece: &str, unavailable: Option<String>) -> bool {
    let Some(reason) = unavailable else {
        return true;
    };
    println!("skipped: {piece} cannot be had here: {reason}");
    false
}
