//! PostgreSQL: a primary, and a replica that has every commit and can take its place.

use std::ffi::OsString;
use std::fs;
use std::io::Write as _;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use engines::Signal;
use testkit::{Disk, Machine};

use crate::fleet::program::{Program, wait_until};

const PORT: u16 = 5432;
const START_WITHIN: Duration = Duration::from_secs(60);
/// The address that clients know; it moves with the role of the primary.
pub(crate) const ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 20);

/// One of the two servers.
pub(crate) struct Server {
    pub(crate) program: Program,
    pub(crate) disk: Disk,
    binaries: PathBuf,
    data: PathBuf,
}

/// Both; the first is the primary.
pub(crate) struct Pair {
    pub(crate) servers: [Server; 2],
}

impl Pair {
    /// An empty cluster and its replica.
    pub(crate) fn start(
        folder: &Path,
        binaries: &Path,
        machines: [&Machine; 2],
    ) -> anyhow::Result<Self> {
        let [first, second] = machines.map(|machine| Server::new(folder, binaries, machine));
        let mut pair = Self {
            servers: [first?, second?],
        };
        let [primary, _] = &mut pair.servers;
        primary.create()?;
        primary.start()?;
        primary.program.machine().take_address(ADDRESS)?;
        primary.query("postgres", "CREATE DATABASE watchbell")?;
        pair.follow()?;
        Ok(pair)
    }

    pub(crate) fn url() -> String {
        format!("postgres://postgres@{ADDRESS}:{PORT}/watchbell")
    }

    pub(crate) fn primary(&mut self) -> &mut Server {
        &mut self.servers[0]
    }

    /// Makes the replica the primary, which must be dead, and has the address move there.
    pub(crate) fn fail_over(&mut self) -> anyhow::Result<()> {
        let [old, new] = &mut self.servers;
        // Whoever commits on the new one alone would wait for a replica for ever.
        new.wait_for_replica(false)?;
        new.control("promote")?;
        old.program.machine().give_address_up(ADDRESS)?;
        new.program.machine().take_address(ADDRESS)?;
        self.servers.swap(0, 1);
        Ok(())
    }

    /// Copies the primary to the other machine, and has commits wait for it from now on.
    pub(crate) fn follow(&mut self) -> anyhow::Result<()> {
        let [primary, replica] = &mut self.servers;
        let from = primary.program.machine().address();
        replica.copy_from(from)?;
        replica.start()?;
        primary.wait_for_replica(true)?;
        primary.control("reload")
    }
}

impl Server {
    fn new(folder: &Path, binaries: &Path, machine: &Machine) -> anyhow::Result<Self> {
        let place = folder.join(machine.name());
        fs::create_dir_all(place.join("disk"))?;
        let disk = Disk::mount(&place.join("disk"))?;
        Ok(Self {
            program: Program::new(machine, place.join("postgres.log"), Signal::Interrupt),
            data: place.join("disk/data"),
            disk,
            binaries: binaries.to_owned(),
        })
    }

    fn create(&self) -> anyhow::Result<()> {
        self.make_folder()?;
        let data = path(&self.data);
        self.run(&[
            "initdb",
            "--auth=trust",
            "--username=postgres",
            "--encoding=UTF8",
            "--locale=C.UTF-8",
            "-D",
            data,
        ])?;
        let mut hba = fs::File::options()
            .append(true)
            .open(self.data.join("pg_hba.conf"))?;
        writeln!(
            hba,
            "host all all 10.77.0.0/24 trust\nhost replication all 10.77.0.0/24 trust"
        )?;
        // The machine's kernel would have done it by the time that anything breaks.
        self.disk.sync();
        Ok(())
    }

    fn copy_from(&mut self, primary: Ipv4Addr) -> anyhow::Result<()> {
        self.program.kill();
        if self.data.exists() {
            fs::remove_dir_all(&self.data)?;
        }
        self.make_folder()?;
        let (data, from) = (path(&self.data), primary.to_string());
        let port = PORT.to_string();
        self.run(&[
            "pg_basebackup",
            "-h",
            &from,
            "-p",
            &port,
            "-U",
            "postgres",
            "-D",
            data,
            "-R",
            "-X",
            "stream",
            "--checkpoint=fast",
        ])?;
        self.disk.sync();
        Ok(())
    }

