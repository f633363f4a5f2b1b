//! Redis, which keeps nothing on a disk.

use std::ffi::OsString;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use engines::Signal;
use testkit::Machine;

use crate::fleet::program::{Program, wait_until};

const PORT: u16 = 6379;
const START_WITHIN: Duration = Duration::from_secs(20);
const ANSWER_WITHIN: Duration = Duration::from_secs(5);

pub(crate) struct Redis {
    pub(crate) program: Program,
    binary: PathBuf,
}

impl Redis {
    pub(crate) fn new(folder: &Path, binary: &Path, machine: &Machine) -> Self {
        let log = folder.join(machine.name()).join("redis.log");
        Self {
            program: Program::new(machine, log, Signal::Terminate),
            binary: binary.to_owned(),
        }
    }

    pub(crate) fn start(&mut self) -> anyhow::Result<()> {
        let address = self.program.machine().address().to_string();
        let mut command: Vec<OsString> = vec![self.binary.clone().into()];
        let port = PORT.to_string();
        let settings = [
            ("--bind", address.as_str()),
            ("--port", &port),
            ("--protected-mode", "no"),
            ("--save", ""),
            ("--appendonly", "no"),
        ];
        for (name, value) in settings {
            command.extend([name.into(), value.into()]);
        }
        self.program.start(&command)?;
        wait_until("Redis answers", START_WITHIN, || self.say("PING").is_ok())
            .with_context(|| self.program.last_words())
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://{}:{PORT}", self.program.machine().address())
    }

    /// Forgets every window.
    pub(crate) fn flush(&self) -> anyhow::Result<()> {
        self.say("FLUSHALL")
    }

    fn say(&self, command: &str) -> anyhow::Result<()> {
        let address = SocketAddr::from((self.program.machine().address(), PORT));
        let mut stream = TcpStream::connect_timeout(&address, ANSWER_WITHIN)?;
        stream.set_read_timeout(Some(ANSWER_WITHIN))?;
        stream.write_all(format!("{command}\r\n").as_bytes())?;
        let mut answer = [0; 1];
        stream.read_exact(&mut answer)?;
        ensure!(answer == *b"+", "Redis refused {command}");
        Ok(())
    }
}
