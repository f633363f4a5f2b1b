//! Serves HTTP, and lets go of clients that hold a connection without using it.
//!
//! What `axum::serve` does, with two limits that it has not: how long a client may take to say what
//! it wants, and how long it may hold up the end of the process.

use std::time::Duration;

use axum::Router;
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::conn::auto::Builder,
    service::TowerToHyperService,
};
use tokio::{
    net::{TcpListener, TcpStream},
    pin,
    time::{sleep, timeout},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// From one request to the end of the next one's head. Longer than the 60 s after which load
/// balancers close connections by themselves, so that they never use one that we are closing.
const HEAD_TIMEOUT: Duration = Duration::from_secs(75);
/// How long requests in flight may go on once the process stops.
const FINISH_TIMEOUT: Duration = Duration::from_secs(10);
/// Accepting fails when file handles run out; some will be given back.
const ACCEPT_PAUSE: Duration = Duration::from_millis(500);

/// Serves until stopped, then until the last connection is closed.
pub(crate) async fn serve(
    listener: TcpListener,
    app: Router,
    stopping: CancellationToken,
) -> anyhow::Result<()> {
    let connections = TaskTracker::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stopping.cancelled() => break,
        };
        match accepted {
            Ok((stream, _)) => {
                connections.spawn(converse(stream, app.clone(), stopping.clone()));
            }
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                sleep(ACCEPT_PAUSE).await;
            }
        }
    }
    // From here on new connections are refused, so that a client tries another node at once.
    drop(listener);
    connections.close();
    connections.wait().await;
    Ok(())
}

async fn converse(stream: TcpStream, app: Router, stopping: CancellationToken) {
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT);
    // Without it small answers wait for an acknowledgement. A socket that refuses is only slower.
    let _ = stream.set_nodelay(true);
    let connection = builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(app));
    pin!(connection);
    // How a connection ends is the client's business; what we did is counted elsewhere.
    tokio::select! {
        _ = connection.as_mut() => return,
        () = stopping.cancelled() => {}
    }
    connection.as_mut().graceful_shutdown();
    let _ = timeout(FINISH_TIMEOUT, connection).await;
}
