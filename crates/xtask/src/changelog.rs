//! The changelog: one fragment for each change in `changelog.d/`, folded into `CHANGELOG.md` when a
//! version is released, so that two branches never meet in the same lines.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, ensure};

/// The kinds of change and their headings, in the order a reader wants them.
const KINDS: [(&str, &str); 4] = [
    ("security", "Security"),
    ("changed", "Changed"),
    ("added", "Added"),
    ("fixed", "Fixed"),
];
/// The line in CHANGELOG.md below which the newest release is written.
const NEWEST_BELOW: &str = "<!-- releases, newest first -->\n";

/// What a fragment's file name says.
#[derive(Debug, PartialEq)]
pub(crate) struct FragmentName<'a> {
    pub(crate) issue: u32,
    pub(crate) kind: &'a str,
}

/// Reads `<issue>-<slug>.<kind>.md`; the refusal says what is wrong with it.
pub(crate) fn parse_name(name: &str) -> Result<FragmentName<'_>, String> {
    let stem = name.strip_suffix(".md").ok_or("does not end in .md")?;
    let (subject, kind) = stem.split_once('.').ok_or("has no kind before .md")?;
    if !KINDS.iter().any(|(known, _)| *known == kind) {
        let known: Vec<_> = KINDS.iter().map(|(kind, _)| *kind).collect();
        return Err(format!(
            "has kind `{kind}`; the kinds are {}",
            known.join(", ")
        ));
    }
    let (issue, slug) = subject
        .split_once('-')
        .ok_or("has no `-` after the issue's number")?;
    let issue = issue
        .parse()
        .map_err(|_| format!("starts with `{issue}`, not an issue's number"))?;
    let is_slug = !slug.is_empty()
        && slug
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
    if !is_slug {
        return Err(format!("has slug `{slug}`; use a-z, 0-9 and `-`"));
    }
    Ok(FragmentName { issue, kind })
}

/// Writes all fragments into CHANGELOG.md under `version` and removes them.
pub(crate) fn fold(root: &Path, version: &str, date: &str) -> anyhow::Result<()> {
    let folder = root.join("changelog.d");
    let mut fragments = Vec::new();
    for entry in fs::read_dir(&folder).context("list changelog.d")? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name != "README.md" {
            let text = fs::read_to_string(folder.join(&name))
                .with_context(|| format!("read changelog.d/{name}"))?;
            fragments.push((name, text));
        }
    }
    fragments.sort();
    ensure!(
        !fragments.is_empty(),
        "changelog.d has no fragments: nothing to release"
    );

    let changelog = root.join("CHANGELOG.md");
    let before = fs::read_to_string(&changelog).context("read CHANGELOG.md")?;
    let after = with_release(&before, version, date, &fragments)?;
    fs::write(&changelog, after).context("write CHANGELOG.md")?;
    for (name, _) in &fragments {
        fs::remove_file(folder.join(name)).with_context(|| format!("remove changelog.d/{name}"))?;
    }
    println!(
        "{version}: folded {} fragments into CHANGELOG.md",
        fragments.len()
    );
    Ok(())
}

/// The changelog with one more release at its top.
fn with_release(
    changelog: &str,
    version: &str,
    date: &str,
    fragments: &[(String, String)],
) -> anyhow::Result<String> {
    let (head, older) = changelog
        .split_once(NEWEST_BELOW)
        .with_context(|| format!("CHANGELOG.md has no line {}", NEWEST_BELOW.trim_end()))?;
    ensure!(
        !older.contains(&format!("## {version} ")),
        "{version} is in CHANGELOG.md already"
    );

    let mut release = format!("## {version} ({date})\n");
    for (kind, heading) in KINDS {
        let mut items = String::new();
        for (name, text) in fragments {
            let fragment = parse_name(name).map_err(|why| anyhow::anyhow!("{name} {why}"))?;
            if fragment.kind == kind {
                let text = text.trim().replace('\n', "\n  ");
                writeln!(items, "- {text} (#{})", fragment.issue)?;
            }
        }
        if !items.is_empty() {
            write!(release, "\n### {heading}\n\n{items}")?;
        }
    }
    let gap = if older.trim().is_empty() { "" } else { "\n" };
    Ok(format!(
        "{head}{NEWEST_BELOW}\n{release}{gap}{}",
        older.trim_start_matches('\n')
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fragments_name_says_its_issue_and_kind() {
        let name = parse_name("12-signed-retries.fixed.md").unwrap();
        assert_eq!(
            name,
            FragmentName {
                issue: 12,
                kind: "fixed"
            }
        );
    }

    #[test]
    fn a_wrong_name_is_refused_with_what_is_wrong() {
        for (name, why) in [
            ("12-retries.fixed.txt", "does not end in .md"),
            ("12-retries.md", "has no kind before .md"),
            (
                "12-retries.oops.md",
                "has kind `oops`; the kinds are security, changed, added, fixed",
            ),
            ("retries.fixed.md", "has no `-` after the issue's number"),
            (
                "x-retries.fixed.md",
                "starts with `x`, not an issue's number",
            ),
            (
                "12-Signed_Retries.fixed.md",
                "has slug `Signed_Retries`; use a-z, 0-9 and `-`",
            ),
        ] {
            assert_eq!(parse_name(name).unwrap_err(), why, "{name}");
        }
    }

    #[test]
    fn a_release_goes_above_the_older_ones_grouped_by_kind() {
        let before = format!("# Changelog\n\n{NEWEST_BELOW}\n## 0.1.0 (2026-11-01)\n");
        let fragments = [
            ("3-list.fixed.md".to_owned(), "Lists end.\n".to_owned()),
            (
                "4-tail.added.md".to_owned(),
                "A live tail,\nas it happens.\n".to_owned(),
            ),
        ];
        let after = with_release(&before, "0.2.0", "2026-11-20", &fragments).unwrap();
        assert_eq!(
            after,
            format!(
                "# Changelog\n\n{NEWEST_BELOW}\n## 0.2.0 (2026-11-20)\n\n### Added\n\n\
                 - A live tail,\n  as it happens. (#4)\n\n### Fixed\n\n- Lists end. (#3)\n\n\
                 ## 0.1.0 (2026-11-01)\n"
            )
        );
    }

    #[test]
    fn a_version_is_released_once() {
        let before = format!("# Changelog\n\n{NEWEST_BELOW}\n## 0.1.0 (2026-11-01)\n");
        assert!(with_release(&before, "0.1.0", "2026-11-20", &[]).is_err());
    }
}
