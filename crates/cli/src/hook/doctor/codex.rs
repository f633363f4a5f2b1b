//! Codex is asked which hooks it runs: one that nobody has trusted is in its files, and silently not run.

use std::{process::Stdio, time::Duration};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    process::Command,
    time::timeout,
};

use super::{
    super::agent::Agent,
    handlers::Handler,
    judge::{Verdict, open},
    programs::Program,
};

/// How long it may take to say.
const PATIENCE: Duration = Duration::from_secs(20);
/// How much of what it says is read.
const BYTES_MAX: u64 = 4 * 1024 * 1024;
/// By which the answer is known.
const LIST: u64 = 2;

pub(super) async fn judge(program: &Program) -> Verdict {
    let listed = timeout(PATIENCE, hooks(program)).await;
    let Ok(Some(hooks)) = listed else {
        let problem = "Codex does not say which hooks it runs (`codex app-server`, `hooks/list`). Update it, or look at `/hooks` \
                       in Codex.";
        return Verdict {
            problems: vec![problem.to_owned()],
            ..Verdict::default()
        };
    };
    verdict(&hooks)
}

/// What Codex says of its hooks, as its editors' extensions ask it.
async fn hooks(program: &Program) -> Option<Vec<Value>> {
    let mut process = Command::new(&program.path)
        .arg("app-server")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .ok()?;
    let mut input = process.stdin.take()?;
    let folder = std::env::current_dir().ok()?;
    let client = json!({"name": "watchbell", "version": env!("CARGO_PKG_VERSION")});
    for message in [
        json!({"id": 1, "method": "initialize", "params": {"clientInfo": client}}),
        json!({"method": "initialized"}),
        json!({"id": LIST, "method": "hooks/list", "params": {"cwds": [folder]}}),
    ] {
        let line = format!("{message}\n");
        input.write_all(line.as_bytes()).await.ok()?;
    }
    let mut lines = BufReader::new(process.stdout.take()?.take(BYTES_MAX)).lines();
    while let Some(line) = lines.next_line().await.ok()? {
        let message: Value = serde_json::from_str(&line).ok()?;
        if message["id"] == LIST {
            let folders = message["result"]["data"].as_array()?;
            let hooks = folders.iter().filter_map(|one| one["hooks"].as_array());
            return Some(hooks.flatten().cloned().collect());
        }
    }
    None
}

fn verdict(hooks: &[Value]) -> Verdict {
    let mut verdict = Verdict::default();
    let ours = |event: &str| {
        let is_ours = |hook: &&Value| {
            hook["eventName"] == event && Handler::alone(hook).is_ours(Agent::Codex)
        };
        hooks.iter().filter(is_ours).collect::<Vec<_>>()
    };
    let runs = |hook: &&Value| {
        let trust = hook["trustStatus"].as_str().unwrap_or_default();
        hook["enabled"] == true && ["managed", "trusted"].contains(&trust)
    };
    let asking = ours("preToolUse");
    for hook in &asking {
        let path = hook["sourcePath"].as_str().unwrap_or("a file");
        let scope = match hook["isManaged"].as_bool() {
            Some(true) => "managed",
            _ => hook["source"].as_str().unwrap_or("user"),
        };
        verdict.settings.push(format!("{path} ({scope})"));
        let handler = Handler::alone(hook);
        let problems = &mut verdict.problems;
        if hook["enabled"] != true {
            problems
                .push("The hook is switched off. Switch it on by `/hooks` in Codex.".to_owned());
        } else if !runs(hook) {
            problems.push(
                "Nobody has trusted the hook, so Codex does not run it. Trust it by `/hooks` in Codex, or put what `watchbell \
                 hook codex --managed` prints into /etc/codex/requirements.toml."
                    .to_owned(),
            );
        }
        problems.extend(open(handler, Agent::Codex, None));
        if !handler.is_for_every_tool() {
            problems.push("Only some tools are asked about: the matcher must be `*`.".to_owned());
        }
    }
    if asking.is_empty() {
        verdict.problems.push(
            "Nothing asks us before a tool runs. Put what `watchbell hook codex` prints into ~/.codex/hooks.json, and trust it by \
             `/hooks` in Codex."
                .to_owned(),
        );
    } else if !ours("postToolUse").iter().any(runs) {
        let problem =
            "What became of a call is not recorded: no hook after a tool runs that is trusted.";
        verdict.problems.push(problem.to_owned());
    }
    verdict
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As Codex 0.169.0 lists them.
    fn hook(event: &str, trust: &str) -> Value {
        json!({"key": "k", "eventName": event, "handlerType": "command", "async": false, "matcher": "*",
               "command": "watchbell hook run codex || exit 2", "timeoutSec": 45, "sourcePath": "/srv/ann/.codex/hooks.json",
               "source": "user", "enabled": true, "isManaged": trust == "managed", "trustStatus": trust})
    }

    fn hooks(trust: &str) -> [Value; 2] {
        [hook("preToolUse", trust), hook("postToolUse", trust)]
    }

    #[test]
    fn a_hook_that_nobody_trusted_guards_nothing() {
        for trust in ["trusted", "managed"] {
            assert_eq!(
                verdict(&hooks(trust)).problems,
                Vec::<String>::new(),
                "{trust}"
            );
        }
        for trust in ["untrusted", "modified", ""] {
            let problems = verdict(&hooks(trust)).problems;
            assert!(problems[0].contains("Nobody has trusted"), "{problems:?}");
        }
        let mut off = hooks("trusted");
        off[0]["enabled"] = json!(false);
        assert!(verdict(&off).problems[0].contains("switched off"));
        let mut open = hooks("trusted");
        open[0]["command"] = json!("watchbell hook run codex");
        assert!(verdict(&open).problems[0].contains("Calls go on"));
        let mut beside = hooks("trusted");
        beside[0]["async"] = json!(true);
        assert!(verdict(&beside).problems[0].contains("Calls go on"));
        assert!(verdict(&hooks("trusted")[..1]).problems[0].contains("not recorded"));
        assert!(verdict(&[]).problems[0].contains("Nothing asks us"));
    }
}
