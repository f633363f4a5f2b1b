//! `watchbell decide`: may this agent do this? The exit code says it too: 0 allow or modify, 3 deny, 4 escalate.

use std::process::ExitCode;

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use domain::{DecisionId, Timestamp};
use serde_json::{Value, json};

use crate::{
    api::{Api, read},
    color, exit, input,
    machine::CLOCK,
    output::{Form, Unsaid, note, say},
    server::Server,
    table::{cell, plain, print_pairs},
};

/// How long one question for a resolution may wait for it, in seconds (the API's bound).
const WAIT_S: &str = "30";

#[derive(Debug, Args)]
pub struct Decide {
    /// The agent that wants to act.
    #[arg(long, alias = "agent-id", value_name = "ID")]
    agent: String,
    /// What it wants to do, such as payments.refund.
    #[arg(long)]
    action: String,
    /// What it wants to act on, such as invoice:4711.
    #[arg(long)]
    resource: Option<String>,
    /// Context for the policies, as a JSON object.
    #[arg(long, value_name = "JSON|@FILE", value_parser = input::json_argument)]
    context: Option<Value>,
    /// The payload it is about to send, as a JSON object; a policy may modify it.
    #[arg(long, value_name = "JSON|@FILE", value_parser = input::json_argument)]
    payload: Option<Value>,
    /// A decision that a person approved; asks again with that approval.
    #[arg(long, value_name = "DECISION_ID", conflicts_with = "wait")]
    approval: Option<DecisionId>,
    /// In shadow mode the answer is always allow, with the policies' verdict beside it. Your organization must permit shadow mode.
    #[arg(long, value_enum)]
    mode: Option<Mode>,
    /// If a person has to approve it, wait until someone does, then ask again with the approval, as an agent would.
    #[arg(long)]
    wait: bool,
    #[command(flatten)]
    server: Server,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Mode {
    Enforce,
    Shadow,
}

impl Decide {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        let api = self.server.api()?;
        let mut question = self.question();
        let mut text = ask(&api, &question).await?;
        let mut answer: Value = read(&text)?;
        if self.wait && answer["decision"] == "escalate" {
            text = resolved(&api, &answer).await?;
            let resolution: Value = read(&text)?;
            if resolution["decision"] == "allow" {
                question["approval"] = resolution["decision_id"].clone();
                text = ask(&api, &question).await?;
            }
            answer = read(&text)?;
        }
        let code = match answer["decision"].as_str() {
            Some("allow" | "modify") => exit::DONE,
            Some("escalate") => exit::escalated(),
            _ => exit::denied(),
        };
        let said = match self.server.output {
            Form::Json => say(text),
            Form::Table => print(&answer),
        };
        exit::with(code, said)
    }

    fn question(&self) -> Value {
        let mut question = json!({"agent_id": self.agent, "action": self.action});
        let mode = self.mode.map(|mode| match mode {
            Mode::Enforce => "enforce",
            Mode::Shadow => "shadow",
        });
        let given = [
            ("resource", self.resource.clone().map(Value::from)),
            ("context", self.context.clone()),
            ("payload", self.payload.clone()),
            ("approval", self.approval.map(|id| id.to_string().into())),
            ("mode", mode.map(Value::from)),
        ];
        for (name, value) in given {
            if let Some(value) = value {
                question[name] = value;
            }
        }
        question
    }
}

async fn ask(api: &Api, question: &Value) -> anyhow::Result<String> {
    api.post("/v1/runtime/decisions")
        .json(question)
        .text()
        .await
}

/// The decision once a person has resolved it or its time is over.
async fn resolved(api: &Api, asked: &Value) -> anyhow::Result<String> {
    let id = asked["decision_id"]
        .as_str()
        .context("the decision has no id")?;
    let id: DecisionId = id.parse()?;
    let until = asked["expires_at"].as_str().and_then(Timestamp::parse);
    note(format_args!(
        "watchbell: {id} is waiting for approval until {}",
        cell(asked, "expires_at")
    ));
    loop {
        let call = api.get(&format!("/v1/runtime/decisions/{id}"));
        let text = call
            .query(&[("wait", WAIT_S.to_owned())])
            .repeating()
            .text()
            .await?;
        let decision: Value = read(&text)?;
        let is_over = until.is_none_or(|until| until < CLOCK.now());
        if decision["decision"] != "escalate" || is_over {
            return Ok(text);
        }
    }
}

fn print(answer: &Value) -> Result<(), Unsaid> {
    let verdict = cell(answer, "decision");
    say(format_args!(
        "{}: {}",
        color::word(&verdict),
        cell(answer, "reason")
    ))?;
    let policies = answer["policies"].as_array().into_iter().flatten();
    let policies: Vec<String> = policies.map(policy).collect();
    let errors = answer["errors"].as_array().into_iter().flatten();
    let errors: Vec<String> = errors
        .map(|error| format!("{}: {}", cell(error, "id"), cell(error, "error")))
        .collect();
    let shadow = &answer["shadow"];
    print_pairs(&[
        ("policies", policies.join(", ")),
        ("errors", errors.join("; ")),
        ("payload", cell(answer, "modified_payload")),
        ("waits until", cell(answer, "expires_at")),
        (
            "shadow",
            if shadow.is_null() {
                String::new()
            } else {
                format!("{}: {}", cell(shadow, "decision"), cell(shadow, "reason"))
            },
        ),
        ("version", cell(answer, "policy_version")),
        ("decision", cell(answer, "decision_id")),
    ])
}

/// `large-refunds (forbid)`; the record of a decision has names only.
fn policy(policy: &Value) -> String {
    match policy.as_str() {
        Some(id) => plain(id),
        None => format!("{} ({})", cell(policy, "id"), cell(policy, "effect")),
    }
}
