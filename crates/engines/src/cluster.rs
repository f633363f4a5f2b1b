//! Several private NATS servers that keep the same streams, to see what happens when one fails.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

use crate::nats::{Membership, Nats, NatsOptions};
use crate::server::{self, Failure};
use crate::{port, tether::Signal};

/// Servers elect a leader within a few seconds; two busy cores take several times that.
const AGREE_DEADLINE: Duration = Duration::from_mins(1);
const AGREE_POLL: Duration = Duration::from_millis(20);

/// A cluster of NATS servers on this machine. Dropping it stops them.
#[derive(Debug)]
pub struct NatsCluster {
    members: Vec<Nats>,
}

impl NatsCluster {
    /// Starts `size` servers and returns when they have agreed on a leader and all take part, so
    /// that a stream with `size` replicas can be created at once.
    pub fn start(
        folder: &Path,
        binary: &Path,
        size: usize,
        options: &NatsOptions,
    ) -> anyhow::Result<Self> {
        let members = server::with_free_ports(|| start_members(folder, binary, size, options))?;
        let cluster = Self { members };
        cluster.wait_until_agreed()?;
        Ok(cluster)
    }

    /// The addresses of all members, the stopped ones included.
    pub fn urls(&self) -> Vec<String> {
        self.members.iter().map(Nats::url).collect()
    }

    pub fn monitor_urls(&self) -> Vec<String> {
        self.members.iter().map(Nats::monitor_url).collect()
    }

    /// The member with this number, from 0.
    pub fn member(&mut self, number: usize) -> &mut Nats {
        &mut self.members[number]
    }

    /// SIGKILL to one member.
    pub fn kill(&mut self, number: usize) {
        self.members[number].kill();
    }

    /// Sends a signal to one member, for instance to suspend it.
    pub fn signal(&mut self, number: usize, signal: Signal) {
        self.members[number].signal(signal);
    }

    /// Stops one member politely.
    pub fn stop(&mut self, number: usize) {
        self.members[number].stop();
    }

    /// Starts one member again, with its ports and data. It may still have to catch up;
    /// [`Self::wait_until_agreed`] waits for that.
    pub fn restart(&mut self, number: usize) -> anyhow::Result<()> {
        self.members[number].restart()
    }

    /// The number of the member that leads the cluster, if the members agree on one.
    pub fn leader(&self) -> Option<usize> {
        self.members.iter().position(|member| {
            let facts = meta_cluster(member);
            facts.is_some_and(|facts| facts["leader"] == server_name(member))
        })
    }

    /// Waits until all members that run are healthy and the leader sees all of them.
    pub fn wait_until_agreed(&self) -> anyhow::Result<()> {
        let deadline = Instant::now() + AGREE_DEADLINE;
        loop {
            let Some(reason) = self.why_not_agreed() else {
                return Ok(());
            };
            if Instant::now() >= deadline {
                bail!("the NATS cluster did not agree within {AGREE_DEADLINE:?}: {reason}");
            }
            thread::sleep(AGREE_POLL);
        }
    }

    fn why_not_agreed(&self) -> Option<String> {
        let running: Vec<&Nats> = self
            .members
            .iter()
            .filter(|nats| nats.pid().is_ok())
            .collect();
        for member in &running {
            match member.monitor("/healthz") {
                Ok((200, _)) => {}
                Ok((status, body)) => return Some(format!("{}: {status} {body}", member.url())),
                Err(error) => return Some(format!("{}: {error}", member.url())),
            }
        }
        let Some(leader) = self.leader() else {
            return Some("there is no leader".to_owned());
        };
        let Some(facts) = meta_cluster(&self.members[leader]) else {
            return Some("the leader does not answer".to_owned());
        };
        let replicas = facts["replicas"].as_array().map_or(&[][..], Vec::as_slice);
        let current = replicas
            .iter()
            .filter(|replica| replica["current"] == true && replica["offline"] != true)
            .count();
        // The leader is not in its own list.
        (current + 1 < running.len()).then(|| {
            format!(
                "the leader sees {} of {} members",
                current + 1,
                running.len()
            )
        })
    }
}

impl Drop for NatsCluster {
    fn drop(&mut self) {
        for member in &mut self.members {
            member.request_stop();
        }
    }
}

/// All at once: a member is ready for clients before the cluster has agreed, so the wait for one
/// does not depend on the others.
fn start_members(
    folder: &Path,
    binary: &Path,
    size: usize,
    options: &NatsOptions,
) -> Result<Vec<Nats>, Failure> {
    let route_ports: Vec<u16> = (0..size)
        .map(|_| port::free(None))
        .collect::<Result<_, _>>()
        .map_err(Failure::Other)?;
    thread::scope(|scope| {
        let starts: Vec<_> = (0..size)
            .map(|number| {
                let membership = Membership {
                    cluster_name: "watchbell".to_owned(),
                    route_port: route_ports[number],
                    route_ports: route_ports.clone(),
                };
                let options = NatsOptions {
                    preferred_port: None,
                    server_name: format!("{}-{number}", options.server_name),
                    ..options.clone()
                };
                let folder = folder.join(format!("nats-{number}"));
                scope.spawn(move || Nats::try_start(&folder, binary, &options, Some(&membership)))
            })
            .collect();
        starts
            .into_iter()
            .map(|start| start.join().expect("starting a server does not panic"))
            .collect()
    })
}

fn meta_cluster(member: &Nats) -> Option<serde_json::Value> {
    member.pid().ok()?;
    let (_, body) = member.monitor("/jsz").ok()?;
    let mut facts: serde_json::Value = serde_json::from_str(&body).ok()?;
    Some(facts["meta_cluster"].take())
}

fn server_name(member: &Nats) -> String {
    let read = || -> anyhow::Result<String> {
        let (_, body) = member
            .monitor("/varz")
            .context("ask the server for its name")?;
        let facts: serde_json::Value = serde_json::from_str(&body)?;
        Ok(facts["server_name"].as_str().unwrap_or_default().to_owned())
    };
    read().unwrap_or_default()
}
