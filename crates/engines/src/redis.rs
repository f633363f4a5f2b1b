//! A private Redis (or Valkey) server. It keeps nothing: rate limits start afresh with it.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use crate::password::write_private;
use crate::server::{self, Program, Server};
use crate::tether::Signal;
use crate::{folder, port, wire};

#[derive(Clone, Debug, Default)]
pub struct RedisOptions {
    /// The port to use when it is free. Default: any free one.
    pub preferred_port: Option<u16>,
    /// What it asks clients for; `None`: it lets everybody on the machine in.
    pub password: Option<String>,
}

/// A Redis server. Dropping it stops it.
#[derive(Debug)]
pub struct Redis {
    server: Server,
    folder: PathBuf,
    port: u16,
    password: Option<String>,
}

impl Redis {
    /// Starts it and returns when it answers.
    pub fn start(folder: &Path, binary: &Path, options: &RedisOptions) -> anyhow::Result<Self> {
        let folder = folder::create(folder)?;
        // In a file: everybody on the machine sees arguments.
        let password = options.password.as_ref();
        let settings = password.map(|password| format!("requirepass {password}\n"));
        write_private(&folder.join("redis.conf"), &settings.unwrap_or_default())?;
        let mut server = Server::prepare(Program {
            name: "Redis",
            binary: binary.to_owned(),
            pid_file: folder.join("redis.pid"),
            stop_with: Signal::Terminate,
            folder: folder.clone(),
            account: None,
        })?;
        let port = server::with_free_ports(|| {
            let port = port::free(options.preferred_port).map_err(server::Failure::Other)?;
            server.launch(&arguments(&folder, port), |_| answers_ping(port))?;
            Ok(port)
        })?;
        Ok(Self {
            server,
            folder,
            port,
            password: options.password.clone(),
        })
    }

    pub fn url(&self) -> String {
        let user = self.password.as_ref();
        let user = user.map(|password| format!(":{password}@"));
        format!(
            "redis://{}127.0.0.1:{}",
            user.unwrap_or_default(),
            self.port
        )
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// The process id, while it runs.
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

    /// Sends it a signal, for instance to suspend it.
    pub fn signal(&mut self, signal: Signal) {
        self.server.signal(signal);
    }

    /// Starts it again on the same port, empty; stops it first if it runs.
    pub fn restart(&mut self) -> anyhow::Result<()> {
        let port = self.port;
        self.server
            .relaunch(&arguments(&self.folder, port), |_| answers_ping(port))
    }

    pub(crate) fn request_stop(&mut self) {
        self.server.request_stop();
    }
}

fn arguments(folder: &Path, port: u16) -> Vec<OsString> {
    let port = port.to_string();
    let pid_file = folder.join("redis.pid");
    let settings = [
        ("--bind", "127.0.0.1".as_ref()),
        ("--port", port.as_ref()),
        ("--save", "".as_ref()),
        ("--appendonly", "no".as_ref()),
        // Losing a rate-limit window to eviction would let a caller through unseen.
        ("--maxmemory-policy", "noeviction".as_ref()),
        ("--dir", folder.as_os_str()),
        ("--pidfile", pid_file.as_os_str()),
    ]
    .into_iter()
    .flat_map(|(option, value)| [option.into(), value.to_owned()]);
    std::iter::once(folder.join("redis.conf").into())
        .chain(settings)
        .collect()
}

fn answers_ping(port: u16) -> bool {
    let ping = || -> std::io::Result<bool> {
        let mut stream = wire::connect(port)?;
        stream.write_all(b"PING\r\n")?;
        let mut answer = [0; 5];
        stream.read_exact(&mut answer)?;
        // One that asks for a password first is there too.
        Ok(&answer == b"+PONG" || &answer == b"-NOAU")
    };
    ping().unwrap_or(false)
}
