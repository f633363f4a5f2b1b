//! Breaking and mending: what each fault does to the fleet.

use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use testkit::machine::WORLD;
use testkit::{Dice, Machine};

use crate::fault::{Cut, Fault, Kind, Part, Reach, Way};
use crate::fleet::Fleet;
use crate::fleet::node::Role;
use crate::fleet::postgres;
use crate::fleet::program::Program;
use crate::receivers::{Mood, Receivers};

const DELAY: Duration = Duration::from_millis(200);
/// Each write and each sync.
const SLOW: Duration = Duration::from_millis(20);
const LOST: f64 = 0.2;

/// A fault that is on, with what is needed to mend it.
pub(crate) struct ActiveFault {
    pub(crate) fault: Fault,
    /// The NATS server that it hit, if it hit one.
    member: usize,
    pub(crate) reach: Reach,
}

impl ActiveFault {
    /// Breaks what the fault says.
    pub(crate) async fn begin(
        fault: Fault,
        fleet: &mut Fleet,
        receivers: &Receivers,
        other_binary: Option<&Path>,
    ) -> anyhow::Result<Self> {
        let leader = fleet.leader().await.unwrap_or(fault.which % 3);
        let member = match fault.kind {
            Kind::Kill(part)
            | Kind::Hang(part)
            | Kind::DiskFull(part)
            | Kind::DiskSlow(part)
            | Kind::PowerCut(part)
            | Kind::PacketLoss(part)
                if part == Part::NatsFollower =>
            {
                (leader + 1 + fault.which % 2) % 3
            }
            Kind::Partition(..) => fault.which % 3,
            _ => leader,
        };
        let mut active = Self {
            fault,
            member,
            reach: Reach::Everybody,
        };
        active.reach = active.reach(fleet);
        active.break_it(fleet, receivers, other_binary).await?;
        Ok(active)
    }

    async fn break_it(
        &mut self,
        fleet: &mut Fleet,
        receivers: &Receivers,
        other_binary: Option<&Path>,
    ) -> anyhow::Result<()> {
        match self.fault.kind {
            Kind::Kill(part) => self.program(part, fleet).kill(),
            Kind::Hang(part) => self.program(part, fleet).suspend(),
            Kind::RollingRestart => rolling_restart(fleet, other_binary).await?,
            Kind::QuorumLoss => {
                for other in 1..3 {
                    fleet.nats[(self.member + other) % 3].program.kill();
                }
            }
            Kind::JournalLoss => fleet
                .nats
                .iter_mut()
                .for_each(|member| member.program.kill()),
            Kind::FailOver => {
                let primary = fleet.postgres.primary();
                primary.program.kill();
                self.cut_power(&primary.disk);
                fleet.postgres.fail_over()?;
            }
            Kind::RedisFlush => fleet.redis.flush()?,
            Kind::Partition(cut, way) => self.part(cut, way, fleet)?,
            Kind::PacketLoss(part) => {
                let machine = self.program(part, fleet).machine().clone();
                for other in addresses(fleet) {
                    if other != machine.address() {
                        machine.drop_from(other, LOST)?;
                    }
                }
            }
            Kind::Delay => fleet.wires.iter().for_each(|wire| wire.delay(DELAY, DELAY)),
            Kind::ReceiversBroken => receivers.behave(Mood::Broken),
            Kind::ReceiversHang => receivers.behave(Mood::Hanging),
            Kind::ReceiversHangUp => receivers.behave(Mood::HangingUp),
            Kind::DiskFull(part) => {
                let disk = self.disk(part, fleet);
                disk.limit(Some(disk.bytes()));
            }
            Kind::JournalFull => {
                for member in &fleet.nats {
                    member.disk.limit(Some(member.disk.bytes()));
                }
            }
            Kind::DiskSlow(part) => self.disk(part, fleet).slow_down(SLOW),
            Kind::Clock(role, seconds) => clock_of(role, fleet)?.shift(seconds)?,
            Kind::PowerCut(part) => {
                if let Part::Node(_) = part {
                    let machine = self.program(part, fleet).machine().name().to_owned();
                    for node in &mut fleet.nodes {
                        if node.program.machine().name() == machine {
                            node.program.kill();
                        }
                    }
                } else {
                    self.program(part, fleet).kill();
                    self.cut_power(self.disk(part, fleet));
                }
            }
            Kind::PowerCutOfAll => {
                fleet.programs().for_each(Program::kill);
                for member in &fleet.nats {
                    self.cut_power(&member.disk);
                }
                for server in &fleet.postgres.servers {
                    self.cut_power(&server.disk);
                }
            }
        }
        Ok(())
    }

