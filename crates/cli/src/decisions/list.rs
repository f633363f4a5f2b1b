//! `watchbell decisions list`: the audit events that decisions are.

use std::process::ExitCode;

use clap::Args;
use domain::{Timestamp, event::reserved::DECISION};

use crate::{
    moment,
    page::{self, Page, given},
    server::Server,
    table::cell,
};

#[derive(Debug, Args)]
pub struct List {
    /// Made at or after this time: 2026-11-15T09:30:00Z, a day (2026-11-15, yesterday), or how long ago: 15m, 24h, 7d.
    #[arg(long, value_name = "TIME", value_parser = moment::argument)]
    from: Option<Timestamp>,
    /// Made before this time.
    #[arg(long, value_name = "TIME", value_parser = moment::argument)]
    to: Option<Timestamp>,
    /// For this agent.
    #[arg(long, alias = "agent-id", value_name = "ID")]
    agent: Option<String>,
    /// About this action; payments.* matches every action that starts with `payments.`.
    #[arg(long)]
    action: Option<String>,
    /// With this result: allowed, denied, modified, escalated or not_enforced; repeatable.
    #[arg(long)]
    result: Vec<String>,
    /// A query, as in the console: 'policy:refunds took_us:>500'. docs/reference/query.md has the
    /// language.
    #[arg(long, value_name = "QUERY", allow_hyphen_values = true)]
    filter: Option<String>,
    #[command(flatten)]
    page: Page,
    #[command(flatten)]
    server: Server,
}

impl List {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        let call = self.server.api()?.get("/v1/audit/events");
        let call = call.query(&self.filter()).query(&self.page.parameters());
        let text = call.text().await?;
        let fields = [
            "occurred_at",
            "result",
            "agent_id",
            "action",
            "resource",
            "decision_id",
        ];
        page::show(
            &text,
            self.server.output,
            "decisions",
            ["decided at", "result", "agent", "action", "resource", "id"],
            |decision| fields.map(|field| cell(decision, field)),
        )
    }

    fn filter(&self) -> Vec<(&'static str, String)> {
        let moment = |at: Option<Timestamp>| at.map(|at| at.to_string());
        let mut filter = given([
            ("event_type", Some(DECISION.to_owned())),
            ("from", moment(self.from)),
            ("to", moment(self.to)),
            ("agent_id", self.agent.clone()),
            ("action", self.action.clone()),
            ("filter", self.filter.clone()),
        ]);
        filter.extend(self.result.iter().map(|result| ("result", result.clone())));
        filter
    }
}
