//! Calls of a tool through the guard in front of an MCP server, beside the same calls without it, one at a time.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use anyhow::{Context as _, ensure};
use serde_json::json;
use testkit::{Era, McpClient, mcp, own};
use tokio::task::spawn_blocking;

use crate::{
    Arguments, Verdict,
    lanes::{self, Figures, Requesting},
    rounds::{Rounds, median},
    server::{Customer, Settings},
};

/// Everything is measured so often, in turn.
const ROUNDS: u32 = 3;
/// What the guard adds to a call, beside a decision that it asks for and waits for.
const AIM: f64 = 1.5;
/// Beyond this something is broken, however slow the build and the machine.
const CEILING: f64 = 100.0;
const POLICIES: &str =
    r#"@id("tools") permit (principal, action in Action::"mcp.sums", resource);"#;

/// A client and the server that it started, with the guard between them or without it.
struct Caller {
    era: Era,
    client: Shared,
}

type Shared = Arc<Mutex<McpClient>>;

pub(crate) async fn measure(arguments: &Arguments) -> anyhow::Result<Verdict> {
    let engines = own::durable_engines()?;
    let binary = arguments.binary()?;
    let settings = Settings::prepare(&binary, &engines)?;
    let api = settings.serve("api")?;
    let customer = settings.customer("bench", &api)?;
    let version = customer.write_policies(POLICIES).await?;
    customer.activate(&version).await?;
    let server = mcp::adding_server()?;
    let binary = binary.to_str().context("UTF-8")?;
    let each = Duration::from_secs(arguments.seconds) / ROUNDS;

    let mut verdict = Verdict::default();
    for era in Era::ALL {
        let bare: Vec<&str> = server.iter().map(String::as_str).collect();
        let mut guarded = vec![
            binary, "mcp", "wrap", "--agent", "bench", "--server", "sums",
        ];
        guarded.push("--");
        guarded.extend(&bare);
        let bare = Caller::start(era, &bare, &customer)?;
        let guarded = Caller::start(era, &guarded, &customer)?;
        // The first call reads the policies.
        guarded.call(each / 3).await?;
        let (mut calls, mut decisions, mut p99) = (Rounds::default(), Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let without = bare.call(each).await?;
            let with = guarded.call(each).await?;
            calls.add(without.p50_ms, with.p50_ms);
            p99.push(with.p99_ms);
            decisions.push(decide(&customer, each / 3).await?.p50_ms);
        }
        println!(
            "{era:?}: a call p50 {:.2} ms without the guard, {:.2} ms with it (p99 {:.2} ms): {}; a decision alone p50 {:.2} ms",
            calls.bare(),
            calls.ours(),
            median(&p99),
            calls.ratio(),
            median(&decisions),
        );
        let what = format!("{era:?}: a call beside one without the guard, p50").to_lowercase();
        verdict.tell(&what, calls.ratio().median);
        let added = (calls.ours() - calls.bare()) / median(&decisions);
        let what = format!("{era:?}: what the guard adds, in decisions").to_lowercase();
        verdict.at_most(&what, added, AIM, CEILING);
    }
    Ok(verdict)
}

impl Caller {
    fn start(era: Era, command: &[&str], customer: &Customer) -> anyhow::Result<Self> {
        let client = McpClient::of_command(era, command, customer.variables())?;
        let client = Arc::new(Mutex::new(client));
        Ok(Self { era, client })
    }

    /// One call after the other.
    async fn call(&self, lasting: Duration) -> anyhow::Result<Figures> {
        let client = Arc::clone(&self.client);
        let figures = lanes::run(1, lasting, 1, move || call(Arc::clone(&client))).await;
        figures.with_context(|| format!("{:?}", self.era))
    }
}

fn call(client: Shared) -> Requesting {
    Box::pin(async move {
        let calling = spawn_blocking(move || {
            let mut client = client.lock().unwrap_or_else(PoisonError::into_inner);
            client.call("add", &json!({"a": 2, "b": 3}))
        });
        let result = calling.await?;
        ensure!(result["content"][0]["text"] == "5", "{result}");
        Ok(())
    })
}

/// The decision that the guard asks for, and nothing else.
async fn decide(customer: &Customer, lasting: Duration) -> anyhow::Result<Figures> {
    let question = json!({
        "agent_id": "bench",
        "action": "mcp.sums.add",
        "resource": "tool:add",
        "context": {"tool_name": "add", "tool_input": {"a": 2, "b": 3}, "mcp_server": "sums"},
        "payload": {"a": 2, "b": 3},
    });
    let question = question.to_string();
    let customer = customer.clone();
    lanes::run(1, lasting, 1, move || -> Requesting {
        let (customer, question) = (customer.clone(), question.clone());
        Box::pin(async move { customer.decide(question).await.map(drop) })
    })
    .await
}
