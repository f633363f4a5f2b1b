//! Rules about source: its size, its names, and what may be written where.

use super::tree::{File, Tree};
use super::{Finding, OWN_EXAMPLES};

/// From STYLE.md: 100 to 400 lines is comfortable; the rest is slack for tests beside the code.
const FILE_LINES_MAX: usize = 500;
const VAGUE_NAMES: [&str; 7] = [
    "utils", "util", "common", "helpers", "helper", "misc", "types",
];
/// Where SQL is at home: the store, and what starts or imitates a database for tests.
const SQL_AT_HOME: [&str; 4] = [
    "crates/store/",
    "crates/engines/",
    "crates/testkit/",
    "bench/",
];

pub(super) fn file_length(tree: &Tree) -> Vec<Finding> {
    tree.source()
        .map(|file| (file, file.text.lines().count()))
        .filter(|(_, lines)| *lines > FILE_LINES_MAX)
        .map(|(file, lines)| {
            Finding::in_file(
                file,
                format!("{lines} lines; split it below {FILE_LINES_MAX}"),
            )
        })
        .collect()
}

/// Modules start with `//!`. Binaries, tests, examples, benchmarks and TypeScript may use `//`, because
/// their documentation is never rendered.
pub(super) fn first_sentence(tree: &Tree) -> Vec<Finding> {
    tree.source()
        .filter(|file| {
            let first = file.text.lines().next().unwrap_or_default();
            let sentence = match first.strip_prefix("//!") {
                None if is_module(file) => None,
                None => first.strip_prefix("// "),
                documented => documented,
            };
            sentence.is_none_or(|sentence| sentence.trim().is_empty())
        })
        .map(|file| {
            let wanted = if is_module(file) {
                "`//! `"
            } else {
                "`//! ` or `// `"
            };
            Finding::in_file(file, format!("start it with {wanted} and what it is about"))
        })
        .collect()
}

fn is_module(file: &File) -> bool {
    let in_source = file.folder().split('/').any(|part| part == "src");
    let is_rust = file.extension() == Some("rs");
    is_rust && in_source && !file.is_integration_test() && file.name() != "main.rs"
}

pub(super) fn vague_name(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.source() {
        let folders = file.folder().split('/');
        if let Some(name) = folders
            .chain([file.stem()])
            .find(|name| VAGUE_NAMES.contains(name))
        {
            findings.push(Finding::in_file(
                file,
                format!("`{name}` is not a noun of the product"),
            ));
        }
        for (number, line) in file.lines() {
            if let Some(name) = declared_module(line).filter(|name| VAGUE_NAMES.contains(name)) {
                let message = format!("module `{name}` is not a noun of the product");
                findings.push(Finding::at_line(file, number, message));
            }
        }
    }
    findings
}

/// The name in `mod name;`, `pub mod name {` and the like.
fn declared_module(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let after = match line.strip_prefix("pub") {
        Some(rest) if rest.starts_with('(') => rest.split_once(") ")?.1,
        Some(rest) => rest.strip_prefix(' ')?,
        None => line,
    };
    let name = after.strip_prefix("mod ")?.split([';', ' ', '{']).next()?;
    (!name.is_empty()).then_some(name)
}

pub(super) fn unreached_file(tree: &Tree) -> Vec<Finding> {
    tree.rust()
        .filter(|file| file.folder().split('/').any(|part| part == "src"))
        .filter(|file| !["lib.rs", "main.rs"].contains(&file.name()))
        .filter(|file| !file.folder().ends_with("src/bin"))
        .filter_map(|file| {
            let (module, folder) = match file.name() {
                "mod.rs" => {
                    let (above, module) = file.folder().rsplit_once('/')?;
                    (module, above)
                }
                _ => (file.stem(), file.folder()),
            };
            let parents = [
                format!("{folder}/lib.rs"),
                format!("{folder}/main.rs"),
                format!("{folder}/mod.rs"),
                format!("{folder}.rs"),
            ];
            let is_reached = parents
                .iter()
                .filter_map(|parent| tree.get(parent))
                .any(|parent| {
                    parent
                        .text
                        .lines()
                        .any(|line| declared_module(line) == Some(module))
                });
            let message = format!("add `mod {module};` to {folder}, or delete the file");
            (!is_reached).then(|| Finding::in_file(file, message))
        })
        .collect()
}

