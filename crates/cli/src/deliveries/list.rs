//! `watchbell deliveries list`.

use std::process::ExitCode;

use clap::Args;
use domain::Timestamp;

use crate::{
    moment,
    page::{self, Page, given},
    server::Server,
    table::cell,
};

#[derive(Debug, Args)]
pub struct List {
    /// For events that occurred at or after this time: 2026-11-15T09:30:00Z, a day (2026-11-15, yesterday), or how long ago: 15m, 24h, 7d.
    #[arg(long, value_name = "TIME", value_parser = moment::argument)]
    from: Option<Timestamp>,
    /// For events that occurred before this time.
    #[arg(long, value_name = "TIME", value_parser = moment::argument)]
    to: Option<Timestamp>,
    /// For this rule.
    #[arg(long = "rule", alias = "rule-id", value_name = "RULE_ID")]
    rule_id: Option<String>,
    /// For this event.
    #[arg(long = "event", alias = "event-id", value_name = "EVENT_ID")]
    event_id: Option<String>,
    /// In this state, such as delivered, scheduled, held or failed; repeatable.
    #[arg(long)]
    state: Vec<String>,
    /// In that state for this reason, such as breaker or exhausted.
    #[arg(long)]
    reason: Option<String>,
    /// For events of this type.
    #[arg(long = "type", alias = "event-type", value_name = "TYPE")]
    event_type: Option<String>,
    /// To this endpoint.
    #[arg(long = "to-url", value_name = "URL")]
    to_url: Option<String>,
    /// With this cause: match, summary or test.
    #[arg(long)]
    cause: Option<String>,
    /// A query, as in the console: 'state:failed attempts:>3'. docs/reference/query.md has the language.
    #[arg(long, value_name = "QUERY", allow_hyphen_values = true)]
    filter: Option<String>,
    #[command(flatten)]
    page: Page,
    #[command(flatten)]
    server: Server,
}

impl List {
    fn parameters(&self) -> Vec<(&'static str, String)> {
        let moment = |at: Option<Timestamp>| at.map(|at| at.to_string());
        let mut parameters = given([
            ("from", moment(self.from)),
            ("to", moment(self.to)),
            ("rule_id", self.rule_id.clone()),
            ("event_id", self.event_id.clone()),
            ("reason", self.reason.clone()),
            ("event_type", self.event_type.clone()),
            ("url", self.to_url.clone()),
            ("filter", self.filter.clone()),
            ("cause", self.cause.clone()),
        ]);
        parameters.extend(self.page.parameters());
        let states = self.state.iter().map(|state| ("state", state.clone()));
        parameters.extend(states);
        parameters
    }

    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        let call = self
            .server
            .api()?
            .get("/v1/deliveries")
            .query(&self.parameters());
        let text = call.text().await?;
        let columns = [
            "matched at",
            "state",
            "reason",
            "attempts",
            "rule",
            "type",
            "id",
        ];
        let fields = [
            "matched_at",
            "state",
            "reason",
            "attempts",
            "rule_name",
            "event_type",
            "id",
        ];
        page::show(
            &text,
            self.server.output,
            "deliveries",
            columns,
            |delivery| fields.map(|field| cell(delivery, field)),
        )
    }
}
