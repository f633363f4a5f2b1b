//! Rules about the documentation: links lead somewhere, and every page is listed by an index.

use super::tree::{File, Tree};
use super::{Finding, OWN_EXAMPLES};

pub(super) fn dead_link(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for page in tree
        .with_extension("md")
        .filter(|page| !page.path.starts_with(OWN_EXAMPLES))
    {
        for link in links(page) {
            if !resolve(page, link.target).is_some_and(|path| tree.has(&path)) {
                let message = format!("`{}` does not exist", link.target);
                findings.push(Finding::at_line(page, link.line, message));
            }
        }
    }
    findings
}

/// An index is a README.md. Pages are listed by one; pictures and data need a link from any page.
pub(super) fn unlisted_page(tree: &Tree) -> Vec<Finding> {
    if tree.get("docs/README.md").is_none() {
        return Vec::new();
    }
    let listed = |file: &File| {
        let is_page = file.extension() == Some("md");
        tree.with_extension("md")
            .filter(|page| page.path != file.path && (!is_page || page.name() == "README.md"))
            .any(|page| {
                links(page)
                    .iter()
                    .filter_map(|link| resolve(page, link.target))
                    .any(|path| path == file.path || (is_index_of(file, &path)))
            })
    };
    tree.under("docs/")
        .filter(|file| file.path != "docs/README.md" && !listed(file))
        .map(|file| Finding::in_file(file, "link it from the README.md of its folder"))
        .collect()
}

/// A link to a folder is a link to its README.md.
fn is_index_of(file: &File, folder: &str) -> bool {
    file.name() == "README.md" && file.folder() == folder
}

struct Link<'a> {
    line: usize,
    target: &'a str,
}

/// The relative links of a page, without their anchors. Code is not prose: what looks like a link
/// in it is none.
fn links(page: &File) -> Vec<Link<'_>> {
    let mut links = Vec::new();
    let mut in_fence = false;
    for (number, line) in page.lines() {
        if line.trim_start().starts_with("```") {
            in_fence = !in_fence;
        }
        if in_fence {
            continue;
        }
        for (at, _) in line.match_indices("](") {
            let is_code = line[..at].matches('`').count() % 2 == 1;
            let Some((target, _)) = line[at + 2..].split_once(')') else {
                continue;
            };
            let target = target.split(['#', ' ']).next().unwrap_or_default();
            let is_elsewhere = target.contains("://") || target.starts_with("mailto:");
            if !target.is_empty() && !is_elsewhere && !is_code {
                links.push(Link {
                    line: number,
                    target,
                });
            }
        }
    }
    links
}

/// The path that a link means, below the root; `None` if it leaves the repository.
fn resolve(page: &File, target: &str) -> Option<String> {
    let (base, target) = match target.strip_prefix('/') {
        Some(from_root) => ("", from_root),
        None => (page.folder(), target),
    };
    let mut path: Vec<&str> = Vec::new();
    for part in base.split('/').chain(target.split('/')) {
        match part {
            "" | "." => {}
            ".." => drop(path.pop()?),
            part => path.push(part),
        }
    }
    Some(path.join("/"))
}

#[cfg(test)]
mod tests {
    use super::super::places;
    use super::*;

    #[test]
    fn a_link_to_nothing_is_found() {
        let page = "[a](../STYLE.md) [b](gone.md) [c](https://example.com/x)\n\
                    [d](#here) [e](adr/) [f](adr/README.md#top) `[g](code.md)`\n\
                    ```\n[h](fenced.md)\n```\n[i](../../outside.md)\n";
        let found = places(
            dead_link,
            &[
                ("docs/README.md", page),
                ("STYLE.md", ""),
                ("docs/adr/README.md", ""),
            ],
        );
        assert_eq!(found, ["docs/README.md:1", "docs/README.md:6"]);
    }

    #[test]
    fn every_page_is_listed_by_a_readme() {
        let found = places(
            unlisted_page,
            &[
                ("docs/README.md", "[adr](adr/)\n[api](openapi.json)\n"),
                ("docs/openapi.json", ""),
                ("docs/adr/README.md", "[first](0001-first.md)\n"),
                ("docs/adr/0001-first.md", "[second](0002-second.md)\n"),
                ("docs/adr/0002-second.md", ""),
            ],
        );
        assert_eq!(found, ["docs/adr/0002-second.md"]);
    }

    #[test]
    fn without_an_index_no_page_is_unlisted() {
        assert!(places(unlisted_page, &[("docs/alone.md", "")]).is_empty());
    }
}
