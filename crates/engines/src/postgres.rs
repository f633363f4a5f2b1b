//! A private PostgreSQL server.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use crate::folder::{self, Account};
use crate::locate::{numbers, version_in};
use crate::password::write_private;
use crate::server::{self, Program, Server};
use crate::tether::Signal;
use crate::{Durability, port, trusting};

/// Enough for a server with its pools and a test run side by side; each costs a little memory.
const CONNECTIONS_MAX: u32 = 200;

/// The superuser of a private cluster. Only this machine can connect.
pub(crate) const SUPERUSER: &str = "postgres";

#[derive(Clone, Debug, Default)]
pub struct PostgresOptions {
    /// The port to use when it is free. Default: any free one.
    pub preferred_port: Option<u16>,
    pub durability: Durability,
    /// What the cluster asks for, also one that was made when it asked for nothing. `None`: a new one lets everybody on the machine in.
    pub password: Option<String>,
}

/// A PostgreSQL server with its data in a folder. Dropping it stops it.
#[derive(Debug)]
pub struct Postgres {
    server: Server,
    binaries: PathBuf,
    data: PathBuf,
    port: u16,
    durability: Durability,
    password: Option<String>,
}

impl Postgres {
    /// Starts it and returns when it answers. `binaries` is the folder with `initdb` and `postgres`; [`Self::query`] needs
    /// `psql` there too. A cluster that is already in `folder` is used, and asks for the password from now on.
    pub fn start(
        folder: &Path,
        binaries: &Path,
        options: &PostgresOptions,
    ) -> anyhow::Result<Self> {
        let folder = folder::create(folder)?;
        let data = folder.join("data");
        let account = Account::for_postgres(&data)?;
        if let Some(account) = account {
            account.check_reaches(&folder)?;
            account.check_reaches(binaries)?;
        }
        match fs::read_to_string(data.join("PG_VERSION")) {
            Ok(made_by) => check_reads(binaries, made_by.trim(), &data)?,
            Err(_) => create_cluster(
                &folder,
                &data,
                binaries,
                account,
                options.password.as_deref(),
            )?,
        }
        let mut server = Server::prepare(Program {
            name: "PostgreSQL",
            binary: binaries.join("postgres"),
            pid_file: data.join("postmaster.pid"),
            stop_with: Signal::Interrupt, // a "fast" stop: ends sessions, writes a checkpoint
            folder,
            account,
        })?;
        if let Some(password) = &options.password {
            trusting::close(&data, binaries, account, password)?;
        }
        let port = server::with_free_ports(|| {
            let port = port::free(options.preferred_port).map_err(server::Failure::Other)?;
            let arguments = arguments(&data, port, options.durability);
            server.launch(&arguments, |pid| is_ready(&data, pid))?;
            Ok(port)
        })?;
        Ok(Self {
            server,
            binaries: binaries.to_owned(),
            data,
            port,
            durability: options.durability,
            password: options.password.clone(),
        })
    }

    /// The address of the database `postgres`, as its superuser.
    pub fn url(&self) -> String {
        self.database_url("postgres")
    }

    pub fn database_url(&self, database: &str) -> String {
        let password = self.password.as_ref();
        let password = password.map(|password| format!(":{password}"));
        let (password, port) = (password.unwrap_or_default(), self.port);
        format!("postgres://{SUPERUSER}{password}@127.0.0.1:{port}/{database}")
    }

    /// Creates the database unless it is there, and returns its address.
    pub fn ensure_database(&self, name: &str) -> anyhow::Result<String> {
        let found = self.query(&format!(
            "SELECT 1 FROM pg_database WHERE datname = '{name}'"
        ))?;
        if found.is_empty() {
            self.query(&format!("CREATE DATABASE \"{name}\""))?;
        }
        Ok(self.database_url(name))
    }

