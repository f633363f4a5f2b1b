//! Files that are generated from the server, so that the documentation cannot contradict the code:
//! the pages of [`PAGES`] and `docs/errors/`; and what is drawn of [`history`].
//!
//! The server prints what it knows (`watchbell reference ...`); this module lays it out as files.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::{fs, io};

use anyhow::{Context as _, ensure};
use serde::Deserialize;

use crate::history;

/// What mends a stale file; printed with every complaint.
const MENDED_BY: &str = "cargo xtask generate";
/// What the server prints under a name, and the page that it is.
const PAGES: [(&str, &str); 4] = [
    ("openapi", "docs/reference/openapi.json"),
    ("config", "docs/reference/configuration.md"),
    ("cli", "docs/reference/cli.md"),
    ("metrics", "docs/reference/metrics.md"),
];
/// The folder whose files are all ours: a page for a code that is gone is stale as well.
const ERROR_PAGES: &str = "docs/errors";

/// Generated text by its path below the root.
type Files = BTreeMap<String, String>;

/// Writes every generated file and removes error pages whose code is gone.
pub(crate) fn write(root: &Path, binary: Option<&Path>) -> anyhow::Result<()> {
    let wanted = generate(root, binary)?;
    for stale in stale(root, &wanted)? {
        let path = root.join(&stale);
        if let Some(text) = wanted.get(&stale) {
            fs::create_dir_all(path.parent().context("a generated file lies in a folder")?)?;
            fs::write(&path, text).with_context(|| format!("write {stale}"))?;
            println!("wrote {stale}");
        } else {
            fs::remove_file(&path).with_context(|| format!("remove {stale}"))?;
            println!("removed {stale}");
        }
    }
    Ok(())
}

/// Says whether every generated file is what would be written now, and names those that are not.
pub(crate) fn check(root: &Path, binary: Option<&Path>) -> anyhow::Result<bool> {
    let wanted = generate(root, binary)?;
    let stale = stale(root, &wanted)?;
    for path in &stale {
        println!("stale: {path}");
    }
    if stale.is_empty() {
        println!("generated files are current ({})", wanted.len());
    } else {
        println!("run `{MENDED_BY}` and commit the result");
    }
    Ok(stale.is_empty())
}

/// Paths that are missing, different, or no longer wanted.
fn stale(root: &Path, wanted: &Files) -> anyhow::Result<Vec<String>> {
    let mut stale = Vec::new();
    for (path, text) in wanted {
        if read_if_there(&root.join(path))?.as_deref() != Some(text.as_str()) {
            stale.push(path.clone());
        }
    }
    let pages = root.join(ERROR_PAGES);
    if pages.is_dir() {
        for entry in fs::read_dir(pages)? {
            let path = format!("{ERROR_PAGES}/{}", entry?.file_name().to_string_lossy());
            if !wanted.contains_key(&path) {
                stale.push(path);
            }
        }
    }
    Ok(stale)
}

fn read_if_there(path: &Path) -> anyhow::Result<Option<String>> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("read {}", path.display())),
    }
}

fn generate(root: &Path, binary: Option<&Path>) -> anyhow::Result<Files> {
    let errors = reference(root, binary, "errors")?;
    let errors: Vec<PublicError> =
        serde_json::from_str(&errors).context("read the list of errors")?;
    let mut files = error_pages(&errors)?;
    for (topic, path) in PAGES {
        let page = ending_in_newline(&reference(root, binary, topic)?);
        files.insert(path.to_owned(), page);
    }
    files.extend(history::pages(root)?);
    Ok(files)
}

/// What the server prints about one of its references.
fn reference(root: &Path, binary: Option<&Path>, topic: &str) -> anyhow::Result<String> {
    let mut command = if let Some(binary) = binary {
        Command::new(binary)
    } else {
        let mut cargo = Command::new(env!("CARGO"));
        cargo
            .args(["run", "-q", "-p", "server", "--bin", "watchbell", "--"])
            .current_dir(root);
        cargo
    };
    let output = command
        .args(["reference", topic])
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("run `watchbell reference {topic}`"))?;
    ensure!(
        output.status.success(),
        "`watchbell reference {topic}` ended with {}",
        output.status
    );
    String::from_utf8(output.stdout)
        .with_context(|| format!("read `watchbell reference {topic}` as text"))
}

fn ending_in_newline(text: &str) -> String {
    format!("{}\n", text.trim_end())
}

/// One public error, as `watchbell reference errors` prints it.
#[derive(Deserialize)]
struct PublicError {
    code: String,
    title: String,
    status: u16,
    /// What happened, in a sentence or a few.
    summary: String,
    /// What the reader can do about it.
    what_to_do: String,
}

/// One page for each code, and the page that lists them.
fn error_pages(errors: &[PublicError]) -> anyhow::Result<Files> {
    let mut errors: Vec<&PublicError> = errors.iter().collect();
    errors.sort_by(|a, b| a.code.cmp(&b.code));

    let mut files = Files::new();
    let mut index = format!(
        "# Errors\n\n<!-- Generated by `{MENDED_BY}`; edits are overwritten. -->\n\n\
         Every error answer carries one of these codes. A code keeps its meaning for ever.\n\n\
         | code | status | meaning |\n|---|---|---|\n"
    );
    for error in errors {
        let PublicError {
            code,
            title,
            status,
            summary,
            what_to_do,
        } = error;
        ensure!(
            !code.is_empty()
                && code
                    .chars()
                    .all(|letter| letter.is_ascii_alphanumeric() || "_-".contains(letter)),
            "error code {code:?} cannot name a file: use letters, digits, `_` and `-`"
        );
        writeln!(index, "| [`{code}`]({code}.md) | {status} | {title} |")?;
        let page = format!(
            "# {code}: {title}\n\n<!-- Generated by `{MENDED_BY}`; edits are overwritten. -->\n\n\
             HTTP status: {status}\n\n## What happened\n\n{}\n\n## What to do\n\n{}\n",
            summary.trim(),
            what_to_do.trim()
        );
        let before = files.insert(format!("{ERROR_PAGES}/{code}.md"), page);
        ensure!(before.is_none(), "error code {code} is listed twice");
    }
    files.insert(format!("{ERROR_PAGES}/README.md"), index);
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn not_found() -> PublicError {
        PublicError {
            code: "NOT_FOUND".to_owned(),
            title: "No such thing".to_owned(),
            status: 404,
            summary: "There is nothing here.".to_owned(),
            what_to_do: "Check the id.".to_owned(),
        }
    }

    #[test]
    fn each_code_has_a_page_and_a_row() {
        let files = error_pages(&[not_found()]).unwrap();
        assert!(files["docs/errors/README.md"].contains("| [`NOT_FOUND`](NOT_FOUND.md) | 404 |"));
        let page = &files["docs/errors/NOT_FOUND.md"];
        assert!(page.starts_with("# NOT_FOUND: No such thing\n"));
        assert!(page.ends_with("## What to do\n\nCheck the id.\n"));
    }

    #[test]
    fn a_code_listed_twice_is_refused() {
        let error = error_pages(&[not_found(), not_found()]).unwrap_err();
        assert_eq!(error.to_string(), "error code NOT_FOUND is listed twice");
    }

    #[test]
    fn a_code_that_leaves_the_folder_is_refused() {
        let astray = PublicError {
            code: "../NOT_FOUND".to_owned(),
            ..not_found()
        };
        assert!(error_pages(&[astray]).is_err());
    }
}
