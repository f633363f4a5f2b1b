//! Three NATS servers, each on a machine and a disk of its own.

use std::ffi::OsString;
use std::fs;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use engines::Signal;
use reqwest::Client;
use serde_json::Value;
use testkit::{Disk, Machine};

use crate::fleet::program::{Program, wait_until};

pub(crate) const CLIENT_PORT: u16 = 4222;
const ROUTE_PORT: u16 = 6222;
const MONITOR_PORT: u16 = 8222;

/// Reading its streams after a power cut takes a while.
const START_WITHIN: Duration = Duration::from_secs(60);

/// One server of the cluster.
pub(crate) struct Member {
    pub(crate) program: Program,
    pub(crate) disk: Disk,
    binary: PathBuf,
    config: PathBuf,
}

impl Member {
    pub(crate) fn new(
        folder: &Path,
        binary: &Path,
        machine: &Machine,
        all: &[Machine],
        syncs: bool,
    ) -> anyhow::Result<Self> {
        let place = folder.join(machine.name());
        fs::create_dir_all(place.join("disk"))?;
        let disk = Disk::mount(&place.join("disk"))?;
        let config = place.join("nats.conf");
        let routes = all
            .iter()
            .map(|member| format!("\"nats-route://{}:{ROUTE_PORT}\"", member.address()));
        let (name, address) = (machine.name(), machine.address());
        let sync = if syncs { "sync_interval: always, " } else { "" };
        let text = format!(
            "server_name: {name:?}\nlisten: \"{address}:{CLIENT_PORT}\"\nhttp: \"{address}:{MONITOR_PORT}\"\n\
             jetstream {{ store_dir: \"{}\", {sync}max_file_store: 64GB }}\n\
             cluster {{ name: fleet, listen: \"{address}:{ROUTE_PORT}\", no_advertise: true, routes: [{}] }}\n",
            place.join("disk/streams").display(),
            routes.collect::<Vec<_>>().join(", "),
        );
        fs::write(&config, text)?;
        Ok(Self {
            program: Program::new(machine, place.join("nats.log"), Signal::Terminate),
            disk,
            binary: binary.to_owned(),
            config,
        })
    }

    pub(crate) fn start(&mut self) -> anyhow::Result<()> {
        let command: [OsString; 3] = [
            self.binary.clone().into(),
            "--config".into(),
            self.config.clone().into(),
        ];
        self.program.start(&command)?;
        let address = (self.program.machine().address(), CLIENT_PORT).into();
        let answers = || TcpStream::connect_timeout(&address, Duration::from_millis(200)).is_ok();
        wait_until("NATS listens", START_WITHIN, answers).with_context(|| self.program.last_words())
    }

    pub(crate) fn client_url(&self) -> String {
        format!("nats://{}:{CLIENT_PORT}", self.program.machine().address())
    }

    /// Who leads the stream of the first partition's events, by name, if this server knows.
    pub(crate) async fn leader_of_events(&self, http: &Client) -> Option<String> {
        let address = self.program.machine().address();
        let url = format!("http://{address}:{MONITOR_PORT}/jsz?streams=true");
        let page: Value = http.get(url).send().await.ok()?.json().await.ok()?;
        let streams = page["account_details"][0]["stream_detail"].as_array()?;
        let events = streams.iter().find(|stream| {
            let name = stream["name"].as_str();
            name.is_some_and(|name| name.ends_with("EVENTS_0"))
        })?;
        Some(events["cluster"]["leader"].as_str()?.to_owned())
    }

    /// Whether it says that it has caught up with the others.
    pub(crate) async fn is_healthy(&self, http: &Client) -> bool {
        let address = self.program.machine().address();
        let url = format!("http://{address}:{MONITOR_PORT}/healthz");
        let answer = http.get(url).send().await;
        answer.is_ok_and(|answer| answer.status().is_success())
    }
}
