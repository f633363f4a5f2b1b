//! Has the folder there that `src/console/files.rs` takes the console from, and has the binary built again when it
//! changes; and says which version this is.

use std::{fs, path::Path, process::Command};

fn main() {
    let dist = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../console/dist");
    println!("cargo::rerun-if-changed=build.rs");
    // A debug build that was made before npm ran looks into the folder later, for which it must have been there. Who
    // cannot write here gets a binary without the console, as if nothing was built.
    let _ = fs::create_dir_all(&dist);
    // The derive notices files that change, not files that come; a debug build reads them at run time.
    if !cfg!(debug_assertions) {
        println!("cargo::rerun-if-changed={}", dist.display());
    }
    let version = env!("CARGO_PKG_VERSION");
    let version = match commit() {
        Some(commit) => format!("{version} ({commit})"),
        None => version.to_owned(),
    };
    println!("cargo::rustc-env=WATCHBELL_VERSION={version}");
}

/// The commit this is built from: `WATCHBELL_COMMIT` where there is no checkout, such as in an image. A debug build does
/// not ask git, or every commit would have it built anew.
fn commit() -> Option<String> {
    let given = option_env!("WATCHBELL_COMMIT").filter(|commit| !commit.is_empty());
    if let Some(commit) = given {
        return Some(commit.chars().take(12).collect());
    }
    if cfg!(debug_assertions) {
        return None;
    }
    // Moves whenever something is committed or checked out.
    if let Some(moves) = git(&["rev-parse", "--git-path", "logs/HEAD"]) {
        println!("cargo::rerun-if-changed={moves}");
    }
    git(&[
        "describe",
        "--always",
        "--dirty",
        "--abbrev=12",
        "--exclude=*",
    ])
}

/// What git says, if it is installed and this is a checkout.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let said = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (output.status.success() && !said.is_empty()).then_some(said)
}
