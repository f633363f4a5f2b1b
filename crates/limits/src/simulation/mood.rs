//! What a run is about, and how often things go wrong in it.

use testkit::Dice;

const NODES_MAX: u64 = 4;

/// What a run is about.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Busy,
    Forgetful,
    Outages,
    Anything,
}

impl Kind {
    pub(super) fn of(seed: u64) -> Self {
        match seed % 8 {
            0 => Self::Busy,
            1 => Self::Outages,
            2 => Self::Forgetful,
            _ => Self::Anything,
        }
    }

    /// Whether nobody reaches the limit.
    pub(super) fn is_roomy(self) -> bool {
        matches!(self, Self::Busy | Self::Forgetful)
    }
}

/// How often things go wrong in a run: each once in so many steps. Some never do, so that others get far.
pub(super) struct Mood {
    pub(super) nodes: u64,
    pub(super) burst_max: u64,
    pub(super) pause_ms_max: u64,
    pub(super) slow: u64,
    /// How long a command takes each way, at most.
    pub(super) slowness_ms: &'static [u64],
    pub(super) hangs: u64,
    pub(super) breaks: u64,
    pub(super) cuts: u64,
    pub(super) outages: u64,
    pub(super) flushes: u64,
    pub(super) clocks: u64,
    pub(super) deaths: u64,
    pub(super) gives_up: u64,
}

impl Mood {
    pub(super) fn new(dice: &mut Dice) -> Self {
        let never = u64::MAX;
        Self {
            nodes: 1 + dice.below(NODES_MAX),
            burst_max: dice.of(&[1, 3, 8]),
            pause_ms_max: dice.of(&[10, 100, 400]),
            slow: dice.of(&[10, 60, never]),
            slowness_ms: &[1, 1, 20, 60, 200],
            hangs: dice.of(&[60, never, never]),
            breaks: dice.of(&[60, 200, never]),
            cuts: dice.of(&[60, never]),
            outages: dice.of(&[60, 150, never]),
            flushes: dice.of(&[80, never, never]),
            clocks: dice.of(&[80, never, never]),
            deaths: dice.of(&[80, never, never]),
            gives_up: dice.of(&[30, never, never]),
        }
    }

    /// Redis is killed and comes back, and nothing else.
    pub(super) fn outages(dice: &mut Dice) -> Self {
        Self {
            burst_max: 3,
            pause_ms_max: 400,
            outages: 40,
            ..Self::calm(dice)
        }
    }

    /// Nobody reaches the limit, and Redis is late and nothing else: each request counts once. Not so late that it does
    /// not say in time what it was told of, because that is told again.
    pub(super) fn busy(dice: &mut Dice) -> Self {
        Self {
            burst_max: 3,
            slow: 10,
            slowness_ms: &[1, 1, 20, 60],
            ..Self::calm(dice)
        }
    }

    /// Nobody reaches the limit, and Redis is away, forgets, and is hard to reach: it is told of all of them.
    pub(super) fn forgetful(dice: &mut Dice) -> Self {
        Self {
            burst_max: 3,
            pause_ms_max: 100,
            slow: 60,
            slowness_ms: &[1, 1, 20, 60, 200],
            hangs: 100,
            breaks: 40,
            cuts: 40,
            outages: 60,
            flushes: 80,
            ..Self::calm(dice)
        }
    }

    fn calm(dice: &mut Dice) -> Self {
        let never = u64::MAX;
        Self {
            nodes: 1 + dice.below(NODES_MAX),
            burst_max: 1,
            pause_ms_max: 30,
            slow: never,
            slowness_ms: &[1],
            hangs: never,
            breaks: never,
            cuts: never,
            outages: never,
            flushes: never,
            clocks: never,
            deaths: never,
            gives_up: never,
        }
    }
}