    /// Runs SQL in the database `postgres` and returns the rows as lines, columns parted by `|`.
    pub fn query(&self, sql: &str) -> anyhow::Result<String> {
        query(&self.binaries, &self.url(), sql)
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// The process id of the postmaster, while it runs.
    pub fn pid(&self) -> anyhow::Result<u32> {
        self.server.pid()
    }

    pub fn is_running(&mut self) -> bool {
        self.server.is_running()
    }

    pub fn log(&self) -> PathBuf {
        self.server.log()
    }

    /// Stops it: politely, and after 15 s with SIGKILL.
    pub fn stop(&mut self) {
        self.server.stop();
    }

    /// SIGKILL, as if the machine had failed.
    pub fn kill(&mut self) {
        self.server.kill();
    }

    /// Sends a signal to the postmaster, for instance to suspend it.
    pub fn signal(&mut self, signal: Signal) {
        self.server.signal(signal);
    }

    /// Starts it again, on the same port and data; stops it first if it runs.
    pub fn restart(&mut self) -> anyhow::Result<()> {
        let arguments = arguments(&self.data, self.port, self.durability);
        self.server
            .relaunch(&arguments, |pid| is_ready(&self.data, pid))
    }

    pub(crate) fn request_stop(&mut self) {
        self.server.request_stop();
    }
}

/// Runs SQL in any database with the `psql` in `binaries`; rows are lines, columns parted by `|`.
pub fn query(binaries: &Path, url: &str, sql: &str) -> anyhow::Result<String> {
    // Everybody on the machine sees arguments, and nobody else a variable.
    let (url, password) = without_password(url);
    let variables = password.map(|password| ("PGPASSWORD", password));
    let arguments: Vec<OsString> = [
        "--no-psqlrc",
        "--quiet",
        "--tuples-only",
        "--no-align",
        "-v",
        "ON_ERROR_STOP=1",
    ]
    .into_iter()
    .chain(["-d", &url, "-c", sql])
    .map(OsString::from)
    .collect();
    server::run(&binaries.join("psql"), None, variables, &arguments)
}

fn without_password(url: &str) -> (String, Option<&str>) {
    let parts = url.split_once("://").and_then(|(scheme, rest)| {
        let (user, host) = rest.split_once('@')?;
        let (user, password) = user.split_once(':')?;
        Some((format!("{scheme}://{user}@{host}"), password))
    });
    match parts {
        Some((url, password)) => (url, Some(password)),
        None => (url.to_owned(), None),
    }
}

/// A cluster is read by the major version that made it, and by no other.
fn check_reads(binaries: &Path, made_by: &str, data: &Path) -> anyhow::Result<()> {
    let program = binaries.join("postgres");
    let says = server::run(&program, None, None, &["--version".into()])?;
    let version = version_in(&says).unwrap_or(says);
    let major = numbers(&version).map(|(major, _)| major.to_string());
    if major.as_deref() != Some(made_by) {
        bail!(
            "the database in {} was made by PostgreSQL {made_by}, and {} is {version}: name the folder of a PostgreSQL \
             {made_by} in WATCHBELL_ENGINES, or start with another folder",
            data.display(),
            program.display(),
        );
    }
    Ok(())
}

/// `initdb` into a folder beside, which then gets its name: a cluster is there whole or not at all.
fn create_cluster(
    folder: &Path,
    data: &Path,
    binaries: &Path,
    account: Option<Account>,
    password: Option<&str>,
) -> anyhow::Result<()> {
    let unfinished = folder.join("data.unfinished");
    for locale in ["C.UTF-8", "C"] {
        if unfinished.exists() {
            fs::remove_dir_all(&unfinished)
                .with_context(|| format!("remove {}", unfinished.display()))?;
        }
        fs::create_dir(&unfinished).with_context(|| format!("create {}", unfinished.display()))?;
        fs::set_permissions(&unfinished, fs::Permissions::from_mode(0o700))?;
        if let Some(account) = account {
            chown(&unfinished, Some(account.user), Some(account.group)).with_context(|| {
                format!(
                    "change the owner of {} to PostgreSQL's user",
                    unfinished.display()
                )
            })?;
        }
        let password_file = folder.join("initdb.password");
        let auth: Vec<OsString> = match password {
            None => vec!["--auth=trust".into()],
            Some(password) => {
                write_private(&password_file, password)?;
                if let Some(account) = account {
                    chown(&password_file, Some(account.user), Some(account.group)).with_context(
                        || {
                            format!(
                                "change the owner of {} to PostgreSQL's user",
                                password_file.display()
                            )
                        },
                    )?;
                }
                let mut file = OsString::from("--pwfile=");
                file.push(&password_file);
                vec![format!("--auth={}", trusting::PASSWORD).into(), file]
            }
        };
        let mut arguments: Vec<OsString> = [
            OsString::from("--pgdata"),
            unfinished.clone().into(),
            format!("--username={SUPERUSER}").into(),
            "--encoding=UTF8".into(),
            format!("--locale={locale}").into(),
            "--no-sync".into(),
            "--no-instructions".into(),
        ]
        .into();
        arguments.extend(auth);
        let made = server::run(&binaries.join("initdb"), account, None, &arguments);
        if password.is_some() {
            fs::remove_file(&password_file)
                .with_context(|| format!("remove {}", password_file.display()))?;
        }
        match made {
            Ok(_) => break,
            // Older systems lack the locale C.UTF-8, but every system has C.
            Err(error) if locale == "C.UTF-8" && error.to_string().contains("locale") => {}
            Err(error) => return Err(error),
        }
    }
    fs::rename(&unfinished, data).with_context(|| format!("move {} into place", data.display()))
}

fn arguments(data: &Path, port: u16, durability: Durability) -> Vec<OsString> {
    let mut arguments = vec![OsString::from("-D"), data.into()];
    let mut set = |setting: String| arguments.extend(["-c".into(), setting.into()]);
    set(format!("port={port}"));
    set("listen_addresses=127.0.0.1".to_owned());
    // A socket in the folder would fail where the folder's path is longer than 107 bytes.
    set("unix_socket_directories=".to_owned());
    set(format!("max_connections={CONNECTIONS_MAX}"));
    if durability == Durability::ThrowAway {
        for setting in ["fsync", "synchronous_commit", "full_page_writes"] {
            set(format!("{setting}=off"));
        }
    }
    arguments
}

/// The eighth line of the pid file is the server's state; `pg_ctl --wait` looks at it too. The first
/// says whose state that is: a killed server leaves a file that calls it ready.
fn is_ready(data: &Path, pid: u32) -> bool {
    let Ok(text) = fs::read_to_string(data.join("postmaster.pid")) else {
        return false;
    };
    let mut lines = text.lines();
    lines.next() == Some(pid.to_string().as_str())
        && lines.nth(6).is_some_and(|state| state.trim() == "ready")
}
