//! `cargo xtask book`: builds the book from `docs/` with mdBook, and checks what came out.
//!
//! | file | what it does |
//! |---|---|
//! | `links` | the preprocessor: what a page links to outside `docs/` becomes an address of the repository |
//! | `check` | every link and anchor of the built pages leads somewhere, and no page needs the network |

mod check;
mod links;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};

pub(crate) use links::preprocess;

/// Where book.toml puts the book.
const BUILT: &str = "target/book";

/// Builds, prints what is wrong with the result, and says whether that was nothing.
pub(crate) fn run(root: &Path) -> anyhow::Result<bool> {
    let mdbook = mdbook(root)?;
    let status = Command::new(&mdbook)
        .arg("build")
        .current_dir(root)
        .status()
        .with_context(|| format!("run {}", mdbook.display()))?;
    ensure!(status.success(), "mdbook ended with {status}");

    let report = check::book(&root.join(BUILT))?;
    for finding in &report.findings {
        println!("{finding}");
    }
    println!(
        "book: {} pages, {} links, {} findings; it begins at {BUILT}/index.html",
        report.pages,
        report.links,
        report.findings.len()
    );
    Ok(report.findings.is_empty())
}

/// The pinned mdBook.
fn mdbook(root: &Path) -> anyhow::Result<PathBuf> {
    let output = Command::new(root.join("scripts/install-tools"))
        .arg("--path")
        .output()
        .context("ask scripts/install-tools for its folder")?;
    let folder = String::from_utf8(output.stdout).context("read the folder's name")?;
    let mdbook = Path::new(folder.trim()).join("mdbook");
    ensure!(
        mdbook.is_file(),
        "mdbook is not installed; run scripts/install-tools"
    );
    Ok(mdbook)
}
