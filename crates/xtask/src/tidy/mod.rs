//! Rules of the house that no other tool checks. Each rule has a name, a sentence on why it exists
//! and a function that looks at the whole tree; `RULES` is the list.
//!
//! A rule that is wrong in one place is changed here, with a test; there is no way to silence one
//! from outside. Limits that nobody checks are decoration, so they live here or not at all.

mod circles;
mod docs;
mod lock_files;
mod manifests;
mod migrations;
mod monitoring;
mod source;
mod text;
mod tree;
mod versions;
mod words;

use std::path::Path;

use self::tree::{File, Tree};

const RULES: &[Rule] = &[
    Rule {
        name: "file-length",
        why: "A file is about one thing; past 500 lines it is about several and nobody reads it whole.",
        check: source::file_length,
    },
    Rule {
        name: "first-sentence",
        why: "The first line says what the file is about, so a reader knows whether to read on.",
        check: source::first_sentence,
    },
    Rule {
        name: "vague-name",
        why: "A bag collects what has no owner; the thing belongs to a noun you have not named yet.",
        check: source::vague_name,
    },
    Rule {
        name: "retired-word",
        why: "A word that only its author understands, or that means two things, does not come back.",
        check: words::retired_word,
    },
    Rule {
        name: "unreached-file",
        why: "A file that no `mod` names is not compiled, so it rots while looking alive.",
        check: source::unreached_file,
    },
    Rule {
        name: "module-circle",
        why: "Folders of the server that need each other in a circle can only be understood, and changed, together.",
        check: circles::module_circle,
    },
    Rule {
        name: "lint-reason",
        why: "An exception without its reason is copied; with it, it is weighed again.",
        check: source::lint_reason,
    },
    Rule {
        name: "sql-outside-store",
        why: "Only `store` contains SQL, so that every query is seen to name the organization.",
        check: source::sql_outside_store,
    },
    Rule {
        name: "select-star",
        why: "A column that a newer version adds breaks `SELECT *` under a running process; name the columns.",
        check: source::select_star,
    },
    Rule {
        name: "sleep-in-test",
        why: "Waiting for a duration is slow when it works and flaky when it does not; \
              wait for a condition, or say with `// waits for: ...` what real time passes.",
        check: source::sleep_in_test,
    },
    Rule {
        name: "golden-unused",
        why: "Old bytes are decoded for as long as they may exist; a golden file no test names proves nothing.",
        check: source::golden_unused,
    },
    Rule {
        name: "todo-owner",
        why: "A TODO without an owner is never done; write `TODO(name): ...` or do it.",
        check: text::todo_owner,
    },
    Rule {
        name: "machine-path",
        why: "A path of one machine is wrong on every other.",
        check: text::machine_path,
    },
    Rule {
        name: "trailing-whitespace",
        why: "Invisible differences make diffs that say nothing.",
        check: text::trailing_whitespace,
    },
    Rule {
        name: "changelog-fragment",
        why: "The name says under which heading and issue a change is announced.",
        check: text::changelog_fragment,
    },
    Rule {
        name: "dead-link",
        why: "A link that leads nowhere costs the reader more than no link.",
        check: docs::dead_link,
    },
    Rule {
        name: "unlisted-page",
        why: "A page that no README lists is not found by those who need it.",
        check: docs::unlisted_page,
    },
    Rule {
        name: "page-outside-the-book",
        why: "The book has the pages that its summary lists; another is not in it, and links to it are dead.",
        check: docs::page_outside_the_book,
    },
    Rule {
        name: "unexplained-dependency",
        why: "A dependency is code we maintain without having written it; its row says why it is worth it.",
        check: manifests::unexplained_dependency,
    },
    Rule {
        name: "unused-dependency",
        why: "What nobody uses is still fetched, built and trusted.",
        check: manifests::unused_dependency,
    },
    Rule {
        name: "incomplete-lock",
        why: "What a lock file lacks is installed unchecked, or `npm ci` refuses; and whose registry wrote it is nobody's business.",
        check: lock_files::incomplete_lock,
    },
    Rule {
        name: "crate-direction",
        why: "Nothing builds on the server, and test support never ships; cargo-deny cannot say either.",
        check: manifests::crate_direction,
    },
    Rule {
        name: "contracting-migration",
        why: "The version before runs on the new schema, in an upgrade and after a rollback: make room first, remove a release later.",
        check: migrations::contracting_migration,
    },
    Rule {
        name: "another-version",
        why: "Whoever reports a problem names one version; parts that go together have the same.",
        check: versions::another_version,
    },
    Rule {
        name: "unknown-metric",
        why: "A dashboard or an alert about a metric that nobody counts is silent for ever.",
        check: monitoring::unknown_metric,
    },
    Rule {
        name: "alert-without-runbook",
        why: "An alert that was never seen to ring, or that does not say what to do, wakes somebody for nothing.",
        check: monitoring::alert_without_runbook,
    },
];

/// The rules' own examples break the rules; the text rules skip them.
const OWN_EXAMPLES: &str = "crates/xtask/src/tidy/";

struct Rule {
    name: &'static str,
    why: &'static str,
    check: fn(&Tree) -> Vec<Finding>,
}

/// One place that breaks a rule.
#[derive(Debug)]
struct Finding {
    /// `path`, or `path:line`.
    place: String,
    message: String,
}

impl Finding {
    fn in_file(file: &File, message: impl Into<String>) -> Self {
        Self {
            place: file.path.clone(),
            message: message.into(),
        }
    }

    fn at_line(file: &File, line: usize, message: impl Into<String>) -> Self {
        Self {
            place: format!("{}:{line}", file.path),
            message: message.into(),
        }
    }
}

/// Checks every rule, prints what it finds, and says whether that was nothing.
pub(crate) fn run(root: &Path) -> anyhow::Result<bool> {
    let tree = Tree::read(root)?;
    let mut found = 0;
    for rule in RULES {
        let findings = (rule.check)(&tree);
        if findings.is_empty() {
            continue;
        }
        println!("{}: {}", rule.name, rule.why);
        for Finding { place, message } in &findings {
            println!("  {place}: {message}");
        }
        found += findings.len();
    }
    println!(
        "tidy: {} rules, {} files, {found} findings",
        RULES.len(),
        tree.files.len()
    );
    Ok(found == 0)
}

/// The places a rule complains about, for its tests.
#[cfg(test)]
fn places(check: fn(&Tree) -> Vec<Finding>, files: &[(&str, &str)]) -> Vec<String> {
    check(&Tree::of(files))
        .into_iter()
        .map(|finding| finding.place)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_have_distinct_names_and_say_why() {
        for (index, rule) in RULES.iter().enumerate() {
            assert!(
                rule.why.ends_with('.'),
                "{} says why in a sentence",
                rule.name
            );
            assert!(
                RULES[..index].iter().all(|other| other.name != rule.name),
                "{}",
                rule.name
            );
        }
    }
}
