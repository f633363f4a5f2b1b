//! Which events are wanted: the filters of the list, the live tail and the export, as options.

use clap::Args;
use domain::Timestamp;
use serde_json::{Map, Value};

use crate::moment;

/// An option that is given more than once is satisfied by any of its values; different options must all hold. Flatten it
/// last: the heading holds for what follows it.
#[derive(Clone, Debug, Args)]
#[command(
    next_help_heading = "Filters (repeat one to match any of its values; different ones must all match)"
)]
pub(crate) struct Filter {
    /// Occurred at or after this time: 2026-11-15T09:30:00Z, a day (2026-11-15, yesterday), or how long ago: 90s, 15m, 24h, 7d.
    #[arg(long, value_name = "TIME", value_parser = moment::argument)]
    from: Option<Timestamp>,
    /// Occurred before this time.
    #[arg(long, value_name = "TIME", value_parser = moment::argument)]
    to: Option<Timestamp>,
    /// The event type, such as tool_call.
    #[arg(long = "type", alias = "event-type", value_name = "TYPE")]
    event_type: Vec<String>,
    /// The agent.
    #[arg(long = "agent", alias = "agent-id", value_name = "ID")]
    agent_id: Vec<String>,
    /// The action; payments.* matches every action that starts with `payments.`.
    #[arg(long)]
    action: Vec<String>,
    /// The result, such as denied.
    #[arg(long)]
    result: Vec<String>,
    /// The severity: info, low, medium, high or critical.
    #[arg(long)]
    severity: Vec<String>,
    /// The session.
    #[arg(long = "session", alias = "session-id", value_name = "ID")]
    session_id: Vec<String>,
    /// The trace.
    #[arg(long = "trace", alias = "trace-id", value_name = "ID")]
    trace_id: Vec<String>,
    /// The decision.
    #[arg(long = "decision", alias = "decision-id", value_name = "ID")]
    decision_id: Vec<String>,
    /// Who wrote it: server, key (any API key), or the id of an API key.
    #[arg(long)]
    source: Vec<String>,
    /// Text that the event contains.
    #[arg(long, short, value_name = "TEXT")]
    q: Option<String>,
    /// A query, as in the console: 'agent_id:billing-* -result:success metadata.amount:>500'. docs/reference/query.md
    /// has the language.
    #[arg(long, value_name = "QUERY", allow_hyphen_values = true)]
    filter: Option<String>,
}

impl Filter {
    /// What is asked for, by the API's names.
    fn fields(&self) -> [(&'static str, Vec<String>); 13] {
        let moment = |at: Option<Timestamp>| at.map(|at| at.to_string()).into_iter().collect();
        [
            ("from", moment(self.from)),
            ("to", moment(self.to)),
            ("event_type", self.event_type.clone()),
            ("agent_id", self.agent_id.clone()),
            ("action", self.action.clone()),
            ("result", self.result.clone()),
            ("severity", self.severity.clone()),
            ("session_id", self.session_id.clone()),
            ("trace_id", self.trace_id.clone()),
            ("decision_id", self.decision_id.clone()),
            ("source", self.source.clone()),
            ("q", self.q.clone().into_iter().collect()),
            ("filter", self.filter.clone().into_iter().collect()),
        ]
    }

    /// As parameters of an address.
    pub(crate) fn parameters(&self) -> Vec<(&'static str, String)> {
        let fields = self.fields().into_iter();
        fields
            .flat_map(|(name, values)| values.into_iter().map(move |value| (name, value)))
            .collect()
    }

    /// As fields of a body.
    pub(crate) fn body(&self) -> Map<String, Value> {
        let given = self
            .fields()
            .into_iter()
            .filter(|(_, values)| !values.is_empty());
        let field = |(name, mut values): (&str, Vec<String>)| {
            let value = if ["from", "to", "q", "filter"].contains(&name) {
                Value::from(values.swap_remove(0))
            } else {
                Value::from(values)
            };
            (name.to_owned(), value)
        };
        given.map(field).collect()
    }

    /// The same, and not before this time.
    pub(crate) fn starting(self, from: Timestamp) -> Self {
        Self {
            from: self.from.max(Some(from)),
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use serde_json::json;

    use super::*;

    #[derive(Parser)]
    struct Arguments {
        #[command(flatten)]
        filter: Filter,
    }

    #[test]
    fn options_become_parameters_and_fields_by_the_names_of_the_api() {
        let words = "x --from 2026-11-15T09:30:00Z --to 2026-11-16T00:00:00Z --type tool_call --agent-id a --agent b --trace t -q text --filter -result:success";
        let filter = Arguments::parse_from(words.split(' ')).filter;
        let expected = [
            ("from", "2026-11-15T09:30:00.000Z"),
            ("to", "2026-11-16T00:00:00.000Z"),
            ("event_type", "tool_call"),
            ("agent_id", "a"),
            ("agent_id", "b"),
            ("trace_id", "t"),
            ("q", "text"),
            ("filter", "-result:success"),
        ];
        assert_eq!(
            filter.parameters(),
            expected.map(|(name, value)| (name, value.to_owned()))
        );
        let expected = json!({"from": "2026-11-15T09:30:00.000Z", "to": "2026-11-16T00:00:00.000Z", "event_type": ["tool_call"],
            "agent_id": ["a", "b"], "trace_id": ["t"], "q": "text", "filter": "-result:success"});
        assert_eq!(Value::from(filter.body()), expected);
    }
}
