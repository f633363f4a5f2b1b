//! The signing secret: from a variable or a file, never from an argument, which others on the machine can read.

use std::path::PathBuf;

use anyhow::{Context as _, ensure};
use clap::Args;

use crate::{exit, input, machine::variable};

pub(crate) const VARIABLE: &str = "WATCHBELL_SIGNING_SECRET";

/// Where the secret is; `WATCHBELL_SIGNING_SECRET` unless a file is named.
#[derive(Debug, Args)]
pub(crate) struct Secret {
    /// A file with the signing secret, instead of WATCHBELL_SIGNING_SECRET. One secret per line: the first signs, and any of
    /// them verifies.
    #[arg(long, value_name = "FILE")]
    secret_file: Option<PathBuf>,
}

impl Secret {
    /// The secrets, at least one.
    pub(crate) fn read(&self) -> anyhow::Result<Vec<String>> {
        self.find()?.with_context(|| {
            exit::not_allowed(format!("there is no signing secret\n  What to do: Set {VARIABLE}, or name a file with --secret-file."))
        })
    }

    /// The secrets, or `None` if nobody named any.
    pub(crate) fn find(&self) -> anyhow::Result<Option<Vec<String>>> {
        let Some(file) = &self.secret_file else {
            return Ok(variable(VARIABLE).map(|secret| vec![secret]));
        };
        let text = input::text(file)?;
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let secrets: Vec<String> = lines.map(str::to_owned).collect();
        ensure!(
            !secrets.is_empty(),
            exit::not_allowed(format!("{} is empty", file.display()))
        );
        Ok(Some(secrets))
    }
}
