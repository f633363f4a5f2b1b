//! Lists of tools: what changed in them is recorded, and what the client must not see is hidden.

use std::{
    collections::HashSet,
    time::{Duration, Instant},
};

use domain::{event::sanitize, mcp::Tools};
use futures::future::join_all;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::{
    call::{self, Session},
    catalog::{Change, ToPin},
    decision::Decision,
    guard::{DECISION_MAX, Guard, answered},
    pins,
};
use crate::{api::read, machine::CLOCK, output::note};

/// How many decisions are asked for at the same time.
const QUESTIONS_MAX: usize = 8;
/// How long that may take for a page. What is not decided by then is shown.
const PAGE_MAX: Duration = Duration::from_secs(10);
/// The longest name of a tool in an event: a call of one with a longer name is refused.
const TOOL_CHARS_MAX: usize = 128;

/// Of a page of tools, what the client must not see.
#[derive(Debug)]
pub(super) struct Listed {
    /// The places of those tools.
    pub(super) hidden: HashSet<usize>,
    /// The places and names of tools that policies have yet to be asked about.
    pub(super) undecided: Vec<(usize, String)>,
}

impl Guard {
    /// The server lists tools. None if this is no such list.
    pub(super) fn listed(
        &self,
        session: &Session,
        result: &Value,
        is_first: bool,
    ) -> Option<Listed> {
        let tools = Tools::of(result)?;
        let looked = self.catalog().look(&tools, is_first);
        for change in looked.changes {
            self.recorder.record(self.change_event(session, change));
        }
        if looked.untold > 0 {
            self.recorder
                .record(self.untold_event(session, looked.untold));
        }
        if let Some(to_pin) = looked.to_pin {
            self.pin(to_pin);
        }
        let hidden: HashSet<usize> = looked.differing.into_iter().collect();
        let mut undecided = Vec::new();
        if self.hides_denied {
            let names = tools.definitions().map(|(name, _)| name.to_owned());
            let names = names.enumerate();
            undecided.extend(names.filter(|(place, _)| !hidden.contains(place)));
        }
        Some(Listed { hidden, undecided })
    }

    fn pin(&self, ToPin { file, tools }: ToPin) {
        match pins::keep(&file, &self.server, tools) {
            Ok(pinned) => {
                self.catalog().pin(pinned);
                note(format_args!(
                    "watchbell: the tools are pinned in {}",
                    file.display()
                ));
            }
            Err(error) => note(format_args!(
                "watchbell: all calls are denied until the tools can be pinned: {error:#}"
            )),
        }
    }

    /// The places of tools that the client must not see, once policies were asked. If nobody says so, a tool is shown: a call of it is
    /// decided about in any case.
    pub(super) async fn hidden(&self, session: &Session, listed: Listed) -> HashSet<usize> {
        let Listed {
            mut hidden,
            undecided,
        } = listed;
        let until = Instant::now() + PAGE_MAX;
        for some in undecided.chunks(QUESTIONS_MAX) {
            let mut asking = Vec::new();
            for (_, tool) in some {
                asking.push(self.is_denied_regardless(session, tool));
            }
            let left = until.saturating_duration_since(Instant::now());
            let Ok(answers) = timeout(left, join_all(asking)).await else {
                break;
            };
            let answers = some.iter().zip(answers);
            hidden
                .extend(answers.filter_map(|((place, _), is_denied)| is_denied.then_some(*place)));
        }
        hidden
    }

    /// Whether policies deny the tool whatever it is called with.
    async fn is_denied_regardless(&self, session: &Session, tool: &str) -> bool {
        let names = (&*self.agent_id, &*self.server);
        let Some(question) = call::listing_question(names, session, tool) else {
            return false;
        };
        let asking = self.api.post("/v1/runtime/decisions").json(&question);
        let Ok(text) = answered(DECISION_MAX, asking.text()).await else {
            return false;
        };
        read(&text).is_ok_and(|decision: Decision| decision.is_no_regardless())
    }

    fn change_event(&self, session: &Session, change: Change) -> Value {
        let Change {
            action,
            tool,
            before,
            after,
        } = change;
        let is_another = before.is_some() && after.is_some();
        let name = sanitize::text(&tool, TOOL_CHARS_MAX).unwrap_or_default();
        json!({
            "event_type": "tool_change",
            "occurred_at": CLOCK.now(),
            "agent_id": self.agent_id,
            "action": action,
            "resource": format!("tool:{name}"),
            "result": "success",
            "severity": if is_another { "high" } else { "medium" },
            "session_id": session.id,
            "metadata": {"mcp_server": self.server, "tool_name": name, "before": before, "after": after},
        })
    }

    /// A server that changes everything at once must not fill the trail with it.
    fn untold_event(&self, session: &Session, count: usize) -> Value {
        json!({
            "event_type": "tool_change",
            "occurred_at": CLOCK.now(),
            "agent_id": self.agent_id,
            "action": "mcp_tools.change",
            "result": "success",
            "severity": "high",
            "session_id": session.id,
            "metadata": {"mcp_server": self.server, "more_changes": count},
        })
    }
}
