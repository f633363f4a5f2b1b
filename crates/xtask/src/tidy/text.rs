//! Rules about text of any kind: who does it, whose machine it names, and invisible characters.

use super::tree::{File, Tree};
use super::{Finding, OWN_EXAMPLES};
use crate::changelog;

/// Text that is compared byte for byte or copied from elsewhere keeps its blanks.
const VERBATIM: [&str; 4] = ["/golden/", "/vectors/", "/snapshots/", "LICENSE"];
const MACHINE_FOLDERS: [&str; 3] = ["/work/", "/root/", "/home/"];

/// Prose may talk about the word; code may not leave one behind.
pub(super) fn todo_owner(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, number, line) in written_lines(tree) {
        if file.extension() == Some("md") {
            continue;
        }
        let is_unowned = line.match_indices("TODO").any(|(at, word)| {
            let starts_word = !line[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
            let after = &line[at + word.len()..];
            let ends_word = !after.starts_with(|c: char| c.is_alphanumeric() || c == '_');
            let has_owner = after.starts_with('(') && !after.starts_with("()");
            starts_word && ends_word && !has_owner
        });
        if is_unowned || line.contains("FIXME") {
            findings.push(Finding::at_line(
                file,
                number,
                "who does it? `TODO(name): ...`",
            ));
        }
    }
    findings
}

pub(super) fn machine_path(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, number, line) in written_lines(tree) {
        let found = MACHINE_FOLDERS.iter().find(|folder| {
            line.match_indices(**folder).any(|(at, _)| {
                // `example.com/home/` and `$PREFIX/work/` are not paths from a machine's root.
                !line[..at].ends_with(|c: char| c.is_alphanumeric() || "_-.})~*".contains(c))
            })
        });
        if let Some(folder) = found {
            findings.push(Finding::at_line(
                file,
                number,
                format!("`{folder}` is one machine's"),
            ));
        }
    }
    findings
}

pub(super) fn trailing_whitespace(tree: &Tree) -> Vec<Finding> {
    written_lines(tree)
        .filter(|(_, _, line)| line.ends_with([' ', '\t', '\r']))
        .map(|(file, number, _)| Finding::at_line(file, number, "remove the blanks at its end"))
        .collect()
}

pub(super) fn changelog_fragment(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree
        .under("changelog.d/")
        .filter(|file| file.name() != "README.md")
    {
        if let Err(why) = changelog::parse_name(file.name()) {
            findings.push(Finding::in_file(file, format!("the name {why}")));
        }
        if file.text.trim().is_empty() {
            findings.push(Finding::in_file(file, "say what changes for the user"));
        }
    }
    findings
}

fn written_lines(tree: &Tree) -> impl Iterator<Item = (&File, usize, &str)> {
    tree.files
        .iter()
        .filter(|file| !file.path.starts_with(OWN_EXAMPLES))
        .filter(|file| {
            !VERBATIM
                .iter()
                .any(|part| format!("/{}", file.path).contains(part))
        })
        .flat_map(|file| {
            // `lines()` would drop a carriage return, which is one of the things looked for.
            file.text
                .split('\n')
                .enumerate()
                .map(move |(index, line)| (file, index + 1, line))
        })
}

#[cfg(test)]
mod tests {
    use super::super::places;
    use super::*;

    #[test]
    fn a_todo_names_its_owner() {
        let text = "// TODO: later\n// TODO(ann): later\n// TODOs\n// FIXME\n// TODO() none\n";
        let found = places(
            todo_owner,
            &[("a.rs", text), ("STYLE.md", "no TODO without owner\n")],
        );
        assert_eq!(found, ["a.rs:1", "a.rs:4", "a.rs:5"]);
    }

    #[test]
    fn a_path_of_one_machine_is_found() {
        let text = "cd /work/main\nhttps://example.com/home/x\n\"/home/ann\"\n$PREFIX/work/x\n/root/.cache\n";
        assert_eq!(
            places(machine_path, &[("a.sh", text)]),
            ["a.sh:1", "a.sh:3", "a.sh:5"]
        );
    }

    #[test]
    fn blanks_at_the_end_of_a_line_are_found() {
        let found = places(
            trailing_whitespace,
            &[
                ("a.md", "one\ntwo \nthree\r\n"),
                ("x/golden/a.json", "one \n"),
            ],
        );
        assert_eq!(found, ["a.md:2", "a.md:3"]);
    }

    #[test]
    fn a_fragment_is_named_for_its_kind_and_says_something() {
        let found = places(
            changelog_fragment,
            &[
                ("changelog.d/README.md", ""),
                ("changelog.d/2-skeleton.added.md", "It walks.\n"),
                ("changelog.d/skeleton.md", "It walks.\n"),
                ("changelog.d/3-empty.fixed.md", "\n"),
            ],
        );
        assert_eq!(
            found,
            ["changelog.d/skeleton.md", "changelog.d/3-empty.fixed.md"]
        );
    }
}
