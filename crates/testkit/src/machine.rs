//! Machines with addresses of their own, whose packets can be lost: network namespaces, joined by a bridge.
//!
//! A namespace lives as long as a process in it. Each machine has a `cat` for that, which ends when we do, because its input
//! ends then; so nothing is left, however we end. Nothing has a name outside, so any number of networks can be side by side.
//!
//! What a machine drops, it drops as it arrives, by iptables. So each direction is cut alone: a connection may carry bytes
//! one way and neither the answers nor the acknowledgments.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::net::Ipv4Addr;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Context, ensure};

/// The address of the process that made the network.
pub const WORLD: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);

const BRIDGE: &str = "bridge";
/// What a machine calls its end of the cable.
const CABLE: &str = "eth0";

/// Everything that we ask of the kernel, on a network that is gone when this ends.
const PROBE: &str =
    "ip link add probe0 type bridge && ip link add probe1 type veth peer name probe2 &&
    iptables -w -A INPUT -m statistic --mode random --probability 0.5 -j DROP &&
    iptables -w -A INPUT -p tcp -j REJECT --reject-with tcp-reset";

/// A network of this process's own: machines with addresses, joined by a bridge. Gone when the process ends.
#[derive(Debug)]
pub struct Network {
    world: Arc<Holder>,
    /// Everybody on the network, to tell them when an address has moved.
    everybody: Arc<Mutex<Vec<Arc<Holder>>>>,
}

/// One machine of a [`Network`]. Programs run on it by [`Self::prefix`].
#[derive(Clone, Debug)]
pub struct Machine {
    name: Arc<str>,
    address: Ipv4Addr,
    holder: Arc<Holder>,
    everybody: Arc<Mutex<Vec<Arc<Holder>>>>,
}

impl Network {
    /// Why this cannot be had here, or `None`.
    pub fn unavailable() -> Option<String> {
        if !cfg!(target_os = "linux") {
            return Some("networks of our own need Linux".to_owned());
        }
        let probe = command(["unshare", "--net", "sh", "-c", PROBE]);
        let tried = output(probe, "try namespaces, bridges and iptables");
        tried.err().map(|error| format!("{error:#}"))
    }

    /// Moves this process into a network namespace of its own, with a bridge that has the address [`WORLD`].
    ///
    /// Only the calling thread moves, and threads that it starts later: call this before there are others.
    pub fn create() -> anyhow::Result<Self> {
        let world = Arc::new(Holder::start()?);
        world.enter()?;
        world.run(["ip", "link", "set", "lo", "up"])?;
        world.run(["ip", "link", "add", "name", BRIDGE, "type", "bridge"])?;
        // A bridge without an address of its own has that of one of its cables, and changes it when there is another;
        // machines that remember the old one would not find it for a while.
        let hardware = "02:00:0a:4d:00:01";
        world.run(["ip", "link", "set", BRIDGE, "address", hardware, "up"])?;
        let address = format!("{WORLD}/24");
        world.run(["ip", "address", "add", &address, "dev", BRIDGE])?;
        Ok(Self {
            everybody: Arc::new(Mutex::new(vec![Arc::clone(&world)])),
            world,
        })
    }

    /// A machine with the address 10.77.0.`number`.
    pub fn machine(&mut self, name: &str, number: u8) -> anyhow::Result<Machine> {
        let [a, b, c, _] = WORLD.octets();
        let address = Ipv4Addr::new(a, b, c, number);
        ensure!(address != WORLD, "{WORLD} is this process's own address");
        let holder = Arc::new(Holder::start()?);
        let ours = format!("m{number}");
        let pid = holder.process.id().to_string();
        self.world.run([
            "ip", "link", "add", &ours, "type", "veth", "peer", "name", CABLE, "netns", &pid,
        ])?;
        self.world
            .run(["ip", "link", "set", &ours, "master", BRIDGE, "up"])?;
        holder.run(["ip", "link", "set", "lo", "up"])?;
        let with_network = format!("{address}/24");
        holder.run(["ip", "address", "add", &with_network, "dev", CABLE])?;
        holder.run(["ip", "link", "set", CABLE, "up"])?;
        lock(&self.everybody).push(Arc::clone(&holder));
        Ok(Machine {
            name: name.into(),
            address,
            holder,
            everybody: Arc::clone(&self.everybody),
        })
    }
}

impl Machine {
    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn address(&self) -> Ipv4Addr {
        self.address
    }

    /// What goes before a program's name to run it on this machine.
    pub fn prefix(&self) -> Vec<OsString> {
        self.holder.prefix().into_iter().map(Into::into).collect()
    }

    /// Runs a program that ends by itself on this machine; its output, or an error with what it said.
    pub fn run(&self, arguments: &[&str]) -> anyhow::Result<String> {
        let ran = self.holder.run(arguments.iter().copied());
        ran.with_context(|| format!("on the machine {}", self.name))
    }

    /// Moves the calling thread here: sockets that it opens from now on, and programs that it starts, are on this machine.
    pub fn enter(&self) -> anyhow::Result<()> {
        self.holder.enter()
    }