pub(super) fn lint_reason(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree
        .rust()
        .filter(|file| !file.path.starts_with(OWN_EXAMPLES))
    {
        for opening in ["#[allow(", "#[expect(", "#![allow(", "#![expect("] {
            for (offset, _) in file.text.match_indices(opening) {
                let attribute = &file.text[offset..];
                let attribute = attribute
                    .split_once(")]")
                    .map_or(attribute, |(inside, _)| inside);
                if !attribute.contains("reason") && !is_comment(line_around(&file.text, offset)) {
                    let message = "add `, reason = \"...\"`";
                    findings.push(Finding::at_line(file, file.line_at(offset), message));
                }
            }
        }
    }
    findings
}

pub(super) fn sql_outside_store(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let elsewhere = tree.rust().filter(|file| {
        !file.is_integration_test()
            && !file.path.starts_with(OWN_EXAMPLES)
            && !SQL_AT_HOME.iter().any(|home| file.path.starts_with(home))
    });
    for file in elsewhere {
        for (offset, _) in file.text.match_indices('"') {
            let literal = file.text[offset + 1..].trim_start_matches([' ', '\n', '\\']);
            if begins_like_sql(literal) && !is_comment(line_around(&file.text, offset)) {
                let message = "move this query into crates/store";
                findings.push(Finding::at_line(file, file.line_at(offset), message));
            }
        }
    }
    findings
}

/// Capitals alone are enough of a sign; in small letters, `select` and `update` are also English.
/// From a table; what an array is unnested into has the columns that the query gave it.
pub(super) fn select_star(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree
        .rust()
        .filter(|file| file.path.starts_with("crates/store/"))
    {
        for (number, line) in file.lines() {
            let star = line.split_once("SELECT * FROM ");
            if star.is_some_and(|(_, from)| !from.to_uppercase().starts_with("UNNEST")) {
                findings.push(Finding::at_line(file, number, "name the columns"));
            }
        }
    }
    findings
}

fn begins_like_sql(text: &str) -> bool {
    [
        "SELECT ",
        "INSERT INTO ",
        "UPDATE ",
        "DELETE FROM ",
        "insert into ",
        "delete from ",
    ]
    .iter()
    .any(|keyword| text.starts_with(keyword))
}

pub(super) fn sleep_in_test(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.source().filter(|file| file.is_integration_test()) {
        let mut line_before = "";
        for (number, line) in file.lines() {
            let is_explained = [line_before, line]
                .iter()
                .any(|line| line.contains("// waits for:"));
            if sleeps(line) && !is_comment(line) && !is_explained {
                let message = "wait for a condition with a deadline instead";
                findings.push(Finding::at_line(file, number, message));
            }
            line_before = line;
        }
    }
    findings
}

