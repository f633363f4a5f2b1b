//! Decisions of the demo's past: made by the same code as anybody's, with a clock that is told the time.
//!
//! They are made within this process, because no request may say when it was decided. So a tool call that was denied
//! last night has its decision, of last night.

use std::{cell::RefCell, time::Duration};

use anyhow::{Context as _, ensure};
use domain::{DecisionId, Timestamp, clock::Clock};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use journal::{appenders::Appenders, streams::Log};
use policy::{Question, Verdict};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use tokio::task::JoinSet;

use super::client::Client;
use crate::{
    config::Config,
    decisions::{
        answer::answer,
        request::{Ask, Asker, Named, Run},
    },
    edge::byte_budget::ByteBudget,
    lifecycle::Tasks,
    node::Node,
    planes::{DataParts, DataPlane},
};

/// Questions on their way at once: the journal groups what arrives meanwhile.
const LANES: usize = 64;
/// From the verdict until the agent tells that it was refused.
const TOLD_AFTER: Duration = Duration::from_millis(3);

tokio::task_local! {
    static ASKED_AT: Timestamp;
}

/// What a decision needs of the process that it is made in.
pub(in crate::commands::dev) struct Process<'a> {
    pub(in crate::commands::dev) node: &'a Node,
    pub(in crate::commands::dev) config: &'a Config,
    pub(in crate::commands::dev) tasks: &'a Tasks,
}

/// Makes decisions of any time, for the demo's organization.
pub(in crate::commands::dev) struct Decider {
    plane: DataPlane,
    asker: Asker,
    /// Ends with it, when the past is told.
    _appending: JoinSet<()>,
}

/// What was decided.
pub(super) struct Decided {
    pub(super) id: DecisionId,
    pub(super) verdict: Verdict,
    reason: String,
}

impl Decider {
    pub(in crate::commands::dev) async fn new(
        process: &Process<'_>,
        client: &Client,
    ) -> anyhow::Result<Self> {
        let Process {
            node,
            config,
            tasks,
        } = process;
        let appending = RefCell::new(JoinSet::new());
        let events = Appenders::start(&node.journal, Log::Events, |_, task| {
            appending.borrow_mut().spawn(task);
        });
        let plane = DataPlane::from(DataParts {
            clock: Clock::new(|| ASKED_AT.get()),
            // A day that passes within a second is nobody's use of the present.
            budget: ByteBudget::new(&config.events, node.journal.partitions()),
            ..node.data_parts(events, tasks)
        });
        let me = client.get_as_owner("/v1/me").await?;
        let keys = client.get_as_owner("/v1/api-keys").await?;
        let asker = Asker {
            org: id(&me["organisation"])?,
            // The one that the organization was founded with.
            key: Some(id(&keys["data"][0])?),
        };
        Ok(Self {
            plane,
            asker,
            _appending: appending.into_inner(),
        })
    }

    /// Asks about everything that these events say was denied, at the time when they say so, and writes into each which
    /// decision that was.
    pub(super) async fn judge(&self, events: &mut [Value]) -> anyhow::Result<()> {
        let denied = events
            .iter_mut()
            .filter(|event| event["result"] == "denied");
        let judged = denied.map(|event| async move {
            let at: Timestamp = serde_json::from_value(event["occurred_at"].clone())?;
            let decided = self.decide(question(event), at.minus(TOLD_AFTER)).await?;
            ensure!(
                decided.verdict == Verdict::Deny,
                "{event} is denied, and its decision is not"
            );
            event["decision_id"] = decided.id.to_string().into();
            event["metadata"]["reason"] = decided.reason.into();
            anyhow::Ok(())
        });
        stream::iter(judged)
            .buffer_unordered(LANES)
            .try_collect()
            .await
    }

