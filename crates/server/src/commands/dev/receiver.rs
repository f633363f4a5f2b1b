//! The built-in receiver: that of `watchbell listen`, and a path that always fails.

use std::{net::SocketAddr, sync::Arc};

use anyhow::Context as _;
use axum::{Router, http::StatusCode, routing::post};
use cli::receiver::{Arrival, receive};
use tokio::{net::TcpListener, sync::mpsc};
use tokio_util::sync::CancellationToken;

use crate::{
    commands::{note, say},
    lifecycle::Tasks,
};

const PATH: &str = "/webhooks";
/// For seeing what becomes of deliveries that fail.
const BROKEN_PATH: &str = "/webhooks/broken";

pub(super) struct Receiver {
    pub address: SocketAddr,
    pub arrivals: mpsc::Receiver<Arrival>,
}

impl Receiver {
    /// Listens on `port` if given (the demo rule points there), else on a free one.
    pub(super) async fn start(
        port: Option<u16>,
        secret: &str,
        tasks: &Tasks,
    ) -> anyhow::Result<Self> {
        let address = SocketAddr::from(([127, 0, 0, 1], port.unwrap_or(0)));
        let listener = TcpListener::bind(address)
            .await
            .with_context(|| format!("listen on {address} for the built-in receiver"))?;
        let address = listener.local_addr()?;
        let (receiver, arrivals) = cli::receiver::Receiver::new([secret]);
        let app = Router::new()
            .route(PATH, post(receive))
            .route(BROKEN_PATH, post(fail))
            .with_state(Arc::new(receiver));
        let stopping = tasks.stopping().clone();
        tasks.spawn("receiver", async move {
            axum::serve(listener, app)
                .with_graceful_shutdown(stopping.cancelled_owned())
                .await
                .context("serve the receiver")
        });
        Ok(Self { address, arrivals })
    }

    /// Does not show what came before anybody looked.
    pub(super) fn forget_what_arrived(&mut self) {
        while self.arrivals.try_recv().is_ok() {}
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}{PATH}", self.address)
    }
}

/// Fails like a server behind a proxy that lost its database.
async fn fail() -> (StatusCode, &'static str) {
    let answer = "{\"error\":\"internal\",\"message\":\"could not connect to tickets-db:5432\"}";
    (StatusCode::INTERNAL_SERVER_ERROR, answer)
}

/// Shows webhooks as they arrive, until stopped. Standard output belongs to the JSON line, if asked for.
pub(super) async fn show(
    mut arrivals: mpsc::Receiver<Arrival>,
    stopping: CancellationToken,
    json: bool,
) {
    while let Some(arrival) = tokio::select! {
        arrival = arrivals.recv() => arrival,
        () = stopping.cancelled() => None,
    } {
        if json {
            note(arrival.line());
        } else {
            say(arrival.line());
        }
    }
}
