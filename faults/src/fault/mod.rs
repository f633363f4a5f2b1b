//! What can break, and how it is called in the figures.

mod active;
mod schedule;

use std::fmt;
use std::net::IpAddr;
use std::time::{Duration, Instant};

pub(crate) use active::ActiveFault;
pub(crate) use schedule::Deck;

use crate::fleet::node::Role;

/// A part of the fleet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Node(Role),
    NatsLeader,
    NatsFollower,
    Primary,
    Replica,
    Redis,
}

/// Which packets are lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    In,
    Out,
    Both,
}

/// Where a machine is that loses packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    /// One machine of Watchbell from all of NATS.
    NodeFromNats,
    /// One machine of Watchbell from PostgreSQL.
    NodeFromPostgres,
    /// One NATS server from the two others.
    NatsFromNats,
}

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// SIGKILL, and started again.
    Kill(Part),
    /// SIGSTOP, and SIGCONT.
    Hang(Part),
    /// Every process of Watchbell gets SIGTERM and is started again, one after the other, in turn by two binaries.
    RollingRestart,
    /// Two of three NATS servers are killed.
    QuorumLoss,
    /// All three are.
    JournalLoss,
    /// The primary's machine loses power for good, and the replica takes its place.
    FailOver,
    RedisFlush,
    Partition(Cut, Way),
    /// A fifth of all packets is lost on the way to a machine.
    PacketLoss(Part),
    /// Everything between the second machine and NATS takes longer.
    Delay,
    ReceiversBroken,
    ReceiversHang,
    ReceiversHangUp,
    DiskFull(Part),
    /// The disks of all NATS servers.
    JournalFull,
    DiskSlow(Part),
    /// A process's clock is an hour ahead, or behind.
    Clock(Role, i64),
    /// A machine loses power, and what was not synced with it.
    PowerCut(Part),
    /// All machines do, at once.
    PowerCutOfAll,
}

/// What a fault is about; two at once are about different things, so that each can be mended by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Area {
    Nats,
    Postgres,
    Redis,
    Nodes,
    Receivers,
    Everything,
}

/// One fault, as the schedule has it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fault {
    pub(crate) kind: Kind,
    /// Which one, where there are several.
    pub(crate) which: usize,
    pub(crate) lasts: Duration,
}

/// Who may not have got something on record because of a fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Neither the journal nor a worker.
    Nobody,
    Worker(IpAddr),
    Everybody,
}

/// A fault that is over.
#[derive(Clone, Debug)]
pub(crate) struct PastFault {
    pub(crate) fault: Fault,
    pub(crate) reach: Reach,
    pub(crate) began: Instant,
    /// When everything that was broken worked again.
    pub(crate) healed: Instant,
    /// When every organization had got an alert about an event that was sent after it was healed.
    pub(crate) recovered: Instant,
    /// How many processes of Watchbell ended by themselves because of it, and were started again.
    pub(crate) exits: usize,
}

