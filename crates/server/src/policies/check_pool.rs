//! Reads and checks policies on threads that may be busy, few at a time: a thousand policies keep a core busy for
//! the better part of a second.

use std::time::Duration;

use domain::{OrgId, error_code::ErrorCode};
use tokio::{task::spawn_blocking, time::timeout};

use crate::{edge::Problem, planes::ControlPlane};

/// How long one waits for its turn, which leaves a request time for the work itself and for the database.
const PATIENCE: Duration = Duration::from_secs(5);

/// Does what takes its time when it is the organization's turn. The turn is held by the thread and not by the
/// request: a client that goes away does not end what was begun.
pub async fn run<T: Send + 'static>(
    plane: &ControlPlane,
    org: OrgId,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Problem> {
    let Ok(turn) = timeout(PATIENCE, plane.busy.take(org)).await else {
        let detail = "Too many policies are waiting to be checked; try again shortly.";
        return Err(Problem::new(ErrorCode::Overloaded, detail));
    };
    let done = spawn_blocking(move || {
        let done = work();
        drop(turn);
        done
    });
    done.await.map_err(|error| {
        tracing::error!(%error, "a policy check died");
        Problem::new(ErrorCode::Internal, ErrorCode::Internal.summary())
    })
}
