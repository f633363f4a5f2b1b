//! The witness's two addresses: `POST /add-checkpoint` for logs, and `GET /<origin hash>/checkpoint` for whoever watches them
//! (C2SP tlog-witness). Anyone can connect, so everything has a limit.

use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    body::Body,
    extract::{Path, State},
    http::{StatusCode, header::CONTENT_TYPE},
    response::{IntoResponse as _, Response},
    routing::{get, post},
};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use tokio::{net::TcpListener, sync::Semaphore, task::spawn_blocking, time::timeout};
use transparency_log::{
    AddCheckpoint,
    witness::{Answer, SIZE_CONTENT_TYPE},
};

use super::cosign::{Reply, Witness};
use crate::{connections, machine::CLOCK, output::note};

/// 63 hashes have 3 kB, a signature of Ed25519 a tenth of one, and those that withstand quantum computers, which are passed over,
/// 3 kB each.
const BODY_BYTES_MAX: usize = 64 * 1024;
/// Requests that use the disk at the same time, for different logs; others wait.
const DISK_USERS_MAX: usize = 16;
/// How long the rest of a request may take, other requests for the log and the disk included.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(20);

struct Served {
    witness: Witness,
    disk: Arc<Semaphore>,
}

/// Answers until dropped. A checkpoint that is being written then may be written or not; either is right.
pub(super) async fn serve(listener: TcpListener, witness: Witness) {
    let served = Arc::new(Served {
        witness,
        disk: Arc::new(Semaphore::new(DISK_USERS_MAX)),
    });
    let app = Router::new()
        .route("/add-checkpoint", post(add_checkpoint))
        .route("/{origin_hash}/checkpoint", get(last_checkpoint))
        .with_state(served);
    connections::serve(listener, app).await;
}

async fn add_checkpoint(State(served): State<Arc<Served>>, body: Body) -> Response {
    timeout(REQUEST_TIMEOUT, added(served, body))
        .await
        .unwrap_or_else(|_| plain(StatusCode::REQUEST_TIMEOUT, "it took too long"))
}

async fn added(served: Arc<Served>, body: Body) -> Response {
    let request = match read(body).await {
        Ok(request) => request,
        Err(response) => return response,
    };
    let Some(log) = served
        .witness
        .log(request.checkpoint().unverified().origin())
    else {
        return plain(
            StatusCode::NOT_FOUND,
            "this witness does not know the log in the checkpoint's first line",
        );
    };
    // Before anything is waited for: whoever knows a log's name must not be able to hold it up.
    if let Err(why) = request.checkpoint().note().verify(&log.keys) {
        return refused(&Answer::NotSigned(why));
    }
    let lock = Arc::clone(&log.lock).lock_owned().await;
    let disk = Arc::clone(&served.disk).acquire_owned().await;
    // Whether or not the client still waits: the log is locked until the checkpoint is written.
    let judged = spawn_blocking(move || {
        let _held = (lock, disk);
        let reply = served
            .witness
            .add_checkpoint(&log.keys, &request, CLOCK.now());
        reply.map_err(|error| note(format_args!("watchbell: {error:#}")))
    });
    match judged.await {
        Ok(Ok(Reply::Cosigned(signature))) => format!("{signature}\n").into_response(),
        Ok(Ok(Reply::Refused(answer))) => refused(&answer),
        _ => plain(
            StatusCode::INTERNAL_SERVER_ERROR,
            "the witness could not remember it, and so did not sign it",
        ),
    }
}

/// The request in a body, or the answer to one that is none.
async fn read(body: Body) -> Result<AddCheckpoint, Response> {
    let bytes = match Limited::new(body, BODY_BYTES_MAX).collect().await {
        Ok(collected) => collected.to_bytes(),
        Err(error) if error.is::<LengthLimitError>() => {
            return Err(plain(
                StatusCode::PAYLOAD_TOO_LARGE,
                "a request has at most 64 KiB",
            ));
        }
        Err(_) => return Err(plain(StatusCode::BAD_REQUEST, "the body ended too early")),
    };
    let text = std::str::from_utf8(&bytes)
        .map_err(|_| plain(StatusCode::BAD_REQUEST, "the body is not UTF-8"))?;
    AddCheckpoint::parse(text).map_err(|error| plain(StatusCode::BAD_REQUEST, error))
}

fn refused(answer: &Answer) -> Response {
    let status = StatusCode::from_u16(answer.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    match answer {
        Answer::Conflict { size } => {
            let kind = [(CONTENT_TYPE, SIZE_CONTENT_TYPE)];
            (status, kind, format!("{size}\n")).into_response()
        }
        Answer::Reversed => plain(
            status,
            "the checkpoint is smaller than what it is said to continue",
        ),
        Answer::NotSigned(why) | Answer::Inconsistent(why) => plain(status, why),
        Answer::UnknownLog | Answer::Cosign(_) => status.into_response(),
    }
}

async fn last_checkpoint(
    State(served): State<Arc<Served>>,
    Path(origin_hash): Path<String>,
) -> Response {
    // It becomes the name of a file.
    let is_hash = origin_hash.len() == 64
        && origin_hash
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let unknown = || plain(StatusCode::NOT_FOUND, "nothing was cosigned for this log");
    if !is_hash {
        return unknown();
    }
    let disk = Arc::clone(&served.disk).acquire_owned().await;
    let found = spawn_blocking(move || {
        let _held = disk;
        let last = served.witness.last(&origin_hash);
        last.map_err(|error| note(format_args!("watchbell: {error:#}")))
    });
    match found.await {
        Ok(Ok(Some(checkpoint))) => checkpoint.to_string().into_response(),
        Ok(Ok(None)) => unknown(),
        _ => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

/// A sentence for whoever reads the answer.
fn plain(status: StatusCode, why: impl std::fmt::Display) -> Response {
    (status, format!("{why}\n")).into_response()
}