    /// Mends it; whatever has ended is for the supervisor to start. NATS has stopped using a disk that was full until it is
    /// started anew: making room is not enough.
    pub(crate) fn mend(&self, fleet: &mut Fleet, receivers: &Receivers) -> anyhow::Result<()> {
        match self.fault.kind {
            Kind::Hang(part) => self.program(part, fleet).resume(),
            Kind::FailOver => fleet.postgres.follow()?,
            Kind::Partition(..) | Kind::PacketLoss(_) => {
                let machines: Vec<Machine> = fleet
                    .programs()
                    .map(|program| program.machine().clone())
                    .collect();
                for machine in machines {
                    machine.heal()?;
                }
                fleet.wires.iter().for_each(testkit::Wire::heal);
            }
            Kind::Delay => fleet.wires.iter().for_each(testkit::Wire::heal),
            Kind::ReceiversBroken | Kind::ReceiversHang | Kind::ReceiversHangUp => {
                receivers.behave(Mood::Well);
            }
            Kind::DiskFull(part) => {
                self.disk(part, fleet).limit(None);
                if part != Part::Primary {
                    self.program(part, fleet).stop();
                }
            }
            Kind::JournalFull => {
                for member in &mut fleet.nats {
                    member.disk.limit(None);
                    member.program.stop();
                }
            }
            Kind::DiskSlow(part) => self.disk(part, fleet).slow_down(Duration::ZERO),
            Kind::Clock(role, _) => clock_of(role, fleet)?.shift(0)?,
            _ => {}
        }
        Ok(())
    }

