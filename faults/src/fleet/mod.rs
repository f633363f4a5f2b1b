//! The fleet: three NATS servers, PostgreSQL with a replica, Redis, and two of each role of Watchbell, every one of them
//! on a machine of its own, which is a network namespace with its own disk.

pub(crate) mod nats;
pub(crate) mod node;
pub(crate) mod postgres;
pub(crate) mod program;
pub(crate) mod redis;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use reqwest::Client;
use serde_json::Value;
use testkit::{Clock, Machine, Network, Wire, environment};
use tokio::time::sleep;

use nats::Member;
use node::{Node, Role};
use postgres::Pair;
use program::Program;
use redis::Redis;

/// What each organization's own signing secret is derived from.
const ROOT_SECRET: &str = "whsec_YSByb290IGZvciB0ZXN0cywga25vd24gdG8gbm9ib2R5ISE=";
/// Sends in flight for each worker: the bound of what may be sent again when it dies is twice that.
pub(crate) const CONCURRENCY: usize = 64;
/// A limit that the workload reaches all the time.
pub(crate) const STATS_LIMIT: (usize, Duration) = (20, Duration::from_secs(10));
const READY_WITHIN: Duration = Duration::from_secs(90);
const LOOK: Duration = Duration::from_millis(100);
/// Where wires of the second machine begin.
const WIRES: u16 = 14_220;

/// Everything that runs.
pub(crate) struct Fleet {
    pub(crate) nats: Vec<Member>,
    pub(crate) postgres: Pair,
    pub(crate) redis: Redis,
    /// The first four are on the first machine.
    pub(crate) nodes: Vec<Node>,
    /// The second machine reaches NATS only through these.
    pub(crate) wires: Vec<Wire>,
    pub(crate) http: Client,
    settings: Vec<(String, String)>,
    // Behind everything that lives in it.
    _network: Network,
}

impl Fleet {
    /// Starts everything, in order, and returns when all of it serves. NATS that does not sync is there to be found out.
    pub(crate) async fn start(
        mut network: Network,
        folder: &Path,
        binary: &Path,
        nats_syncs: bool,
    ) -> anyhow::Result<Self> {
        let found = environment::binaries()?;
        let numbers = [("nats-0", 11), ("nats-1", 12), ("nats-2", 13)];
        let machines: Vec<Machine> = numbers
            .into_iter()
            .map(|(name, number)| network.machine(name, number))
            .collect::<Result<_, _>>()?;
        let mut nats = Vec::new();
        for machine in &machines {
            nats.push(Member::new(
                folder,
                &found.nats,
                machine,
                &machines,
                nats_syncs,
            )?);
        }
        for member in &mut nats {
            member.start()?;
        }
        let (first, second) = (
            network.machine("postgres-a", 21)?,
            network.machine("postgres-b", 22)?,
        );
        let postgres = Pair::start(folder, &found.postgres, [&first, &second])?;
        let machine = network.machine("redis", 25)?;
        let program = found.redis.as_ref().context("Redis is not installed")?;
        let mut redis = Redis::new(folder, program, &machine);
        redis.start()?;

        let mut wires = Vec::new();
        for (port, member) in (WIRES..).zip(&nats) {
            let to = (member.program.machine().address(), nats::CLIENT_PORT).into();
            wires.push(Wire::start(([10, 77, 0, 1], port).into(), to)?);
        }
        let direct: Vec<String> = nats.iter().map(Member::client_url).collect();
        let wired: Vec<String> = wires
            .iter()
            .map(|wire| format!("nats://{}", wire.address()))
            .collect();
        let settings = settings(&redis.url());
        let mut nodes = Vec::new();
        for (name, number, journal) in [("node-a", 31, direct), ("node-b", 32, wired)] {
            let machine = network.machine(name, number)?;
            let mut settings = settings.clone();
            settings.push(("WATCHBELL__JOURNAL__URL".to_owned(), journal.join(",")));
            for role in Role::ALL {
                // A program that is killed leaves something of the library behind, so not all have one.
                let has_clock = name == "node-b" && Clock::unavailable().is_none();
                let clock = has_clock.then(|| clock(folder, role)).transpose()?;
                nodes.push(Node::new(folder, binary, &machine, role, &settings, clock));
            }
        }
        let http = Client::builder()
            .timeout(Duration::from_secs(10))
            .no_proxy()
            .build()?;
        let mut settings = settings;
        settings.push(("WATCHBELL__JOURNAL__URL".to_owned(), nats[0].client_url()));
        let mut fleet = Self {
            nats,
            postgres,
            redis,
            nodes,
            wires,
            http,
            settings,
            _network: network,
        };
        fleet.run(&["migrate"])?;
        for node in &mut fleet.nodes {
            node.start()?;
        }
        fleet.wait_until_ready().await?;
        Ok(fleet)
    }

