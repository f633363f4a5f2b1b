//! `cargo xtask quick`: formatting and house rules of everything, lints and tests of what changed. For the minutes between
//! two edits; `.ci/run` is what decides.

use std::{collections::BTreeSet, path::Path, process::Command, time::Instant};

use anyhow::{Context as _, ensure};

use crate::tidy;

/// Which chapters of `crates/server/tests/it` are about a folder of `crates/server/src`. A test keeps it complete.
const CHAPTERS: [(&str, &[&str]); 19] = [
    (
        "accounts",
        &[
            "access",
            "accounts",
            "api_keys",
            "bound_keys",
            "deletion",
            "deletion_work",
            "guesses",
            "invitations",
            "members",
            "own_password",
            "password_resets",
            "registration",
            "security_log",
            "sessions",
        ],
    ),
    (
        "alerts",
        &[
            "backtest",
            "fresh",
            "hot_reload",
            "line",
            "resume",
            "rule_preview",
            "rule_trial",
            "rules",
            "rules_bounds",
            "rules_hostile",
            "rules_life",
            "rules_repeats",
            "thresholds",
            "trigger",
        ],
    ),
    ("announce_again", &["announce"]),
    (
        "approvals",
        &[
            "approvals",
            "approvals_outages",
            "approvals_own",
            "approvals_streams",
        ],
    ),
    (
        "commands",
        &[
            "cli_api",
            "cli_approvals",
            "cli_colors",
            "cli_doors",
            "cli_endpoints",
            "cli_events",
            "cli_export",
            "cli_guard",
            "cli_people",
            "cli_policies",
            "cli_trying",
            "cli_webhooks",
            "commands",
            "dev",
            "dev_engines",
        ],
    ),
    ("config", &["commands", "limits", "limits_apart"]),
    ("console", &["console"]),
    (
        "decisions",
        &[
            "agents",
            "authzen",
            "authzen_more",
            "decisions",
            "decisions_outages",
            "doors",
            "hook",
            "hook_dialects",
            "hook_run",
            "mcp",
            "mcp_hostile",
            "mcp_serve",
            "mcp_tools",
            "disobeyed_decisions",
        ],
    ),
    (
        "deliveries",
        &[
            "bundles",
            "clocks",
            "conservation",
            "crashes",
            "deliveries",
            "endpoints",
            "hosts",
            "lanes",
            "later",
            "line",
            "ownership",
            "panics",
            "query",
            "rebuild",
            "recover",
            "retries",
            "rounds",
            "secrets",
            "secrets_initial",
            "secrets_outages",
            "ssrf",
            "transport",
            "transport_tls",
            "trigger",
        ],
    ),
    (
        "edge",
        &[
            "access",
            "compression",
            "console",
            "coverage",
            "errors",
            "hostile",
            "hostile_crowd",
            "hostile_tenants",
            "limits",
            "limits_apart",
            "missing_fields",
            "nearly_full",
            "openapi",
            "repeats",
            "slow",
            "spec",
            "timing",
        ],
    ),
    ("erasures", &["erasures", "erasures_archive"]),
    (
        "events",
        &[
            "archive",
            "dead_letters",
            "facets",
            "fresh",
            "ingest",
            "logs",
            "query",
            "reads",
            "restarts",
            "retention",
            "source",
            "tail",
            "trail",
        ],
    ),
    (
        "exports",
        &["archive", "export_jobs", "exports", "proven_exports"],
    ),
    ("mail", &["endpoints", "mails"]),
    (
        "policies",
        &[
            "policies",
            "policies_checks",
            "policies_outages",
            "policies_past",
        ],
    ),
    ("system", &["overview", "system"]),
    ("telemetry", &["monitoring", "telemetry"]),
    (
        "transparency",
        &[
            "attacks",
            "log_keys",
            "public_log",
            "transparency",
            "transparency_crashes",
            "witnessed_attacks",
            "witnesses",
        ],
    ),
    ("views", &["views"]),
];
/// What every node does, whichever part of it changed: start, serve, deliver, answer by its document, end.
const ANY_NODE: &[&str] = &["coverage", "lifecycle", "line", "openapi"];

/// Clippy is the compiler, as in CI: what `cargo clippy` reads, it would read and build a second time. The second is what
/// `cargo clippy -- -D warnings` hands on.
const LINTS: [(&str, &str); 2] = [
    ("RUSTC_WORKSPACE_WRAPPER", "clippy-driver"),
    ("CLIPPY_ARGS", "-Dwarnings__CLIPPY_HACKERY__"),
];

