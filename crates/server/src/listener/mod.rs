//! Serves HTTP, and lets go of clients that hold a connection without using it.
//!
//! What `axum::serve` does, with limits that it has not: how many clients there may be, in all and from one address
//! ([`connection_limit`]), how long one may take to say what it wants and to read the answer, and how long it may hold up the end of
//! the process ([`connection`]). HTTP/1.1 only: the library that could tell HTTP/2 from it does so without a time limit,
//! and TLS ends before us.

mod connection;
mod connection_limit;

use std::{sync::Arc, time::Duration};

use axum::Router;
use tokio::{net::TcpListener, time::sleep};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use self::connection::Conversation;
pub(crate) use self::connection_limit::Seats;

/// Accepting fails when file handles run out; some will be given back.
const ACCEPT_PAUSE: Duration = Duration::from_millis(500);

/// Serves until stopped, then until the last connection is closed. A client that does not read its
/// answer for `patience` is let go.
pub(crate) async fn serve(
    listener: TcpListener,
    app: Router,
    seats: Seats,
    patience: Duration,
    stopping: CancellationToken,
) -> anyhow::Result<()> {
    let connections = TaskTracker::new();
    let seats = Arc::new(seats);
    loop {
        let (place, accepted) = tokio::select! {
            accepted = async { (seats.place().await, listener.accept().await) } => accepted,
            () = stopping.cancelled() => break,
        };
        match accepted {
            Ok((stream, peer)) => {
                let Some(seat) = seats.take(place, peer.ip()) else {
                    continue;
                };
                let conversation = Conversation {
                    peer,
                    app: app.clone(),
                    patience,
                    wanted: seats.wanted(),
                    stopping: stopping.clone(),
                };
                connections.spawn(async move {
                    conversation.hold(stream).await;
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
