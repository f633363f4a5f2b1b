//! How somebody gets in, what they are told when they do not, and every help text.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;

use crate::cli::{Terminal, is_as_before, reads_as_before};
use crate::deployment::{Deployment, Running};

#[test]
fn a_login_is_checked_saved_for_its_owner_and_used_for_its_server_only() {
    let running = Running::start(Deployment::new());
    let (url, key) = (&*running.customer.base_url, &*running.customer.api_key);
    let terminal = Terminal::bare();
    let said = [
        terminal.run_with("wb_live_wrong\n", &["login", "--url", url]),
        terminal.run_with("\n", &["login", "--url", url]),
        terminal.run_with(key, &["login", "--url", "ftp://example.com"]),
        terminal.run_with(key, &["login", "--url", "http://watchbell.invalid"]),
        terminal.run_with(&format!("{key}\n"), &["login", "--url", url]),
        terminal.run_with(&format!("{key}\n"), &["login", "--url", url, "-o", "json"]),
        terminal.run(&["rules", "list"]),
        terminal.run(&["rules", "list", "--url", "http://127.0.0.1:9"]),
    ];
    reads_as_before("login", &terminal.shown(&said));
    let file = terminal.path(".config/watchbell/login.json");
    let mode = fs::metadata(&file).expect("a file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert!(fs::read_to_string(&file).expect("a file").contains(key));
    // This machine, by an address that could be another one's: only if that is said.
    let elsewhere = url.replace("127.0.0.1", "0.0.0.0");
    let login = ["login", "--url", &elsewhere, "--insecure-http"];
    let codes = [&login[..3], &login].map(|login| Terminal::bare().run_with(key, login).code);
    assert_eq!(codes, [Some(2), Some(0)]);
    // The next login is to the same server.
    let again = terminal.run_with(key, &["login"]);
    assert_eq!(again.code, Some(0), "{}", again.stderr);
    assert!(again.stdout.contains(url), "{}", again.stdout);
    // A damaged file stops commands until the next login, or until it is gone.
    let damage = || fs::write(&file, "{").expect("written");
    damage();
    let refused = terminal.run(&["rules", "list"]);
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains("run `watchbell login` again"));
    // Which server it was for is lost.
    assert_eq!(terminal.run_with(key, &["login"]).code, Some(2));
    let repaired = terminal.run_with(key, &["login", "--url", url]);
    assert_eq!(repaired.code, Some(0), "{}", repaired.stderr);
    assert_eq!(terminal.run(&["rules", "list"]).code, Some(0));
    damage();
    let gone = terminal.run(&["logout"]);
    assert_eq!(gone.code, Some(0), "{}", gone.stderr);
    assert!(!file.exists());
}

#[test]
fn who_cannot_get_in_is_told_why_and_what_to_do() {
    let running = Running::start(Deployment::new().with("LIMITS__LIST", "1/1m"));
    let terminal = Terminal::of(&running.customer);
    let nobody = TcpListener::bind("127.0.0.1:0")
        .expect("a port")
        .local_addr()
        .expect("an address");
    let (url, away) = (&running.customer.base_url, format!("http://{nobody}"));
    let said = [
        Terminal::bare()
            .with("WATCHBELL_URL", url)
            .run(&["events", "list"]),
        Terminal::of(&running.customer)
            .with("WATCHBELL_API_KEY", "wb_live_wrong")
            .run(&["events", "list"]),
        Terminal::of(&running.customer)
            .with("WATCHBELL_API_KEY", "a\nb")
            .run(&["events", "list"]),
        terminal.run(&["events", "list"]),
        terminal.run(&["events", "list"]),
        terminal.run(&["events", "list", "--url", &away]),
        terminal.run(&["events", "tail", "--url", &away]),
        terminal.run(&["events", "list", "--url", "localhost"]),
        terminal.run(&["events", "list", "--url", &format!("{url}/nowhere")]),
        terminal.run(&["events", "burn"]),
    ];
    let text = terminal.shown(&said);
    assert!(!text.contains("wb_live_"), "{text}");
    reads_as_before("refused", &text);
}

#[test]
fn every_command_has_its_help() {
    let terminal = Terminal::bare();
    let mut text = String::new();
    let mut paths: Vec<Vec<String>> = vec![Vec::new()];
    while let Some(path) = paths.pop() {
        let mut arguments: Vec<&str> = path.iter().map(String::as_str).collect();
        arguments.push("--help");
        let said = terminal.run(&arguments);
        assert_eq!(said.code, Some(0), "{arguments:?}");
        // One list, or a list for each group.
        let lists = said.stdout.split("ommands:\n").skip(1);
        let below = lists.flat_map(|list| list.lines().take_while(|line| !line.is_empty()));
        let names = below.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
        let names = names.filter(|name| !name.is_empty() && *name != "help");
        let mut deeper: Vec<Vec<String>> = names
            .map(|name| [&path[..], &[name.to_owned()]].concat())
            .collect();
        deeper.reverse();
        paths.append(&mut deeper);
        text.push_str(&terminal.shown(&[said]));
        text.push('\n');
    }
    assert!(text.contains("$ watchbell deliveries recover --help"));
    is_as_before("help", &text);
}

#[test]
fn shells_complete_every_command() {
    for (shell, sign) in [
        ("bash", "complete -F"),
        ("zsh", "#compdef watchbell"),
        ("fish", "complete -c watchbell"),
    ] {
        let said = Terminal::bare().run(&["completions", shell]);
        assert_eq!(said.code, Some(0));
        assert!(
            said.stdout.contains(sign) && said.stdout.contains("backtest"),
            "{shell}"
        );
    }
    assert_eq!(Terminal::bare().run(&["completions", "cmd"]).code, Some(2));
}
