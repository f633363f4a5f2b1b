//! Rate limits, exact and shared between nodes, and the only crate that speaks to Redis.
//!
//! The rule is that of [`domain::limit`]: admitted if and only if fewer than N admissions happened
//! in the last W. With a Redis that answers, the rule holds over all nodes together, in every
//! rolling window. The cast:
//!
//! - `exact.lua` is the rule as a script in Redis, on the times of Redis; `redis` runs it.
//! - `table` holds a `window` for each active caller and operation: the admissions of this node (the
//!   twin of what Redis knows), until when an earlier refusal holds, and who is asking.
//! - `turn` has one call in flight for each window; what arrives meanwhile asks together.
//! - `link` knows whether Redis is *here* or *away*; `keeper` brings it back and tells it, in
//!   `parcel`s, what it has to know.
//!
//! A check looks into its window. If a refusal still holds there, that is the answer. If Redis is
//! here, the request joins the next call; an answer within 30 ms is final. Otherwise, or if Redis is
//! away, the twin decides at once: the full limit by itself where refusing would lose audit data,
//! this node's share of it (N divided by the nodes that lived last, rounded up) elsewhere. Without
//! an address of Redis there is one node, and the twin always decides.
//!
//! What holds while Redis is away, with m nodes, in any rolling window: at most m·N where each node
//! grants N. Where each grants a share: at most N + m - 1 in a window that lies wholly in the outage;
//! less than 2N + m in one over its beginning or its end, because the node that admitted N just before
//! does not hinder the shares of the others; less than 3N + m in one over both. A node that has never
//! reached Redis, because it was started in the outage, knows of no other, and its share is N. A check takes no longer than its budget and the
//! call before it. After the outage each node tells Redis what it admitted, within the time between two
//! probes, and the rule holds over all nodes again.
//!
//! A call that took too long is not forgotten: the twin decides, and when the answer of Redis is here
//! after all, Redis is told only of what it did not count itself. So a node that is merely busy, whose
//! calls are late by the dozen, counts each request once.
//!
//! What is not guaranteed: that a slot is never lost. A request that is dropped while Redis decides, or
//! that Redis admitted too late and the twin did not, may be counted although nobody was served; and
//! an admission that was on the wire when the connection broke may count twice. All of these refuse too
//! early, for at most W, and never admit too much.
//! A Redis that fails over to a replica loses what was not replicated yet, and may admit that once
//! more. If the clock of Redis goes back it stands still for a window until it has caught up; if it
//! goes forward, admissions are forgotten by as much too early.

mod census;
mod clock;
mod error;
mod keeper;
mod link;
pub mod metrics;
mod parcel;
mod redis;
mod table;
#[cfg(test)]
mod tests;
mod turn;
mod window;

use std::{
    hash::{BuildHasher as _, Hasher as _, RandomState},
    sync::Arc,
    time::Duration,
};

use domain::limit::{Operation, Quota, Verdict, WhenAlone};
use futures::FutureExt as _;
use tokio::time::{MissedTickBehavior, interval, timeout};
use tokio_util::sync::CancellationToken;

use crate::{
    clock::Clock,
    keeper::Keeper,
    link::{Late, Link, Live},
    metrics::{DecidedBy, Handles},
    redis::{Deciding, Failure, Scripts, Server},
    table::{Found, Place, SHARDS, Table, WINDOWS_MAX},
    turn::{Call, Seat},
    window::Window,
};
pub use crate::{error::Error, redis::ping};

/// How long one call to Redis may take. A call takes well below a millisecond; past this the caller
/// is better served by what this node knows.
pub const CALL_BUDGET: Duration = Duration::from_millis(30);
/// One shard is swept at a time, so that the work is spread: all of them in 6.4 s.
const SWEEP_EVERY: Duration = Duration::from_millis(100);

/// The limiter of one node. Cheap to clone.
#[derive(Clone)]
pub struct Limits {
    inner: Arc<Inner>,
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
pub struct Answer {
    pub admitted: bool,
    /// How many more would be admitted now.
    pub remaining: u32,
    /// How long until one more would be.
    pub frees_in: Duration,
}

/// What a call for some requests came to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settled {
    verdict: Verdict,
    by: DecidedBy,
}

struct Inner {
    table: Table,
    /// `None` without Redis.
    link: Option<Link>,
    clock: Clock,
    call_budget: Duration,
    handles: Handles,
}

impl Limits {
    /// Connects in [`Limits::run`]; until then, and whenever Redis is away, this node counts alone.
    /// Fails only if the address is not one.
    pub fn new(options: &Options<'_>) -> Result<Self, Error> {
        Self::assemble(options, Parts::default())
    }

    fn assemble(options: &Options<'_>, parts: Parts) -> Result<Self, Error> {
        let handles = Handles::new();
        let link = |url| {
            let server = Server::new(url, options.namespace, unique_name(), parts.scripts)?;
            Ok(Link::new(server))
        };
        Ok(Self {
            inner: Arc::new(Inner {
                link: options.redis_url.map(link).transpose()?,
                table: Table::new(parts.windows_max),
                clock: parts.clock,
                call_budget: options.call_budget,
                handles,
            }),
        })
    }

