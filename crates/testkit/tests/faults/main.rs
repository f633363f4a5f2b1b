//! The pieces of the test kit that make faults: does what they break really break, and what they heal heal?
//!
//! They need root and Linux. Where a piece cannot be had, its tests say so and do nothing.

#[cfg(target_os = "linux")]
mod disks;
mod machines;
#[cfg(target_os = "linux")]
mod power_cuts;

/// Whether a piece can be had here; says by its name why it is skipped if not.
fn can_be_had(piece: &str, unavailable: Option<String>) -> bool {
    if let Some(reason) = &unavailable {
        println!("skipped: {piece} cannot be had here: {reason}");
    }
    unavailable.is_none()
}
