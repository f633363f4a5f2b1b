//! Whether what this node depends on answers, and how fast.

use std::time::Instant;

use journal::streams::Log;
use runtime::error_chain::chain;
use secrecy::ExposeSecret as _;
use serde::Serialize;
use tokio::time::timeout;
use utoipa::ToSchema;

use super::ANSWER_TIMEOUT;
use crate::{edge::enums::DependencyName, planes::ControlPlane};

/// A service that this node depends on.
#[derive(Serialize, ToSchema)]
pub struct DependencyBody {
    /// `postgres`, `journal` or, if one is used, `redis`.
    #[schema(value_type = DependencyName, example = "journal")]
    name: &'static str,
    up: bool,
    /// How long it took to answer; `null` if it did not.
    #[schema(required)]
    took_ms: Option<f64>,
    /// What is wrong, or what it is.
    #[schema(required)]
    detail: Option<String>,
}

/// Asks all of them at once.
pub(super) async fn ask(plane: &ControlPlane) -> Vec<DependencyBody> {
    let postgres = asked("postgres", async {
        plane.store.ping().await.map_err(|error| chain(&error))?;
        Ok(None)
    });
    let journal = asked("journal", async {
        let mut partitions = plane.journal.partitions().all();
        let first = partitions.next().expect("there is at least one partition");
        let state = plane.journal.log_state(Log::Events(first)).await;
        state.map_err(|error| chain(&error))?;
        Ok(Some(format!("NATS {}", plane.journal.server_version())))
    });
    let redis = async {
        let url = plane.process.redis_url.as_ref()?;
        let answer = asked("redis", async {
            let answer = limits::ping(url.expose_secret()).await;
            answer.map_err(|error| chain(&error))?;
            Ok(None)
        });
        Some(answer.await)
    };
    let (postgres, journal, redis) = tokio::join!(postgres, journal, redis);
    [Some(postgres), Some(journal), redis]
        .into_iter()
        .flatten()
        .collect()
}

async fn asked(
    name: &'static str,
    answer: impl Future<Output = Result<Option<String>, String>>,
) -> DependencyBody {
    let started = Instant::now();
    let answer = timeout(ANSWER_TIMEOUT, answer)
        .await
        .unwrap_or_else(|_| Err(format!("no answer within {ANSWER_TIMEOUT:?}")));
    let took_ms = started.elapsed().as_secs_f64() * 1e3;
    match answer {
        Ok(detail) => DependencyBody {
            name,
            up: true,
            took_ms: Some(took_ms),
            detail,
        },
        Err(wrong) => DependencyBody {
            name,
            up: false,
            took_ms: None,
            detail: Some(wrong),
        },
    }
}
