//! What the checks need to know of a Markdown page: where its links lead, and what can be linked to in
//! it. Code is not prose: what looks like a link or a heading in it is none.

use std::collections::BTreeSet;
use std::ops::Range;

/// A link that stays in the repository.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Link<'a> {
    pub(crate) line: usize,
    /// Where the target stands in the text, anchor included.
    pub(crate) place: Range<usize>,
    /// Empty for a link into the page itself.
    pub(crate) path: &'a str,
    pub(crate) anchor: Option<&'a str>,
}

pub(crate) fn links(text: &str) -> Vec<Link<'_>> {
    let mut links = Vec::new();
    for (number, start, line) in prose(text) {
        for (at, _) in line.match_indices("](") {
            let is_code = line[..at].matches('`').count() % 2 == 1;
            let Some((target, _)) = line[at + 2..].split_once(')') else {
                continue;
            };
            let target = target.split(' ').next().unwrap_or_default();
            let is_elsewhere = target.contains("://") || target.starts_with("mailto:");
            if is_code || is_elsewhere || target.is_empty() {
                continue;
            }
            let (path, anchor) = match target.split_once('#') {
                Some((path, anchor)) => (path, Some(anchor)),
                None => (target, None),
            };
            let begin = start + at + 2;
            links.push(Link {
                line: number,
                place: begin..begin + target.len(),
                path,
                anchor,
            });
        }
    }
    links
}

/// The anchors of a page, as GitHub and mdBook make them from its headings.
pub(crate) fn anchors(text: &str) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    for (_, _, line) in prose(text) {
        let heading = line.trim_start_matches('#');
        let level = line.len() - heading.len();
        if !(1..=6).contains(&level) || !heading.starts_with(' ') {
            continue;
        }
        let slug = slug(heading.trim());
        let repeated = (1..).map(|count| format!("{slug}-{count}"));
        let mut names = std::iter::once(slug.clone()).chain(repeated);
        names.find(|name| anchors.insert(name.clone()));
    }
    anchors
}

/// The path that a link means, below the root; `None` if it leaves the repository.
pub(crate) fn resolve(folder: &str, target: &str) -> Option<String> {
    let (base, target) = match target.strip_prefix('/') {
        Some(from_root) => ("", from_root),
        None => (folder, target),
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

/// The lines outside fences, with their number and where they start.
fn prose(text: &str) -> impl Iterator<Item = (usize, usize, &str)> {
    let mut in_fence = false;
    let mut start = 0;
    let lines = text.split_inclusive('\n').enumerate();
    lines.filter_map(move |(index, line)| {
        let begin = start;
        start += line.len();
        let is_fence = line.trim_start().starts_with("```");
        in_fence ^= is_fence;
        (!in_fence && !is_fence).then_some((index + 1, begin, line))
    })
}

/// Letters, digits, `-` and `_` stay, spaces become `-`, the rest goes. Of a link its text counts.
fn slug(heading: &str) -> String {
    let mut text = String::new();
    let mut rest = heading;
    while let Some((before, after)) = rest.split_once("](") {
        text.push_str(before);
        rest = after.split_once(')').map_or("", |(_, after)| after);
    }
    text.push_str(rest);
    text.to_lowercase()
        .chars()
        .filter_map(|letter| match letter {
            ' ' => Some('-'),
            '-' | '_' => Some(letter),
            letter => letter.is_alphanumeric().then_some(letter),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_has_a_path_an_anchor_and_a_place() {
        let text = "é [a](b.md#c \"title\") `[d](e)` [f](https://example.com)\n```\n[g](h)\n```\n[i](#j)\n";
        let found = links(text);
        let parts: Vec<_> = found
            .iter()
            .map(|link| (link.line, &text[link.place.clone()], link.path, link.anchor))
            .collect();
        assert_eq!(
            parts,
            [(1, "b.md#c", "b.md", Some("c")), (5, "#j", "", Some("j"))]
        );
    }

    #[test]
    fn headings_are_anchors() {
        let page = "# `match`\n## One event, in a straight line\n### Two_words & [a link](x.md)\n\
                    ## Twice\n## Twice\n#not a heading\n```sh\n# a comment\n```\n";
        let found = anchors(page);
        let found: Vec<&str> = found.iter().map(String::as_str).collect();
        assert_eq!(
            found,
            [
                "match",
                "one-event-in-a-straight-line",
                "twice",
                "twice-1",
                "two_words--a-link"
            ]
        );
    }

    #[test]
    fn a_path_cannot_leave_the_repository() {
        assert_eq!(
            resolve("docs/adr", "../README.md").as_deref(),
            Some("docs/README.md")
        );
        assert_eq!(
            resolve("docs/adr", "/STYLE.md").as_deref(),
            Some("STYLE.md")
        );
        assert_eq!(resolve("docs", "../../x"), None);
    }
}
