//! The preprocessor that mdBook runs over the pages. A page links to code and tests by relative paths,
//! which work in a clone and on GitHub; in the book they become addresses of the repository.

use std::io::{Read, Write};
use std::path::Path;

use anyhow::{Context as _, ensure};
use serde_json::Value;

use crate::markdown;

/// Where the pages are, as `src` in book.toml says.
const PAGES: &str = "docs";
/// The branch that addresses point to.
const BRANCH: &str = "main";

/// mdBook's protocol: asked `supports RENDERER` the answer is the exit code, always yes; otherwise
/// `[context, book]` comes in and the book goes out.
pub(crate) fn preprocess(
    root: &Path,
    arguments: &[String],
    mut from: impl Read,
    mut to: impl Write,
) -> anyhow::Result<()> {
    if arguments.first().is_some_and(|first| first == "supports") {
        return Ok(());
    }
    let (context, mut book): (Value, Value) =
        serde_json::from_reader(&mut from).context("read the book from mdBook")?;
    let repository = context["config"]["output"]["html"]["git-repository-url"]
        .as_str()
        .context("find output.html.git-repository-url in book.toml")?;
    let repository = Repository {
        root,
        url: repository.trim_end_matches('/'),
    };
    repository.rewrite_all(&mut book)?;
    serde_json::to_writer(&mut to, &book).context("hand the book back to mdBook")
}

struct Repository<'a> {
    root: &'a Path,
    url: &'a str,
}

impl Repository<'_> {
    /// Chapters are objects with a `content` and a `source_path`, however deep they lie.
    fn rewrite_all(&self, value: &mut Value) -> anyhow::Result<()> {
        if let Some((path, content)) = value
            .get("source_path")
            .and_then(Value::as_str)
            .zip(value.get("content").and_then(Value::as_str))
        {
            let content = self.rewrite(&format!("{PAGES}/{path}"), content)?;
            value["content"] = content.into();
        }
        match value {
            Value::Array(items) => items.iter_mut().try_for_each(|item| self.rewrite_all(item)),
            Value::Object(fields) => fields
                .values_mut()
                .try_for_each(|field| self.rewrite_all(field)),
            _ => Ok(()),
        }
    }

    fn rewrite(&self, page: &str, content: &str) -> anyhow::Result<String> {
        let folder = page.rsplit_once('/').map_or("", |(folder, _)| folder);
        let mut rewritten = content.to_owned();
        // From the end, so that the places of the others stay right.
        for link in markdown::links(content).into_iter().rev() {
            if link.path.is_empty() {
                continue;
            }
            let path = markdown::resolve(folder, link.path)
                .with_context(|| format!("{page}: `{}` leaves the repository", link.path))?;
            let found = self.root.join(&path);
            ensure!(found.exists(), "{page}: `{}` does not exist", link.path);
            let anchor = link
                .anchor
                .map(|anchor| format!("#{anchor}"))
                .unwrap_or_default();
            let inside = path == PAGES || path.starts_with(&format!("{PAGES}/"));
            // mdBook makes an index of a README, but does not tell those who link to it.
            let readme = link.path.strip_suffix("README.md");
            let target = match (inside, found.is_dir()) {
                (true, true) => format!("{}/index.md", link.path.trim_end_matches('/')),
                (true, false) => match readme {
                    Some(folder) => format!("{folder}index.md"),
                    None => continue,
                },
                (false, true) => format!("{}/tree/{BRANCH}/{path}", self.url),
                (false, false) => format!("{}/blob/{BRANCH}/{path}", self.url),
            };
            rewritten.replace_range(link.place, &(target + &anchor));
        }
        Ok(rewritten)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What becomes of a page of this repository.
    fn rewritten(content: &str) -> anyhow::Result<String> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"))
            .ancestors()
            .nth(2)
            .unwrap();
        let chapter = serde_json::json!({
            "name": "A page", "content": content, "source_path": "how-to/a.md", "sub_items": []
        });
        let outer =
            serde_json::json!({ "Chapter": { "content": "no path", "sub_items": [chapter] } });
        let context = serde_json::json!({
            "config": { "output": { "html": { "git-repository-url": "https://example.com/w" } } }
        });
        let asked = serde_json::to_vec(&(context, serde_json::json!({ "items": [outer] })))?;
        let mut answer = Vec::new();
        preprocess(root, &[], asked.as_slice(), &mut answer)?;
        let book: Value = serde_json::from_slice(&answer)?;
        let chapter = &book["items"][0]["Chapter"]["sub_items"][0];
        Ok(chapter["content"].as_str().unwrap().to_owned())
    }

    #[test]
    fn what_lies_outside_the_pages_becomes_an_address() {
        let page = "[a](../../STYLE.md#names) [b](../../crates/) [c](run.md) [d](#e) [f](../adr/) [g](../README.md#h)\n";
        assert_eq!(
            rewritten(page).unwrap(),
            "[a](https://example.com/w/blob/main/STYLE.md#names) \
             [b](https://example.com/w/tree/main/crates) [c](run.md) [d](#e) [f](../adr/index.md) \
             [g](../index.md#h)\n"
        );
    }

    #[test]
    fn what_does_not_exist_stops_the_build() {
        let error = rewritten("[a](../../gone.rs)").unwrap_err();
        assert_eq!(
            error.to_string(),
            "docs/how-to/a.md: `../../gone.rs` does not exist"
        );
    }
}
