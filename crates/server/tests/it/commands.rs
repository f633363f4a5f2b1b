//! The commands of the binary, as an operator runs them.

use std::process::{Command, Output, Stdio};

use crate::deployment::BINARY;

/// Runs a command to its end.
pub(crate) fn run<'a>(
    arguments: &[&str],
    variables: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Output {
    Command::new(BINARY)
        .args(arguments)
        .envs(variables)
        .stdin(Stdio::null())
        .output()
        .expect("watchbell starts")
}
