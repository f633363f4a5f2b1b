//! Rules about the manifests: dependencies are used and explained, and our crates point the right way.

use super::Finding;
use super::tree::{File, Tree};

const EXPLANATIONS: &str = "docs/reference/dependencies.md";

const PACKAGES: [&str; 2] = ["console/package.json", "sdks/typescript/package.json"];
const REQUIREMENTS: [&str; 2] = ["sdks/python/requirements-dev.txt", "scripts/check-api.txt"];

/// Compares the workspace's and the packages' dependencies with the first columns of the page that
/// explains them.
pub(super) fn unexplained_dependency(tree: &Tree) -> Vec<Finding> {
    let Some(manifest) = tree.get("Cargo.toml") else {
        return Vec::new();
    };
    let Some(page) = tree.get(EXPLANATIONS) else {
        return vec![Finding::in_file(
            manifest,
            format!("{EXPLANATIONS} is missing"),
        )];
    };
    let explained: Vec<(usize, &str)> = page
        .lines()
        .filter_map(|(number, line)| Some((number, line.strip_prefix("| `")?.split_once('`')?.0)))
        .collect();
    let of_crates = dependencies(manifest)
        .filter(|dependency| dependency.section == "workspace.dependencies")
        .filter(|dependency| !dependency.value.contains("path ="))
        .map(|dependency| (manifest, dependency.line, dependency.name));
    let of_packages = PACKAGES
        .iter()
        .filter_map(|path| tree.get(path))
        .flat_map(|file| packages(file).map(move |(line, name)| (file, line, name)));
    let of_python = REQUIREMENTS
        .iter()
        .filter_map(|path| tree.get(path))
        .flat_map(|file| requirements(file).map(move |(line, name)| (file, line, name)));
    let used: Vec<(&File, usize, &str)> = of_crates.chain(of_packages).chain(of_python).collect();

    let mut findings = Vec::new();
    for (file, line, wanted) in &used {
        if !explained.iter().any(|(_, name)| name == wanted) {
            let message = format!("say in {EXPLANATIONS} why `{wanted}` is here");
            findings.push(Finding::at_line(file, *line, message));
        }
    }
    for (number, name) in explained {
        if !used.iter().any(|(_, _, used)| *used == name) {
            let message = format!("`{name}` is not a dependency any more");
            findings.push(Finding::at_line(page, number, message));
        }
    }
    findings
}

/// Programs that only try Watchbell.
const NOT_SHIPPED: [&str; 2] = ["bench/Cargo.toml", "faults/Cargo.toml"];

pub(super) fn crate_direction(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for manifest in tree
        .files
        .iter()
        .filter(|file| file.path.ends_with("/Cargo.toml"))
    {
        for dependency in dependencies(manifest) {
            let message = match dependency.name {
                "server" => "nothing may depend on `server`",
                "testkit"
                    if dependency.section != "dev-dependencies"
                        && !NOT_SHIPPED.contains(&manifest.path.as_str()) =>
                {
                    "`testkit` may only be a dev-dependency"
                }
                _ => continue,
            };
            findings.push(Finding::at_line(manifest, dependency.line, message));
        }
    }
    findings
}

/// A dependency is used when a source of its crate has its name, in code or in an attribute.
pub(super) fn unused_dependency(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for manifest in &tree.files {
        let Some(folder) = manifest.path.strip_suffix("Cargo.toml") else {
            continue;
        };
        let sources = sources(tree, folder);
        for dependency in dependencies(manifest) {
            let name = dependency.name.replace('-', "_");
            let is_used = dependency.section == "workspace.dependencies"
                || sources.iter().any(|file| has_word(&file.text, &name));
            if !is_used {
                let message = format!("no source of this crate uses `{}`", dependency.name);
                findings.push(Finding::at_line(manifest, dependency.line, message));
            }
        }
    }
    findings
}

/// The sources in a crate's folder, and those that they include from elsewhere.
fn sources<'a>(tree: &'a Tree, folder: &str) -> Vec<&'a File> {
    let is_source = |file: &&File| file.path.starts_with(folder) && file.extension() == Some("rs");
    let own: Vec<&File> = tree.files.iter().filter(is_source).collect();
    let included = own.iter().flat_map(|file| {
        let paths = file
            .lines()
            .filter_map(|(_, line)| line.trim().strip_prefix("#[path = \"")?.strip_suffix("\"]"));
        // However many folders up: what follows names the file from the root.
        paths.filter_map(|path| tree.get(path.trim_start_matches("../")))
    });
    let included: Vec<&File> = included.collect();
    [own, included].concat()
}

fn has_word(text: &str, word: &str) -> bool {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    text.match_indices(word).any(|(at, _)| {
        !text[..at].ends_with(is_part) && !text[at + word.len()..].starts_with(is_part)
    })
}