    /// Starts it, as primary or as replica: its folder says which.
    pub(crate) fn start(&mut self) -> anyhow::Result<()> {
        let _ = fs::remove_file(self.data.join("postmaster.pid"));
        let settings = [
            // The address of the primary comes later, if at all.
            "listen_addresses=*".to_owned(),
            format!("port={PORT}"),
            "unix_socket_directories=".to_owned(),
            "max_connections=300".to_owned(),
            "shared_buffers=512MB".to_owned(),
            "wal_keep_size=1GB".to_owned(),
            "wal_level=replica".to_owned(),
            // In its own namespace, as below, so that a killed one leaves nothing on the machine.
            "dynamic_shared_memory_type=sysv".to_owned(),
            "wal_receiver_timeout=10s".to_owned(),
            "wal_sender_timeout=10s".to_owned(),
        ];
        let mut command = self.as_postgres("postgres");
        command.extend(["-D".into(), self.data.clone().into()]);
        for setting in settings {
            command.extend(["-c".into(), setting.into()]);
        }
        self.program.start(&command)?;
        let pid_file = self.data.join("postmaster.pid");
        let is_ready = || {
            let text = fs::read_to_string(&pid_file).unwrap_or_default();
            let state = text.lines().nth(7);
            state.is_some_and(|state| ["ready", "standby"].contains(&state.trim()))
        };
        wait_until("PostgreSQL is ready", START_WITHIN, is_ready)
            .with_context(|| self.program.last_words())
    }

    /// Runs SQL and returns the rows as lines.
    pub(crate) fn query(&self, database: &str, sql: &str) -> anyhow::Result<String> {
        let address = self.program.machine().address();
        let url = format!("postgres://postgres@{address}:{PORT}/{database}?connect_timeout=5");
        engines::postgres::query(&self.binaries, &url, sql)
    }

    /// Whether commits wait until a replica has them; in force with the next `reload` or start.
    fn wait_for_replica(&self, waits: bool) -> anyhow::Result<()> {
        let names = if waits { "*" } else { "" };
        let file = self.data.join("postgresql.auto.conf");
        let mut file = fs::File::options().append(true).open(file)?;
        writeln!(file, "synchronous_standby_names = '{names}'")?;
        Ok(file.sync_all()?)
    }

    /// `promote` or `reload`.
    fn control(&self, what: &str) -> anyhow::Result<()> {
        let data = path(&self.data);
        self.run(&["pg_ctl", what, "-D", data]).map(drop)
    }

    fn make_folder(&self) -> anyhow::Result<()> {
        fs::create_dir_all(&self.data)?;
        let data = path(&self.data);
        run(Command::new("chown").args(["postgres:postgres", data]))?;
        run(Command::new("chmod").args(["0700", data])).map(drop)
    }

    /// Runs one of PostgreSQL's own programs on its machine.
    fn run(&self, arguments: &[&str]) -> anyhow::Result<String> {
        let prefix = self.program.machine().prefix();
        let (program, arguments) = arguments.split_first().context("a program")?;
        let mut command = Command::new(&prefix[0]);
        command
            .args(&prefix[1..])
            .args(self.as_postgres(program))
            .args(arguments);
        run(&mut command)
    }

    /// It refuses to run as root; and who changes the user forgets who dies with whom.
    fn as_postgres(&self, program: &str) -> Vec<OsString> {
        let user = [
            "unshare",
            "--ipc",
            "--",
            "setpriv",
            "--reuid=postgres",
            "--regid=postgres",
            "--clear-groups",
            "--pdeathsig=KILL",
            "--",
        ];
        let mut command: Vec<OsString> = user.map(OsString::from).into();
        command.push(self.binaries.join(program).into());
        command
    }
}

fn path(path: &Path) -> &str {
    path.to_str().expect("our own folder has a plain name")
}

fn run(command: &mut Command) -> anyhow::Result<String> {
    let output = command
        .current_dir("/")
        .output()
        .with_context(|| format!("run {command:?}"))?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{command:?}: {errors}");
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