    /// Runs a command of Watchbell beside the fleet, as an operator would, and returns what it printed.
    pub(crate) fn run(&self, arguments: &[&str]) -> anyhow::Result<String> {
        let node = &self.nodes[0];
        let command = node::command(&node.binary, &self.settings, arguments);
        let command: Vec<&str> = command.iter().filter_map(|part| part.to_str()).collect();
        node.program.machine().run(&command)
    }

    /// Creates an organization: its key and the secret that signs its webhooks.
    pub(crate) fn create_organization(&self, name: &str) -> anyhow::Result<(String, String)> {
        let email = format!("{name}@example.com");
        let printed = self.run(&["admin", "create-org", "--name", name, "--email", &email])?;
        let line = printed.lines().find(|line| line.contains("api_key"));
        let founded: Value = serde_json::from_str(line.context("a line with the key")?)?;
        let text = |field: &str| Some(founded[field].as_str()?.to_owned());
        let key = text("api_key").context("a key")?;
        let secret = text("signing_secret").with_context(|| format!("a secret: {printed}"))?;
        Ok((key, secret))
    }

    /// Where clients send their requests.
    pub(crate) fn urls(&self) -> Vec<String> {
        let nodes = self.nodes.iter().filter(|node| node.role == Role::Api);
        nodes
            .map(|node| {
                format!(
                    "http://{}:{}",
                    node.program.machine().address(),
                    node.role.port()
                )
            })
            .collect()
    }

    /// Waits until every process says that it is ready, and starts those that ended by themselves.
    pub(crate) async fn wait_until_ready(&mut self) -> anyhow::Result<()> {
        let deadline = Instant::now() + READY_WITHIN;
        for place in 0..self.nodes.len() {
            let node = &self.nodes[place];
            let (machine, port) = (node.program.machine(), node.role.port());
            let url = format!("http://{}:{port}/healthz/ready", machine.address());
            loop {
                let answer = self.http.get(&url).send().await;
                if answer.is_ok_and(|answer| answer.status().is_success()) {
                    break;
                }
                let node = &self.nodes[place];
                ensure!(
                    Instant::now() < deadline,
                    "{} on {} is not ready:\n{}",
                    node.role.name(),
                    node.program.machine().name(),
                    node.program.last_words()
                );
                self.supervise()?;
                sleep(LOOK).await;
            }
        }
        Ok(())
    }

    /// Starts whatever does not run, engines first, as a supervisor would. Says how many processes of Watchbell had ended by
    /// themselves.
    pub(crate) fn start_what_is_down(&mut self) -> anyhow::Result<usize> {
        for member in &mut self.nats {
            if !member.program.is_running() {
                member.start()?;
            }
        }
        for server in &mut self.postgres.servers {
            if !server.program.is_running() {
                server.start()?;
            }
        }
        if !self.redis.program.is_running() {
            self.redis.start()?;
        }
        self.supervise()
    }

    /// Starts the processes of Watchbell that do not run; how many of them had ended by themselves.
    pub(crate) fn supervise(&mut self) -> anyhow::Result<usize> {
        let mut exits = 0;
        for node in &mut self.nodes {
            if !node.program.is_running() {
                exits += usize::from(node.program.ended_by_itself());
                node.start()?;
            }
        }
        Ok(exits)
    }

