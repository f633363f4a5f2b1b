//! One event a line. Blank lines are skipped; a line that is no event sinks nobody but itself.

use super::Read;
use crate::{
    event::Sent,
    fault::{Fault, FaultCode},
};

pub(super) fn read(body: &[u8]) -> Read<'_> {
    let mut read = Read::default();
    for (line, number) in body.split(|byte| *byte == b'\n').zip(1u32..) {
        let line = line.trim_ascii();
        if !line.is_empty() {
            read.push(|| event(line, number));
        }
    }
    read
}

/// Whether the line is JSON is found out when the event is judged, so that it is read once.
fn event(line: &[u8], number: u32) -> Result<Sent<'_>, Fault> {
    std::str::from_utf8(line).map(Sent::bare).map_err(|error| {
        let detail = format!(
            "Line {number} is not UTF-8: its byte {} is not part of a character.",
            error.valid_up_to()
        );
        Fault::new(FaultCode::NotAnObject, "", detail)
    })
}
