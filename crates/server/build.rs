//! Has the folder there that `src/console/files.rs` takes the console from, and has the binary built again when it
//! changes.

use std::{fs, path::Path};

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
}
