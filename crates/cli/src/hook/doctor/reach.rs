//! Whether the server answers, and lets this key decide and record.

use serde::Serialize;
use serde_json::json;

use crate::{
    api::Api,
    problem::Problem,
    server::{Address, shown},
};

/// What is said about the server.
#[derive(Debug, Serialize)]
pub(super) struct Reach {
    is_reached: bool,
    pub(super) said: String,
}

impl Reach {
    pub(super) async fn of(address: &Address) -> Self {
        match tried(address).await {
            Ok(said) => Self {
                is_reached: true,
                said,
            },
            Err(error) => Self {
                is_reached: false,
                said: format!("{error:#}"),
            },
        }
    }

    pub(super) fn is_well(&self) -> bool {
        self.is_reached
    }
}

async fn tried(address: &Address) -> anyhow::Result<String> {
    let api = address.api()?;
    for moment in ["before", "after"] {
        takes(&api, moment).await?;
    }
    let url = shown(api.base());
    let url = url.trim_end_matches('/');
    Ok(format!("{url} answers, and the key may decide and record"))
}

/// Asks about no call at all: who may ask is told so, and nothing is decided or recorded.
async fn takes(api: &Api, moment: &str) -> anyhow::Result<()> {
    let path = format!("/v1/hooks/codex/{moment}");
    let Err(error) = api.post(&path).json(&json!({})).send().await else {
        return Ok(());
    };
    match error.downcast_ref::<Problem>() {
        Some(problem) if problem.status == 422 => Ok(()),
        _ => Err(error),
    }
}
