//! Real coding agents, run against a made-up model: their tool calls are decided by our policies, and blocked when we are away.

use std::path::Path;
use std::sync::Arc;

use reqwest::StatusCode;
use serde_json::{Value, json};
use testkit::agents::Called;
use testkit::{AgentHome, CodingAgent, eventually};

use crate::cli::Terminal;
use crate::commands::{run, stdout};
use crate::deployment::{BINARY, Customer, DEADLINE, Deployment, Running};

/// Every call of these agents is one of a shell, which each of them calls otherwise.
const POLICIES: &str = r#"
    @id("tools") permit (principal, action in Action::"tool", resource)
    unless { context.tool_input.command like "echo wanted*" };
    @id("no-removing")
    @reason("Nothing is removed recursively.")
    forbid (principal, action in Action::"tool", resource)
    when { context.tool_input.command like "rm -r*" };
    @id("rather")
    @obligation("[{\"op\":\"replace\",\"path\":\"/command\",\"value\":\"echo changed > out.txt\"}]")
    permit (principal, action in Action::"tool", resource)
    when { context.tool_input.command like "echo wanted*" };
    @id("people")
    @verdict("escalate")
    @reason("A person looks at what is published.")
    forbid (principal, action in Action::"tool", resource)
    when { context.tool_input.command like "echo published*" };
"#;

/// Where nobody listens.
const AWAY: &str = "http://127.0.0.1:9";
const OUT: &str = "out.txt";

/// An agent whose hooks are as we print them.
struct Guarded {
    home: Arc<AgentHome>,
    agent: CodingAgent,
}

impl Guarded {
    fn new(agent: CodingAgent, more: &[&str]) -> Self {
        let home = AgentHome::new(agent).expect("an agent");
        let settings = printed(agent, more);
        home.write_settings(settings).expect("written");
        if agent == CodingAgent::Codex {
            home.trust_hooks().expect("trusted");
        }
        let home = Arc::new(home);
        Self { home, agent }
    }

    /// The model wants to run a command, and the hooks ask the server there.
    async fn calls(&self, command: &'static str, url: &str, key: &str) -> Called {
        let (home, agent) = (Arc::clone(&self.home), self.agent);
        let (url, key) = (url.to_owned(), key.to_owned());
        let calling = tokio::task::spawn_blocking(move || {
            let variables = [
                ("WATCHBELL_URL", url.as_str()),
                ("WATCHBELL_API_KEY", key.as_str()),
            ];
            home.calls(command, programs(), &variables)
        });
        let called = calling.await.expect("no panic");
        called.unwrap_or_else(|error| panic!("{agent:?}: {error:#}"))
    }

    async fn of(&self, customer: &Customer, command: &'static str) -> Called {
        self.calls(command, &customer.base_url, &customer.api_key)
            .await
    }
}

fn programs() -> &'static Path {
    Path::new(BINARY).parent().expect("a folder")
}

fn printed(agent: CodingAgent, more: &[&str]) -> Value {
    let arguments = [&["hook", agent.name()][..], more].concat();
    serde_json::from_str(&stdout(&run(&arguments, []))).expect("settings")
}

async fn approve(customer: &Customer) {
    let id = eventually(DEADLINE, "a person is asked", async || {
        let pending = customer.pending().await;
        Some(pending.first()?["decision_id"].as_str()?.to_owned())
    })
    .await;
    customer.resolve(&id, &json!({"approve": true})).await;
}

/// What every agent must do.
async fn is_guarded(agent: CodingAgent, more: &[&str]) {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    customer.approve_alone().await;
    customer.put_in_force(POLICIES).await;
    let guarded = Guarded::new(agent, more);

    let denied = guarded
        .of(customer, "rm -rf none; echo removed > out.txt")
        .await;
    assert_eq!(guarded.home.read(OUT), None, "{denied:?}");
    assert!(denied.told.contains("Nothing is removed"), "{denied:?}");
    assert!(denied.told.contains("dec_"), "{denied:?}");

    let changed = guarded.of(customer, "echo wanted > out.txt").await;
    assert_eq!(
        guarded.home.read(OUT).as_deref(),
        Some("changed\n"),
        "{changed:?}"
    );

    let (approved, ()) = tokio::join!(
        guarded.of(customer, "echo published > out.txt"),
        approve(customer)
    );
    assert_eq!(
        guarded.home.read(OUT).as_deref(),
        Some("published\n"),
        "{approved:?}"
    );

    let away = guarded
        .calls("echo away > out.txt", AWAY, &customer.api_key)
        .await;
    assert_eq!(
        guarded.home.read(OUT).as_deref(),
        Some("published\n"),
        "{away:?}"
    );

    let told = eventually(DEADLINE, "what ran is recorded", async || {
        let list = "/v1/audit/events?event_type=tool_call&result=success";
        let listed = customer.get_json(list).await;
        let events = listed["data"].as_array().expect("data").clone();
        (events.len() >= 2).then_some(events)
    })
    .await;
    assert_eq!(told.len(), 2, "{told:?}");
    for event in told {
        assert_eq!(event["agent_id"], agent.name());
        assert!(event["metadata"]["request_digest"].is_string(), "{event}");
    }
}

