//! Circles between the folders of the server: whoever changes one folder of a circle has to know all of it.

use std::collections::{BTreeMap, BTreeSet};

use super::Finding;
use super::tree::{File, Tree};

const SOURCE: &str = "crates/server/src/";
const ROOT: &str = "crate::";
/// What only tests need may point anywhere.
const TESTS: &str = "#[cfg(test)]\nmod ";

/// One folder, or file beside them, that needs another.
struct Need<'t> {
    from: &'t str,
    to: &'t str,
    file: &'t File,
    offset: usize,
}

pub(super) fn module_circle(tree: &Tree) -> Vec<Finding> {
    let files: Vec<(&str, &File)> = tree
        .under(SOURCE)
        .filter_map(|file| Some((module_of(file)?, file)))
        .collect();
    let modules: BTreeSet<&str> = files.iter().map(|(module, _)| *module).collect();
    let needs: Vec<Need<'_>> = files
        .iter()
        .flat_map(|(from, file)| needs_of(from, file))
        .filter(|need| need.to != need.from && modules.contains(need.to))
        .collect();
    let mut graph: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for need in &needs {
        graph.entry(need.from).or_default().insert(need.to);
    }
    needs
        .iter()
        .filter_map(|need| {
            let way_back = way(&graph, need.to, need.from)?;
            let message = format!("`{}` needs `{}`", need.from, way_back.join("` needs `"));
            let line = need.file.line_at(need.offset);
            Some(Finding::at_line(need.file, line, message))
        })
        .collect()
}

/// The folder below the root that a file is in, or its own name; `None` for the root itself.
fn module_of(file: &File) -> Option<&str> {
    let path = file.path.strip_prefix(SOURCE)?.strip_suffix(".rs")?;
    let module = path.split_once('/').map_or(path, |(folder, _)| folder);
    (!["lib", "main"].contains(&module)).then_some(module)
}

/// What a file names right below the root: `crate::name` and `crate::{name, other::thing}`.
fn needs_of<'t>(from: &'t str, file: &'t File) -> Vec<Need<'t>> {
    let text = file.text.split(TESTS).next().unwrap_or_default();
    let mut needs = Vec::new();
    for (offset, _) in text.match_indices(ROOT) {
        let before = &text[..offset];
        let line = &before[before.rfind('\n').map_or(0, |end| end + 1)..];
        if line.trim_start().starts_with("//") {
            continue;
        }
        let start = offset + ROOT.len();
        let mut depth = 0;
        let mut is_name_next = true;
        for (place, letter) in text[start..].char_indices() {
            match letter {
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' if depth == 1 => is_name_next = true,
                _ if is_name_next && letter.is_ascii_lowercase() => {
                    let offset = start + place;
                    needs.push(Need {
                        from,
                        to: name_at(&text[offset..]),
                        file,
                        offset,
                    });
                    is_name_next = false;
                }
                _ => {}
            }
            if depth == 0 && !letter.is_whitespace() {
                break;
            }
        }
    }
    needs
}

fn name_at(text: &str) -> &str {
    let end = text.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    &text[..end.unwrap_or(text.len())]
}

/// The shortest way from one to another, both included; `None` if there is none.
fn way<'t>(
    graph: &BTreeMap<&'t str, BTreeSet<&'t str>>,
    from: &'t str,
    to: &str,
) -> Option<Vec<&'t str>> {
    let mut ways = vec![vec![from]];
    let mut seen = BTreeSet::from([from]);
    let mut next = 0;
    while let Some(way) = ways.get(next).cloned() {
        next += 1;
        let last = *way.last()?;
        if last == to {
            return Some(way);
        }
        for &needed in graph.get(last).into_iter().flatten() {
            if seen.insert(needed) {
                ways.push([way.as_slice(), &[needed]].concat());
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<(String, String)> {
        let findings = module_circle(&Tree::of(files)).into_iter();
        findings
            .map(|finding| (finding.place, finding.message))
            .collect()
    }

    #[test]
    fn a_circle_is_told_by_each_of_its_arrows() {
        let found = found(&[
            ("crates/server/src/lib.rs", "mod alerts;\nmod edge;\n"),
            (
                "crates/server/src/edge/extract.rs",
                "use crate::{\n    config,\n    planes::{Control, Data},\n};\n",
            ),
            (
                "crates/server/src/planes.rs",
                "fn a() { crate::alerts::run(); }\n",
            ),
            (
                "crates/server/src/alerts/mod.rs",
                "use crate::edge::Problem;\n",
            ),
            ("crates/server/src/config.rs", "pub struct Config;\n"),
        ]);
        let told = [
            (
                "crates/server/src/alerts/mod.rs:1",
                "`alerts` needs `edge` needs `planes` needs `alerts`",
            ),
            (
                "crates/server/src/edge/extract.rs:3",
                "`edge` needs `planes` needs `alerts` needs `edge`",
            ),
            (
                "crates/server/src/planes.rs:1",
                "`planes` needs `alerts` needs `edge` needs `planes`",
            ),
        ];
        let mut found: Vec<_> = found
            .iter()
            .map(|(place, told)| (place.as_str(), told.as_str()))
            .collect();
        found.sort_unstable();
        assert_eq!(found, told);
    }

    #[test]
    fn comments_tests_and_arrows_one_way_are_none() {
        let found = found(&[
            (
                "crates/server/src/edge/mod.rs",
                "//! See [`crate::alerts`].\n#[cfg(test)]\nmod tests {\n    use crate::alerts;\n}\n",
            ),
            ("crates/server/src/alerts/mod.rs", "use crate::edge;\n"),
            ("crates/journal/src/a.rs", "use crate::b;\n"),
            ("crates/journal/src/b.rs", "use crate::a;\n"),
        ]);
        assert!(found.is_empty(), "{found:?}");
    }
}