/// Checks and tests what differs from the commit `since`; whether all of it is in order.
pub fn run(root: &Path, since: &str) -> anyhow::Result<bool> {
    let files = files(root, since)?;
    let changed = Changed::new(&files);
    let mut steps = vec![("fmt", cargo(root, "fmt --all --check"))];
    if let Some((tests, filter)) = changed.tests() {
        let mut tests = cargo(root, &tests);
        tests.args(["-E", &filter]).envs(LINTS);
        steps.push(("lints and tests", tests));
    }
    let mut is_in_order = timed("tidy", || tidy::run(root))?;
    for (name, mut step) in steps {
        is_in_order &= timed(name, || Ok(step.status().context("run cargo")?.success()))?;
    }
    for hint in changed.hints() {
        println!("not run: {hint}");
    }
    Ok(is_in_order)
}

fn timed(what: &str, step: impl FnOnce() -> anyhow::Result<bool>) -> anyhow::Result<bool> {
    let started = Instant::now();
    let is_in_order = step()?;
    let outcome = if is_in_order { "ok" } else { "FAILED" };
    println!(
        "--- {what}: {outcome}, {:.0} s",
        started.elapsed().as_secs_f32()
    );
    Ok(is_in_order)
}

fn cargo(root: &Path, arguments: &str) -> Command {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(arguments.split(' ')).current_dir(root);
    cargo
}

/// What differs from a commit, committed or not, and what git does not know yet.
fn files(root: &Path, since: &str) -> anyhow::Result<Vec<String>> {
    let mut files = Vec::new();
    for arguments in [
        &["diff", "--name-only", since][..],
        &["ls-files", "--others", "--exclude-standard"],
    ] {
        let git = Command::new("git")
            .args(arguments)
            .current_dir(root)
            .output();
        let git = git.context("run git")?;
        let complaint = String::from_utf8_lossy(&git.stderr);
        ensure!(
            git.status.success(),
            "git {}: {complaint}",
            arguments.join(" ")
        );
        files.extend(String::from_utf8(git.stdout)?.lines().map(str::to_owned));
    }
    Ok(files)
}

/// What changed, in the terms of cargo and of those who say what else to run.
#[derive(Default)]
struct Changed<'a> {
    packages: BTreeSet<&'a str>,
    /// Of `crates/server/tests/it`.
    chapters: BTreeSet<&'a str>,
    others: BTreeSet<&'static str>,
}

impl<'a> Changed<'a> {
    fn new(files: &'a [String]) -> Self {
        let mut changed = Self::default();
        for file in files {
            let parts: Vec<&str> = file.split('/').collect();
            match parts[..] {
                ["crates", "server", ref inside @ ..] => {
                    changed.packages.insert("server");
                    changed.chapters.extend(chapters(inside));
                }
                // They are tested through the server's door.
                ["crates", package @ ("deliver" | "matching"), ..] => {
                    let folder = if package == "deliver" {
                        "deliveries"
                    } else {
                        "alerts"
                    };
                    changed.packages.extend([package, "server"]);
                    changed.chapters.extend(chapters(&["src", folder, ""]));
                }
                ["fuzz", "libfuzzer", ..] => {
                    changed.others.insert("fuzz/libfuzzer: fuzz/run all 10");
                }
                ["bench", "instructions", ..] => {
                    changed.packages.insert("instructions");
                }
                ["crates" | "libs", package, ..]
                | [package @ ("bench" | "faults" | "fuzz"), ..] => {
                    changed.packages.insert(package);
                }
                // The console verifies exports with the SDK's source.
                ["sdks", "typescript", "src", "proof", ..] => {
                    changed
                        .others
                        .extend(["sdks: just sdks", "console: just console-check, just e2e"]);
                }
                ["console", ..] => {
                    changed
                        .others
                        .insert("console: just console-check, just e2e");
                }
                ["sdks", ..] => {
                    changed.others.insert("sdks: just sdks");
                }
                ["docs", ..] | ["README.md"] => {
                    changed.others.insert("docs: just docs PAGE, just book");
                }
                ["deploy", ..] => {
                    changed.others.insert("deploy: just deploy");
                }
                ["Cargo.toml" | "Cargo.lock"] => {
                    changed.others.insert("dependencies: just deny, just test");
                }
                _ => {}
            }
        }
        changed
    }

