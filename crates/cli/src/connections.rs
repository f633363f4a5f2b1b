//! Connections to a small HTTP server that anybody may reach: everything about them has a limit.

use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use tokio::{
    net::{TcpListener, TcpStream},
    task::JoinSet,
    time::sleep,
};
use tokio_io_timeout::TimeoutStream;

use crate::output::note;

/// Further clients wait to be accepted. Each has one request at a time.
const CONNECTIONS_MAX: usize = 256;
/// From one request to the end of the next one's head.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a head may be, and how much of a body is read at a time.
const HEAD_BYTES_MAX: usize = 16 * 1024;
/// How long a client may not read, while there is something to read. How long an answer is silent is the app's business.
const UNREAD_TIMEOUT: Duration = Duration::from_secs(60);
/// Accepting fails when file handles run out; some will be given back.
const ACCEPT_PAUSE: Duration = Duration::from_millis(500);

/// Answers until dropped.
pub(crate) async fn serve(listener: TcpListener, app: Router) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept(), if connections.len() < CONNECTIONS_MAX => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(converse(stream, app.clone()));
                }
                Err(error) => {
                    note(format_args!("watchbell: a connection could not be accepted: {error}"));
                    sleep(ACCEPT_PAUSE).await;
                }
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

/// One connection. How it ends is the client's business.
async fn converse(stream: TcpStream, app: Router) {
    // Without it small answers wait for an acknowledgment. A socket that refuses is only slower.
    let _ = stream.set_nodelay(true);
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(UNREAD_TIMEOUT));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(HEAD_BYTES_MAX)
        .serve_connection(
            TokioIo::new(Box::pin(stream)),
            TowerToHyperService::new(app),
        );
    let _ = connection.await;
}
