//! How much memory bodies may take while they arrive, for each organization: whoever sends many large ones slowly waits for
//! itself.

use std::{
    sync::{Arc, LazyLock},
    time::Duration,
};

use axum::{
    extract::Request,
    http::{HeaderMap, header},
};
use domain::OrgId;
use domain::error_code::ErrorCode;
use runtime::semaphores::KeyedSemaphores;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};

use super::{Problem, identity::Identity};

/// Of one organization on one node: six of the largest bodies (5 MiB).
const LARGE_BYTES_PER_ORG_MAX: usize = 32 * 1024 * 1024;
/// A body up to this has a room apart, so that who sends large ones slowly keeps no agent from asking.
const SMALL_BYTES_MAX: usize = 256 * 1024;
const SMALL_BYTES_PER_ORG_MAX: usize = 32 * 1024 * 1024;
/// Of those whose sender is not known yet, all together.
const UNKNOWN_BYTES_MAX: usize = 32 * 1024 * 1024;

/// How long a body waits for room, before any of it is read.
const PATIENCE: Duration = Duration::from_secs(5);

/// Memory belongs to the process, whichever plane reads.
static LARGE: LazyLock<KeyedSemaphores<OrgId>> =
    LazyLock::new(|| KeyedSemaphores::new(LARGE_BYTES_PER_ORG_MAX));
static SMALL: LazyLock<KeyedSemaphores<OrgId>> =
    LazyLock::new(|| KeyedSemaphores::new(SMALL_BYTES_PER_ORG_MAX));
static UNKNOWN: LazyLock<Arc<Semaphore>> =
    LazyLock::new(|| Arc::new(Semaphore::new(UNKNOWN_BYTES_MAX)));

/// Room for a body, until dropped.
pub struct Room {
    _permit: OwnedSemaphorePermit,
}

/// Waits for room for all of a body, so that none waits half-read for another.
pub fn room_for(
    request: &Request,
    bytes_max: usize,
) -> impl Future<Output = Result<Room, Problem>> + use<> {
    let bytes = length(request.headers()).map_or(bytes_max, |length| length.min(bytes_max));
    let room = match request.extensions().get::<Identity>() {
        None => Arc::clone(&UNKNOWN),
        Some(identity) if bytes <= SMALL_BYTES_MAX => SMALL.of(identity.org()),
        Some(identity) => LARGE.of(identity.org()),
    };
    let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
    async move {
        match timeout(PATIENCE, room.acquire_many_owned(bytes)).await {
            Ok(Ok(permit)) => Ok(Room { _permit: permit }),
            _ => {
                let detail =
                    "Too many requests are still being received; send this one again shortly.";
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
