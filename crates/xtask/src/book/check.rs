//! Reads the built book as a browser would: every link to a page, a picture or an anchor must lead
//! somewhere, and nothing may be fetched from another host.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::Context as _;

use crate::markdown;

pub(super) struct Report {
    pub(super) pages: usize,
    pub(super) links: usize,
    pub(super) findings: Vec<String>,
}

/// Checks a folder of built pages.
pub(super) fn book(folder: &Path) -> anyhow::Result<Report> {
    let mut files = BTreeMap::new();
    read_folder(folder, "", &mut files)?;
    Ok(report(&files))
}

/// What the book consists of, by path: pages with what is in them, other files without.
type Files = BTreeMap<String, Option<Page>>;

#[derive(Default)]
struct Page {
    ids: BTreeSet<String>,
    /// Where a reader can go.
    links: Vec<String>,
    /// What the browser fetches by itself.
    fetched: Vec<String>,
}

fn report(files: &Files) -> Report {
    let pages = || {
        files
            .iter()
            .filter_map(|(path, page)| page.as_ref().map(|page| (path, page)))
    };
    let mut findings = Vec::new();
    let mut links = 0;
    for (path, page) in pages() {
        for link in page.links.iter().chain(&page.fetched) {
            links += 1;
            if is_elsewhere(link) {
                continue;
            }
            if let Some(fault) = fault(files, path, link) {
                findings.push(format!("{path}: `{link}` {fault}"));
            }
        }
        let foreign = page.fetched.iter().filter(|link| is_elsewhere(link));
        findings.extend(foreign.map(|link| format!("{path}: `{link}` needs the network")));
    }
    Report {
        pages: pages().count(),
        links,
        findings,
    }
}

fn is_elsewhere(link: &str) -> bool {
    link.contains("://") || link.starts_with("//") || link.starts_with("mailto:")
}

fn fault(files: &Files, page: &str, link: &str) -> Option<&'static str> {
    let (path, anchor) = match link.split_once('#') {
        Some((path, anchor)) => (path, Some(anchor)),
        None => (link, None),
    };
    let folder = page.rsplit_once('/').map_or("", |(folder, _)| folder);
    let target = if path.is_empty() {
        page.to_owned()
    } else {
        let Some(target) = markdown::resolve(folder, path) else {
            return Some("leaves the book");
        };
        target
    };
    match (files.get(&target), anchor) {
        (None, _) => Some("does not exist"),
        (Some(Some(page)), Some(anchor)) if !anchor.is_empty() && !page.ids.contains(anchor) => {
            Some("has no such anchor")
        }
        _ => None,
    }
}

/// The tags of a page that mdBook wrote: attributes in double quotes, text escaped.
fn read_page(html: &str) -> Page {
    let mut page = Page::default();
    for tag in html.split('<').skip(1) {
        let tag = tag.split_once('>').map_or(tag, |(tag, _)| tag);
        let name = tag.split_whitespace().next().unwrap_or_default();
        if let Some(id) = attribute(tag, "id") {
            page.ids.insert(id);
        }
        if let Some(source) = attribute(tag, "src") {
            page.fetched.push(source);
        }
        match (name, attribute(tag, "href")) {
            ("a", Some(link)) => page.links.push(link),
            ("link", Some(link)) => page.fetched.push(link),
            _ => {}
        }
    }
    page
}

fn attribute(tag: &str, name: &str) -> Option<String> {
    let (_, value) = tag.split_once(&format!(" {name}=\""))?;
    let (value, _) = value.split_once('"')?;
    Some(value.replace("&amp;", "&"))
}

fn read_folder(folder: &Path, path: &str, files: &mut Files) -> anyhow::Result<()> {
    let entries = fs::read_dir(folder).with_context(|| format!("list {}", folder.display()))?;
    for entry in entries {
        let entry = entry?;
        let path = format!("{path}{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            read_folder(&entry.path(), &format!("{path}/"), files)?;
            continue;
        }
        let file = entry.path();
        let page = if file
            .extension()
            .is_some_and(|extension| extension == "html")
        {
            let html = fs::read_to_string(&file).with_context(|| format!("read {path}"))?;
            Some(read_page(&html))
        } else {
            None
        };
        files.insert(path, page);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is wrong with a book of these pages, beside a picture.
    fn findings(pages: &[(&str, &str)]) -> Vec<String> {
        let mut files: Files = pages
            .iter()
            .map(|&(path, html)| (path.to_owned(), Some(read_page(html))))
            .collect();
        files.insert("images/a.png".to_owned(), None);
        report(&files).findings
    }

    #[test]
    fn a_book_in_order_has_no_findings() {
        let found = findings(&[
            (
                "index.html",
                r##"<h1 id="top"><a class="header" href="#top">A</a></h1>
                    <img src="images/a.png" alt=""><a href="how-to/run.html#step-1">b</a>
                    <a href="https://example.com/">c</a><a href="#">d</a>
                    <code>&lt;a href="gone.html"&gt;</code>"##,
            ),
            (
                "how-to/run.html",
                r#"<h2 id="step-1">x</h2><a href="../index.html">up</a>"#,
            ),
        ]);
        assert!(found.is_empty(), "{found:?}");
    }

    #[test]
    fn a_dead_link_a_dead_anchor_and_a_dead_picture_are_found() {
        let found = findings(&[
            (
                "a.html",
                r##"<a href="gone.html">1</a><a href="b.html#gone">2</a><a href="#gone">3</a>
                    <img src="images/b.png"><a href="../c.html">4</a>"##,
            ),
            ("b.html", r#"<h2 id="there">x</h2>"#),
        ]);
        assert_eq!(
            found,
            [
                "a.html: `gone.html` does not exist",
                "a.html: `b.html#gone` has no such anchor",
                "a.html: `#gone` has no such anchor",
                "a.html: `../c.html` leaves the book",
                "a.html: `images/b.png` does not exist",
            ]
        );
    }

    #[test]
    fn what_is_fetched_from_another_host_is_found() {
        let found = findings(&[(
            "a.html",
            r#"<link rel="stylesheet" href="https://example.com/a.css"><script src="//example.com/b.js">"#,
        )]);
        assert_eq!(found.len(), 2, "{found:?}");
    }
}