    /// The tests of the changed crates, and the filter that leaves out what is not about the change.
    fn tests(&self) -> Option<(String, String)> {
        if self.packages.is_empty() {
            return None;
        }
        let packages = self.packages.iter().flat_map(|package| [" -p ", package]);
        let packages: String = packages.collect();
        let chapters: Vec<&str> = self.chapters.iter().copied().collect();
        let filter = if chapters.is_empty() {
            "not binary_id(server::it)".to_owned()
        } else {
            format!(
                "not binary_id(server::it) | test(/^({})::/)",
                chapters.join("|")
            )
        };
        Some((
            format!("nextest run --locked --profile quick --no-tests pass{packages}"),
            filter,
        ))
    }

    /// What was not looked at here, and what looks at it.
    fn hints(&self) -> impl Iterator<Item = &str> {
        self.others.iter().copied()
    }
}

/// Which chapters a file of the server is about.
fn chapters<'a>(inside: &[&'a str]) -> Vec<&'a str> {
    match *inside {
        ["tests", "it", "deployment.rs" | "main.rs"] | ["src", _] => ANY_NODE.to_vec(),
        ["tests", "it", file] => file.strip_suffix(".rs").into_iter().collect(),
        ["src", folder, _, ..] => {
            let known = CHAPTERS.iter().find(|(name, _)| *name == folder);
            known.map_or(ANY_NODE, |(_, chapters)| chapters).to_vec()
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn tests_of(files: &[&str]) -> Option<(String, String)> {
        let files: Vec<String> = files.iter().map(|&file| file.to_owned()).collect();
        Changed::new(&files).tests()
    }

    #[test]
    fn a_change_of_a_noun_runs_the_chapters_about_it() {
        let tests = tests_of(&["crates/server/src/exports/plan.rs"]);
        let (command, filter) = tests.expect("tests");
        assert!(command.ends_with(" -p server"), "{command}");
        assert_eq!(
            filter,
            "not binary_id(server::it) | test(/^(archive|export_jobs|exports|proven_exports)::/)"
        );
    }

    #[test]
    fn a_change_of_another_crate_runs_its_own_tests() {
        let tests = tests_of(&[
            "crates/domain/src/id.rs",
            "libs/webhook-signature/src/lib.rs",
        ]);
        let (command, filter) = tests.expect("tests");
        assert!(
            command.ends_with(" -p domain -p webhook-signature"),
            "{command}"
        );
        assert_eq!(filter, "not binary_id(server::it)");
    }

    #[test]
    fn what_is_not_rust_is_named_and_not_run() {
        let files = ["console/src/main.tsx".to_owned(), "STYLE.md".to_owned()];
        let changed = Changed::new(&files);
        assert!(changed.tests().is_none());
        assert_eq!(
            changed.hints().collect::<Vec<_>>(),
            ["console: just console-check, just e2e"]
        );
    }

    /// Parts that other chapters use, and what takes too long between two edits: whole clusters, peers, a mass.
    const NO_CHAPTER: [&str; 27] = [
        "canary",
        "cli",
        "cluster",
        "deployment",
        "drills",
        "drills_journal",
        "drills_postgres",
        "editing",
        "fairness",
        "guard",
        "in_hand",
        "lifecycle",
        "load",
        "main",
        "mass",
        "outages",
        "pace",
        "processes",
        "peers",
        "people",
        "snapshots",
        "trail_verify",
        "two_workers",
        "wire",
        "witness",
        "witness_crashes",
        "writers",
    ];

    #[test]
    fn every_chapter_is_about_a_folder_and_every_folder_has_chapters() {
        let server = Path::new(env!("CARGO_MANIFEST_DIR")).join("../server");
        let names = |folder: &str| -> BTreeSet<String> {
            let entries = fs::read_dir(server.join(folder)).expect("a folder");
            let names = entries.map(|entry| entry.expect("an entry").file_name());
            names
                .map(|name| name.to_string_lossy().replace(".rs", ""))
                .collect()
        };
        let known = CHAPTERS.iter().flat_map(|(_, chapters)| chapters.iter());
        let known: BTreeSet<String> = known
            .chain(&NO_CHAPTER)
            .map(|&name| name.to_owned())
            .collect();
        assert_eq!(known, names("tests/it"));
        let folders = names("src");
        for (folder, _) in CHAPTERS {
            assert!(folders.contains(folder), "there is no {folder}");
        }
    }
}
