//! How much memory bodies may take while they arrive, for each organisation: whoever sends many large ones slowly waits for
//! itself.

use std::{sync::LazyLock, time::Duration};

use axum::{
    extract::Request,
    http::{HeaderMap, header},
};
use domain::error_code::ErrorCode;
use tokio::{sync::OwnedSemaphorePermit, time::timeout};

use super::{Problem, identity::Identity};
use crate::org_semaphores::OrgSemaphores;

/// Of one organisation on one node: six of the largest bodies (5 MiB), or hundreds of the usual ones.
const BYTES_PER_ORG_MAX: usize = 32 * 1024 * 1024;

/// How long a body waits for room, before any of it is read.
const PATIENCE: Duration = Duration::from_secs(5);

/// Memory belongs to the process, whichever plane reads.
static ROOM: LazyLock<OrgSemaphores> = LazyLock::new(|| OrgSemaphores::new(BYTES_PER_ORG_MAX));

/// Room for a body, until dropped.
pub struct Room {
    _permit: Option<OwnedSemaphorePermit>,
}

/// Waits for room for all of a body, so that none waits half-read for another. A body whose sender is not known is small, and
/// its sender's requests are counted.
pub fn room_for(
    request: &Request,
    bytes_max: usize,
) -> impl Future<Output = Result<Room, Problem>> + use<> {
    let identity = request.extensions().get::<Identity>();
    let bytes = length(request.headers()).map_or(bytes_max, |length| length.min(bytes_max));
    let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
    let permit = identity.map(|identity| ROOM.of(identity.org()).acquire_many_owned(bytes));
    async {
        let Some(permit) = permit else {
            return Ok(Room { _permit: None });
        };
        match timeout(PATIENCE, permit).await {
            Ok(Ok(permit)) => Ok(Room {
                _permit: Some(permit),
            }),
            _ => {
                let detail = "Too many large requests of your organisation are still on their way; send this one again shortly.";
                Err(Problem::new(ErrorCode::Overloaded, detail))
            }
        }
    }
}

/// `None`: it is not said, and may be as long as it may be.
fn length(headers: &HeaderMap) -> Option<usize> {
    let length = headers.get(header::CONTENT_LENGTH)?;
    length.to_str().ok()?.parse().ok()
}
