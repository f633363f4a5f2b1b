//! What is answered about an event that is not there: that it was erased, if it was.

use domain::{EventId, OrgId, error_code::ErrorCode};

use crate::{edge::Problem, planes::ControlPlane};

/// The problem: by which event it was erased, or that there is none.
pub(crate) async fn missing(plane: &ControlPlane, org: OrgId, id: EventId) -> Problem {
    let erased = match plane.store.erased_events(org, &[id]).await {
        Ok(erased) => erased,
        Err(error) => return error.into(),
    };
    erased.get(&id).map_or_else(
        || Problem::not_found("event"),
        |by| {
            let detail =
                format!("This event was erased. The event {by} has who asked for it and why.");
            Problem::new(ErrorCode::Gone, detail)
        },
    )
}
