//! `watchbell reference`: prints what the reference pages are generated from.

use clap::{Args, ValueEnum};
use domain::error_code::ErrorCode;
use serde_json::json;

use super::{Cli, say};
use crate::{config::reference, openapi, telemetry::metrics};

#[derive(Debug, Args)]
pub(super) struct Reference {
    page: Page,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Page {
    Openapi,
    Config,
    Errors,
    Cli,
    Metrics,
}

impl Reference {
    pub(super) fn run(self) -> anyhow::Result<()> {
        let text = match self.page {
            Page::Openapi => openapi::document(),
            Page::Config => reference::page(),
            Page::Errors => errors()?,
            Page::Cli => cli::reference::page(Cli::grouped()),
            Page::Metrics => metrics::page(),
        };
        say(text.trim_end());
        Ok(())
    }
}

fn errors() -> anyhow::Result<String> {
    let entry = |code: &ErrorCode| {
        json!({
            "code": code.as_str(),
            "title": code.title(),
            "status": code.status(),
            "summary": code.summary(),
            "what_to_do": code.what_to_do(),
        })
    };
    Ok(serde_json::to_string_pretty(
        &ErrorCode::ALL.iter().map(entry).collect::<Vec<_>>(),
    )?)
}