    /// Asks a question, in the words of the API, at this time.
    pub(super) async fn decide(&self, question: Value, at: Timestamp) -> anyhow::Result<Decided> {
        let text = |name: &str| question[name].as_str().map(str::to_owned);
        let named = Named {
            agent_id: text("agent_id").context("who asks")?,
            action: text("action").context("what is asked")?,
            resource: text("resource"),
            run: Run {
                session_id: text("session_id"),
                trace_id: text("trace_id"),
                ..Run::default()
            },
        };
        let context = question["context"].as_object().cloned().unwrap_or_default();
        let (agent, action, about) = (&named.agent_id, &named.action, named.resource.as_deref());
        let asked = Question::of_agent(agent, action, about, context);
        let ask = Ask::new(asked, named);
        let ask = ask.and_then(|ask| ask.with_payload(question.get("payload").cloned()));
        let ask = ask.map_err(|faults| anyhow::anyhow!("{faults:?}"))?;
        let answering = answer(&self.plane, self.asker, &ask);
        let answer = ASKED_AT.scope(at, answering).await;
        let answer = answer.map_err(|unanswered| {
            let problem = unanswered.in_words(|fault| fault);
            anyhow::anyhow!("decide {question}: {}", problem.detail())
        })?;
        Ok(Decided {
            id: answer.decision_id,
            verdict: answer.verdict,
            reason: answer.decided.reason,
        })
    }
}

/// The id of what the API answered.
fn id<Id: DeserializeOwned>(of: &Value) -> anyhow::Result<Id> {
    serde_json::from_value(of["id"].clone()).with_context(|| format!("{of} has no id"))
}

/// What the agent of a denied event had asked.
fn question(event: &Value) -> Value {
    json!({
        "agent_id": event["agent_id"], "action": event["action"], "resource": event["resource"],
        "session_id": event["session_id"], "trace_id": event["trace_id"], "context": denied_context(event),
    })
}

/// What makes the demo's policies deny it.
fn denied_context(event: &Value) -> Map<String, Value> {
    let action = event["action"].as_str().unwrap_or_default();
    let (about, _) = action.split_once('.').unwrap_or((action, ""));
    let context = match about {
        "payments" | "payouts" | "invoices" | "quotes" => json!({"account": "frozen"}),
        "deployments" => json!({"frozen": true}),
        "tools" => json!({"command": "rm -rf /var/lib/data"}),
        "secrets" => json!({"ticket": ""}),
        "database" if action == "database.delete" => json!({"environment": "production"}),
        "database" => json!({"data": "personal"}),
        "tickets" | "customers" | "crm" | "calendar" | "messages" => {
            json!({"customer": "opted_out"})
        }
        _ => json!({"destination": "unknown"}),
    };
    let mut context = context.as_object().cloned().unwrap_or_default();
    for name in ["amount", "currency"] {
        if let Some(value) = event["metadata"].get(name) {
            context.insert(name.to_owned(), value.clone());
        }
    }
    context
}

#[cfg(test)]
mod tests {
    use policy::{CedarRequest, PolicySet};

    use super::*;
    use crate::commands::dev::demo::{cast::TEAMS, guard::POLICIES};

    #[test]
    fn whatever_the_story_has_denied_the_policies_deny_for_a_reason() {
        let policies = PolicySet::read(POLICIES, None).expect("policies");
        let tools = TEAMS.iter().flat_map(|team| team.tools);
        let actions = tools
            .filter(|tool| tool.denied > 0)
            .map(|tool| tool.action)
            .chain(["messages.send"]);
        for action in actions {
            let event = json!({"action": action, "metadata": {"amount": 90_000}});
            let context = denied_context(&event);
            let asked = Question::of_agent("agent", action, Some("thing:1"), context);
            let asked = CedarRequest::by_somebody(&asked).expect("a question");
            let now = Timestamp::from_unix_millis(1_780_000_000_000);
            let decided = policies.decide_at(now, &asked, None, false);
            assert_eq!(decided.verdict, Verdict::Deny, "{action}: {decided:?}");
            // What would need approval is denied for the other reason.
            assert!(!decided.reason.contains("approval"), "{decided:?}");
            assert!(!decided.policies.is_empty(), "{decided:?}");
        }
    }
}
