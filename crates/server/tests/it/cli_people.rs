//! `watchbell login --email`, and what a person then manages by command: API keys, signing secrets, members.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};
use testkit::eventually_blocking;

use crate::cli::{Said, Terminal, closed, reads_as_before};
use crate::deployment::{DEADLINE, Running};
use crate::secrets::with_key;

const PASSWORD: &str = "correct horse battery";
const LOG_IN: [&str; 3] = ["login", "--email", "ann@example.com"];

/// Ann has registered, and is logged in unless that is tried.
fn of_ann(running: &Running) -> Terminal {
    let terminal = Terminal::bare().with("WATCHBELL_URL", &running.customer.base_url);
    let ann = json!({"organisation": "Acme", "email": "ann@example.com", "password": PASSWORD});
    let register = ["api", "POST", "/v1/auth/register", "-d", "-"];
    let said = terminal.run_with(&ann.to_string(), &register);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    terminal
}

/// A field of what was answered.
fn field(said: &Said, name: &str) -> String {
    let answer: Value = serde_json::from_str(&said.stdout).expect("JSON");
    answer[name].as_str().expect("a text").to_owned()
}

#[test]
fn a_session_is_saved_for_its_owner_used_for_what_people_do_and_ended() {
    let running = Running::start(with_key());
    let terminal = of_ann(&running);
    let mut said = vec![
        terminal.run(&["keys", "list"]),
        terminal.run_with("a wrong password\n", &LOG_IN),
        terminal.run_with("\n", &LOG_IN),
        terminal.run_with(&format!("{PASSWORD}\n"), &LOG_IN),
        terminal.run(&["rules", "list"]),
    ];
    let file = terminal.path(".config/watchbell/login.json");
    let mode = fs::metadata(&file).expect("a file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    // A key beside it is for everything else, and it may be another organization's.
    let terminal = terminal.with("WATCHBELL_API_KEY", &running.customer.api_key);
    said.push(terminal.run(&["members", "list"]));
    said.push(terminal.run(&["api", "GET", "/v1/me"]));
    said.push(terminal.run(&["api", "GET", "/v1/org", "--session"]));
    // A new password comes with a new session, which is kept.
    let change = json!({"current_password": PASSWORD, "password": "yet another, of course"});
    let path = ["api", "POST", "/v1/me/password", "--session", "-d", "-"];
    said.push(terminal.run_with(&change.to_string(), &path));
    said.push(terminal.run(&["keys", "list"]));
    let saved = fs::read(&file).expect("a file");
    said.push(terminal.run(&["logout"]));
    assert!(!file.exists());
    said.push(terminal.run(&["logout"]));
    // It is over on the server too.
    fs::write(&file, saved).expect("written");
    said.push(terminal.run(&["keys", "list"]));
    reads_as_before("sessions", &terminal.shown(&said));
    // A login ends the session that it replaces, of this server or another: `localhost` is one.
    let log_in = |url: &str| {
        let login = [&LOG_IN[..], &["--url", url]].concat();
        let said = terminal.run_with("yet another, of course", &login);
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        fs::read(&file).expect("a file")
    };
    let here = &running.customer.base_url;
    let replaced = [log_in(here), log_in(here)];
    log_in(&here.replace("127.0.0.1", "localhost"));
    for saved in replaced {
        fs::write(&file, saved).expect("written");
        let said = terminal.run(&["keys", "list"]);
        assert!(said.stderr.contains("has ended"), "{}", said.stderr);
    }
}

#[test]
fn keys_secrets_and_members_are_managed_by_command() {
    let running = Running::start(with_key());
    let terminal = of_ann(&running);
    terminal.run_with(PASSWORD, &LOG_IN);
    let create = [
        "keys",
        "create",
        "billing agents",
        "--scope",
        "events:write",
        "--agent",
        "billing-*",
    ];
    let made = terminal.run(&[&create[..], &["-o", "json"]].concat());
    let key = field(&made, "id");
    let rotated = terminal.run(&["keys", "rotate", &key, "--overlap", "1h"]);
    // The key alone is on standard output, and it works.
    let fresh = rotated.stdout.trim();
    let send = "events send --type tool_call --agent billing-1 --action a.b --result success";
    let send: Vec<&str> = send.split(' ').collect();
    let sent = Terminal::bare()
        .with("WATCHBELL_URL", &running.customer.base_url)
        .with("WATCHBELL_API_KEY", fresh)
        .run(&send);
    assert_eq!(sent.code, Some(0), "{}", sent.stderr);
    let said = [
        terminal.run(&create),
        terminal.run(&["keys", "create", "x", "--scope", "events:burn"]),
        rotated,
        terminal.run(&["keys", "rotate", &key]),
        terminal.run(&["keys", "revoke", &key]),
        terminal.run(&["keys", "revoke", "key_01m7eh678ef4hb9dyv15c8d0vs"]),
    ];
    reads_as_before("keys", &terminal.shown(&said));
    let listed = terminal.run(&["keys", "list"]).stdout;
    let states = ["revoked", "active"].map(|state| listed.matches(state).count());
    assert_eq!(states, [1, 2], "{listed}");
    // Nobody has read what is shown only once: that is a failure, and it says what to undo.
    for form in ["table", "json"] {
        let lost = terminal.run_into(closed(), "", &[&create[..], &["-o", form]].concat());
        assert_eq!(lost.code, Some(1), "{}", lost.stderr);
        assert!(lost.stderr.contains("watchbell keys revoke key_"));
    }

    let staged = terminal.run(&["secrets", "stage", "-o", "json"]);
    let secret = field(&staged, "id");
    let said = [
        terminal.run(&["secrets", "initial"]),
        terminal.run(&["secrets", "stage"]),
        terminal.run(&["secrets", "promote", &secret, "--overlap", "0s"]),
        terminal.run(&["secrets", "stage"]),
        terminal.run(&["secrets", "promote", &secret, "--overlap", "soon"]),
        terminal.run(&["secrets", "list"]),
        terminal.run(&["secrets", "drop", &secret]),
    ];
    reads_as_before("secrets", &terminal.shown(&said));
    let staged = said[3].stderr.split([' ', ';']).nth(1).expect("an id");
    assert_eq!(terminal.run(&["secrets", "drop", staged]).code, Some(0));
    let lost = terminal.run_into(closed(), "", &["secrets", "stage"]);
    assert_eq!(lost.code, Some(1), "{}", lost.stderr);
    assert!(lost.stderr.contains("watchbell secrets drop sec_"));

    let invite = ["members", "invite", "bob@example.com", "--role", "viewer"];
    let invited = terminal.run(&[&invite[..], &["-o", "json"]].concat());
    let invitation = field(&invited, "id");
    let me = terminal.run(&["api", "GET", "/v1/me", "--session"]);
    let me: Value = serde_json::from_str(&me.stdout).expect("JSON");
    let ann = me["user"]["id"].as_str().expect("an id");
    let said = [
        terminal.run(&["members", "list"]),
        terminal.run(&["members", "invitations"]),
        terminal.run(&["members", "revoke-invitation", &invitation]),
        terminal.run(&["members", "invitations"]),
        terminal.run(&invite),
        terminal.run(&["members", "change-role", ann, "viewer"]),
        terminal.run(&["members", "change-role", ann, "king"]),
        terminal.run(&["members", "remove", "usr_01m7eh678ef4hb9dyv15c8d0vs"]),
    ];
    reads_as_before("members", &terminal.shown(&said));
    let other = ["members", "invite", "eve@example.com", "--role", "viewer"];
    let lost = terminal.run_into(closed(), "", &other);
    assert_eq!(lost.code, Some(1), "{}", lost.stderr);
    assert!(
        lost.stderr
            .contains("watchbell members revoke-invitation inv_")
    );
}

#[test]
fn an_owner_erases_an_event_and_a_key_does_not() {
    let running = Running::start(with_key());
    let terminal = of_ann(&running);
    terminal.run_with(PASSWORD, &LOG_IN);
    let scopes = ["--scope", "events:write", "--scope", "events:read"];
    let made = terminal.run(&[&["keys", "create", "agents"], &scopes[..]].concat());
    let with_key = Terminal::bare()
        .with("WATCHBELL_URL", &running.customer.base_url)
        .with("WATCHBELL_API_KEY", made.stdout.trim());
    let send = "events send --type tool_call --agent a --action a.b --result success -o json";
    let sent = with_key.run(&send.split(' ').collect::<Vec<_>>());
    let sent: Value = serde_json::from_str(&sent.stdout).expect("JSON");
    let event = sent["events"][0]["id"].as_str().expect("an id");
    eventually_blocking(DEADLINE, "the event is listed", || {
        let shown = with_key.run(&["events", "show", event]);
        (shown.code == Some(0)).then_some(())
    });

    let erase = ["events", "erase", event, "--reason", "Ann asked us to."];
    assert_eq!(with_key.run(&erase).code, Some(10));
    let both = [&erase[..], &["--agent", "a"]].concat();
    assert_eq!(terminal.run(&both).code, Some(2));
    let erased = terminal.run(&erase);
    assert_eq!(erased.code, Some(0), "{}", erased.stderr);
    let said = "done: 1 event erased, 0 erased before, 0 kept, 0 not found";
    assert!(erased.stdout.contains(said), "{}", erased.stdout);
    let again = terminal.run(&erase);
    let said = "done: 0 events erased, 1 erased before";
    assert!(again.stdout.contains(said), "{}", again.stdout);
}
