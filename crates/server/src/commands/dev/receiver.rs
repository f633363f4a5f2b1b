//! The built-in receiver: that of `watchbell listen`, and a path that always fails.

use std::{net::SocketAddr, sync::Arc};

use anyhow::Context as _;
use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, StatusCode},
    response::Response,
    routing::post,
};
use cli::receiver::{Arrival, receive};
use deliver::send::signing::DeploymentKeys;
use secrecy::ExposeSecret as _;
use store::Store;
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

/// A receiver that knows the initial secret of every organization of this server, those too that are made while it runs.
struct OfAllOrganizations {
    receiver: Arc<cli::receiver::Receiver>,
    store: Store,
    deployment: DeploymentKeys,
}

impl OfAllOrganizations {
    async fn learn(&self) {
        // Without PostgreSQL it knows those that it knew.
        let Ok(organizations) = self.store.organization_ids().await else {
            return;
        };
        let secrets = organizations.into_iter();
        let secrets = secrets.filter_map(|org| self.deployment.initial(org));
        let secrets: Vec<String> = secrets
            .map(|secret| secret.expose_secret().to_owned())
            .collect();
        self.receiver.know(&secrets);
    }
}

async fn receive_from_any(
    State(all): State<Arc<OfAllOrganizations>>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    if !all.receiver.is_verified(&headers, &body) {
        all.learn().await;
    }
    receive(State(Arc::clone(&all.receiver)), headers, body).await
}

impl Receiver {
    /// Listens on `port` if given (the demo rule points there), else on a free one.
    pub(super) async fn start(
        port: Option<u16>,
        store: &Store,
        deployment: DeploymentKeys,
        tasks: &Tasks,
    ) -> anyhow::Result<Self> {
        let address = SocketAddr::from(([127, 0, 0, 1], port.unwrap_or(0)));
        let listener = TcpListener::bind(address)
            .await
            .with_context(|| format!("listen on {address} for the built-in receiver"))?;
        let address = listener.local_addr()?;
        let (receiver, arrivals) = cli::receiver::Receiver::new(Vec::<String>::new());
        let all = OfAllOrganizations {
            receiver: Arc::new(receiver),
            store: store.clone(),
            deployment,
        };
        let app = Router::new()
            .route(PATH, post(receive_from_any))
            .route(BROKEN_PATH, post(fail))
            .with_state(Arc::new(all));
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
