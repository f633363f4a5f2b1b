//! Rules about the documentation: links lead somewhere, and every page is listed by an index.

use super::tree::{File, Tree};
use super::{Finding, OWN_EXAMPLES};
use crate::markdown::{Link, anchors, links, resolve};

/// The table of contents of the book.
const SUMMARY: &str = "docs/SUMMARY.md";

pub(super) fn dead_link(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for page in pages(tree) {
        for link in links(&page.text) {
            if let Some(message) = fault(tree, page, &link) {
                findings.push(Finding::at_line(page, link.line, message));
            }
        }
    }
    findings
}

/// What people and machines read: Markdown, and the list of pages for language models.
fn pages(tree: &Tree) -> impl Iterator<Item = &File> {
    tree.with_extension("md")
        .filter(|page| !page.path.starts_with(OWN_EXAMPLES))
        .chain(tree.get("llms.txt"))
}

/// What is wrong with a link, if anything.
fn fault(tree: &Tree, page: &File, link: &Link<'_>) -> Option<String> {
    let target = if link.path.is_empty() {
        page.path.clone()
    } else {
        match resolve(page.folder(), link.path) {
            Some(path) if tree.has(&path) => path,
            _ => return Some(format!("`{}` does not exist", link.path)),
        }
    };
    let anchor = link.anchor?;
    let target = tree
        .get(&target)
        .or_else(|| tree.get(&format!("{target}/README.md")))?;
    let is_dead = target.extension() == Some("md") && !anchors(&target.text).contains(anchor);
    is_dead.then(|| format!("`{}` has no heading `#{anchor}`", target.path))
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
                links(&page.text)
                    .iter()
                    .filter_map(|link| resolve(page.folder(), link.path))
                    .any(|path| path == file.path || (is_index_of(file, &path)))
            })
    };
    tree.under("docs/")
        .filter(|file| !["docs/README.md", SUMMARY].contains(&file.path.as_str()) && !listed(file))
        .map(|file| Finding::in_file(file, "link it from the README.md of its folder"))
        .collect()
}

/// The book has the pages that its summary lists, and no others.
pub(super) fn page_outside_the_book(tree: &Tree) -> Vec<Finding> {
    let Some(summary) = tree.get(SUMMARY) else {
        return Vec::new();
    };
    let listed: Vec<_> = links(&summary.text)
        .iter()
        .filter_map(|link| resolve(summary.folder(), link.path))
        .collect();
    tree.under("docs/")
        .filter(|file| file.extension() == Some("md") && file.path != SUMMARY)
        .filter(|file| !listed.contains(&file.path))
        .map(|file| Finding::in_file(file, "list it in docs/SUMMARY.md"))
        .collect()
}

/// A link to a folder is a link to its README.md.
fn is_index_of(file: &File, folder: &str) -> bool {
    file.name() == "README.md" && file.folder() == folder
}

#[cfg(test)]
mod tests {
    use super::super::places;
    use super::*;

    #[test]
    fn a_link_to_nothing_is_found() {
        let page = "[a](../STYLE.md) [b](gone.md) [c](https://example.com/x)\n\
                    [d](../docs/) [e](adr/) [f](adr/README.md#top) `[g](code.md)`\n\
                    ```\n[h](fenced.md)\n```\n[i](../../outside.md)\n";
        let found = places(
            dead_link,
            &[
                ("docs/README.md", page),
                ("STYLE.md", ""),
                ("docs/adr/README.md", "# Top"),
            ],
        );
        assert_eq!(found, ["docs/README.md:1", "docs/README.md:6"]);
    }

    #[test]
    fn a_link_to_a_heading_that_is_not_there_is_found() {
        let page = "# Top\n[a](#top)\n[b](#gone)\n[c](adr/#first-one)\n[d](adr/README.md#second)\n[e](x.rs#L7)\n";
        let found = places(
            dead_link,
            &[
                ("docs/README.md", page),
                ("docs/adr/README.md", "## First one\n```\n# second\n```\n"),
                ("docs/x.rs", ""),
            ],
        );
        assert_eq!(found, ["docs/README.md:3", "docs/README.md:5"]);
    }

    #[test]
    fn what_machines_are_told_to_read_is_there() {
        let list = "# Watchbell\n- [here](README.md)\n- [not here](docs/gone.md)\n";
        let found = places(dead_link, &[("llms.txt", list), ("README.md", "")]);
        assert_eq!(found, ["llms.txt:3"]);
    }

    #[test]
    fn a_page_that_the_summary_does_not_list_is_found() {
        let found = places(
            page_outside_the_book,
            &[
                ("docs/SUMMARY.md", "- [a](README.md)\n"),
                ("docs/README.md", ""),
                ("docs/how-to/lost.md", ""),
                ("docs/picture.png", ""),
            ],
        );
        assert_eq!(found, ["docs/how-to/lost.md"]);
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
