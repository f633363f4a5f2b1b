//! Serves HTTP, and lets go of clients that hold a connection without using it.
//!
//! What `axum::serve` does, with limits that it has not: how many clients there may be, how long one
//! may take to say what it wants and to read the answer, and how long it may hold up the end of the
//! process. HTTP/1.1 only: the library that could tell HTTP/2 from it does so without a time limit, and
//! TLS ends before us.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use axum::{Router, body::Body, extract::ConnectInfo, http::Request};
use hyper::{body::Incoming, server::conn::http1};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use tokio::{
    net::{TcpListener, TcpStream},
    pin,
    sync::Semaphore,
    time::{sleep, timeout},
};
use tokio_io_timeout::TimeoutStream;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tower::ServiceExt as _;

/// From one request to the end of the next one's head. Longer than the 60 s after which load
/// balancers close connections by themselves, so that they never use one that we are closing.
const HEAD_TIMEOUT: Duration = Duration::from_secs(75);
/// How long requests in flight may go on once the process stops.
const FINISH_TIMEOUT: Duration = Duration::from_secs(10);
/// How many connections there may be at a time; the next ones wait to be accepted.
const CONNECTIONS_MAX: usize = 10_000;
/// Accepting fails when file handles run out; some will be given back.
const ACCEPT_PAUSE: Duration = Duration::from_millis(500);

/// Serves until stopped, then until the last connection is closed. A client that does not read its
/// answer for `patience` is let go.
pub(crate) async fn serve(
    listener: TcpListener,
    app: Router,
    patience: Duration,
    stopping: CancellationToken,
) -> anyhow::Result<()> {
    let connections = TaskTracker::new();
    let seats = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let (seat, accepted) = tokio::select! {
            accepted = async {
                let seat = Arc::clone(&seats).acquire_owned().await;
                (seat, listener.accept().await)
            } => accepted,
            () = stopping.cancelled() => break,
        };
        match accepted {
            Ok((stream, peer)) => {
                let conversation = converse(stream, peer, app.clone(), patience, stopping.clone());
                connections.spawn(async move {
                    conversation.await;
                    drop(seat);
                });
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

async fn converse(
    stream: TcpStream,
    peer: SocketAddr,
    app: Router,
    patience: Duration,
    stopping: CancellationToken,
) {
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT);
    // Without it small answers wait for an acknowledgement. A socket that refuses is only slower.
    let _ = stream.set_nodelay(true);
    let app = app.map_request(move |request: Request<Incoming>| {
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(ConnectInfo(peer));
        request
    });
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(patience));
    let stream = TokioIo::new(Box::pin(stream));
    let connection = builder.serve_connection(stream, TowerToHyperService::new(app));
    pin!(connection);
    // How a connection ends is the client's business; what we did is counted elsewhere.
    tokio::select! {
        _ = connection.as_mut() => return,
        () = stopping.cancelled() => {}
    }
    connection.as_mut().graceful_shutdown();
    let _ = timeout(FINISH_TIMEOUT, connection).await;
}