struct Dependency<'a> {
    line: usize,
    /// The table it stands in, such as `dev-dependencies`.
    section: &'a str,
    name: &'a str,
    value: &'a str,
}

/// What a manifest lists under any table whose name ends in `dependencies`. Our manifests have one
/// dependency on a line; nothing more of TOML is understood.
fn dependencies(manifest: &File) -> impl Iterator<Item = Dependency<'_>> {
    let mut section = "";
    manifest.lines().filter_map(move |(line, text)| {
        if let Some(table) = text.strip_prefix('[') {
            section = table.trim_end().trim_end_matches(']');
            return None;
        }
        if !section.ends_with("dependencies") || text.starts_with(['#', ' ']) {
            return None;
        }
        let (key, value) = text.split_once('=')?;
        let name = key.trim().trim_matches('"').split('.').next()?;
        Some(Dependency {
            line,
            section,
            name,
            value,
        })
    })
}

/// What a list of Python packages asks for: the first paragraph; what these bring along follows.
fn requirements(list: &File) -> impl Iterator<Item = (usize, &str)> {
    let asked_for = list.lines().take_while(|(_, text)| !text.is_empty());
    asked_for.filter_map(|(line, text)| Some((line, text.split_once("==")?.0)))
}

/// What a `package.json` lists as dependencies, as npm writes it: one on a line.
fn packages(manifest: &File) -> impl Iterator<Item = (usize, &str)> {
    let mut is_inside = false;
    manifest.lines().filter_map(move |(line, text)| {
        let text = text.trim();
        if text.ends_with('{') {
            is_inside = text.to_lowercase().contains("dependencies\"");
        } else if text.starts_with('}') {
            is_inside = false;
        }
        let (name, _) = text.strip_prefix('"')?.split_once("\": \"")?;
        is_inside.then_some((line, name))
    })
}

#[cfg(test)]
mod tests {
    use super::super::places;
    use super::*;

    #[test]
    fn every_dependency_is_explained_and_every_explanation_has_one() {
        let manifest = "[workspace.dependencies]\n# Ours.\ndomain = { path = \"crates/domain\" }\n\
                        anyhow = \"1\"\nhex = { version = \"0.4\" }\n\n[profile.dev]\ndebug = true\n";
        let page = "| crate | why |\n|---|---|\n| `hex` | digests |\n| `gone` | once |\n| `react` | pages |\n";
        let packages = "{\n  \"type\": \"module\",\n  \"dependencies\": {\n    \"react\": \"19\"\n  },\n  \
                        \"devDependencies\": {\n    \"vite\": \"8\"\n  }\n}\n";
        let found = places(
            unexplained_dependency,
            &[
                ("Cargo.toml", manifest),
                ("console/package.json", packages),
                ("sdks/typescript/package.json", packages),
                (
                    "sdks/python/requirements-dev.txt",
                    "# Asked for:\nhttpx==1\n\nanyio==2\n",
                ),
                ("docs/reference/dependencies.md", page),
            ],
        );
        assert_eq!(
            found,
            [
                "Cargo.toml:4",
                "console/package.json:7",
                "sdks/typescript/package.json:7",
                "sdks/python/requirements-dev.txt:2",
                "docs/reference/dependencies.md:4"
            ]
        );
    }

    #[test]
    fn a_dependency_that_no_source_names_is_found() {
        let found = places(
            unused_dependency,
            &[
                ("Cargo.toml", "[workspace.dependencies]\nhex = \"0.4\"\n"),
                (
                    "fuzz/Cargo.toml",
                    "[dependencies]\nserde-json.workspace = true\nhex.workspace = true\nzstd.workspace = true\n",
                ),
                (
                    "fuzz/src/lib.rs",
                    "#[path = \"../../crates/server/src/unpack.rs\"]\nmod unpack;\nuse serde_json::json;\nlet hexed = 1;\n",
                ),
                ("crates/server/src/unpack.rs", "zstd::decode()\n"),
                ("crates/domain/src/lib.rs", "use hex;\n"),
            ],
        );
        assert_eq!(found, ["fuzz/Cargo.toml:3"]);
    }

    #[test]
    fn nothing_imports_the_server_and_test_support_stays_in_tests() {
        let found = places(
            crate_direction,
            &[
                (
                    "crates/cli/Cargo.toml",
                    "[dependencies]\nserver.workspace = true\n",
                ),
                (
                    "crates/store/Cargo.toml",
                    "[dependencies]\ntestkit.workspace = true\n",
                ),
                (
                    "bench/Cargo.toml",
                    "[dependencies]\ntestkit.workspace = true\n",
                ),
                (
                    "crates/server/Cargo.toml",
                    "[dev-dependencies]\ntestkit.workspace = true\n",
                ),
            ],
        );
        assert_eq!(
            found,
            ["crates/cli/Cargo.toml:2", "crates/store/Cargo.toml:2"]
        );
    }
}