#[tokio::test]
async fn a_real_codex_does_what_our_policies_say_and_nothing_when_we_are_away() {
    is_guarded(CodingAgent::Codex, &[]).await;
}

#[tokio::test]
async fn a_real_gemini_does_what_our_policies_say_and_nothing_when_we_are_away() {
    is_guarded(CodingAgent::Gemini, &[]).await;
}

#[tokio::test]
async fn a_real_copilot_does_what_our_policies_say_and_nothing_when_we_are_away() {
    is_guarded(CodingAgent::Copilot, &[]).await;
}

#[tokio::test]
async fn a_real_claude_code_does_what_our_policies_say_and_nothing_when_we_are_away() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    customer.approve_alone().await;
    customer.put_in_force(POLICIES).await;
    let more = ["--on-allow", "allow", "--url"];
    let here = Guarded::new(
        CodingAgent::ClaudeCode,
        &[&more[..], &[&customer.base_url]].concat(),
    );
    let denied = here
        .of(customer, "rm -rf none; echo removed > out.txt")
        .await;
    assert_eq!(here.home.read(OUT), None, "{denied:?}");
    assert!(denied.told.contains("Nothing is removed"), "{denied:?}");
    let changed = here.of(customer, "echo wanted > out.txt").await;
    assert_eq!(
        here.home.read(OUT).as_deref(),
        Some("changed\n"),
        "{changed:?}"
    );
    let (approved, ()) = tokio::join!(
        here.of(customer, "echo published > out.txt"),
        approve(customer)
    );
    assert_eq!(
        here.home.read(OUT).as_deref(),
        Some("published\n"),
        "{approved:?}"
    );

    let away = Guarded::new(CodingAgent::ClaudeCode, &["--url", AWAY]);
    let blocked = away.of(customer, "echo away > out.txt").await;
    assert_eq!(away.home.read(OUT), None, "{blocked:?}");
    let open = ["--url", AWAY, "--on-error", "pass"];
    let open = Guarded::new(CodingAgent::ClaudeCode, &open);
    let passed = open.of(customer, "echo away > out.txt").await;
    assert_eq!(open.home.read(OUT).as_deref(), Some("away\n"), "{passed:?}");
    let by_command = ["--url", AWAY, "--command"];
    let by_command = Guarded::new(CodingAgent::ClaudeCode, &by_command);
    let blocked = by_command.of(customer, "echo away > out.txt").await;
    assert_eq!(by_command.home.read(OUT), None, "{blocked:?}");
    assert!(blocked.told.contains("no decision about it"), "{blocked:?}");
}

#[tokio::test]
async fn the_doctor_tells_a_codex_that_trusts_its_hook_from_one_that_silently_does_not_run_it() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    customer.put_in_force(POLICIES).await;
    let home = AgentHome::new(CodingAgent::Codex).expect("an agent");
    home.write_settings(printed(CodingAgent::Codex, &[]))
        .expect("written");
    let programs = home.only_program().expect("a folder");
    let doctor = |home: &AgentHome| {
        let path = format!("{}:/usr/local/bin:/usr/bin:/bin", programs.display());
        let terminal = Terminal::of(customer)
            .with("PATH", &path)
            .with("HOME", home.home().to_str().expect("UTF-8"));
        terminal.run(&["hook", "doctor"])
    };
    let said = doctor(&home);
    assert_eq!(said.code, Some(1), "{}", said.stdout);
    assert!(
        said.stdout.contains("Nobody has trusted the hook"),
        "{}",
        said.stdout
    );

    let variables = [("WATCHBELL_URL", AWAY), ("WATCHBELL_API_KEY", "none")];
    let ran = home.calls("echo away > out.txt", self::programs(), &variables);
    assert_eq!(home.read(OUT).as_deref(), Some("away\n"), "{ran:?}");

    home.trust_hooks().expect("trusted");
    let said = doctor(&home);
    assert_eq!(said.code, Some(0), "{}{}", said.stdout, said.stderr);
    assert!(
        said.stdout.contains("the key may decide and record"),
        "{}",
        said.stdout
    );
    assert_eq!(
        customer.get("/v1/audit/events").await.status(),
        StatusCode::OK
    );
    assert!(
        customer
            .all_events()
            .await
            .iter()
            .all(|event| event["event_type"] != "tool_call")
    );
}
