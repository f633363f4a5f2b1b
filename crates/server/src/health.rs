//! Whether this node is alive, whether it should get traffic, and what it counted.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use axum::{
    Json,
    extract::State,
    http::{StatusCode, header},
    response::IntoResponse,
};
use journal::Journal;
use metrics_exporter_prometheus::PrometheusHandle;
use serde::Serialize;
use store::Store;
use tokio::time::{MissedTickBehavior, interval, timeout};
use tokio_util::sync::CancellationToken;
use utoipa::ToSchema;

use crate::{lifecycle::Tasks, telemetry::metrics as names};

/// How often the dependencies are asked how they are; answers to probes come from memory.
const ASK_EVERY: Duration = Duration::from_secs(1);
/// A dependency that has not answered by then is down.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);

/// How this node is. Cheap to clone.
#[derive(Clone)]
pub struct Health {
    journal: Journal,
    postgres: Arc<AtomicBool>,
    draining: CancellationToken,
    metrics: PrometheusHandle,
}

impl Health {
    /// Starts asking PostgreSQL how it is.
    pub fn start(
        journal: &Journal,
        store: &Store,
        metrics: PrometheusHandle,
        tasks: &Tasks,
    ) -> Self {
        let health = Self {
            journal: journal.clone(),
            postgres: Arc::new(AtomicBool::new(false)),
            draining: tasks.draining().clone(),
            metrics,
        };
        tasks.spawn(
            "health",
            health.clone().ask(store.clone(), tasks.stopping().clone()),
        );
        health
    }

    async fn ask(self, store: Store, stopping: CancellationToken) -> anyhow::Result<()> {
        let mut ticks = interval(ASK_EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = ticks.tick() => {}
                () = stopping.cancelled() => return Ok(()),
            }
            let answered = tokio::select! {
                answered = timeout(ANSWER_TIMEOUT, store.ping()) => answered,
                () = stopping.cancelled() => return Ok(()),
            };
            let up = answered.is_ok_and(|answer| answer.is_ok());
            self.postgres.store(up, Ordering::Relaxed);
            let gauge = |dependency: &'static str, up: bool| {
                metrics::gauge!(names::DEPENDENCY_UP, "dependency" => dependency)
                    .set(f64::from(u8::from(up)));
            };
            gauge("postgres", up);
            gauge("journal", self.journal.is_connected());
            self.metrics.run_upkeep();
        }
    }
}

/// What `/healthz/ready` reports.
#[derive(Serialize, ToSchema)]
pub struct Readiness {
    /// Whether this node should receive traffic.
    ready: bool,
    /// Shutting down: send it no new traffic.
    draining: bool,
    journal: bool,
    /// Does not affect `ready`: ingest and deliveries continue without PostgreSQL.
    postgres: bool,
}

/// The process is running.
#[utoipa::path(get, path = "/healthz/live", tag = "health", responses((status = 204, description = "Alive")))]
pub async fn live() -> StatusCode {
    StatusCode::NO_CONTENT
}

/// The node should receive traffic: it is not draining and can reach the journal.
#[utoipa::path(get, path = "/healthz/ready", tag = "health", responses(
    (status = 200, description = "Ready", body = Readiness),
    (status = 503, description = "Not ready", body = Readiness),
))]
pub async fn ready(State(health): State<Health>) -> impl IntoResponse {
    let (draining, journal) = (
        health.draining.is_cancelled(),
        health.journal.is_connected(),
    );
    let ready = journal && !draining;
    let status = if ready {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    let postgres = health.postgres.load(Ordering::Relaxed);
    (
        status,
        Json(Readiness {
            ready,
            draining,
            journal,
            postgres,
        }),
    )
}

/// Metrics in the Prometheus text format.
#[utoipa::path(get, path = "/metrics", tag = "health", responses(
    (status = 200, description = "Metrics", content_type = "text/plain", body = String),
))]
pub async fn metrics(State(health): State<Health>) -> impl IntoResponse {
    (
        [(header::CONTENT_TYPE, "text/plain; version=0.0.4")],
        health.metrics.render(),
    )
}
