//! Rate limits, exact and shared between nodes, and the only crate that speaks to Redis.
//!
//! The rule is that of [`domain::limit`]: admitted if and only if fewer than N admissions happened
//! in the last W. With a Redis that answers, the rule holds over all nodes together, in every
//! rolling window. The cast:
//!
//! - `node` takes a check through all of this.
//! - `exact.lua` is the rule as a script in Redis, on the times of Redis; `redis` runs it.
//! - `table` holds a `window` for each active caller and operation: the admissions of this node (the
//!   copy of what Redis knows), until when an earlier refusal holds, and who is asking.
//! - `turn` has one call in flight for each window; what arrives meanwhile asks together.
//! - `link` knows whether Redis is *here* or *away*; `keeper` brings it back and tells it, in
//!   `parcel`s, what it has to know.
//!
//! A check looks into its window. If a refusal still holds there, that is the answer. If Redis is
//! here, the request joins the next call; an answer within the budget is final. Otherwise, or if Redis
//! is away, the local log decides: the full limit by itself where refusing would lose audit data, this
//! node's share of it (N divided by the nodes that lived last, rounded up) elsewhere. Without an
//! address of Redis there is one node, and the local log always decides.
//!
//! What holds while Redis is away or slow, with m processes, in any rolling window: at most m·N where
//! each grants N. Where each grants a share: at most N + m - 1 in a window that lies wholly in the
//! outage; less than 2N + m in one over its beginning or its end, because the node that admitted N just
//! before does not hinder the shares of the others; less than 3N + m in one over both. A process that
//! was started in the outage knows of no other, and its share is N; one that is started again has
//! forgotten what it admitted, and counts as another. When Redis is back each node tells it what it
//! admitted: it notices within the time between two probes, telling takes a while if there were many
//! callers, and when the last node has done so the rule holds over all of them again.
//!
//! The data of Redis have an epoch, which ends with the process of Redis and with the data, whichever
//! is first, and is part of every key's name. A node that hears of another epoch asks nobody until it
//! has told everything that it admitted under the new one. So it does not matter whether Redis comes
//! back empty, from an old snapshot or as a replica that had not heard of everything.
//!
//! A call that took too long is not forgotten: the local log decides, and when the answer of Redis is here
//! after all, Redis is told only of what it did not count itself. So a node that is merely busy, whose
//! calls are late by the dozen, counts each request once.
//!
//! What is not guaranteed: that a slot is never lost. A request that is dropped while Redis decides, or
//! that Redis admitted too late and the local log did not, may be counted although nobody was served; and
//! an admission that was on the wire when the connection broke may count more than once. These refuse
//! too early, for at most W. If the clock of Redis goes back it stands still for each caller until it
//! has caught up: who has used up the limit waits longer by as much.
//!
//! And what admits too much without an outage: data that are flushed, until the next beat; a process
//! that is killed before it told the last second; a clock of Redis that goes forward, which forgets by
//! as much too early; a key that Redis refuses because somebody made it something else, whose caller
//! each node limits alone; and callers past the bound of the table, of whom Redis is told nothing that
//! memory admitted.

mod check;
mod clock;
mod coalesce;
mod error;
mod link;
pub mod metrics;
mod node_count;
mod reconnect;
mod redis;
mod restore_batch;
#[cfg(test)]
mod simulation;
mod table;
#[cfg(test)]
mod tests;
mod window;

use std::{
    hash::{BuildHasher as _, Hasher as _, RandomState},
    sync::Arc,
    time::Duration,
};

use domain::limit::{Operation, Quota};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::{
    check::Node,
    clock::Clock,
    link::Link,
    metrics::Handles,
    reconnect::Keeper,
    redis::{Scripts, Server},
    table::{Found, Table, WINDOWS_MAX},
    window::Window,
};
pub use crate::{error::Error, redis::ping};

/// How long one call to Redis may take. A call takes well below a millisecond; past this the caller
/// is better served by what this node knows.
pub const CALL_BUDGET: Duration = Duration::from_millis(30);
/// How long a node that stops may take to tell Redis the rest; a process that ends has little time.
const LAST_WORDS_MAX: Duration = Duration::from_secs(1);

/// The limiter of one node. Cheap to clone.
#[derive(Clone)]
pub struct Limits {
    inner: Arc<Node>,
}

