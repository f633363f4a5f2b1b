//! The built-in receiver: verifies every webhook as a customer should, and shows it.

use std::{net::SocketAddr, sync::Arc};

use anyhow::Context as _;
use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, StatusCode},
    routing::post,
};
use serde_json::Value;
use tokio::{net::TcpListener, sync::mpsc};
use tokio_util::sync::CancellationToken;
use webhook_signature::{SIGNATURE_HEADER, TIMESTAMP_HEADER, Verifier};

use crate::{
    commands::{note, say},
    lifecycle::Tasks,
    system_clock,
};

const PATH: &str = "/webhooks";
/// For seeing what becomes of deliveries that fail.
const BROKEN_PATH: &str = "/webhooks/broken";
/// Webhooks that wait to be shown; more are acknowledged but not shown.
const SHOWN_MAX: usize = 1_000;

pub(super) struct Receiver {
    pub address: SocketAddr,
    pub arrivals: mpsc::Receiver<String>,
}

#[derive(Clone)]
struct Shared {
    verifier: Arc<Verifier>,
    arrivals: mpsc::Sender<String>,
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
        let (sender, arrivals) = mpsc::channel(SHOWN_MAX);
        let shared = Shared {
            verifier: Arc::new(Verifier::new([secret])),
            arrivals: sender,
        };
        let app = Router::new()
            .route(PATH, post(receive))
            .route(BROKEN_PATH, post(fail))
            .with_state(shared);
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

/// As the contract's reference receiver: 400 for a stale time, 401 for a bad signature, else 200. The body says the same in
/// words, for whoever looks at the delivery.
async fn receive(
    State(shared): State<Shared>,
    headers: HeaderMap,
    body: Bytes,
) -> (StatusCode, String) {
    let header = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let now = system_clock::SYSTEM.now();
    let system_time = std::time::UNIX_EPOCH + now.since(domain::Timestamp::default());
    let verdict = shared.verifier.verify(
        header(TIMESTAMP_HEADER),
        header(SIGNATURE_HEADER),
        &body,
        system_time,
    );
    let (status, word, answer) = match &verdict {
        Ok(()) => (StatusCode::OK, "verified".to_owned(), "verified".to_owned()),
        Err(refusal) => {
            let status =
                StatusCode::from_u16(refusal.http_status()).unwrap_or(StatusCode::BAD_REQUEST);
            (
                status,
                format!("REFUSED ({refusal})"),
                format!("refused: {refusal}"),
            )
        }
    };
    let json: Value = serde_json::from_slice(&body).unwrap_or_default();
    let field = |name: &str| json["event"][name].as_str().unwrap_or("?").to_owned();
    let line = format!(
        "{now}  {word}  {} {} by {}: {}  ({})",
        field("event_type"),
        field("action"),
        field("agent_id"),
        field("result"),
        header(webhook_signature::DELIVERY_ID_HEADER).unwrap_or("no delivery id"),
    );
    // Full: shown too slowly, and nothing worse.
    let _ = shared.arrivals.try_send(line);
    (status, answer)
}

/// Fails like a server behind a proxy that lost its database.
async fn fail() -> (StatusCode, &'static str) {
    let answer = "{\"error\":\"internal\",\"message\":\"could not connect to tickets-db:5432\"}";
    (StatusCode::INTERNAL_SERVER_ERROR, answer)
}

/// Shows webhooks as they arrive, until stopped. Standard output belongs to the JSON line, if asked for.
pub(super) async fn show(
    mut arrivals: mpsc::Receiver<String>,
    stopping: CancellationToken,
    json: bool,
) {
    while let Some(line) = tokio::select! {
        line = arrivals.recv() => line,
        () = stopping.cancelled() => None,
    } {
        if json {
            note(line);
        } else {
            say(line);
        }
    }
}
