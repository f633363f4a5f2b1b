//! What one node does with a check: its window, Redis, or what it knows itself.

use std::{sync::Arc, time::Duration};

use domain::limit::{Operation, Quota, Verdict, WhenAlone};
use futures::FutureExt as _;
use tokio::time::{MissedTickBehavior, interval, timeout};

use crate::{
    Admission,
    clock::Clock,
    coalesce::{Call, Seat},
    link::{LateReply, Link, Live},
    metrics::{DecidedBy, Handles},
    redis::{Deciding, Failure},
    table::{Found, Place, SHARDS, Table},
    window::Window,
};

/// One shard is swept at a time, so that the work is spread: all of them in 6.4 s.
const SWEEP_EVERY: Duration = Duration::from_millis(100);

pub(crate) struct Node {
    pub(crate) table: Table,
    /// `None` without Redis.
    pub(crate) link: Option<Link>,
    pub(crate) clock: Clock,
    pub(crate) call_budget: Duration,
    pub(crate) handles: Handles,
}

/// What a call for some requests came to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settled {
    pub(crate) verdict: Verdict,
    pub(crate) by: DecidedBy,
}

impl Node {
    pub(crate) async fn check(
        self: &Arc<Self>,
        operation: Operation,
        quota: Quota,
        subject: &str,
    ) -> (Admission, DecidedBy) {
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
                self.add_unsynced(window, found, &settled);
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
        if let RedisReply::Decided(_, _, verdict) =
            self.ask_redis(operation, subject, quota, 1).await
        {
            return Settled {
                verdict,
                by: DecidedBy::Redis,
            };
        }
        self.table
            .enter(operation, subject, quota, |found, window| {
                let settled = self.decide_alone(window, operation, quota, 1);
                self.add_unsynced(window, found, &settled);
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
        if let RedisReply::Decided(link, live, verdict) = asked {
            let settled = Settled {
                verdict,
                by: DecidedBy::Redis,
            };
            let now_us = self.clock.now_us();
            self.table.at(place, |window| {
                window.learn(quota, &verdict, sent_us, now_us);
                // It was counted in data that are lost by now.
                if !link.is_current(&live) {
                    self.add_unsynced(window, place.found(), &settled);
                }
            });
            return settled;
        }
        let late = self.table.at(place, |window| {
            let settled = self.decide_alone(window, place.operation, quota, wanted);
            match asked {
                RedisReply::Late(link, live, answer)
                    if link.is_current(&live) && link.has_room_for_late() =>
                {
                    let admitted_at_ms = self.clock.now_us() / 1_000;
                    link.settle_later(LateReply {
                        answer,
                        place: place.clone(),
                        admitted: settled.verdict.granted,
                        admitted_at_ms,
                        live,
                    });
                }
                _ => self.add_unsynced(window, place.found(), &settled),
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
    ) -> RedisReply<'_> {
        let Some(link) = &self.link else {
            return RedisReply::Nobody;
        };
        let Some(live) = link.live() else {
            return RedisReply::Nobody;
        };
        let connection = live.connection.clone();
        let mut answer = link
            .server
            .decide(connection, (operation, subject), quota, wanted);
        match timeout(self.call_budget, &mut answer).await {
            Ok(Ok(verdict)) => {
                Link::succeeded(&live);
                RedisReply::Decided(link, live, verdict)
            }
            Ok(Err(failure)) => {
                if !failure.is_about_one_key() {
                    link.failed(&live, &failure);
                }
                RedisReply::Nobody
            }
            Err(_) => {
                link.failed(&live, &Failure::Late);
                RedisReply::Late(link, live, answer)
            }
        }
    }

    pub(crate) fn is_shared(&self) -> bool {
        self.link.as_ref().is_some_and(Link::is_here)
    }

    /// This node decides by what it admitted itself.
    pub(crate) fn decide_alone(
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
    pub(crate) fn add_unsynced(&self, window: &mut Window, found: Found<'_>, settled: &Settled) {
        let admitted = settled.verdict.granted;
        if admitted > 0 && found.is_own {
            window.add_unsynced(admitted, self.clock.now_us() / 1_000);
            self.table.note_unsent(found.shard);
        }
    }

    pub(crate) async fn sweep(&self) {
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

impl Settled {
    /// The answer for one of the requests that were decided together, counted from zero: as if each
    /// had asked after the one before it.
    fn answer(&self, position: u32) -> (Admission, DecidedBy) {
        let verdict = &self.verdict;
        let admitted = position < verdict.granted;
        let granted_after = if admitted {
            verdict.granted - 1 - position
        } else {
            0
        };
        let answer = Admission {
            admitted,
            remaining: verdict.remaining + granted_after,
            frees_in: verdict.frees_in,
        };
        (answer, self.by)
    }
}

/// What Redis said.
enum RedisReply<'a> {
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