    fn program<'f>(&self, part: Part, fleet: &'f mut Fleet) -> &'f mut Program {
        match part {
            Part::Node(role) => {
                let half = self.fault.which % 2 * Role::ALL.len();
                let place = half
                    + Role::ALL
                        .iter()
                        .position(|one| *one == role)
                        .unwrap_or_default();
                &mut fleet.nodes[place].program
            }
            Part::NatsLeader | Part::NatsFollower => &mut fleet.nats[self.member].program,
            Part::Primary => &mut fleet.postgres.servers[0].program,
            Part::Replica => &mut fleet.postgres.servers[1].program,
            Part::Redis => &mut fleet.redis.program,
        }
    }

    fn disk<'f>(&self, part: Part, fleet: &'f Fleet) -> &'f testkit::Disk {
        match part {
            Part::Primary => &fleet.postgres.servers[0].disk,
            Part::Replica => &fleet.postgres.servers[1].disk,
            _ => &fleet.nats[self.member].disk,
        }
    }

    /// What was not synced is gone, or any page of it: disks do either.
    fn cut_power(&self, disk: &testkit::Disk) {
        if self.fault.which.is_multiple_of(2) {
            disk.cut_power();
        } else {
            disk.cut_power_torn(&mut Dice(self.fault.which as u64));
        }
    }

    fn part(&self, cut: Cut, way: Way, fleet: &mut Fleet) -> anyhow::Result<()> {
        let nats: Vec<Machine> = fleet
            .nats
            .iter()
            .map(|member| member.program.machine().clone())
            .collect();
        let is_second = self.fault.which % 2 == 1;
        let node = fleet.nodes[self.fault.which % 2 * Role::ALL.len()]
            .program
            .machine()
            .clone();
        let postgres = fleet.postgres.servers[0].program.machine().clone();
        let (it, others): (Machine, Vec<Machine>) = match cut {
            // The second machine knows NATS only by its wires.
            Cut::NodeFromNats if is_second => {
                let (there, back) = (way != Way::In, way != Way::Out);
                fleet.wires.iter().for_each(|wire| wire.hold(there, back));
                return Ok(());
            }
            Cut::NodeFromNats => (node, nats),
            Cut::NodeFromPostgres => (node, vec![postgres]),
            Cut::NatsFromNats => {
                let others = (1..3)
                    .map(|other| nats[(self.member + other) % 3].clone())
                    .collect();
                (nats[self.member].clone(), others)
            }
        };
        for other in others {
            let of_primary = (cut == Cut::NodeFromPostgres).then_some(postgres::ADDRESS);
            if way != Way::Out {
                for address in [Some(other.address()), of_primary].into_iter().flatten() {
                    it.drop_from(address, 1.0)?;
                }
            }
            if way != Way::In {
                other.drop_from(it.address(), 1.0)?;
            }
        }
        Ok(())
    }

    /// Whose sends may not be on record because of it.
    fn reach(&self, fleet: &mut Fleet) -> Reach {
        let worker = |role: Role, address: IpAddr| match role {
            Role::Deliver => Reach::Worker(address),
            _ => Reach::Nobody,
        };
        let address = |place: usize, fleet: &Fleet| {
            IpAddr::V4(fleet.nodes[place].program.machine().address())
        };
        let half = self.fault.which % 2 * Role::ALL.len();
        match self.fault.kind {
            Kind::Kill(Part::Node(role)) | Kind::Hang(Part::Node(role)) => {
                worker(role, address(half, fleet))
            }
            Kind::PowerCut(Part::Node(_))
            | Kind::PacketLoss(Part::Node(_))
            | Kind::Partition(Cut::NodeFromNats, _) => Reach::Worker(address(half, fleet)),
            Kind::Kill(part)
            | Kind::Hang(part)
            | Kind::PowerCut(part)
            | Kind::PacketLoss(part)
            | Kind::DiskFull(part) => match part {
                Part::NatsLeader | Part::NatsFollower => Reach::Everybody,
                Part::Node(_) | Part::Primary | Part::Replica | Part::Redis => Reach::Nobody,
            },
            Kind::QuorumLoss
            | Kind::JournalLoss
            | Kind::JournalFull
            | Kind::Partition(Cut::NatsFromNats, _)
            | Kind::PowerCutOfAll => Reach::Everybody,
            // A clean stop sends nothing twice, what is slow or late is not lost, and a receiver that does not take a webhook
            // is not sent it too often.
            Kind::RollingRestart
            | Kind::FailOver
            | Kind::RedisFlush
            | Kind::Partition(Cut::NodeFromPostgres, _)
            | Kind::Delay
            | Kind::DiskSlow(_)
            | Kind::Clock(..)
            | Kind::ReceiversBroken
            | Kind::ReceiversHang
            | Kind::ReceiversHangUp => Reach::Nobody,
        }
    }
}

/// As an upgrade does it: one process after the other, each replaced when it has ended and before the next one is stopped.
async fn rolling_restart(fleet: &mut Fleet, other_binary: Option<&Path>) -> anyhow::Result<()> {
    for place in 0..fleet.nodes.len() {
        let node = &mut fleet.nodes[place];
        node.program.stop();
        // Old and new side by side: half of the processes run the other binary afterwards.
        if let Some(binary) = other_binary
            && place % 2 == 0
        {
            binary.clone_into(&mut node.binary);
        }
        node.start()?;
        fleet.wait_until_ready().await?;
    }
    Ok(())
}

fn clock_of(role: Role, fleet: &Fleet) -> anyhow::Result<&testkit::Clock> {
    let nodes = fleet.nodes.iter().filter(|node| node.role == role);
    let mut clocks = nodes.filter_map(|node| node.clock.as_ref());
    clocks.next().context("one of two has a clock of its own")
}

/// Everybody's: also that of the primary, and that of the wires and the receivers.
fn addresses(fleet: &mut Fleet) -> Vec<Ipv4Addr> {
    let machines = fleet.programs().map(|program| program.machine().address());
    machines.chain([postgres::ADDRESS, WORLD]).collect()
}
