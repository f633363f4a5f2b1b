//! The metrics of this crate, named once.

use domain::limit::Operation;
use metrics::{Counter, Gauge, counter, gauge};

runtime::metrics! {
    CHECKS, Counter "watchbell_limits_checks_total" ["operation", "outcome", "decided_by"]
        "Rate limit checks: for which operation, whether admitted or refused, and whether Redis, memory or an earlier refusal decided";
    SHARED, Gauge "watchbell_limits_shared" []
        "Whether rate limits are currently shared between nodes: 1, or 0 while each node counts on its own";
    NODES, Gauge "watchbell_limits_nodes" []
        "How many nodes share rate limits, as last known to this one; limits are divided by it while Redis is down";
    WINDOWS, Gauge "watchbell_limits_windows" []
        "Pairs of caller and operation with a limit in memory";
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