/// Whether it calls `sleep`, and not something whose name only ends so, such as SQL's `pg_sleep`; in the
/// console's tests it is `waitForTimeout`.
fn sleeps(line: &str) -> bool {
    line.contains("waitForTimeout(")
        || line
            .match_indices("sleep(")
            .any(|(at, _)| !line[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_'))
}

pub(super) fn golden_unused(tree: &Tree) -> Vec<Finding> {
    tree.under("crates/journal/golden/")
        .filter(|file| file.extension() != Some("md"))
        .filter(|file| {
            let sources = tree
                .under("crates/journal/")
                .filter(|file| file.extension() == Some("rs"));
            !sources
                .into_iter()
                .any(|source| source.text.contains(file.name()))
        })
        .map(|file| Finding::in_file(file, "name it in a test that decodes it"))
        .collect()
}

fn is_comment(line: &str) -> bool {
    line.trim_start().starts_with("//")
}

fn line_around(text: &str, offset: usize) -> &str {
    let start = text[..offset].rfind('\n').map_or(0, |newline| newline + 1);
    text[start..].lines().next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::places;
    use super::*;

    #[test]
    fn a_file_may_have_500_lines_and_no_more() {
        let full = "//! Full.\n".repeat(FILE_LINES_MAX);
        let over = "//! Over.\n".repeat(FILE_LINES_MAX + 1);
        let found = places(
            file_length,
            &[("a/src/full.rs", &full), ("a/src/over.rs", &over)],
        );
        assert_eq!(found, ["a/src/over.rs"]);
    }

    #[test]
    fn a_file_starts_with_what_it_is_about() {
        let found = places(
            first_sentence,
            &[
                ("a/src/lib.rs", "//! Events.\n"),
                ("a/src/bare.rs", "use std::fs;\n"),
                ("a/src/empty.rs", "//!\n//! Late.\n"),
                ("a/src/plain.rs", "// Not rendered.\n"),
                ("a/src/main.rs", "// Starts it.\n"),
                ("a/tests/it/main.rs", "// Stories.\n"),
                ("a/tests/it/bare.rs", "mod app;\n"),
                ("console/src/Rule.tsx", "// A rule.\n"),
                ("console/src/bare.ts", "export {};\n"),
                ("console/src/made.d.ts", "export {};\n"),
            ],
        );
        assert_eq!(
            found,
            [
                "a/src/bare.rs",
                "a/src/empty.rs",
                "a/src/plain.rs",
                "a/tests/it/bare.rs",
                "console/src/bare.ts"
            ]
        );
    }

    #[test]
    fn bags_are_refused_as_files_folders_and_modules() {
        let found = places(
            vague_name,
            &[
                ("a/src/utils.rs", ""),
                ("a/tests/common/mod.rs", ""),
                (
                    "a/src/lib.rs",
                    "pub mod events;\npub(crate) mod types {\n}\n",
                ),
                ("a/src/events.rs", "// common ground\n"),
            ],
        );
        assert_eq!(
            found,
            ["a/src/utils.rs", "a/tests/common/mod.rs", "a/src/lib.rs:2"]
        );
    }

    #[test]
    fn a_file_that_no_module_names_is_found() {
        let found = places(
            unreached_file,
            &[
                ("a/src/lib.rs", "mod events;\nmod rules;\n"),
                ("a/src/events/mod.rs", "mod ingest;\n"),
                ("a/src/events/ingest.rs", ""),
                ("a/src/events/forgotten.rs", ""),
                ("a/src/rules.rs", "mod set;\n"),
                ("a/src/rules/set.rs", ""),
                ("a/src/bin/tool.rs", ""),
            ],
        );
        assert_eq!(found, ["a/src/events/forgotten.rs"]);
    }

    #[test]
    fn an_exception_to_a_lint_gives_its_reason() {
        let text = "#[allow(dead_code)]\n#[expect(\n    dead_code,\n    reason = \"soon\"\n)]\n\
                    // #[allow(dead_code)] in prose\n#![expect(dead_code)]\n";
        assert_eq!(
            places(lint_reason, &[("a/src/lib.rs", text)]),
            ["a/src/lib.rs:1", "a/src/lib.rs:7"]
        );
    }

    #[test]
    fn a_star_is_found_where_columns_should_be_named() {
        let text =
            "\"SELECT * FROM rules\"\n\"SELECT * FROM UNNEST($1)\"\n\"SELECT id FROM rules\"\n";
        let files = [
            ("crates/store/src/a.rs", text),
            ("crates/other/src/a.rs", text),
        ];
        assert_eq!(places(select_star, &files), ["crates/store/src/a.rs:1"]);
    }

    #[test]
    fn sql_is_found_outside_the_store() {
        let query = "let q = \"SELECT 1\";\nlet r = \"\n    INSERT INTO t VALUES (1)\";\n";
        let found = places(
            sql_outside_store,
            &[
                ("crates/store/src/events.rs", query),
                ("crates/server/tests/it/main.rs", query),
                ("crates/server/src/events.rs", query),
                (
                    "crates/server/src/prose.rs",
                    "let s = \"select one of these\";\n",
                ),
            ],
        );
        assert_eq!(
            found,
            [
                "crates/server/src/events.rs:1",
                "crates/server/src/events.rs:2"
            ]
        );
    }

    #[test]
    fn a_test_that_sleeps_says_what_it_waits_for() {
        let text = "sleep(SECOND).await;\nquery(\"pg_sleep(60)\");\n// waits for: the lease to end\nsleep(SECOND).await;\n";
        let found = places(
            sleep_in_test,
            &[("a/tests/it/main.rs", text), ("a/src/lib.rs", text)],
        );
        assert_eq!(found, ["a/tests/it/main.rs:1"]);
    }

    #[test]
    fn a_golden_file_is_named_by_a_test() {
        let found = places(
            golden_unused,
            &[
                ("crates/journal/golden/README.md", ""),
                ("crates/journal/golden/event_v1.bin", ""),
                ("crates/journal/golden/event_v2.bin", ""),
                ("crates/journal/tests/golden.rs", "decode(\"event_v1.bin\")"),
            ],
        );
        assert_eq!(found, ["crates/journal/golden/event_v2.bin"]);
    }
}