    /// Packets from `from` do not arrive here any more, while those from here arrive there. `share` is how many of them:
    /// 1.0 all, 0.1 each tenth, by chance.
    pub fn drop_from(&self, from: Ipv4Addr, share: f64) -> anyhow::Result<()> {
        let (from, share_text) = (from.to_string(), format!("{share:.6}"));
        let mut rule = vec!["-s", &from];
        if share < 1.0 {
            rule.extend(["-m", "statistic", "--mode", "random"]);
            rule.extend(["--probability", &share_text]);
        }
        rule.extend(["-j", "DROP"]);
        self.incoming(&rule)
    }

    /// Answers everything from `from` with a reset, where dropping would be silent.
    pub fn refuse_from(&self, from: Ipv4Addr) -> anyhow::Result<()> {
        let from = from.to_string();
        let reset = ["-j", "REJECT", "--reject-with", "tcp-reset"];
        self.incoming(&[&["-p", "tcp", "-s", &from], &reset[..]].concat())
    }

    /// Takes back every drop and refusal on this machine.
    pub fn heal(&self) -> anyhow::Result<()> {
        self.run(&["iptables", "-w", "-F", "INPUT"]).map(drop)
    }

    /// A further address of this machine, for instance one that moves from a primary to its replica. Everybody forgets where
    /// it was; who still has it has to give it up first.
    pub fn take_address(&self, address: Ipv4Addr) -> anyhow::Result<()> {
        let (alone, address) = (format!("{address}/32"), address.to_string());
        self.run(&["ip", "address", "add", &alone, "dev", CABLE])?;
        for holder in lock(&self.everybody).iter() {
            holder.run(["ip", "neighbor", "flush", "to", &address])?;
        }
        Ok(())
    }

    pub fn give_address_up(&self, address: Ipv4Addr) -> anyhow::Result<()> {
        let alone = format!("{address}/32");
        self.run(&["ip", "address", "del", &alone, "dev", CABLE])
            .map(drop)
    }

    fn incoming(&self, rule: &[&str]) -> anyhow::Result<()> {
        let append = ["iptables", "-w", "-A", "INPUT"];
        self.run(&[&append, rule].concat()).map(drop)
    }
}

/// The process that keeps a namespace alive. Dropping it ends it.
#[derive(Debug)]
struct Holder {
    process: Child,
    /// The holder ends when this is closed: by us, or by the kernel when we are gone.
    _input: ChildStdin,
}

impl Holder {
    fn start() -> anyhow::Result<Self> {
        let mut process = command(["unshare", "--net", "cat"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // So that Ctrl-C in a terminal reaches only us.
            .process_group(0)
            .spawn()
            .context("start unshare")?;
        let mut input = process.stdin.take().context("its input is piped")?;
        let output = process.stdout.take().context("its output is piped")?;
        // What answers is cat, so the namespace is there.
        let mut line = String::new();
        let asked = input
            .write_all(b"there\n")
            .and_then(|()| BufReader::new(output).read_line(&mut line));
        let holder = Self {
            process,
            _input: input,
        };
        ensure!(
            asked.is_ok() && line == "there\n",
            "no namespace could be made: unshare --net needs root"
        );
        Ok(holder)
    }

    fn namespace(&self) -> String {
        format!("/proc/{}/ns/net", self.process.id())
    }

    fn prefix(&self) -> [String; 3] {
        let namespace = format!("--net={}", self.namespace());
        ["nsenter".to_owned(), namespace, "--".to_owned()]
    }

    fn run<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> anyhow::Result<String> {
        let [enter, namespace, end] = self.prefix();
        let mut entering = command([enter.as_str(), &namespace, &end]);
        entering.args(arguments);
        run(entering)
    }

    #[cfg(target_os = "linux")]
    fn enter(&self) -> anyhow::Result<()> {
        use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
        use std::os::fd::AsFd;
        let path = self.namespace();
        let namespace = std::fs::File::open(&path).with_context(|| format!("open {path}"))?;
        move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))
            .with_context(|| format!("enter {path}"))
    }

    #[cfg(not(target_os = "linux"))]
    fn enter(&self) -> anyhow::Result<()> {
        anyhow::bail!("{} is of Linux only", self.namespace())
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn command<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Command {
    let mut arguments = arguments.into_iter();
    let mut command = Command::new(arguments.next().unwrap_or_default());
    command.args(arguments);
    command
}

fn run(command: Command) -> anyhow::Result<String> {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
    let told = words.join(" ");
    output(command, &told)
}

fn output(mut command: Command, told: &str) -> anyhow::Result<String> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| told.to_owned())?;
    ensure!(
        output.status.success(),
        "{told}: {}: {}{}",
        output.status,
        String::from_utf8_lossy(&output.stderr).trim_end(),
        String::from_utf8_lossy(&output.stdout).trim_end(),
    );
    Ok(String::from_utf8_lossy(&output.stdout)
        .trim_end()
        .to_owned())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
