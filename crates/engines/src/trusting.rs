//! Closes a PostgreSQL cluster that was made when they let everybody on the machine in.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;

use anyhow::Context;

use crate::folder::Account;
use crate::postgres::SUPERUSER;
use crate::server;

/// What a cluster asks those who connect for is in this file, a line for each way in.
const RULES: &str = "pg_hba.conf";
const TRUST: &str = "trust";
/// Not SCRAM, which costs every connection 4,096 rounds: the password is random and stays on this machine.
pub(crate) const PASSWORD: &str = "password";

/// Gives the superuser a password and has the cluster in `data` ask for it, if it asks for nothing yet. No server may run on it. It
/// is open for nobody meanwhile, and until both is done the next start does both again.
pub(crate) fn close(
    data: &Path,
    binaries: &Path,
    account: Option<Account>,
    password: &str,
) -> anyhow::Result<()> {
    let path = data.join(RULES);
    let rules = fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
    let Some(closed) = closed(&rules) else {
        return Ok(());
    };
    set_password(data, binaries, account, password)
        .with_context(|| format!("set a password for the database in {}", data.display()))?;
    let unfinished = data.join("pg_hba.conf.unfinished");
    let written = || {
        fs::write(&unfinished, closed)?;
        fs::set_permissions(&unfinished, fs::Permissions::from_mode(0o600))?;
        if let Some(account) = account {
            chown(&unfinished, Some(account.user), Some(account.group))?;
        }
        fs::rename(&unfinished, &path)
    };
    written().with_context(|| format!("write {}", path.display()))
}

/// A server for this one command, that nobody can connect to.
fn set_password(
    data: &Path,
    binaries: &Path,
    account: Option<Account>,
    password: &str,
) -> anyhow::Result<()> {
    let arguments = [
        "--single".into(),
        "-D".into(),
        data.into(),
        "-c".into(),
        "exit_on_error=on".into(),
        // What fails is told without the password in it.
        "-c".into(),
        "log_min_error_statement=panic".into(),
        "postgres".into(),
    ];
    let command = format!("ALTER ROLE {SUPERUSER} PASSWORD '{password}'\n");
    let binary = binaries.join("postgres");
    server::once_nothing_lingers(|| server::run_on(&command, &binary, account, None, &arguments))?;
    Ok(())
}

/// The same rules, but for those that let everybody in; `None` if there is none.
fn closed(rules: &str) -> Option<String> {
    let is_open = |line: &str| {
        let rule = line.split('#').next().unwrap_or_default();
        rule.split_whitespace().next_back() == Some(TRUST)
    };
    let close = |line: &str| match line.rsplit_once(TRUST) {
        Some((before, after)) if is_open(line) => format!("{before}{PASSWORD}{after}\n"),
        _ => format!("{line}\n"),
    };
    let is_any_open = rules.lines().any(is_open);
    is_any_open.then(|| rules.lines().map(close).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_lets_everybody_in_is_changed() {
        let rules = "# trust nobody\nlocal all all trust\nhost all trust ::1/128 md5\nhost all all ::1/128  trust \n";
        let expected = "# trust nobody\nlocal all all password\nhost all trust ::1/128 md5\nhost all all ::1/128  password \n";
        assert_eq!(closed(rules).as_deref(), Some(expected));
        assert_eq!(closed(expected), None);
    }
}
