//! `watchbell deliveries list`.

use std::process::ExitCode;

use clap::Args;
use domain::Timestamp;
use serde_json::Value;

use crate::{
    api::read,
    exit, moment,
    output::{Form, note, say},
    server::Server,
    table::{Table, cell},
};

#[derive(Debug, Args)]
pub struct List {
    /// For events that occurred at or after this time: 2026-11-15T09:30:00Z, or how long ago: 15m, 24h, 7d.
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
    /// Maximum number of results.
    #[arg(long, default_value_t = 100)]
    limit: u32,
    /// Cursor from the previous page.
    #[arg(long)]
    cursor: Option<String>,
    #[command(flatten)]
    server: Server,
}

impl List {
    fn parameters(&self) -> Vec<(&'static str, String)> {
        let moment = |at: Option<Timestamp>| at.map(|at| at.to_string());
        let given = [
            ("from", moment(self.from)),
            ("to", moment(self.to)),
            ("rule_id", self.rule_id.clone()),
            ("event_id", self.event_id.clone()),
            ("reason", self.reason.clone()),
            ("event_type", self.event_type.clone()),
            ("url", self.to_url.clone()),
            ("cause", self.cause.clone()),
            ("limit", Some(self.limit.to_string())),
            ("cursor", self.cursor.clone()),
        ];
        let given = given
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?)));
        let states = self.state.iter().map(|state| ("state", state.clone()));
        given.chain(states).collect()
    }

    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        let call = self
            .server
            .api()?
            .get("/v1/deliveries")
            .query(&self.parameters());
        let text = call.text().await?;
        if self.server.output == Form::Json {
            say(text)?;
            return Ok(exit::DONE);
        }
        let page: Value = read(&text)?;
        let mut table = Table::new([
            "matched at",
            "state",
            "reason",
            "attempts",
            "rule",
            "type",
            "id",
        ]);
        for delivery in page["data"].as_array().into_iter().flatten() {
            let fields = [
                "matched_at",
                "state",
                "reason",
                "attempts",
                "rule_name",
                "event_type",
                "id",
            ];
            table.row(fields.map(|field| cell(delivery, field)));
        }
        if table.is_empty() {
            note("No deliveries.");
        } else {
            table.print()?;
        }
        if page["fresh"] == false {
            note(
                "watchbell: some of the newest deliveries are not listed yet; try again in a moment",
            );
        }
        if let Some(cursor) = page["next_cursor"].as_str() {
            note(format_args!("There may be more: --cursor {cursor}."));
        }
        Ok(exit::DONE)
    }
}
