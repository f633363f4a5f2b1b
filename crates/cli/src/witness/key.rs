//! The key of a witness: made once, kept in its folder, and readable by its owner only.
//!
//! The file has two lines, the name and 32 secret bytes in hex.

use std::{
    fs::File,
    io::{self, Read as _},
    os::unix::fs::PermissionsExt as _,
    path::Path,
};

use anyhow::{Context as _, ensure};
use transparency_log::Cosigner;

use super::{
    folder::{self, Folder},
    memory,
};
use crate::exit::{invalid, usage};

const FILE: &str = "key";
/// A name has at most 255 bytes, and the secret 64 digits.
const BYTES_MAX: u64 = 1024;

/// The key in a witness's folder.
pub(super) fn read(folder: &Path) -> anyhow::Result<Cosigner> {
    find(folder)?.with_context(|| {
        invalid(format!(
            "{} is not the folder of a witness: it has no key",
            folder.display()
        ))
    })
}

/// The key in the folder, or a new one under this name.
pub(super) fn read_or_make(
    folder: &Folder,
    name: Option<&str>,
    fresh_secret: &[u8; 32],
) -> anyhow::Result<Cosigner> {
    let path = folder.path();
    let Some(cosigner) = find(path)? else {
        ensure!(
            memory::is_empty(path)?,
            invalid(format!(
                "{} remembers logs but has lost its key; start a new witness in another folder",
                path.display()
            ))
        );
        let name = name.context(usage(
            "a new witness needs a --name, such as witness.example.com/watchbell",
        ))?;
        return make(path, name, fresh_secret);
    };
    // Without it the witness would believe that it never signed anything.
    ensure!(
        memory::is_there(path),
        invalid(format!(
            "{} has a key but has lost what the witness saw; start a new witness in another folder",
            path.display()
        ))
    );
    let known = cosigner.verifier_key().name();
    ensure!(
        name.is_none_or(|name| name == known),
        usage(format!(
            "this witness is {known}; another name needs another key, in another --folder"
        ))
    );
    Ok(cosigner)
}

fn make(folder: &Path, name: &str, secret: &[u8; 32]) -> anyhow::Result<Cosigner> {
    let cosigner = Cosigner::from_seed(name, secret).with_context(|| usage("--name"))?;
    // Before the key: a key without a memory is one that lost it.
    memory::create(folder)?;
    let text = format!("{name}\n{}\n", hex::encode(secret));
    folder::write(folder, FILE, text.as_bytes())?;
    Ok(cosigner)
}

fn find(folder: &Path) -> anyhow::Result<Option<Cosigner>> {
    let file = folder.join(FILE);
    let about = || invalid(format!("read {}", file.display()));
    let opened = match File::open(&file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened.with_context(about)?,
    };
    let mode = opened.metadata().with_context(about)?.permissions().mode();
    let is_open_to_others = mode & 0o077 != 0;
    ensure!(
        !is_open_to_others,
        invalid(format!(
            "{} can be read by others. If nobody did, run `chmod 600` on it; otherwise start a new witness in another folder",
            file.display()
        ))
    );
    let mut text = String::new();
    opened
        .take(BYTES_MAX)
        .read_to_string(&mut text)
        .with_context(about)?;
    parse(&text)
        .map(Some)
        .with_context(|| invalid(format!("{} is damaged", file.display())))
}

fn parse(text: &str) -> anyhow::Result<Cosigner> {
    let lines: Vec<&str> = text.lines().collect();
    let [name, secret] = lines[..] else {
        anyhow::bail!("it does not have two lines");
    };
    let mut bytes = [0; 32];
    hex::decode_to_slice(secret, &mut bytes).context("its second line is not 32 bytes in hex")?;
    Ok(Cosigner::from_seed(name, &bytes)?)
}