impl fmt::Display for Part {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Node(Role::Api) => "an `api` node",
            Self::Node(Role::Index) => "an indexer",
            Self::Node(Role::Match) => "a matcher",
            Self::Node(Role::Deliver) => "a worker",
            Self::NatsLeader => "the NATS server that leads",
            Self::NatsFollower => "a NATS server that follows",
            Self::Primary => "PostgreSQL",
            Self::Replica => "PostgreSQL's replica",
            Self::Redis => "Redis",
        })
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kill(part) => write!(formatter, "`kill -9` of {part}"),
            Self::Hang(part) => write!(formatter, "{part} hangs"),
            Self::RollingRestart => formatter.write_str("rolling restart"),
            Self::QuorumLoss => formatter.write_str("two of three NATS servers killed"),
            Self::JournalLoss => formatter.write_str("all three NATS servers killed"),
            Self::FailOver => formatter.write_str("PostgreSQL fails over"),
            Self::RedisFlush => formatter.write_str("Redis is emptied"),
            Self::Partition(cut, way) => {
                let between = match cut {
                    Cut::NodeFromNats => "a node and NATS",
                    Cut::NodeFromPostgres => "a node and PostgreSQL",
                    Cut::NatsFromNats => "a NATS server and the others",
                };
                let way = match way {
                    Way::In => "to it",
                    Way::Out => "from it",
                    Way::Both => "both ways",
                };
                write!(formatter, "partition between {between}, {way}")
            }
            Self::PacketLoss(part) => write!(formatter, "a fifth of the packets to {part} is lost"),
            Self::Delay => formatter.write_str("0.2 s more between a node and NATS, each way"),
            Self::ReceiversBroken => formatter.write_str("receivers answer 503"),
            Self::ReceiversHang => formatter.write_str("receivers never answer"),
            Self::ReceiversHangUp => formatter.write_str("receivers hang up"),
            Self::DiskFull(part) => write!(formatter, "the disk of {part} is full"),
            Self::JournalFull => formatter.write_str("the disks of all NATS servers are full"),
            Self::DiskSlow(part) => write!(formatter, "the disk of {part} is slow"),
            Self::Clock(role, seconds) => {
                let way = if *seconds > 0 { "ahead" } else { "behind" };
                write!(
                    formatter,
                    "the clock of {} is an hour {way}",
                    Part::Node(*role)
                )
            }
            Self::PowerCut(Part::Node(_)) => {
                formatter.write_str("power cut of a machine of Watchbell")
            }
            Self::PowerCut(part) => write!(formatter, "power cut of {part}"),
            Self::PowerCutOfAll => formatter.write_str("power cut of everything"),
        }
    }
}

impl Part {
    fn area(self) -> Area {
        match self {
            Self::Node(_) => Area::Nodes,
            Self::NatsLeader | Self::NatsFollower => Area::Nats,
            Self::Primary | Self::Replica => Area::Postgres,
            Self::Redis => Area::Redis,
        }
    }
}

impl Kind {
    /// Whether it ends processes at once, so that nothing of theirs is under way afterwards.
    pub(crate) fn is_sudden_death_of_workers(&self) -> bool {
        matches!(
            self,
            Self::Kill(Part::Node(_)) | Self::PowerCut(Part::Node(_)) | Self::PowerCutOfAll
        )
    }

    pub(crate) fn area(&self) -> Area {
        match self {
            Self::Kill(part)
            | Self::Hang(part)
            | Self::DiskFull(part)
            | Self::DiskSlow(part)
            | Self::PowerCut(part) => part.area(),
            Self::QuorumLoss | Self::JournalLoss | Self::JournalFull => Area::Nats,
            Self::FailOver => Area::Postgres,
            Self::RedisFlush => Area::Redis,
            Self::Delay | Self::Clock(..) => Area::Nodes,
            Self::ReceiversBroken | Self::ReceiversHang | Self::ReceiversHangUp => Area::Receivers,
            // Mending the network mends all of it; and a restart waits until everything is ready.
            Self::Partition(..)
            | Self::PacketLoss(_)
            | Self::RollingRestart
            | Self::PowerCutOfAll => Area::Everything,
        }
    }

    /// What kind of fault it is, whoever it hits.
    pub(crate) fn class(&self) -> &'static str {
        match self {
            Self::Kill(_) | Self::JournalLoss => "kill -9",
            Self::Hang(_) => "hang",
            Self::RollingRestart => "rolling restart",
            Self::QuorumLoss => "quorum loss",
            Self::FailOver => "fail-over",
            Self::RedisFlush => "flush",
            Self::Partition(..) => "partition",
            Self::PacketLoss(_) => "packet loss",
            Self::Delay => "delay",
            Self::ReceiversBroken | Self::ReceiversHang | Self::ReceiversHangUp => "receivers",
            Self::DiskFull(_) | Self::JournalFull => "full disk",
            Self::DiskSlow(_) => "slow disk",
            Self::Clock(..) => "clock",
            Self::PowerCut(_) | Self::PowerCutOfAll => "power cut",
        }
    }
}