    /// Decides on one request of `subject`: an API key, a user or an address. Counts it if it is
    /// admitted. Never fails, and waits for Redis no longer than two calls may take.
    pub async fn check(&self, operation: Operation, quota: Quota, subject: &str) -> Answer {
        let (answer, by) = self.inner.check(operation, quota, subject).await;
        self.inner.handles.count(operation, by, answer.admitted);
        answer
    }

    /// What this node alone would say, without counting anything. Exact for an operation that nodes do
    /// not count together.
    pub fn look(&self, operation: Operation, quota: Quota, subject: &str) -> Answer {
        let Inner { table, clock, .. } = &*self.inner;
        let looking = |_: Found<'_>, window: &mut Window| window.decide(quota, clock.now_us(), 0);
        let verdict = table.enter(operation, subject, quota, looking);
        Answer {
            admitted: verdict.remaining > 0,
            remaining: verdict.remaining,
            frees_in: verdict.frees_in,
        }
    }

    /// Has to run as long as checks are made: sweeps idle windows and keeps the link to Redis.
    pub async fn run(self, stopping: CancellationToken) {
        let keeping = async {
            let Inner {
                link, table, clock, ..
            } = &*self.inner;
            match link {
                Some(link) => Keeper::new(link, table, clock).keep().await,
                None => std::future::pending().await,
            }
        };
        let working = async { tokio::join!(keeping, self.inner.sweep()) };
        stopping.run_until_cancelled(working).await;
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

impl Inner {
    async fn check(
        self: &Arc<Self>,
        operation: Operation,
        quota: Quota,
        subject: &str,
    ) -> (Answer, DecidedBy) {
        loop {
            let step = self
                .table
                .enter(operation, subject, quota, |found, window| {
                    self.step(found, window, quota)
                });
            match step {
                Step::Settled(settled) => return settled.answer(0),
                Step::Wait(Seat::In { call, position }) => return call.await.answer(position),
                Step::Wait(Seat::After(call)) => {
                    call.await;
                }
                Step::AskForOne => {
                    let settled = self.ask_for_one(operation, quota, subject).await;
                    return settled.answer(0);
                }
            }
        }
    }

    /// What a request does first, while it holds its window.
    fn step(self: &Arc<Self>, found: Found<'_>, window: &mut Window, quota: Quota) -> Step {
        let now_us = self.clock.now_us();
        window.adopt(quota);
        if let Some(settled) = denied(window, now_us) {
            return Step::Settled(settled);
        }
        // Who comes while others ask waits with them also if Redis is away by now: their call may have
        // been granted what memory does not know of yet.
        if !found.operation.is_shared() || (!self.is_shared() && window.is_idle()) {
            let settled = self.decide_alone(window, found.operation, quota, 1);
            if self.link.is_some() && found.operation.is_shared() {
                self.owe(window, found, &settled);
            }
            return Step::Settled(settled);
        }
        if !found.is_own {
            return Step::AskForOne;
        }
        Step::Wait(window.turn().join(|before| {
            let call = Arc::clone(self).call(found.into(), quota, before);
            call.boxed().shared()
        }))
    }

    /// Asks Redis for a request of a caller that has no window. Without an answer in time, what such
    /// callers have in common decides; whether Redis has counted it all the same is not followed up.
    async fn ask_for_one(&self, operation: Operation, quota: Quota, subject: &str) -> Settled {
        if let Asked::Decided(_, _, verdict) = self.ask_redis(operation, subject, quota, 1).await {
            return Settled {
                verdict,
                by: DecidedBy::Redis,
            };
        }
        self.table
            .enter(operation, subject, quota, |found, window| {
                let settled = self.decide_alone(window, operation, quota, 1);
                self.owe(window, found, &settled);
                settled
            })
    }

    /// Asks Redis for all requests that have gathered until the call before this one has ended.
    async fn call(self: Arc<Self>, place: Place, quota: Quota, before: Option<Call>) -> Settled {
        if let Some(before) = before {
            before.await;
        }
        let sent_us = self.clock.now_us();
        let begun = self.table.at(&place, |window| {
            (window.turn().begin(), denied(window, sent_us))
        });
        let (wanted, denied) = begun.unwrap_or((1, None));
        let settled = match denied {
            Some(settled) => settled,
            None => self.ask(&place, quota, wanted, sent_us).await,
        };
        self.table.at(&place, Window::end_turn);
        settled
    }

    async fn ask(&self, place: &Place, quota: Quota, wanted: u32, sent_us: u64) -> Settled {
        let asked = self
            .ask_redis(place.operation, &place.subject, quota, wanted)
            .await;
        if let Asked::Decided(link, live, verdict) = asked {
            let settled = Settled {
                verdict,
                by: DecidedBy::Redis,
            };
            let now_us = self.clock.now_us();
            self.table.at(place, |window| {
                window.learn(quota, &verdict, sent_us, now_us);
                // It was counted in data that are lost by now.
                if !link.is_current(&live) {
                    self.owe(window, place.found(), &settled);
                }
            });
            return settled;
        }
        let late = self.table.at(place, |window| {
            let settled = self.decide_alone(window, place.operation, quota, wanted);
            match asked {
                Asked::Late(link, live, answer)
                    if link.is_current(&live) && link.has_room_for_late() =>
                {
                    let admitted_at_ms = self.clock.now_us() / 1_000;
                    link.settle_later(Late {
                        answer,
                        place: place.clone(),
                        admitted: settled.verdict.granted,
                        admitted_at_ms,
                        live,
                    });
                }
                _ => self.owe(window, place.found(), &settled),
            }
            settled
        });
        // Cannot be absent: a window is not swept while somebody is asking.
        late.unwrap_or_else(|| {
            self.decide_alone(&mut Window::new(quota), place.operation, quota, wanted)
        })
    }

    async fn ask_redis(
        &self,
        operation: Operation,
        subject: &str,
        quota: Quota,
        wanted: u32,
    ) -> Asked<'_> {
        let Some(link) = &self.link else {
            return Asked::Nobody;
        };
        let Some(live) = link.live() else {
            return Asked::Nobody;
        };
        let connection = live.connection.clone();
        let mut answer = link
            .server
            .decide(connection, (operation, subject), quota, wanted);
        match timeout(self.call_budget, &mut answer).await {
            Ok(Ok(verdict)) => {
                Link::succeeded(&live);
                Asked::Decided(link, live, verdict)
            }
            Ok(Err(failure)) => {
                if !failure.is_about_one_key() {
                    link.failed(&live, &failure);
                }
                Asked::Nobody
            }
            Err(_) => {
                link.failed(&live, &Failure::Late);
                Asked::Late(link, live, answer)
            }
        }
    }

    fn is_shared(&self) -> bool {
        self.link.as_ref().is_some_and(Link::is_here)
    }

    /// This node decides by what it admitted itself.
    fn decide_alone(
        &self,
        window: &mut Window,
        operation: Operation,
        quota: Quota,
        wanted: u32,
    ) -> Settled {
        let now_us = self.clock.now_us();
        let part = match (&self.link, operation.when_alone()) {
            (Some(link), WhenAlone::Share) => quota.share(link.nodes()),
            (Some(_), WhenAlone::Full | WhenAlone::Always) | (None, _) => quota,
        };
        Settled {
            verdict: window.decide(part, now_us, wanted),
            by: DecidedBy::Memory,
        }
    }

    /// Redis has to be told what this node decided without it.
    fn owe(&self, window: &mut Window, found: Found<'_>, settled: &Settled) {
        let admitted = settled.verdict.granted;
        if admitted > 0 && found.is_own {
            window.owe(admitted, self.clock.now_us() / 1_000);
            self.table.note_unsent(found.shard);
        }
    }

    async fn sweep(&self) {
        let mut ticks = interval(SWEEP_EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        for shard in (0..SHARDS).cycle() {
            ticks.tick().await;
            self.table.sweep(shard, self.clock.now_us());
            #[expect(clippy::cast_precision_loss, reason = "a figure for people")]
            self.handles.windows.set(self.table.windows() as f64);
        }
    }
}

/// What Redis said.
enum Asked<'a> {
    Decided(&'a Link, Arc<Live>, Verdict),
    /// Nothing within the budget. It may have counted the requests all the same; when its answer is
    /// here, the link finds out.
    Late(&'a Link, Arc<Live>, Deciding),
    /// It is not there, or it failed.
    Nobody,
}

/// What a request has to do.
enum Step {
    Settled(Settled),
    Wait(Seat),
    /// There is no room to remember this caller.
    AskForOne,
}

fn denied(window: &Window, now_us: u64) -> Option<Settled> {
    window.denied_for(now_us).map(|frees_in| Settled {
        verdict: Verdict {
            granted: 0,
            remaining: 0,
            frees_in,
        },
        by: DecidedBy::DenyCache,
    })
}

impl Settled {
    /// The answer for one of the requests that were decided together, counted from zero: as if each
    /// had asked after the one before it.
    fn answer(&self, position: u32) -> (Answer, DecidedBy) {
        let verdict = &self.verdict;
        let admitted = position < verdict.granted;
        let granted_after = if admitted {
            verdict.granted - 1 - position
        } else {
            0
        };
        let answer = Answer {
            admitted,
            remaining: verdict.remaining + granted_after,
            frees_in: verdict.frees_in,
        };
        (answer, self.by)
    }
}

/// What tests replace.
struct Parts {
    clock: Clock,
    scripts: Scripts,
    windows_max: usize,
}

impl Default for Parts {
    fn default() -> Self {
        Self {
            clock: Clock::start(),
            scripts: Scripts::default(),
            windows_max: WINDOWS_MAX,
        }
    }
}

/// The standard library seeds each `RandomState` anew; 64 bits of that do not meet by chance.
fn unique_name() -> String {
    format!("{:016x}", RandomState::new().build_hasher().finish())
}
