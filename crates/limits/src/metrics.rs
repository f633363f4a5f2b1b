//! The metrics of this crate, named once.

use domain::limit::Operation;
use metrics::{Counter, Gauge, Unit, counter, gauge};

/// A metric as it is described to who scrapes it, and on the page of all metrics.
#[derive(Clone, Copy, Debug)]
pub struct Metric {
    pub name: &'static str,
    pub kind: Kind,
    /// What it is told apart by: bounded, never an organisation, a URL or an id.
    pub labels: &'static [&'static str],
    pub meaning: &'static str,
}

/// How a metric is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Only grows; its rate is what matters.
    Counter,
    /// As it is now.
    Gauge,
    /// How often values were how large.
    Histogram,
}

impl Kind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

impl Metric {
    /// Describes it to the recorder.
    pub fn describe(&self) {
        let Self { name, meaning, .. } = *self;
        let unit = if name.ends_with("_seconds") {
            Unit::Seconds
        } else {
            Unit::Count
        };
        match self.kind {
            Kind::Counter => metrics::describe_counter!(name, unit, meaning),
            Kind::Gauge => metrics::describe_gauge!(name, unit, meaning),
            Kind::Histogram => metrics::describe_histogram!(name, unit, meaning),
        }
    }
}

/// Declares metrics: a constant with the name of each, and the list of them all.
#[macro_export]
macro_rules! metrics {
    ($($id:ident, $kind:ident $name:literal [$($label:literal),*] $meaning:literal;)*) => {
        $(#[doc = $meaning] pub const $id: &str = $name;)*

        /// Every metric of this crate, with what it means.
        pub const ALL: &[$crate::metrics::Metric] = &[$($crate::metrics::Metric {
            name: $name,
            kind: $crate::metrics::Kind::$kind,
            labels: &[$($label),*],
            meaning: $meaning,
        },)*];
    };
}

crate::metrics! {
    CHECKS, Counter "watchbell_limits_checks_total" ["operation", "outcome", "decided_by"]
        "Rate limit checks: what for, whether admitted or refused, and whether Redis, memory or an earlier refusal decided";
    SHARED, Gauge "watchbell_limits_shared" []
        "Whether rate limits are shared between nodes now: 1, or 0 while each node counts alone";
    NODES, Gauge "watchbell_limits_nodes" []
        "How many nodes share rate limits, as this one last heard; limits are divided by it while Redis is away";
    WINDOWS, Gauge "watchbell_limits_windows" []
        "Callers and operations with a limit in memory";
}

/// Where a check was decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DecidedBy {
    Redis,
    Memory,
    /// An earlier refusal still holds.
    DenyCache,
}

impl DecidedBy {
    const ALL: [Self; 3] = [Self::Redis, Self::Memory, Self::DenyCache];

    fn as_str(self) -> &'static str {
        match self {
            Self::Redis => "redis",
            Self::Memory => "memory",
            Self::DenyCache => "deny_cache",
        }
    }
}

/// The handles: looked up once, because a check in memory takes less time than looking one up.
pub(crate) struct Handles {
    /// By operation, then by where it was decided; refused before admitted.
    checks: Vec<[[Counter; 2]; 3]>,
    pub(crate) windows: Gauge,
}

impl Handles {
    pub(crate) fn new() -> Self {
        let checks = Operation::ALL.map(|operation| {
            DecidedBy::ALL.map(|by| {
                ["refused", "admitted"].map(|outcome| {
                    counter!(
                        CHECKS,
                        "operation" => operation.as_str(),
                        "decided_by" => by.as_str(),
                        "outcome" => outcome,
                    )
                })
            })
        });
        Self {
            checks: checks.into(),
            windows: gauge!(WINDOWS),
        }
    }

    pub(crate) fn count(&self, operation: Operation, by: DecidedBy, admitted: bool) {
        self.checks[operation as usize][by as usize][usize::from(admitted)].increment(1);
    }
}