/// How limits are shared.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// Where Redis is. `None`: this node is the only one, and counts in memory.
    pub redis_url: Option<&'a str>,
    /// Prefix of every key, so that deployments can share a server.
    pub namespace: &'a str,
    /// How long one call to Redis may take; [`CALL_BUDGET`] unless the machine is very busy.
    pub call_budget: Duration,
}

/// What a check came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Admission {
    pub admitted: bool,
    /// How many more would be admitted now.
    pub remaining: u32,
    /// How long until one more would be.
    pub frees_in: Duration,
}

impl Limits {
    /// Connects in [`Limits::run`]; until then, and whenever Redis is away, this node counts alone.
    /// Fails only if the address is not one.
    pub fn new(options: &Options<'_>) -> Result<Self, Error> {
        Self::assemble(options, Parts::default())
    }

    fn assemble(options: &Options<'_>, parts: Parts) -> Result<Self, Error> {
        let scripts = parts.scripts.clone();
        let server = |url| Server::new(url, options.namespace, unique_name(), scripts);
        let server = options.redis_url.map(server).transpose()?;
        Ok(Self::on(server, options.call_budget, parts))
    }

    fn on(server: Option<Server>, call_budget: Duration, parts: Parts) -> Self {
        Self {
            inner: Arc::new(Node {
                link: server.map(Link::new),
                table: Table::new(parts.windows_max, parts.shard_key),
                clock: parts.clock,
                call_budget,
                handles: Handles::new(),
            }),
        }
    }

    /// Decides on one request of `subject`: an API key, a user or an address. Counts it if it is
    /// admitted. Never fails, and waits for Redis no longer than two calls may take: the one before and
    /// its own. Where more than a thousand wait for the same caller and operation, one more call for
    /// each thousand before it; but after three that took too long Redis is away, and nobody waits.
    pub async fn check(&self, operation: Operation, quota: Quota, subject: &str) -> Admission {
        let (answer, by) = self.inner.check(operation, quota, subject).await;
        self.inner.handles.count(operation, by, answer.admitted);
        answer
    }

    /// What this node alone would say, without counting anything. Exact for an operation that nodes do
    /// not count together.
    pub fn look(&self, operation: Operation, quota: Quota, subject: &str) -> Admission {
        let Node { table, clock, .. } = &*self.inner;
        let looking = |_: Found<'_>, window: &mut Window| window.decide(quota, clock.now_us(), 0);
        let verdict = table.enter(operation, subject, quota, looking);
        Admission {
            admitted: verdict.remaining > 0,
            remaining: verdict.remaining,
            frees_in: verdict.frees_in,
        }
    }

    /// Has to run as long as checks are made: sweeps idle windows and keeps the link to Redis. When it
    /// is told to stop, it tells Redis what that has not heard of yet, for a second at most.
    pub async fn run(self, stopping: CancellationToken) {
        let Node {
            link, table, clock, ..
        } = &*self.inner;
        let keeping = async {
            match link {
                Some(link) => Keeper::new(link, table, clock).keep(&stopping).await,
                None => stopping.cancelled().await,
            }
        };
        let too_late = async {
            stopping.cancelled().await;
            sleep(LAST_WORDS_MAX).await;
        };
        tokio::select! {
            () = keeping => {}
            () = too_late => {}
            () = self.inner.sweep() => {}
        }
    }

    /// Whether Redis decides right now, and not each node by itself.
    pub fn is_shared(&self) -> bool {
        self.inner.is_shared()
    }

    /// How many nodes share the limits, this one among them, as far as it has heard.
    pub fn nodes(&self) -> usize {
        let nodes = self
            .inner
            .link
            .as_ref()
            .map_or(1, |link| link.nodes().get());
        usize::try_from(nodes).unwrap_or(usize::MAX)
    }

    /// How many callers and operations are in memory.
    pub fn windows(&self) -> usize {
        self.inner.table.windows()
    }
}

/// What tests replace.
struct Parts {
    clock: Clock,
    scripts: Scripts,
    windows_max: usize,
    shard_key: u64,
}

impl Default for Parts {
    fn default() -> Self {
        Self {
            clock: Clock::start(),
            scripts: Scripts::default(),
            windows_max: WINDOWS_MAX,
            shard_key: random_number(),
        }
    }
}

/// 64 bits of this do not meet by chance.
fn unique_name() -> String {
    format!("{:016x}", random_number())
}

/// The standard library seeds each `RandomState` anew.
fn random_number() -> u64 {
    RandomState::new().build_hasher().finish()
}
