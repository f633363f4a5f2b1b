//! What must pass the suite: the log, the limiter in memory, and the script in Redis.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use domain::limit::{Log, Quota, Verdict};
use futures::FutureExt as _;

use super::{
    in_memory,
    stage::Stage,
    suite::{Caller, Limiter, PROPERTIES},
};
use crate::Limits;

impl Limiter for HashMap<String, Log> {
    fn reset(&mut self) {
        self.clear();
    }

    fn decide(&mut self, caller: Caller, quota: Quota, now_ms: u64, wanted: u32) -> Verdict {
        let log = self.entry(format!("{caller:?}")).or_default();
        log.decide(quota, now_ms, wanted)
    }
}

/// The public surface without Redis: each request is a check of its own.
struct InMemory {
    limits: Limits,
    now_us: Arc<AtomicU64>,
}

impl InMemory {
    fn new() -> Self {
        let (limits, now_us) = in_memory();
        Self { limits, now_us }
    }
}

impl Limiter for InMemory {
    fn reset(&mut self) {
        *self = Self::new();
    }

    fn decide(&mut self, caller: Caller, quota: Quota, now_ms: u64, wanted: u32) -> Verdict {
        self.now_us.store(now_ms * 1_000 + 999, Ordering::SeqCst);
        let mut granted = 0;
        let mut last = None;
        for _ in 0..wanted {
            let checking = self.limits.check(caller.operation, quota, caller.subject);
            let answer = checking.now_or_never().expect("memory answers at once");
            granted += u32::from(answer.admitted);
            last = Some(answer);
        }
        Verdict {
            granted,
            remaining: last.map_or(0, |answer| answer.remaining),
            frees_in: last.map_or(Duration::ZERO, |answer| answer.frees_in),
        }
    }
}

/// The script itself, called by hand.
pub(super) struct InRedis {
    pub(super) stage: Stage,
    hash: String,
    resets: u64,
}

impl InRedis {
    pub(super) fn new(mut stage: Stage) -> Self {
        let script = stage.scripts().exact;
        let hash = redis::cmd("SCRIPT")
            .arg("LOAD")
            .arg(script)
            .query(&mut stage.connection)
            .expect("the script loads");
        Self {
            stage,
            hash,
            resets: 0,
        }
    }

    pub(super) fn key(&self, caller: Caller) -> String {
        let subject = format!("{}-{}", caller.subject, self.resets);
        self.stage.key_in("hand", &subject, caller.operation)
    }
}

impl Limiter for InRedis {
    fn reset(&mut self) {
        self.resets += 1;
    }

    fn decide(&mut self, caller: Caller, quota: Quota, now_ms: u64, wanted: u32) -> Verdict {
        self.stage.set_ms(now_ms);
        let key = self.key(caller);
        let (granted, remaining, frees_in_us): (u32, u32, u64) = redis::cmd("EVALSHA")
            .arg(&self.hash)
            .arg(1)
            .arg(key)
            .arg(quota.count.get())
            .arg(quota.window_ms())
            .arg(wanted)
            .query(&mut self.stage.connection)
            .expect("the script runs");
        Verdict {
            granted,
            remaining,
            frees_in: Duration::from_micros(frees_in_us),
        }
    }
}

fn passes_the_suite(limiter: &mut dyn Limiter) {
    for (name, property) in PROPERTIES {
        if let Err(failure) = property(limiter) {
            panic!("{name}: {failure}");
        }
    }
}

#[test]
fn the_log_passes_the_suite() {
    passes_the_suite(&mut HashMap::<String, Log>::new());
}

#[test]
fn the_limiter_in_memory_passes_the_suite() {
    passes_the_suite(&mut InMemory::new());
}

#[test]
fn the_script_in_redis_passes_the_suite() {
    passes_the_suite(&mut InRedis::new(Stage::shared()));
}
