//! A rule about our own version: it is the same everywhere.

use super::Finding;
use super::tree::{File, Tree};

/// Where a version of ours stands, by the file's name and by what its line begins with.
const PLACES: [(&str, &str); 8] = [
    ("package.json", "  \"version\": \""),
    ("package.json", "    \"@watchbell/linux-x64\": \""),
    ("package-lock.json", "  \"version\": \""),
    ("pyproject.toml", "version = \""),
    ("Chart.yaml", "version: "),
    ("Chart.yaml", "appVersion: "),
    ("Dockerfile", "ARG VERSION=\""),
    ("openapi.json", "    \"version\": \""),
];
/// What is published under no version: the console is a part of the binary.
const WITHOUT: &str = "0.0.0";
/// What images are called in commands and examples.
const IMAGE: &str = "watchbell:";

/// Compares with the workspace's, in Cargo.toml.
pub(super) fn another_version(tree: &Tree) -> Vec<Finding> {
    let Some(version) = tree.get("Cargo.toml").and_then(of_the_workspace) else {
        return Vec::new();
    };
    let mut findings = Vec::new();
    for file in &tree.files {
        let places = PLACES.iter().filter(|(name, _)| *name == file.name());
        let starts: Vec<&str> = places.map(|(_, start)| *start).collect();
        for (number, line) in file.lines() {
            let stated = starts.iter().filter_map(|start| line.strip_prefix(start));
            let tagged = line.match_indices(IMAGE);
            let tagged = tagged.map(|(at, _)| &line[at + IMAGE.len()..]);
            for other in stated.chain(tagged).filter_map(leading_version) {
                if other != version && other != WITHOUT {
                    let message = format!("says {other}; Cargo.toml says {version}");
                    findings.push(Finding::at_line(file, number, message));
                }
            }
        }
    }
    findings
}

fn of_the_workspace(manifest: &File) -> Option<&str> {
    let mut lines = manifest.lines().map(|(_, line)| line);
    lines.find(|line| *line == "[workspace.package]")?;
    leading_version(lines.find_map(|line| line.strip_prefix("version = \""))?)
}

/// The `1.2.3` that a text begins with.
pub(super) fn leading_version(text: &str) -> Option<&str> {
    let end = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.');
    let version = &text[..end.unwrap_or(text.len())];
    let version = version.trim_end_matches('.');
    (version.split('.').filter(|part| !part.is_empty()).count() == 3).then_some(version)
}

#[cfg(test)]
mod tests {
    use super::super::places;
    use super::*;

    #[test]
    fn a_version_that_was_left_behind_is_found() {
        let found = places(
            another_version,
            &[
                (
                    "Cargo.toml",
                    "[workspace.package]\nedition = \"2024\"\nversion = \"0.2.0\"\n\n[workspace.dependencies]\na = \"1.0.0\"\n",
                ),
                ("console/package.json", "{\n  \"version\": \"0.0.0\",\n"),
                (
                    "sdk/package.json",
                    "{\n  \"version\": \"0.1.0\",\n  \"a\": \"1.0.0\"\n",
                ),
                ("sdk/pyproject.toml", "[project]\nversion = \"0.2.0\"\n"),
                ("deploy/Chart.yaml", "version: 0.2.0\nappVersion: 0.1.0\n"),
                (
                    "docs/openapi.json",
                    "{\n  \"info\": {\n    \"version\": \"0.2.0\"\n",
                ),
                (
                    "docs/docker.md",
                    "docker run watchbell:0.1.0.\ndocker run watchbell:dev\n",
                ),
            ],
        );
        assert_eq!(
            found,
            [
                "sdk/package.json:2",
                "deploy/Chart.yaml:2",
                "docs/docker.md:1"
            ]
        );
    }
}