    /// Which NATS server leads the events.
    pub(crate) async fn leader(&self) -> Option<usize> {
        for member in &self.nats {
            let Some(name) = member.leader_of_events(&self.http).await else {
                continue;
            };
            return self
                .nats
                .iter()
                .position(|one| one.program.machine().name() == name);
        }
        None
    }

    /// Whether all NATS servers have caught up with each other.
    pub(crate) async fn nats_agrees(&self) -> bool {
        for member in &self.nats {
            if !member.is_healthy(&self.http).await {
                return false;
            }
        }
        true
    }

    /// The lines in which a process of Watchbell says that it panicked.
    pub(crate) fn panics(&self) -> Vec<String> {
        let said = |node: &Node| {
            let log = std::fs::read_to_string(node.program.log()).unwrap_or_default();
            let lines = log.lines().filter(|line| line.contains("panicked"));
            lines.map(str::to_owned).collect::<Vec<_>>()
        };
        self.nodes.iter().flat_map(said).collect()
    }

    /// Copies what the processes wrote to where it outlives the run.
    pub(crate) fn keep_logs(&mut self) -> anyhow::Result<PathBuf> {
        let kept = tempfile::Builder::new()
            .prefix("watchbell-faults-")
            .tempdir()?
            .keep();
        for program in self.programs() {
            let (machine, log) = (program.machine().name(), program.log());
            let name = log.file_name().unwrap_or_default().display();
            std::fs::copy(log, kept.join(format!("{machine}-{name}")))?;
        }
        Ok(kept)
    }

    /// Every program, for a power cut of everything and for last words.
    pub(crate) fn programs(&mut self) -> impl Iterator<Item = &mut Program> {
        let nats = self.nats.iter_mut().map(|member| &mut member.program);
        let postgres = self
            .postgres
            .servers
            .iter_mut()
            .map(|server| &mut server.program);
        let nodes = self.nodes.iter_mut().map(|node| &mut node.program);
        nats.chain(postgres)
            .chain([&mut self.redis.program])
            .chain(nodes)
    }
}

fn settings(redis: &str) -> Vec<(String, String)> {
    let (count, window) = STATS_LIMIT;
    let stats = format!("{count}/{}s", window.as_secs());
    let concurrency = CONCURRENCY.to_string();
    let postgres = Pair::url();
    let settings = [
        ("HTTP__DRAIN_S", "1"),
        ("POSTGRES__URL", &postgres),
        ("JOURNAL__PARTITIONS", "2"),
        ("JOURNAL__REPLICAS", "3"),
        ("REDIS__URL", redis),
        // Two cores run all of this: a Redis that is there must not be taken for one that is not.
        ("REDIS__TIMEOUT_MS", "1000"),
        ("DELIVERY__SIGNING_SECRET", ROOT_SECRET),
        ("DELIVERY__ALLOW_HTTP", "true"),
        ("DELIVERY__ALLOW_CIDRS", "10.77.0.0/24"),
        ("DELIVERY__CONCURRENCY", &concurrency),
        ("LOG__FILTER", "info"),
        ("LIMITS__STATS", &stats),
    ];
    let unlimited = [
        "INGEST",
        "LIST",
        "EXPORT",
        "DECISIONS",
        "RULE_WRITES",
        "POLICY_WRITES",
        "READS",
        "WRITES",
        "PUBLIC",
    ];
    let named = |(name, value): (&str, &str)| (format!("WATCHBELL__{name}"), value.to_owned());
    let unlimited = unlimited.map(|limit| {
        (
            format!("WATCHBELL__LIMITS__{limit}"),
            "100000/1s".to_owned(),
        )
    });
    settings.into_iter().map(named).chain(unlimited).collect()
}

fn clock(folder: &Path, role: Role) -> anyhow::Result<Clock> {
    let folder = folder.join(format!("clock-{}", role.name()));
    std::fs::create_dir(&folder)?;
    Clock::new(&folder)
}

/// Where the binary beside this one is.
pub(crate) fn binary_beside() -> anyhow::Result<PathBuf> {
    Ok(std::env::current_exe()?.with_file_name("watchbell"))
}
