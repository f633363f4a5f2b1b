//! A private NATS server with JetStream, alone or as one of a cluster (see `cluster`).

use std::ffi::OsString;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use crate::password::write_private;
use crate::server::{self, Failure, Program, Server};
use crate::tether::Signal;
use crate::{folder, port, wire};

/// Whose password it is.
const USER: &str = "watchbell";

#[derive(Clone, Debug)]
pub struct NatsOptions {
    /// The port to use when it is free. Default: any free one.
    pub preferred_port: Option<u16>,
    /// The largest message. Default: 1 MiB, as in NATS itself.
    pub payload_bytes_max: u32,
    /// Default: `watchbell`.
    pub server_name: String,
    /// What it asks clients for; `None`: it lets everybody on the machine in.
    pub password: Option<String>,
}

impl Default for NatsOptions {
    fn default() -> Self {
        Self {
            preferred_port: None,
            payload_bytes_max: 1024 * 1024,
            server_name: "watchbell".to_owned(),
            password: None,
        }
    }
}

/// A NATS server with its streams in a folder. Dropping it stops it.
#[derive(Debug)]
pub struct Nats {
    server: Server,
    folder: PathBuf,
    ports: Ports,
    password: Option<String>,
}

/// What one member of a cluster knows about the others.
#[derive(Clone, Debug)]
pub(crate) struct Membership {
    pub(crate) cluster_name: String,
    pub(crate) route_port: u16,
    /// The route ports of all members.
    pub(crate) route_ports: Vec<u16>,
}

#[derive(Clone, Copy, Debug)]
struct Ports {
    client: u16,
    monitor: u16,
}

impl Nats {
    /// Starts it and returns when it accepts clients and JetStream is up. Streams that are already
    /// in `folder` are kept.
    pub fn start(folder: &Path, binary: &Path, options: &NatsOptions) -> anyhow::Result<Self> {
        server::with_free_ports(|| Self::try_start(folder, binary, options, None))
    }

    /// One try, so that a cluster can pick the ports of all members anew.
    pub(crate) fn try_start(
        folder: &Path,
        binary: &Path,
        options: &NatsOptions,
        membership: Option<&Membership>,
    ) -> Result<Self, Failure> {
        let prepared = || -> anyhow::Result<(Server, PathBuf, Ports)> {
            let folder = folder::create(folder)?;
            let server = Server::prepare(Program {
                name: "NATS",
                binary: binary.to_owned(),
                pid_file: folder.join("nats.pid"),
                stop_with: Signal::Terminate,
                folder: folder.clone(),
                account: None,
            })?;
            let client = port::free(options.preferred_port)?;
            let ports = Ports {
                client,
                monitor: port::free(None)?,
            };
            let path = folder.join("nats.conf");
            write_private(&path, &config(&folder, options, ports, membership))?;
            Ok((server, folder, ports))
        };
        let (mut server, folder, ports) = prepared().map_err(Failure::Other)?;
        server.launch(&arguments(&folder), |_| serves_jetstream(ports.client))?;
        Ok(Self {
            server,
            folder,
            ports,
            password: options.password.clone(),
        })
    }

    pub fn url(&self) -> String {
        let user = self.password.as_ref();
        let user = user.map(|password| format!("{USER}:{password}@"));
        format!(
            "nats://{}127.0.0.1:{}",
            user.unwrap_or_default(),
            self.ports.client
        )
    }

    /// Where the server tells about itself over HTTP (`/healthz`, `/varz`, `/jsz`).
    pub fn monitor_url(&self) -> String {
        format!("http://127.0.0.1:{}", self.ports.monitor)
    }

    /// Where its streams are: what is lost with its disk.
    pub fn streams(&self) -> PathBuf {
        self.folder.join("streams")
    }

    pub fn port(&self) -> u16 {
        self.ports.client
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

    /// Starts it again, on the same ports and data; stops it first if it runs.
    pub fn restart(&mut self) -> anyhow::Result<()> {
        let port = self.ports.client;
        self.server
            .relaunch(&arguments(&self.folder), |_| serves_jetstream(port))
    }

    /// The server's own answer to an HTTP request on its monitoring port.
    pub(crate) fn monitor(&self, path: &str) -> std::io::Result<(u16, String)> {
        wire::http_get(self.ports.monitor, path)
    }

    pub(crate) fn request_stop(&mut self) {
        self.server.request_stop();
    }
}

fn arguments(folder: &Path) -> Vec<OsString> {
    vec!["--config".into(), folder.join("nats.conf").into()]
}

fn config(
    folder: &Path,
    options: &NatsOptions,
    ports: Ports,
    membership: Option<&Membership>,
) -> String {
    let mut config = String::new();
    let mut line = |text: std::fmt::Arguments<'_>| {
        writeln!(config, "{text}").expect("writing to a string does not fail");
    };
    line(format_args!(
        "server_name: {}",
        quoted(&options.server_name)
    ));
    line(format_args!("listen: \"127.0.0.1:{}\"", ports.client));
    line(format_args!("http: \"127.0.0.1:{}\"", ports.monitor));
    line(format_args!(
        "pid_file: {}",
        quoted(folder.join("nats.pid").display())
    ));
    line(format_args!("max_payload: {}", options.payload_bytes_max));
    if let Some(password) = &options.password {
        line(format_args!("authorization {{"));
        line(format_args!("  user: {USER}"));
        line(format_args!("  password: {}", quoted(password)));
        line(format_args!("}}"));
    }
    line(format_args!("jetstream {{"));
    line(format_args!(
        "  store_dir: {}",
        quoted(folder.join("streams").display())
    ));
    // Without this NATS acknowledges up to two minutes before it writes to disk, and a power cut
    // loses what clients were told is safe.
    line(format_args!("  sync_interval: always"));
    line(format_args!("}}"));
    if let Some(membership) = membership {
        line(format_args!("cluster {{"));
        line(format_args!("  name: {}", quoted(&membership.cluster_name)));
        line(format_args!(
            "  listen: \"127.0.0.1:{}\"",
            membership.route_port
        ));
        line(format_args!("  routes: ["));
        for port in &membership.route_ports {
            line(format_args!("    \"nats-route://127.0.0.1:{port}\""));
        }
        line(format_args!("  ]"));
        line(format_args!("}}"));
    }
    config
}

fn quoted(text: impl std::fmt::Display) -> String {
    format!(
        "\"{}\"",
        text.to_string().replace('\\', "\\\\").replace('"', "\\\"")
    )
}

/// A NATS server greets each client with a line of JSON about itself.
fn serves_jetstream(port: u16) -> bool {
    let Ok(line) = wire::first_line(port) else {
        return false;
    };
    let Some(facts) = line.strip_prefix("INFO ") else {
        return false;
    };
    serde_json::from_str::<serde_json::Value>(facts)
        .is_ok_and(|facts| facts["jetstream"] == serde_json::Value::Bool(true))
}
