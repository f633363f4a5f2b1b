//! Which fault comes when: the same in every run with the same seed.

use std::ops::Range;
use std::time::Duration;

use testkit::{Clock, Dice};

use crate::fault::{Area, Cut, Fault, Kind, Part, Way};
use crate::fleet::node::Role;

const LASTS_MS: Range<u64> = 500..5_000;
/// One in so many lasts long: longer than a lease, and than the queue waits for an acknowledgment.
const LONG_ONE_IN: u64 = 8;
const LONG_MS: Range<u64> = 5_000..25_000;
/// A process looks once a second whether its clock has jumped.
const CLOCK_MS_MIN: u64 = 3_000;
/// One in so many has another one beside it.
const BESIDE_ONE_IN: u64 = 4;
const PAUSE_MS_MAX: u64 = 2_000;

/// Every kind of fault once, in an order that chance picks, one of each class first; and then again in another.
pub(crate) struct Deck {
    dice: Dice,
    left: Vec<Kind>,
    /// The classes that have had their turn.
    seen: Vec<&'static str>,
    /// Only those of these classes, if somebody wants to see one again.
    only: Vec<String>,
}

impl Deck {
    /// Fails if there is no fault of a class that is wanted.
    pub(crate) fn new(seed: u64, only: Vec<String>) -> anyhow::Result<Self> {
        for class in &only {
            let is_there = !wanted(std::slice::from_ref(class)).is_empty();
            anyhow::ensure!(is_there, "there are no faults of the class {class:?} here");
        }
        Ok(Self {
            dice: Dice(seed),
            left: Vec::new(),
            seen: Vec::new(),
            only,
        })
    }

    /// What breaks next: one fault, or two in different areas at once.
    pub(crate) fn draw(&mut self) -> Vec<Fault> {
        let first = self.draw_one(None);
        let mut faults = vec![first];
        if self.dice.one_in(BESIDE_ONE_IN) && first.kind.area() != Area::Everything {
            faults.push(self.draw_one(Some(first.kind.area())));
        }
        faults
    }

    /// One that is not in this area.
    fn draw_one(&mut self, beside: Option<Area>) -> Fault {
        let fits = |kind: &Kind| {
            beside.is_none_or(|area| ![area, Area::Everything].contains(&kind.area()))
        };
        if !self.left.iter().any(fits) {
            self.left.extend(wanted(&self.only));
            self.seen.clear();
        }
        let places = |is_it: &dyn Fn(&Kind) -> bool| -> Vec<usize> {
            let places = 0..self.left.len();
            places.filter(|place| is_it(&self.left[*place])).collect()
        };
        let is_new = |kind: &Kind| fits(kind) && !self.seen.contains(&kind.class());
        // If only one area is wanted, it is hit alone or twice.
        let choices = [places(&is_new), places(&fits), places(&|_| true)];
        let choices = choices.into_iter().find(|choices| !choices.is_empty());
        let place = self
            .dice
            .of(&choices.expect("there are faults of the wanted classes"));
        let kind = self.left.swap_remove(place);
        self.seen.push(kind.class());
        let range = if self.dice.one_in(LONG_ONE_IN) {
            LONG_MS
        } else {
            LASTS_MS
        };
        let at_least = if kind.class() == "clock" {
            CLOCK_MS_MIN
        } else {
            0
        };
        let lasts = at_least + range.start + self.dice.below(range.end - range.start);
        Fault {
            kind,
            which: self.dice.place(1 << 16),
            lasts: Duration::from_millis(lasts),
        }
    }

    /// How long nothing new breaks.
    pub(crate) fn pause(&mut self) -> Duration {
        Duration::from_millis(self.dice.below(PAUSE_MS_MAX))
    }
}

/// The kinds of these classes, or all.
fn wanted(classes: &[String]) -> Vec<Kind> {
    let is_wanted =
        |kind: &Kind| classes.is_empty() || classes.iter().any(|class| class == kind.class());
    all().into_iter().filter(is_wanted).collect()
}

/// Workers hold deliveries, so they are hit most often.
fn all() -> Vec<Kind> {
    let hour = 3_600;
    let mut kinds = vec![
        Kind::Kill(Part::Node(Role::Deliver)),
        Kind::RollingRestart,
        Kind::QuorumLoss,
        Kind::JournalLoss,
        Kind::FailOver,
        Kind::RedisFlush,
        Kind::PacketLoss(Part::NatsLeader),
        Kind::PacketLoss(Part::Node(Role::Deliver)),
        Kind::Delay,
        Kind::ReceiversBroken,
        Kind::ReceiversHang,
        Kind::ReceiversHangUp,
        Kind::DiskFull(Part::NatsLeader),
        Kind::DiskFull(Part::NatsFollower),
        Kind::DiskFull(Part::Primary),
        Kind::JournalFull,
        Kind::DiskSlow(Part::NatsLeader),
        Kind::DiskSlow(Part::Primary),
        Kind::PowerCut(Part::NatsLeader),
        Kind::PowerCut(Part::NatsFollower),
        Kind::PowerCut(Part::Primary),
        Kind::PowerCut(Part::Node(Role::Deliver)),
        Kind::PowerCutOfAll,
    ];
    for role in Role::ALL {
        kinds.extend([Kind::Kill(Part::Node(role)), Kind::Hang(Part::Node(role))]);
        if Clock::unavailable().is_none() {
            kinds.extend([Kind::Clock(role, hour), Kind::Clock(role, -hour)]);
        }
    }
    for part in [
        Part::NatsLeader,
        Part::NatsFollower,
        Part::Primary,
        Part::Replica,
        Part::Redis,
    ] {
        kinds.extend([Kind::Kill(part), Kind::Hang(part)]);
    }
    for cut in [Cut::NodeFromNats, Cut::NodeFromPostgres, Cut::NatsFromNats] {
        kinds.extend([Way::In, Way::Out, Way::Both].map(|way| Kind::Partition(cut, way)));
    }
    kinds
}
